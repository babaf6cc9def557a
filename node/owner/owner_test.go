//go:build unix

package owner

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const long = time.Minute // what a test waits for before it fails

// temp is a folder whose sockets have short paths, whatever the test's name.
func temp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func serve(t *testing.T, folder string, o Options) *Server {
	t.Helper()
	s, err := Listen(folder, "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ask returns the whole answer as text.
func ask(s *Server, q Request) (out string, code int, err error) {
	var o, e, p bytes.Buffer
	code, err = Ask(context.Background(), s.Path(), q, Streams{&o, &e, func(note []byte) { p.Write(note) }}, long)
	return o.String() + "|" + e.String() + "|" + p.String(), code, err
}

func echo(_ context.Context, q *Request, w *Reply) int {
	_, _ = io.WriteString(w.Stdout(), strings.Join(q.Args, " "))
	_, _ = io.WriteString(w.Stderr(), "told")
	_ = w.Progress([]byte("half"))
	if q.JSON {
		return 9
	}
	return 0
}

func TestAnswer(t *testing.T) {
	folder := temp(t)
	s := serve(t, folder, Options{Answer: echo})
	if s.Path() != filepath.Join(folder, SocketName) {
		t.Errorf("listens at %s", s.Path())
	}
	if st, err := os.Lstat(s.Path()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", st, err)
	}
	for _, code := range []int{0, 9} {
		out, got, err := ask(s, Request{Args: []string{"tx", "--raw", "00"}, JSON: code == 9})
		if err != nil || got != code || out != "tx --raw 00|told|half" {
			t.Errorf("%q %d %v", out, got, err)
		}
	}
	s.Close()
	if _, err := os.Lstat(s.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, _, err := ask(s, Request{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("a closed server: %v", err)
	}
}

// TestLargeAnswer is larger than a frame and than every buffer between the two.
func TestLargeAnswer(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcde\n"), 1<<19)
	s := serve(t, temp(t), Options{Answer: func(_ context.Context, _ *Request, w *Reply) int {
		if n, err := w.Stdout().Write(want); n != len(want) || err != nil {
			return 1
		}
		return 0
	}})
	var out bytes.Buffer
	code, err := Ask(context.Background(), s.Path(), Request{}, Streams{Stdout: &out}, long)
	if err != nil || code != 0 || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%d bytes, exit %d, %v", out.Len(), code, err)
	}
}

func TestRefusals(t *testing.T) {
	s := serve(t, temp(t), Options{Version: "2", Answer: echo})
	var r *Refused
	if _, _, err := ask(s, Request{Version: "1"}); !errors.As(err, &r) || r.Why != OtherVersion || r.Text != "2" {
		t.Error(err)
	}
	if _, _, err := ask(s, Request{Version: "2"}); err != nil {
		t.Error(err)
	}
	for name, raw := range map[string][]byte{
		"no JSON":   append(binary.LittleEndian.AppendUint32(nil, 3), "abc"...),
		"too large": binary.LittleEndian.AppendUint32(nil, maxRequest+1),
	} {
		c, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		var none Streams
		if _, err := none.read(context.Background(), c.(*net.UnixConn), long); !errors.As(err, &r) || r.Why != Senseless {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close()
	}
}

// TestBusy fills every place. Who waits in one is answered when another becomes free.
func TestBusy(t *testing.T) {
	open := make(chan struct{})
	var now, most atomic.Int32
	s := serve(t, temp(t), Options{Running: 2, Waiting: 3, Beat: time.Millisecond,
		Answer: func(ctx context.Context, _ *Request, w *Reply) int {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			select {
			case <-open:
			case <-ctx.Done():
			}
			return 0
		}})
	errs := make(chan error)
	for range 5 {
		go func() {
			_, _, err := ask(s, Request{})
			errs <- err
		}()
	}
	for len(s.conns) < 5 {
		time.Sleep(time.Millisecond)
	}
	var r *Refused
	if _, _, err := ask(s, Request{}); !errors.As(err, &r) || r.Why != Busy {
		t.Errorf("the sixth is told %v", err)
	}
	close(open)
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d were answered at a time", most.Load())
	}
}

// TestHangUp ends the request of a client that goes away, whatever that was waiting for.
func TestHangUp(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, temp(t), Options{Answer: func(ctx context.Context, _ *Request, _ *Reply) int {
		close(began)
		<-ctx.Done()
		close(ended)
		return 0
	}})
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := Ask(ctx, s.Path(), Request{}, Streams{}, long)
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}

// TestUnreadAnswer gives up a client that does not read, and frees its place.
func TestUnreadAnswer(t *testing.T) {
	gone := make(chan error, 1)
	s := serve(t, temp(t), Options{Running: 1, Patience: 50 * time.Millisecond,
		Answer: func(ctx context.Context, q *Request, w *Reply) int {
			if len(q.Args) > 0 {
				return echo(ctx, q, w)
			}
			var err error
			for err == nil {
				_, err = w.Stdout().Write(make([]byte, 1<<20))
			}
			<-ctx.Done()
			gone <- err
			return 0
		}})
	c, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, _ := encodeRequest(&Request{})
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if out, _, err := ask(s, Request{Args: []string{"next"}}); err != nil || out != "next|told|half" {
		t.Error(out, err)
	}
}

// TestCloseEndsAll closes a server with requests in every state: their goroutines end, and their clients know.
func TestCloseEndsAll(t *testing.T) {
	began := make(chan struct{}, 3) // the request that waits may begin, too, when Close ends one that runs
	s, err := Listen(temp(t), "", Options{Running: 2, Answer: func(ctx context.Context, q *Request, w *Reply) int {
		began <- struct{}{}
		if q.JSON {
			<-ctx.Done()
			return 0
		}
		for {
			if _, err := w.Stdout().Write(make([]byte, 1<<20)); err != nil {
				return 1
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("unix", s.Path()) // never says what it wants
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	deaf, err := net.Dial("unix", s.Path()) // asks and does not read
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	b, _ := encodeRequest(&Request{})
	if _, err := deaf.Write(b); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 2 { // one is answered, one waits, in either order
		go func() {
			_, _, err := ask(s, Request{JSON: true})
			errs <- err
		}()
	}
	<-began
	<-began
	s.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrGone) && !errors.Is(err, ErrAbsent) {
			t.Error(err)
		}
	}
}

// TestSilent asks owners that say nothing: one whose process stands still, and one that stops in the middle.
func TestSilent(t *testing.T) {
	path := filepath.Join(temp(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const patience = 50 * time.Millisecond
	if _, err := Ask(context.Background(), path, Request{}, Streams{}, patience); !errors.Is(err, ErrSilent) {
		t.Errorf("nobody accepts: %v", err)
	}
	for _, c := range []struct {
		says []byte
		hang bool
		want error
	}{
		{appendFrame(nil, kindAlive, nil), true, ErrSilent},
		{appendFrame(nil, kindAlive, nil), false, ErrGone},
		{appendFrame(nil, kindStdout, []byte("half"))[:7], false, ErrGone},
		{nil, false, ErrGone},
		{appendFrame(nil, '?', nil), false, errFrame},
		{appendFrame(nil, kindExit, []byte{1}), false, errFrame},
		{[]byte{kindStdout, 1, 0, 1, 0}, false, errFrame},
	} {
		path := filepath.Join(temp(t), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		done, release := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = readRequest(conn)
			_, _ = conn.Write(c.says)
			if c.hang {
				<-release
			}
			_ = conn.Close()
		}()
		var out bytes.Buffer
		wait := long
		if c.hang {
			wait = patience
		}
		if _, err := Ask(context.Background(), path, Request{}, Streams{Stdout: &out}, wait); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.says, err, c.want)
		}
		close(release)
		<-done
		_ = l.Close()
	}
}

// TestBeats keeps a client waiting for longer than its patience, which the signs of life make good.
func TestBeats(t *testing.T) {
	const patience = 200 * time.Millisecond
	s := serve(t, temp(t), Options{Beat: time.Millisecond, Answer: func(ctx context.Context, _ *Request, _ *Reply) int {
		select {
		case <-time.After(3 * patience):
		case <-ctx.Done():
		}
		return 3
	}})
	if code, err := Ask(context.Background(), s.Path(), Request{}, Streams{}, patience); code != 3 || err != nil {
		t.Error(code, err)
	}
}

// TestStaleSocket removes what a killed owner left, at its own place and at one that is used no more; and no file that
// is something else.
func TestStaleSocket(t *testing.T) {
	folder, other := temp(t), temp(t)
	for _, path := range []string{filepath.Join(folder, SocketName), filepath.Join(other, "old")} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
	}
	old := filepath.Join(other, "old")
	if _, err := Ask(context.Background(), old, Request{}, Streams{}, long); !errors.Is(err, ErrAbsent) {
		t.Errorf("a stale socket: %v", err)
	}
	s, err := Listen(folder, old, Options{Answer: echo})
	if err != nil {
		t.Fatal(err)
	}
	if _, code, err := ask(s, Request{}); code != 0 || err != nil {
		t.Error(code, err)
	}
	s.Close()
	if left, _ := os.ReadDir(other); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	file := filepath.Join(folder, SocketName)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Listen(folder, file, Options{Answer: echo}) // goes to the runtime folder
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, _ := os.ReadFile(file); string(b) != "mine" || s.Path() == file {
		t.Errorf("a file was taken for a socket: %q at %s", b, s.Path())
	}
}

// TestLongFolder has no room for the path: the socket lies in a private folder of the runtime's, or the temporary one.
func TestLongFolder(t *testing.T) {
	folder := filepath.Join(temp(t), strings.Repeat("long", 30))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	run, tmp := temp(t), temp(t)
	t.Setenv("TMPDIR", tmp)
	t.Setenv("XDG_RUNTIME_DIR", run)
	for _, under := range []string{run, tmp} {
		s := serve(t, folder, Options{Answer: echo})
		if !strings.HasPrefix(s.Path(), under) {
			t.Errorf("listens at %s, not under %s", s.Path(), under)
		}
		if st, err := os.Lstat(filepath.Dir(s.Path())); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("its folder: %v %v", st, err)
		}
		if _, code, err := ask(s, Request{}); code != 0 || err != nil {
			t.Error(code, err)
		}
		s.Close()
		t.Setenv("XDG_RUNTIME_DIR", "relative")
	}
	// A folder that others can enter is not taken.
	if err := os.Chmod(filepath.Join(tmp, filepath.Base(places(folder)[0].folder)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(folder, "", Options{}); err == nil || !strings.Contains(err.Error(), "only this user") {
		t.Error(err)
	}
	t.Setenv("TMPDIR", folder)
	if _, err := Listen(folder, "", Options{}); err == nil || !strings.Contains(err.Error(), "short enough") {
		t.Error(err)
	}
	if other := places(folder + "x"); len(other) != 0 {
		t.Errorf("%v", other)
	}
}

// FuzzFrames reads what any peer may send: an error or a frame, and no more memory than a frame has.
func FuzzFrames(f *testing.F) {
	request, _ := encodeRequest(&Request{Version: "1", Args: []string{"tx"}})
	f.Add(request)
	f.Add(appendFrame(nil, kindStdout, []byte("text")))
	f.Add(binary.LittleEndian.AppendUint32([]byte{kindExit}, maxFrame+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := readRequest(bytes.NewReader(b)); (q == nil) == (err == nil) {
			t.Fatal(q, err)
		}
		buf := make([]byte, maxFrame)
		r := bytes.NewReader(b)
		var again []byte
		for {
			kind, payload, err := readFrame(r, buf)
			if err != nil {
				break
			}
			again = appendFrame(again, kind, payload)
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatalf("%x reads as %x", b, again)
		}
	})
}
