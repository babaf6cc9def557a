package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLockRefusesASecondOwner(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	before := time.Now().Add(-time.Hour)
	_, err := OpenDir(path, DirOptions{Verb: "second"})
	in := fails[*ErrInUse](t, err, path, "in use by process", "(test, since ")
	if in.Owner.PID != os.Getpid() || in.Owner.Verb != "test" || in.Owner.Since.Before(before) {
		t.Fatalf("the owner is said to be %+v", in.Owner)
	}
	_, err = OpenDir(path, DirOptions{ReadOnly: true})
	fails[*ErrInUse](t, err)
	out := runChild(t, "open", path)
	if !strings.HasPrefix(out, "*store.ErrInUse:") || !strings.Contains(out, "(test, since") {
		t.Fatalf("another process says %q", out)
	}
	must(t, d.Close())
	must(t, d.Close()) // once more is once
	if out := runChild(t, "open", path); out != "ok" {
		t.Fatalf("after Close another process says %q", out)
	}
	if _, err := os.Stat(filepath.Join(path, LockName)); err != nil {
		t.Fatalf("the lock file is gone: %v", err)
	}
	must(t, openTestDir(t, path).Close())
}

// The lock goes with its process, however that ends; its text stays and is not believed.
func TestLockOfAKilledOwner(t *testing.T) {
	path := t.TempDir()
	cmd := child(t, "hold", path)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "held\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	_, err = OpenDir(path, DirOptions{})
	inUse := fails[*ErrInUse](t, err, "holding child")
	if inUse.Owner.PID != cmd.Process.Pid {
		t.Fatalf("owner %+v, want process %d", inUse.Owner, cmd.Process.Pid)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if b, _ := os.ReadFile(filepath.Join(path, LockName)); !strings.Contains(string(b), "holding child") {
		t.Fatalf("the killed owner's text is %q", b)
	}
	openTestDir(t, path)
}

func TestReadersShareTheLock(t *testing.T) {
	path := t.TempDir()
	must(t, openTestDir(t, path).Close())
	first, err := OpenDir(path, DirOptions{ReadOnly: true})
	must(t, err)
	second, err := OpenDir(path, DirOptions{ReadOnly: true})
	must(t, err)
	_, err = OpenDir(path, DirOptions{})
	fails[*ErrInUse](t, err, "another process")
	must(t, first.Close())
	must(t, second.Close())
	openTestDir(t, path)
}

// Whatever step of opening fails, nothing stays locked and the next attempt works.
func TestFailedOpenHoldsNothing(t *testing.T) {
	path := t.TempDir()
	lock := filepath.Join(path, LockName)
	must(t, os.Mkdir(lock, 0o700))
	_, err := OpenDir(path, DirOptions{})
	fails[*Fault](t, err, "lock", "not a regular file")
	must(t, os.Remove(lock))
	d := openTestDir(t, path)

	must(t, os.Mkdir(filepath.Join(path, "rows"), 0o700))
	_, err = d.Open("rows", FileOptions{})
	fails[*Fault](t, err, "open rows", "not a regular file")
	must(t, os.Remove(filepath.Join(path, "rows")))

	d.opts.ReserveCap = 0
	_, err = d.Open("rows", FileOptions{Reserve: 1 << 62})
	fails[*Fault](t, err, "map rows")
	d.opts.ReserveCap = testCap
	f, err := d.Open("rows", FileOptions{MustExist: true}) // the empty file was created
	must(t, err)
	must(t, f.Allocate(100))
	if len(d.files) != 1 {
		t.Fatalf("the folder counts %d open files, want 1", len(d.files))
	}
	must(t, d.Close())
	fails[*Fault](t, f.Sync(), "closed")
	_, err = d.Open("rows", FileOptions{})
	fails[*Fault](t, err, "closed")
	openTestDir(t, path)
}

func TestOpenDirOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if _, err := OpenDir(path, DirOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing folder: %v", err)
	}
	if _, err := OpenDir(path, DirOptions{Create: true, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing folder for reading: %v", err)
	}
	must(t, openTestDir(t, path).Close())
	file := filepath.Join(path, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := OpenDir(file, DirOptions{Create: true})
	fails[*Fault](t, err, "open")
}

func TestNamesStayInTheFolder(t *testing.T) {
	for _, d := range []Disk{openTestDir(t, t.TempDir()), newTestMem(t)} {
		for _, name := range []string{"", ".", "..", "/", "a/b", "../a", `a\b`, "c:a", LockName} {
			_, err := d.Open(name, FileOptions{})
			fails[*Fault](t, err, "invalid")
			if err := d.Remove(name); err == nil {
				t.Errorf("removed %q", name)
			}
		}
	}
}

func TestListAndRemove(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		for _, name := range []string{"b", "a", "c"} {
			f, err := d.Open(name, FileOptions{})
			must(t, err)
			must(t, f.Close())
		}
		must(t, d.Remove("b"))
		must(t, d.Sync())
		if err := d.Remove("b"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("removed twice: %v", err)
		}
		if _, err := d.Open("b", FileOptions{MustExist: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("opened a removed file: %v", err)
		}
		names, err := d.List()
		if err != nil || !slices.Equal(names, []string{"a", "c"}) {
			t.Fatalf("the disk holds %q, %v", names, err)
		}
	})
}

// The folder is synced after files were made or removed, at the latest before the next manifest, and not otherwise.
func TestFolderIsSyncedWhenItChanged(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	expect := func(what string, want bool) {
		t.Helper()
		if d.dirty != want {
			t.Fatalf("after %s the folder needs a sync: %v, want %v", what, d.dirty, want)
		}
	}
	expect("opening", false)
	m := create(t, d)
	expect("the creation of a manifest", false)
	b := mustOpen(t, d, rows4, 0)
	expect("the creation of a body", true)
	_, err := m.Write([]byte("state"))
	must(t, err)
	expect("a manifest", false)
	must(t, b.Close())
	mustOpen(t, d, rows4, 0)
	expect("opening what was there", false)
	must(t, b.Close())
	must(t, d.Remove(b.Name()))
	expect("a removal", true)
	must(t, d.Sync())
	expect("a sync", false)
}

// A folder that is open for reading stays as it is to the byte and to the minute.
func TestReadOnlyChangesNothing(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	m := create(t, d)
	b := mustOpen(t, d, rows4, 0)
	must(t, b.Reserve(1000)) // more than the manifest will cover
	b.Append([]byte("abcdefgh"))
	must(t, b.Sync())
	_, err := m.Write([]byte("state"))
	must(t, err)
	must(t, d.Close())
	before := snapshot(t, path)

	d, err = OpenDir(path, DirOptions{ReadOnly: true, ReserveCap: testCap})
	must(t, err)
	defer d.Close()
	readOnlyStore(t, d)
	must(t, d.Close())
	if after := snapshot(t, path); after != before {
		t.Fatalf("the folder was\n%q and is\n%q", before, after)
	}
}

// readOnlyStore reads a store with a manifest "state" and rows "abcd", "efgh", of which the first counts, and tries
// every change.
func readOnlyStore(t *testing.T, d Disk) {
	t.Helper()
	m, err := openManifest(d)
	must(t, err)
	if _, p, _ := m.Latest(); string(p) != "state" {
		t.Fatalf("latest is %q", p)
	}
	b := mustOpen(t, d, rows4, 4)
	if string(b.Data()) != "abcd" {
		t.Fatalf("data are %q", b.Data())
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrReadOnly) {
			t.Fatalf("a change on a read-only disk: %v", err)
		}
	}
	_, err = m.Write([]byte("new"))
	refused(err)
	refused(b.Reserve(1 << 20))
	refused(b.Truncate(0))
	refused(d.Remove("rows"))
	refused(b.file.WriteAt([]byte{1}, 0))
	refused(b.file.Rewrite(make([]byte, 8), 0))
	refused(b.file.Truncate(0))
	must(t, d.Sync())
	if _, err := d.Open("new", FileOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a new file on a read-only disk: %v", err)
	}
	_, err = OpenBody(d, BodySpec{Name: "new", Width: 1}, testID, 0)
	fails[*Damaged](t, err, "new is missing")
	_, err = OpenBody(d, BodySpec{Name: ManifestName, Width: 1}, testID, 0)
	fails[*Damaged](t, err, "does not begin with the header page")
}

func TestReadOnlyMem(t *testing.T) {
	d := newTestMem(t)
	b := mustOpen(t, d, rows4, 0)
	must(t, b.Reserve(8))
	b.Append([]byte("abcdefgh"))
	must(t, b.Sync())
	_, err := create(t, d).Write([]byte("state"))
	must(t, err)
	d.SetReadOnly(true)
	readOnlyStore(t, d)
}

// snapshot lists the files of a folder with size, time of change and content.
func snapshot(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(path)
	must(t, err)
	var s strings.Builder
	for _, e := range entries {
		st, err := e.Info()
		must(t, err)
		b, err := os.ReadFile(filepath.Join(path, e.Name()))
		must(t, err)
		s.WriteString(strings.Join([]string{e.Name(), st.ModTime().String(), string(b), "\n"}, " "))
	}
	return s.String()
}
