package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"stele/chain"
)

// event is one line that a child says. Kind tells which of the fields count.
type event struct {
	Kind    string  `json:"kind"`
	Error   string  `json:"error,omitempty"`
	Height  uint32  `json:"height,omitempty"` // of the tip
	Seconds float64 `json:"seconds,omitempty"`

	Delta   int64            `json:"delta,omitempty"`   // bytes of memory that open filled
	Archive int64            `json:"archive,omitempty"` // bytes in use
	Wire    int64            `json:"wire,omitempty"`
	Pages   Number           `json:"pages"` // bytes of pages written, by the system's account
	Written map[string]int64 `json:"written,omitempty"`
	Saves   uint64           `json:"saves,omitempty"` // checkpoints beside the import
	Newest  chain.Hash       `json:"newest"`          // txid of the tip's coinbase

	Read   Number `json:"read"`   // cold: bytes that lookups read from the disk
	Faults Number `json:"faults"` // cold: page faults that waited for it
}

// Kinds of events, in the order in which a child says them.
const (
	saidReached  = "reached"  // import: the tip has the height that was asked for
	saidWrites   = "writes"   // import: the watched file is about to be written, and the writer of it waits
	saidImported = "imported" // import: done, checkpointed, not closed
	saidOpened   = "opened"   // open: the store is open
	saidAnswered = "answered" // open, cold: lookups are answered
	saidReady    = "ready"    // open: one more block is confirmed
	saidClosed   = "closed"   // import: the store is closed
	saidFailed   = "failed"
)

// Child is the other side of every process that an experiment starts: it reads one job from stdin, does it, and says on
// stdout how it goes. It returns when the job is done or stdin ends.
func Child(stdin io.Reader, stdout io.Writer) error {
	c := &childSide{out: json.NewEncoder(stdout), replies: make(chan nextBlock), gone: make(chan struct{})}
	in := json.NewDecoder(stdin)
	var j job
	if err := in.Decode(&j); err != nil {
		return fmt.Errorf("a benchmark's child is started by its experiment alone: %w", err)
	}
	go c.listen(in)
	err := j.run(c)
	if err != nil {
		c.say(event{Kind: saidFailed, Error: err.Error(), Pages: None})
	}
	return err
}

// childSide is a child's connection to its parent.
type childSide struct {
	mu      sync.Mutex
	out     *json.Encoder
	replies chan nextBlock
	gone    chan struct{} // closed when the parent is
}

// nextBlock is the parent's answer to saidAnswered: where the record of the next block lies.
type nextBlock struct {
	Path string `json:"path"`
	Off  int64  `json:"off"`
	Len  int64  `json:"len"`
}

func (c *childSide) listen(in *json.Decoder) {
	defer close(c.gone)
	for {
		var n nextBlock
		if in.Decode(&n) != nil {
			return
		}
		c.replies <- n
	}
}

func (c *childSide) say(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(&e) // a parent that does not listen any more has its reasons
}

// hold waits to be killed, or for the parent to end.
func (c *childSide) hold() { <-c.gone }

// childMark is in the environment of every child. A wrong command line (say, that of a test's executable which runs all
// its tests again) could otherwise start children without end.
const childMark = "BENCH_CHILD"

// process is a child as its parent sees it.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	to   *json.Encoder
	from *json.Decoder
	text strings.Builder // what it wrote to standard error
}

// start starts a child on a job.
func (o *Options) start(ctx context.Context, j job) (*process, error) {
	if len(o.Child) == 0 {
		return nil, errors.New("no command line for child processes")
	}
	if os.Getenv(childMark) != "" {
		return nil, errors.New("a child of an experiment starts no children: its command line does not end up in Child")
	}
	p := &process{cmd: exec.CommandContext(ctx, o.Child[0], o.Child[1:]...)}
	p.cmd.Stderr = &p.text
	p.cmd.Env = append(os.Environ(), childMark+"=1")
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in, p.to, p.from = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	if err := p.to.Encode(&j); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

// await reads events until one is of a kind.
func (p *process) await(kind string) (event, error) {
	for {
		e := event{Pages: None}
		if err := p.from.Decode(&e); err != nil {
			_ = p.kill()
			return e, fmt.Errorf("a child ended before it was %s: %w %s", kind, err, strings.TrimSpace(p.text.String()))
		}
		switch e.Kind {
		case kind:
			return e, nil
		case saidFailed:
			_ = p.kill()
			return e, errors.New(e.Error)
		}
	}
}

// kill ends the child with SIGKILL and waits for that.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_ = p.in.Close()
	_ = p.cmd.Wait() // says that it was killed
	return err
}

// end waits for a child that has nothing left to do.
func (p *process) end() error {
	_ = p.in.Close()
	return p.cmd.Wait()
}
