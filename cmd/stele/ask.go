package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stele/node/owner"
	"stele/store"
)

// Times that a store's owner is given. Tests shorten them.
var (
	// answerPatience is how long an owner may say nothing, not even that it is at it, and how long one that is just
	// ending or beginning is asked again.
	answerPatience = 10 * time.Second
	// settlePatience is how long an owner without a socket may have the lock before it counts as one that answers nobody:
	// it takes the lock first and makes the socket then.
	settlePatience = 2 * time.Second
)

// call is a verb as it was called.
type call struct {
	cmd  *cobra.Command
	args []string
}

// line returns the call as the arguments of a command line: verb, flags of its own, arguments.
func (c *call) line() []string {
	line := strings.Fields(verbOf(c.cmd))
	c.cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			line = append(line, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(append(line, "--"), c.args...)
}

// orAsk does what needs the store's lock, or where another process has that, asks it to do the verb.
func (a *app) orAsk(here func() error) error {
	deadline := time.Now().Add(answerPatience)
	for {
		err := here()
		var used *store.ErrInUse
		if !errors.As(err, &used) {
			return err
		}
		again, err := a.ask(used)
		if !again || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
}

// ask puts the verb to the owner of the store. again: it is just ending, or beginning.
func (a *app) ask(used *store.ErrInUse) (again bool, err error) {
	o := &used.Owner
	if o.Socket == "" {
		return readersOnly(o) || time.Since(o.Since) < settlePatience, used
	}
	if host, err := os.Hostname(); err == nil && host != o.Host {
		return false, used
	}
	var out, told bytes.Buffer
	bar := &relayed{app: a}
	defer bar.close()
	q := owner.Request{Version: programVersion(), Args: a.call.line(), JSON: a.json}
	streams := owner.Streams{Stdout: &out, Stderr: &told, Progress: bar.show}
	code, err := owner.Ask(a.ctx, o.Socket, q, streams, answerPatience)
	bar.close()
	if err == nil {
		a.out.Write(out.Bytes())
		_, _ = told.WriteTo(a.sink)
		if code == codeOK {
			return false, nil
		}
		return false, &failure{code: code, told: true}
	}
	if a.ctx.Err() != nil {
		return false, a.ctx.Err()
	}
	var refused *owner.Refused
	busy := errors.As(err, &refused) && refused.Why == owner.Busy
	return busy || errors.Is(err, owner.ErrAbsent) || errors.Is(err, owner.ErrGone), unanswered(used, err)
}

// unanswered is the failure of a verb that the owner of its store does not answer.
func unanswered(used *store.ErrInUse, err error) *failure {
	f := &failure{code: codeInUse, what: "data folder in use", todo: "wait until it ends, or end it"}
	f.where = fmt.Sprintf("%s by %v: %v", used.Dir, used.Owner, err)
	var refused *owner.Refused
	if errors.As(err, &refused) && refused.Why == owner.OtherVersion {
		f.todo = "ask with that one (this is " + programVersion() + ")"
	}
	return f
}

// progressNote is a reading as it goes from the owner to the process that asked.
type progressNote struct {
	Stage string `json:"stage"`
	Unit  string `json:"unit"`
	Done  uint64 `json:"done"`
	Total uint64 `json:"total"`
}

// relayed shows the progress of an owner that works for this process.
type relayed struct {
	app *app
	bar *meter
}

func (r *relayed) show(note []byte) {
	var n progressNote
	if json.Unmarshal(note, &n) != nil {
		return
	}
	if r.bar == nil {
		r.bar = r.app.meter(n.Stage, n.Unit)
	}
	r.bar.update(reading{stage: n.Stage, done: n.Done, total: n.Total})
}

func (r *relayed) close() {
	if r.bar != nil {
		r.bar.close()
		r.bar = nil
	}
}
