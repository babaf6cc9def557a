//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stele/chain"
	"stele/node/owner"
	"stele/store"
	"stele/tables"
)

// questions are lookups with every flag, those without an answer among them.
var questions = [][]string{
	{"tx", payment}, {"tx", "--raw", payment}, {"tx", genesis}, {"tx", unknown},
	{"spender", spent + ":0"}, {"spender", "--all", spent + ":0", unknown + ":1", payment + ":0"}, {"spender", payment + ":9"},
	{"block", "170"}, {"block", hash170, "--txids"}, {"block", "--raw", "0"}, {"block", "4000000000"}, {"block", unknown},
	{"header", "170"}, {"header", "--raw", hash170}, {"header", "200"},
	{"utxo", "get", payment + ":0"}, {"utxo", "get", spent + ":0"},
	{"utxo", "stats"}, {"utxo", "stats", "--hash", hashMuHash, "--height", "170"}, {"utxo", "stats", "--height", "200"},
	{"check"}, {"check", "--deep"}, {"info"}, {"checkpoint"},
}

// sameBut makes two answers comparable.
func sameBut(t *testing.T, args []string, r result, json bool) string {
	t.Helper()
	if args[0] == "info" && !json {
		head, _, _ := strings.Cut(r.out, "\nmemory")
		return head
	}
	if args[0] == "info" {
		r.out = without(t, r.out, "memory", "tables", "archive_bytes", "ratio", "utxo")
	}
	return fmt.Sprintf("exit %d\n%s\n%s", r.code, r.out, r.errOut)
}

// TestLookupsInUse asks everything of a store that another process is importing into, and again once it is free: the
// answers are the same to the byte.
func TestLookupsInUse(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	all := func() (answers []string) {
		for _, args := range questions {
			for _, json := range []bool{false, true} {
				line := append([]string{"--datadir", dir}, args...)
				if json {
					line = append(line, "--json")
				}
				r := stele(line...)
				if json {
					document[any](t, r)
				}
				answers = append(answers, sameBut(t, args, r, json))
			}
		}
		return answers
	}
	inUse := all()
	for _, args := range [][]string{{"import", blockFile(t, 0, 5)}, {"rebuild"}, {"rebuild", "tx"}} {
		refuse(t, codeInUse, dir, args, "in use", fmt.Sprint(p.cmd.Process.Pid), "import")
	}
	refuse(t, codeUsage, dir, []string{"tx", "f4184f"}, "64 hex digits")
	socket := p.socket()
	if socket != filepath.Join(dir, "archive", owner.SocketName) {
		t.Errorf("the socket is %q", socket)
	}
	p.end()
	noSocketIn(t, filepath.Join(dir, "archive"))
	free := all()
	for i := range free {
		if inUse[i] != free[i] {
			t.Errorf("%v: in use\n%s\nfree\n%s", questions[i/2], inUse[i], free[i])
		}
	}
}

// TestInfoInUse shows the tables of a store in use as its writer has them.
func TestInfoInUse(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, 1000)
	info := answer[infoDocument](t, dir, "info")
	if info.Tip.Height != 999 || info.Headers != info.Tip || len(info.Tables) < 10 || info.WireBytes == 0 ||
		info.Memory.System == 0 {
		t.Errorf("%+v", info)
	}
	for _, table := range info.Tables {
		if table.Name == "txs" && table.Rows != 1000 {
			t.Errorf("%+v", table)
		}
	}
	p.feed(1000, 2000)
	if info := answer[infoDocument](t, dir, "info"); info.Tip.Height != 1999 {
		t.Errorf("%+v", info)
	}
	p.end()
}

// TestManyClients asks from many processes' worth of clients while blocks arrive.
func TestManyClients(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for i := range 6 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				args := append([]string{"--json", "--datadir", dir}, lookups[(i+n)%len(lookups)]...)
				if r := stele(args...); r.code != codeOK {
					t.Errorf("%v: exit %d: %s", args, r.code, r.errOut)
				}
			}
		})
	}
	for from := height + 1; from < 2000; from += 300 {
		p.feed(from, from+300)
	}
	close(stop)
	clients.Wait()
	p.end()
	r := answer[checkDocument](t, dir, "check", "--deep")
	if !r.OK {
		t.Error(r)
	}
}

// request writes a request to an owner and returns the connection.
func request(t *testing.T, socket string, args ...string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	body := fmt.Sprintf(`{"version":%q,"args":["%s"],"json":true}`, programVersion(), strings.Join(args, `","`))
	n := len(body)
	if _, err := c.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0}, body...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBadClients has clients that do not read, that disappear, and that ask for what nobody does for others. The import
