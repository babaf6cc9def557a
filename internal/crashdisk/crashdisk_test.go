package crashdisk

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"stele/store"
)

func newDisk(seed uint64) (*Disk, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 0))
	return New(r, 64<<10), r
}

// makeFile opens a file of one page that holds b everywhere.
func makeFile(t *testing.T, d *Disk, name string, b byte) store.File {
	t.Helper()
	f, err := d.Open(name, store.FileOptions{})
	if err == nil {
		err = f.Allocate(4096)
	}
	if err == nil {
		err = f.WriteAt(bytes.Repeat([]byte{b}, 4096), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sectors tells what each sector of an image is filled with; a torn one fails the test.
func sectors(t *testing.T, b []byte) string {
	t.Helper()
	s := ""
	for at := 0; at < len(b); at += Sector {
		if !bytes.Equal(b[at:at+Sector], bytes.Repeat(b[at:at+1], Sector)) {
			t.Fatalf("the sector at byte %d is torn", at)
		}
		s += string(rune('0' + b[at]))
	}
	return s
}

// TestSectorsSurviveAlone overwrites a synced page, and cuts the power: every sector is old or new, both happen in one
// image, and each image is what another run with the same seed gives.
func TestSectorsSurviveAlone(t *testing.T) {
	mixed := 0
	for seed := range uint64(200) {
		d, r := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		must(t, f.Sync())
		must(t, d.Sync())
		must(t, f.WriteAt(bytes.Repeat([]byte{2}, 4096), 0))
		b := d.Crash(rand.New(rand.NewPCG(seed, 1))).Bytes("a")
		if s := sectors(t, b); len(s) != 8 || bytes.ContainsAny([]byte(s), "03456789") {
			t.Fatalf("sectors %s, want ones and twos", s)
		} else if s != "11111111" && s != "22222222" {
			mixed++
		}
		if again := d.Crash(rand.New(rand.NewPCG(seed, 1))).Bytes("a"); !bytes.Equal(b, again) {
			t.Fatal("the same seed gives another image")
		}
		must(t, f.Sync())
		if s := sectors(t, d.Crash(r).Bytes("a")); s != "22222222" {
			t.Fatalf("sectors %s after a sync, want twos", s)
		}
	}
	if mixed < 10 {
		t.Errorf("only %d of 200 images mix old and new sectors", mixed)
	}
}

// TestSizeAndZeros grows a file and loses power: it has its old size, or its new one with zeros where nothing arrived.
func TestSizeAndZeros(t *testing.T) {
	sizes, zeros := map[int]int{}, 0
	for seed := range uint64(300) {
		d, r := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		must(t, f.Sync())
		must(t, d.Sync())
		must(t, f.Allocate(8192))
		must(t, f.WriteAt(bytes.Repeat([]byte{2}, 4096), 4096))
		b := d.Crash(r).Bytes("a")
		sizes[len(b)]++
		if s := sectors(t, b); s[:8] != "11111111" {
			t.Fatalf("sectors %s: those that were synced changed", s)
		} else if len(s) > 8 && s[8:16] == "00000000" {
			zeros++
		}
	}
	if len(sizes) != 2 || sizes[4096] < 50 || sizes[64<<10] < 50 || zeros < 20 {
		t.Errorf("sizes %v, %d of them with zeros", sizes, zeros)
	}
}

// TestCutRegrown cuts a file and grows it again: what was cut comes back, is zero, or is what was written then; what lies
// before the cut stays.
func TestCutRegrown(t *testing.T) {
	seen := map[byte]int{}
	for seed := range uint64(300) {
		d, r := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		must(t, f.Sync())
		must(t, d.Sync())
		must(t, f.Truncate(700))
		must(t, f.Allocate(4096))
		must(t, f.WriteAt(bytes.Repeat([]byte{2}, 1024), 2048))
		b := d.Crash(r).Bytes("a")
		if !bytes.Equal(b[:700], bytes.Repeat([]byte{1}, 700)) {
			t.Fatal("bytes before the cut changed")
		}
		if len(b) == 4096 {
			seen[b[2048]]++
		}
	}
	if seen[0] == 0 || seen[1] == 0 || seen[2] == 0 || len(seen) != 3 {
		t.Errorf("a cut sector was seen as %v, want each of 0, 1 and 2", seen)
	}
}

// TestNames loses names that no folder sync has covered, though the bytes are synced, and brings back what was removed.
func TestNames(t *testing.T) {
	lost, back := 0, 0
	for seed := range uint64(100) {
		d, r := newDisk(seed)
		must(t, makeFile(t, d, "old", 1).Sync())
		must(t, d.Sync())
		must(t, makeFile(t, d, "new", 1).Sync())
		must(t, d.Remove("old"))
		c := d.Crash(r)
		if c.Bytes("new") == nil {
			lost++
		}
		if c.Bytes("old") != nil {
			back++
		}
		must(t, d.Sync())
		if c := d.Crash(r); c.Bytes("new") == nil || c.Bytes("old") != nil {
			t.Fatal("a synced name did not survive")
		}
	}
	if lost < 20 || lost > 80 || back < 20 || back > 80 {
		t.Errorf("%d new names lost, %d old ones back, of 100", lost, back)
	}
}

// TestFailedSync fails once and sticks in the disk's health; what it could not write is clean from then on: the next
// process reads it, syncs it without an error, and loses it with the power.
func TestFailedSync(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		d, r := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		must(t, f.Sync())
		must(t, d.Sync())
		must(t, f.WriteAt(bytes.Repeat([]byte{2}, 4096), 0))
		d.FailSync(1)
		if err := f.Sync(); !errors.Is(err, ErrWriteback) {
			t.Fatalf("the sync returned %v", err)
		}
		if err := d.Sync(); !errors.Is(err, ErrWriteback) {
			t.Fatalf("the failure did not stick: %v", err)
		}
		d = d.Kill(r)
		f, err := d.Open("a", store.FileOptions{MustExist: true})
		must(t, err)
		if s := sectors(t, f.Mapping().Bytes()[:4096]); s != "22222222" {
			t.Fatalf("sectors %s in the page cache, want twos", s)
		}
		must(t, f.Sync())
		if s := sectors(t, d.Crash(r).Bytes("a")); s != "22222222" {
			lost++
		}
	}
	if lost < 50 {
		t.Errorf("only %d of 100 failed syncs lost anything", lost)
	}
}

// TestLostWriteback is reported by the next sync of the file, once.
func TestLostWriteback(t *testing.T) {
	for seed := range uint64(50) {
		d, _ := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		for d.names["a"].lost == false {
			d.LoseWriteback()
		}
		if err := f.Sync(); !errors.Is(err, ErrWriteback) {
			t.Fatalf("the sync returned %v", err)
		}
		if d.names["a"].lost {
			t.Fatal("it is still to be reported")
		}
	}
}

// TestStop stops at each operation in turn: it and all after it fail, and it alone may have been done.
func TestStop(t *testing.T) {
	done := 0
	for seed := range uint64(100) {
		d, r := newDisk(seed)
		f := makeFile(t, d, "a", 1)
		d.StopAt(2)
		must(t, f.WriteAt([]byte{2}, 0))
		if err := f.WriteAt([]byte{3}, 1); !errors.Is(err, ErrStopped) || !d.Stopped() {
			t.Fatalf("the second write returned %v", err)
		}
		if err := f.WriteAt([]byte{4}, 2); !errors.Is(err, ErrStopped) {
			t.Fatalf("the third write returned %v", err)
		}
		b := d.Kill(r).Bytes("a")
		if b[0] != 2 || b[2] != 1 {
			t.Fatalf("the file begins %v", b[:3])
		}
		if b[1] == 3 {
			done++
		}
	}
	if done < 20 || done > 80 {
		t.Errorf("the operation that was stopped at was done %d times of 100", done)
	}
}

func TestFull(t *testing.T) {
	d, _ := newDisk(1)
	f, err := d.Open("a", store.FileOptions{})
	must(t, err)
	d.FullAt(1)
	var full *store.DiskFull
	if err := f.Allocate(4096); !errors.As(err, &full) || f.Size() != 0 {
		t.Fatalf("the allocation returned %v, size %d", err, f.Size())
	}
	must(t, f.Allocate(4096))
	d.SetCapacity(d.Used())
	if err := f.Allocate(8192); !errors.As(err, &full) {
		t.Fatalf("the allocation beyond the capacity returned %v", err)
	}
	if _, err := d.Open("b", store.FileOptions{MustExist: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file that is not there: %v", err)
	}
}

// TestLiveRecord survives a kill, and not the power.
func TestLiveRecord(t *testing.T) {
	d, r := newDisk(1)
	l, err := d.OpenLive()
	must(t, err)
	l.Store([]byte("here"))
	d.StopAt(1)
	_ = d.Sync()
	l.Store([]byte("dead men write nothing"))
	crashed := d.Crash(r)
	for want, d := range map[string]*Disk{"here": d.Kill(r), "": crashed} {
		l, err := d.OpenLive()
		must(t, err)
		if b, ok := l.Load(); string(b) != want || ok != (want != "") {
			t.Errorf("the record holds %q, %v, want %q", b, ok, want)
		}
	}
}

// TestHook runs at each operation but not at its own.
func TestHook(t *testing.T) {
	d, _ := newDisk(1)
	f := makeFile(t, d, "a", 1)
	calls := 0
	d.SetHook(func(store.Op, string) {
		calls++
		must(t, f.WriteAt([]byte{9}, 0))
	})
	before := d.Ops()
	must(t, f.Sync())
	if d.SetHook(nil); calls != 1 || d.Ops() != before+2 {
		t.Errorf("%d calls of the hook, %d operations, want 1 and 2", calls, d.Ops()-before)
	}
}
