package bench

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"stele/store"
)

// content reads every file of a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := fileNames(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

func put(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A folder that was changed in every way is brought back to its copy, in the same folder, and its lock is left alone.
func TestMirror(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	r := rand.NewChaCha8([32]byte{1})
	random := func(n int) []byte {
		b := make([]byte, n)
		_, _ = r.Read(b)
		return b
	}
	for name, size := range map[string]int{"empty": 0, "small": 10, "pages": 3*chunk + 5, "exact": chunk, "gone": 100} {
		put(t, dir, name, random(size))
	}
	want := content(t, dir)
	if err := mirror(kept, dir); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "empty", random(20))
	put(t, dir, "small", random(5))
	put(t, dir, "pages", append([]byte(want["pages"][:2*chunk]), random(2*chunk)...))
	put(t, dir, "new", random(7))
	put(t, dir, store.LockName, []byte("mine"))
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := mirror(dir, kept); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(dir)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another folder now (%v)", err)
	}
	if have := content(t, dir); !maps.Equal(have, want) {
		t.Errorf("the folder holds %d files, not what was kept of it", len(have))
	}
	if b, err := os.ReadFile(filepath.Join(dir, store.LockName)); err != nil || !bytes.Equal(b, []byte("mine")) {
		t.Errorf("the lock file is %q (%v)", b, err)
	}
}

// Without power there is no live record, and all other files are as they were.
func TestCutPower(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, store.LiveName, []byte("record"))
	put(t, dir, "rows", make([]byte, 10_000))
	for range 2 { // the second time there is no record
		if err := cutPower(dir); err != nil {
			t.Fatal(err)
		}
		if have := content(t, dir); len(have) != 1 || len(have["rows"]) != 10_000 {
			t.Errorf("left are %d files", len(have))
		}
	}
}

// A tap counts by kind of file, passes on what is written, and tells once, of the watched file alone.
func TestTap(t *testing.T) {
	d := newTap(store.NewMemDisk())
	told := 0
	d.watch, d.tell = "spend", func() { told++ }
	write := func(name string, n int) {
		t.Helper()
		f, err := d.Open(name, store.FileOptions{Reserve: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Allocate(1 << 12); err != nil {
			t.Fatal(err)
		}
		p := bytes.Repeat([]byte{7}, n)
		if err := f.WriteAt(p, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Rewrite(p, 64); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Mapping().Bytes()[:64+n], bytes.Repeat([]byte{7}, 64+n)) {
			t.Errorf("%s does not hold what was written", name)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("spend.cells-1", 64)
	d.armed.Store(true)
	write("tx.lines-1", 64)
	if told != 0 {
		t.Error("it tells of a file that is not watched, or before it is armed")
	}
	write("spend.cells-2", 128)
	if told != 1 {
		t.Errorf("it tells %d times", told)
	}
	if have := d.counts(); have["spend.cells"] != 2*(64+128) || have["tx.lines"] != 128 || len(have) != 2 {
		t.Errorf("it counts %v", have)
	}
	if l, err := d.OpenLive(); err != nil || l == nil {
		t.Errorf("the disk's live record is hidden (%v)", err)
	}
}
