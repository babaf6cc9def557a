package store

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary runs itself for what needs another process: childRoles by the name in childEnv, on the folder in
// childDir. A role prints one line and ends; "hold" waits until its standard input is closed.
const (
	childEnv = "STELE_STORE_TEST_ROLE"
	childDir = "STELE_STORE_TEST_FOLDER"
)

var childRoles = map[string]func(dir string) error{
	"open": func(dir string) error {
		d, err := OpenDir(dir, DirOptions{Verb: "child"})
		if err != nil {
			return err
		}
		return d.Close()
	},
	"hold": func(dir string) error {
		if _, err := OpenDir(dir, DirOptions{Verb: "holding child"}); err != nil {
			return err
		}
		fmt.Println("held")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return nil
	},
}

func TestMain(m *testing.M) {
	if role := childRoles[os.Getenv(childEnv)]; role != nil {
		if err := role(os.Getenv(childDir)); err != nil {
			fmt.Printf("%T: %v\n", err, err)
			os.Exit(1)
		}
		fmt.Println("ok")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child prepares the test binary in a role.
func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+role, childDir+"="+dir)
	return cmd
}

// runChild runs a role to its end and returns its line.
func runChild(t *testing.T, role, dir string) string {
	t.Helper()
	out, err := child(t, role, dir).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

const testCap = 4 << 20

func openTestDir(t testing.TB, dir string) *Dir {
	t.Helper()
	d, err := OpenDir(dir, DirOptions{Create: true, Verb: "test", ReserveCap: testCap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newTestMem(t testing.TB) *MemDisk {
	d := NewMemDisk()
	d.SetReserveCap(testCap)
	t.Cleanup(d.Discard)
	return d
}

// diskKinds are the disks that every behaviour must be the same on.
var diskKinds = map[string]func(t testing.TB) Disk{
	"folder": func(t testing.TB) Disk { return openTestDir(t, t.TempDir()) },
	"heap":   func(t testing.TB) Disk { return newTestMem(t) },
	"exact":  func(t testing.TB) Disk { return exactDisk{newTestMem(t)} },
}

func onEachDisk(t *testing.T, f func(t *testing.T, d Disk)) {
	for name, open := range diskKinds {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
}

// exactDisk behaves as files do on windows: mappings are as long as the file, made anew on growth, and a file is not
// cut while it is mapped. It shows that nothing above relies on the over-long mapping.
type exactDisk struct{ *MemDisk }

func (d exactDisk) Open(name string, o FileOptions) (File, error) {
	f, err := d.MemDisk.Open(name, o)
	if err != nil {
		return nil, err
	}
	e := &exactFile{File: f}
	e.remap()
	return e, nil
}

type exactFile struct {
	File
	mapping Mapping
}

func (f *exactFile) remap() {
	n := f.File.Size()
	f.mapping.set(f.File.Mapping().Bytes()[:n:n])
}

func (f *exactFile) Mapping() *Mapping { return &f.mapping }

func (f *exactFile) Allocate(n int64) error {
	defer f.remap()
	return f.File.Allocate(n)
}

func (f *exactFile) Truncate(n int64) error {
	if n < 0 || n > f.Size() {
		return f.File.Truncate(n)
	}
	return nil
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// mustOpen opens a body or ends the test.
func mustOpen(t tester, d Disk, s BodySpec, length int64) *Body {
	t.Helper()
	b, err := OpenBody(d, s, testID, length)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var testID = [16]byte{1, 2, 3}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails asserts that err is of type E and that its text holds every part.
func fails[E error](t tester, err error, parts ...string) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want %T", err, err, e)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("error %q does not say %q", err, p)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Fatalf("error has more than one line: %q", err)
	}
	return e
}

func panics(t tester, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), part) {
			t.Fatalf("recovered %v, want a panic that says %q", r, part)
		}
	}()
	f()
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0x57e1e)) }
