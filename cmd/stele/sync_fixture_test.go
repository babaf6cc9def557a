//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// running is a node in another process.
type running struct {
	t     *testing.T
	dir   string
	cmd   *exec.Cmd
	out   bytes.Buffer
	mu    sync.Mutex // guards log
	log   strings.Builder
	at    chan string // where it listens
	read  sync.WaitGroup
	ended bool
}

var listening = regexp.MustCompile(`listening.* at=(\S+)`)

// startRun starts a node of regtest that asks no seeds. Where the arguments have --listen, addr tells where.
func startRun(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	p := &running{t: t, dir: dir, at: make(chan string, 1)}
	p.cmd = program(append([]string{"--network", "regtest", "--datadir", dir, "--json", "run", "--seeds", "off"}, args...)...)
	p.cmd.Stdout = &p.out
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.read.Go(func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if at := listening.FindStringSubmatch(lines.Text()); at != nil {
				select {
				case p.at <- at[1]:
				default:
				}
			}
		}
	})
	t.Cleanup(p.kill)
	return p
}

func (p *running) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// addr is where it listens.
func (p *running) addr() string {
	p.t.Helper()
	select {
	case at := <-p.at:
		p.at <- at
		return at
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not listen: %s", p.told())
		return ""
	}
}

// reach waits until its readers see a block as the tip.
func (p *running) reach(hash string) {
	p.t.Helper()
	last := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if last = p.tip(); last == hash {
			return
		}
	}
	p.t.Fatalf("block %s is not reached, the tip is %s: %s", hash, last, p.told())
}

// tip is what it answers; empty while it does not.
func (p *running) tip() string {
	r := stele("--network", "regtest", "--datadir", p.dir, "--json", "info")
	var doc infoDocument
	if r.code != codeOK || json.Unmarshal([]byte(r.out), &doc) != nil {
		return ""
	}
	return doc.Tip.Hash.String()
}

// stop ends it as a service is ended, and returns what it answered.
func (p *running) stop() (doc runDocument) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.read.Wait()
	p.ended = true
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("%v: %s", err, p.told())
	}
	if err := json.Unmarshal(p.out.Bytes(), &doc); err != nil {
		p.t.Fatalf("%v: %q", err, p.out.String())
	}
	return doc
}

// kill ends it with no warning.
func (p *running) kill() {
	if !p.ended {
		p.ended = true
		_ = p.cmd.Process.Kill()
		p.read.Wait()
		_ = p.cmd.Wait()
	}
}

// setHash is the hash of the unspent outputs of a store.
func setHash(t *testing.T, dir string) string {
	t.Helper()
	r := stele("--network", "regtest", "--datadir", dir, "--json", "utxo", "stats").want(t, codeOK)
	var doc struct {
		Best string `json:"bestblock"`
		Hash string `json:"hash_serialized_3"`
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || len(doc.Hash) != 64 {
		t.Fatalf("%v: %s", err, r.out)
	}
	return doc.Best + " " + doc.Hash
}