// and the other clients go on.
func TestBadClients(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, 100)
	for range 20 {
		request(t, p.socket(), "block", "--raw", "0") // and is never read
		_ = request(t, p.socket(), "utxo", "stats").Close()
		_ = request(t, p.socket(), "info").Close()
	}
	p.feed(100, height+1)
	stele("--datadir", dir, "tx", payment).want(t, codeOK)
	for _, args := range [][]string{
		{"import", "-"}, {"rebuild"}, {"restore", dir}, {"demo"}, {"config", "print"}, {"nosuch"}, {}, {"--help"},
		{"backup", "relative"},
	} {
		var out, errOut bytes.Buffer
		q := owner.Request{Version: programVersion(), Args: args}
		code, err := owner.Ask(context.Background(), p.socket(), q, owner.Streams{Stdout: &out, Stderr: &errOut}, time.Minute)
		if err != nil || code != codeUsage || !strings.HasPrefix(errOut.String(), "stele: ") {
			t.Errorf("%q: exit %d, %v, %q %q", args, code, err, out.String(), errOut.String())
		}
	}
	p.end()
	if info := answer[infoDocument](t, dir, "info"); info.Tip.Height != height {
		t.Errorf("%+v", info)
	}
}

// TestKilledOwner leaves a socket and text in the lock file behind. The next verb recovers the store and answers, and the
// next owner takes the socket's place.
func TestKilledOwner(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	p.kill()
	if !slices.Contains(entries(t, filepath.Join(dir, "archive")), owner.SocketName) {
		t.Error("the killed owner took its socket with it")
	}
	stele("--datadir", dir, "tx", payment).want(t, codeOK)
	noSocketIn(t, filepath.Join(dir, "archive"))
	p = startImport(t, dir)
	p.feed(0, height+1)
	p.kill()
	p = startImport(t, dir)
	p.feed(0, 1000)
	stele("--datadir", dir, "utxo", "get", payment+":0").want(t, codeOK)
	p.end()
}

// TestOwnerEndsBeside asks while owners come and go: every answer is right, from one or from the free store.
func TestOwnerEndsBeside(t *testing.T) {
	dir := temp(t)
	stele("--datadir", dir, "import", blockFile(t, 0, height+1)).want(t, codeOK)
	want := stele("--datadir", dir, "tx", "--raw", payment).want(t, codeOK).out
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for pause := 30 * time.Millisecond; ; {
				select {
				case <-stop:
					return
				case <-time.After(pause): // else no owner would find the lock free of readers
				}
				began := time.Now()
				if r := stele("--datadir", dir, "tx", "--raw", payment); r.code != codeOK || r.out != want {
					t.Errorf("exit %d: %q %s", r.code, r.out, r.errOut)
				}
				pause = max(pause, 4*time.Since(began)) // on a busy machine, too
			}
		})
	}
	defer clients.Wait()
	defer close(stop)
	for n := range 6 {
		p := startImport(t, dir)
		for deadline := time.Now().Add(15 * time.Second); p.socket() == ""; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				p.kill()
				t.Fatalf("the import did not begin: %s", p.errOut.String())
			}
		}
		if n%2 == 0 {
			p.kill()
		} else {
			p.feed(0, 1) // what has no block in it is a failure
			p.end()
		}
	}
}

