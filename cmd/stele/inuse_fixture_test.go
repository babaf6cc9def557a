//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stele/store"
)

// program prepares another process that is the program.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// importing is an import in another process, which waits for the blocks that the test feeds to it.
type importing struct {
	t           *testing.T
	dir         string
	cmd         *exec.Cmd
	stdin       io.WriteCloser
	out, errOut bytes.Buffer
	ended       bool
}

func startImport(t *testing.T, dir string, args ...string) *importing {
	t.Helper()
	p := &importing{t: t, dir: dir}
	p.cmd = program(append([]string{"--json", "--datadir", dir, "import", "-"}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errOut
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// feed gives it the embedded blocks of some heights, and returns when its readers see the last one.
func (p *importing) feed(from, to int) {
	p.t.Helper()
	if _, err := p.stdin.Write(bytes.Join(records(p.t)[from:to], nil)); err != nil {
		p.t.Fatalf("%v: %s", err, p.errOut.String())
	}
	p.reach(to - 1)
}

// reach waits until the owner, and no other, answers with a height.
func (p *importing) reach(height int) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r := result{code: codeInUse}
		if p.socket() != "" {
			r = stele("--datadir", p.dir, "header", strconv.Itoa(height))
		}
		switch {
		case r.code == codeOK:
			return
		case time.Now().After(deadline):
			p.t.Fatalf("height %d is not reached: %s", height, r.errOut)
		}
	}
}

// socket is where the owner answers, as the lock file tells; empty where nobody has the lock.
func (p *importing) socket() string {
	p.t.Helper()
	d, err := store.OpenDir(filepath.Join(p.dir, "archive"), store.DirOptions{ReadOnly: true})
	var used *store.ErrInUse
	if errors.As(err, &used) {
		return used.Owner.Socket
	}
	if err == nil {
		_ = d.Close()
	}
	return ""
}

func (p *importing) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// halt stops it, as a debugger or a terminal does; SIGCONT lets it go on.
func (p *importing) halt() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		p.t.Fatalf("it does not stop: %v %v", status, err)
	}
}

// kill ends it as the system does with one that takes too much memory.
func (p *importing) kill() {
	if !p.ended {
		p.ended = true
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// end closes its input and waits for it.
func (p *importing) end() {
	p.t.Helper()
	_ = p.stdin.Close()
	p.ended = true
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the import: %v: %s", err, p.errOut.String())
	}
}

// patient shortens what an owner is given.
func impatient(t *testing.T, answer, settle time.Duration) {
	t.Helper()
	a, s := answerPatience, settlePatience
	answerPatience, settlePatience = answer, settle
	t.Cleanup(func() { answerPatience, settlePatience = a, s })
}

// without drops keys from a document of info: what differs between two processes that have the same store.
func without(t *testing.T, doc string, keys ...string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatalf("%v: %q", err, doc)
	}
	for _, k := range keys {
		delete(m, k)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// temp is a folder with a short name, so that a store's socket fits into it.
func temp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stele-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func noSocketIn(t *testing.T, folder string) {
	t.Helper()
	for _, name := range entries(t, folder) {
		if strings.HasPrefix(name, "socket") {
			t.Errorf("a socket is left in %s", folder)
		}
	}
}
