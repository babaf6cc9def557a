//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"stele/node"
)

// TestInterrupt sends each signal to an import that waits for more input: it ends in order, with what it had.
func TestInterrupt(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "--json", "--datadir", dir, "--log-format", "json", "import", "-")
		cmd.Env = append(os.Environ(), asProgram+"=1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		errOut, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The first line follows the taking over of signals.
		first := make([]byte, 64)
		if _, err := io.ReadFull(errOut, first); err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(slices.Concat(records(t)[:100]...)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(errOut)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v: %s", s, err, rest)
		}
		report := document[node.ImportReport](t, result{out: out.String()})
		if !report.Interrupted || !strings.Contains(string(rest), "stopping") {
			t.Errorf("%v: %+v %s", s, report, rest)
		}
		info := document[infoDocument](t, stele("--json", "--datadir", dir, "info").want(t, codeOK))
		if info.Tip.Height != report.Tip.Height || info.Tip.Height >= 100 {
			t.Errorf("the tip is at %d, the report said %d", info.Tip.Height, report.Tip.Height)
		}
		stele("--datadir", dir, "import", blockFile(t, 0, 100)).want(t, codeOK)
	}
}

// TestSecondSignal ends at once. Only the end is replaced: the signals are real.
func TestSecondSignal(t *testing.T) {
	exited := make(chan int, 1)
	a := &app{log: zerolog.Nop(), exit: func(code int) { exited <- code }}
	ctx, stop := a.interruptible()
	defer stop()
	raise := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	raise()
	wait(t, ctx.Done())
	if ctx.Err() != context.Canceled || len(exited) != 0 {
		t.Fatal("the first signal did more than cancel")
	}
	raise()
	select {
	case code := <-exited:
		if code != codeFailed {
			t.Errorf("exit %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("the second signal did not end it")
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing happened")
	}
}