// TestLongFolder has no room for a socket in the store's folder.
func TestLongFolder(t *testing.T) {
	run := temp(t)
	t.Setenv("XDG_RUNTIME_DIR", run)
	dir := filepath.Join(temp(t), strings.Repeat("long", 30))
	p := startImport(t, dir)
	p.feed(0, height+1)
	if s := p.socket(); !strings.HasPrefix(s, run) {
		t.Errorf("the socket is %q", s)
	}
	t.Setenv("XDG_RUNTIME_DIR", "") // whoever asks finds it in the lock file
	stele("--datadir", dir, "tx", payment).want(t, codeOK)
	p.kill()
	stele("--datadir", dir, "tx", payment).want(t, codeOK)
	if left := entries(t, filepath.Join(run, "stele")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// hold locks a store as an owner whose socket is the given one.
func hold(t *testing.T, dir, socket string) {
	t.Helper()
	d, err := store.OpenDir(filepath.Join(dir, "archive"), store.DirOptions{Verb: "holding"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	d.Announce(socket)
}

// TestSilentOwner asks owners that do not answer: none listens, one never accepts, one is stopped.
func TestSilentOwner(t *testing.T) {
	impatient(t, 300*time.Millisecond, 0)
	dir := makeStore(t)
	socket := filepath.Join(temp(t), "s")
	hold(t, dir, socket)
	refuse(t, codeInUse, dir, []string{"tx", payment}, "in use", "holding", "nobody listens")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{{"tx", payment}, {"info"}, {"checkpoint"}, {"backup", filepath.Join(temp(t), "b")}} {
		refuse(t, codeInUse, dir, args, "in use", "holding", "does not answer")
	}

	answerPatience = time.Minute
	other := temp(t)
	p := startImport(t, other)
	p.feed(0, height+1)
	p.halt()
	answerPatience = 300 * time.Millisecond
	refuse(t, codeInUse, other, []string{"tx", payment}, "does not answer", fmt.Sprint(p.cmd.Process.Pid))
	p.signal(syscall.SIGCONT)
	answerPatience = time.Minute
	stele("--datadir", other, "tx", payment).want(t, codeOK)
	p.end()
}

// TestOtherVersion is told apart from an owner that is broken.
func TestOtherVersion(t *testing.T) {
	dir := makeStore(t)
	s, err := owner.Listen(temp(t), "", owner.Options{Version: "of another time"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hold(t, dir, s.Path())
	refuse(t, codeInUse, dir, []string{"tx", payment}, "another version", "of another time", programVersion())
}

// TestInterruptedClient ends with its signal; the owner and its import go on.
func TestInterruptedClient(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	p.halt() // so that the answer does not come
	backup := filepath.Join(temp(t), "b")
	for _, c := range []struct {
		args []string
		code int // -1: ended by the signal
	}{{[]string{"utxo", "stats"}, -1}, {[]string{"info"}, -1}, {[]string{"backup", backup}, codeFailed}} {
		cmd := program(append([]string{"--datadir", dir, "--log-level", "trace"}, c.args...)...)
		var errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.Discard, &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitConnected(t, p.socket(), cmd.Process.Pid)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%v: exit %d, want %d: %s", c.args, got, c.code, errOut.String())
		}
	}
	p.signal(syscall.SIGCONT)
	p.feed(height+1, 400)
	p.end()
	if left, err := os.ReadDir(backup); err == nil {
		t.Errorf("the interrupted backup left %v", left)
	}
}

// waitConnected waits until a process has asked: it has a descriptor more than before it looked for the store.
func waitConnected(t *testing.T, _ string, pid int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				time.Sleep(500 * time.Millisecond) // no such folder on this system
				return
			}
			t.Fatal(err)
		}
		for _, e := range list {
			if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); strings.HasPrefix(to, "socket:") {
				time.Sleep(20 * time.Millisecond)
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the client did not ask")
}

// TestCheckpointInUse makes durable what the owner has: without what only outlives a kill it is still there.
func TestCheckpointInUse(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	doc := answer[struct{ Tip place }](t, dir, "checkpoint")
	if doc.Tip.Height != height || doc.Tip.Hash.String() != blockHash(t, height) {
		t.Errorf("%+v", doc)
	}
	p.feed(height+1, 400)
	p.kill()
	if err := os.Remove(filepath.Join(dir, "archive", store.LiveName)); err != nil {
		t.Fatal(err)
	}
	info := answer[infoDocument](t, dir, "info")
	if info.Tip.Height < height {
		t.Errorf("the tip is at %d", info.Tip.Height)
	}
}

// TestCancelledStats ends the longest lookup with its request, whatever it hashes.
func TestCancelledStats(t *testing.T) {
	d, err := store.OpenDir(filepath.Join(makeStore(t), "archive"), store.DirOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tb, err := tables.Open(d, chain.Main(), tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tb.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range []string{hashSerialized3, hashMuHash, none} {
		if _, _, err := hashSet(ctx, tb.View(), kind, 4); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestDumpInUse asks the process that has the store.
func TestDumpInUse(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	p.reach(height)
	path := filepath.Join(t.TempDir(), "tip")
	dumped := answer[dumpDocument](t, dir, "utxo", "dump", path)
	loaded := answer[loadDocument](t, dir, "utxo", "load", path)
	if dumped.Path != path || loaded.Hash != dumped.Hash || loaded.Coins != dumped.Coins || dumped.Height != height {
		t.Errorf("%+v, %+v", dumped, loaded)
	}
	refuse(t, codeFailed, dir, []string{"utxo", "dump", path}, "exists")
	if left := entries(t, filepath.Dir(path)); len(left) != 1 || strings.HasSuffix(left[0], incomplete) {
		t.Errorf("left %q", left)
	}
	p.end()
}
