package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

var testPreamble = Preamble{Format: 3, Network: [4]byte{0xf9, 0xbe, 0xb4, 0xd9}, ID: testID, Secret: [16]byte{9}}

func create(t testing.TB, d Disk) *Manifest {
	t.Helper()
	m, err := CreateManifest(d, testPreamble)
	must(t, err)
	return m
}

func openManifest(d Disk) (*Manifest, error) {
	return OpenManifest(d, testPreamble.Format, testPreamble.Network)
}

func TestManifestRoundTrip(t *testing.T) {
	onEachDisk(t, func(t *testing.T, d Disk) {
		if _, err := openManifest(d); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("an empty disk: %v", err)
		}
		m := create(t, d)
		if _, _, ok := m.Latest(); ok {
			t.Fatal("a new manifest has a latest state")
		}
		for i := range uint64(5) {
			payload := bytes.Repeat([]byte{byte(i)}, int(i)*1018)
			seq, err := m.Write(payload)
			must(t, err)
			for range 2 { // as it is, and opened again
				got, p, ok := m.Latest()
				if seq != i+1 || got != seq || !ok || !bytes.Equal(p, payload) {
					t.Fatalf("write %d: sequence %d, latest %d %v of %d bytes", i, seq, got, ok, len(p))
				}
				must(t, m.Close())
				m, err = openManifest(d)
				must(t, err)
			}
			if m.Preamble() != testPreamble {
				t.Fatalf("preamble %+v", m.Preamble())
			}
		}
		_, err := m.Write(make([]byte, MaxPayload+1))
		if err == nil {
			t.Fatal("a payload larger than a slot was written")
		}
		seq, err := m.Write(make([]byte, MaxPayload))
		if err != nil || seq != 6 {
			t.Fatalf("a payload as large as a slot: %d, %v", seq, err)
		}
		if _, err := CreateManifest(d, testPreamble); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("creation over a store: %v", err)
		}
	})
}

func TestManifestForeign(t *testing.T) {
	d := newTestMem(t)
	_, err := create(t, d).Write([]byte("x"))
	must(t, err)
	_, err = OpenManifest(d, 2, testPreamble.Network)
	fails[*Foreign](t, err, "format version is 3, want 2")
	_, err = OpenManifest(d, 3, [4]byte{0x0b, 0x11, 0x09, 0x07})
	fails[*Foreign](t, err, "network magic is f9beb4d9, want 0b110907")
	other := testPreamble
	other.Format = 4
	_, err = CreateManifest(d, other)
	fails[*Foreign](t, err, "format version is 3, want 4")
}

// slotsOf makes a manifest whose slots hold "first" and "second", in this order.
func slotsOf(t *testing.T) (d *MemDisk, image []byte) {
	t.Helper()
	d = NewMemDisk()
	d.SetReserveCap(manifestSize)
	t.Cleanup(d.Discard)
	m := create(t, d)
	for _, p := range []string{"first", "second"} {
		_, err := m.Write([]byte(p))
		must(t, err)
	}
	must(t, m.Close())
	return d, bytes.Clone(d.nodes[ManifestName].mapping.Bytes()[:manifestSize])
}

// Every byte of the file matters: a flipped bit costs its slot, or is named where it is in the preamble, and never
// gives a payload that was not written.
func TestManifestFlips(t *testing.T) {
	d, image := slotsOf(t)
	for i := range int64(manifestSize) {
		poke(t, d, ManifestName, i, image[i]^1<<(i*5%8))
		m, err := openManifest(d)
		if i < PageSize {
			fails[*Damaged](t, err, "manifest has a preamble")
		} else {
			must(t, err)
			want := "second"
			if i >= 2*PageSize {
				want = "first"
			}
			if _, p, ok := m.Latest(); !ok || string(p) != want {
				t.Fatalf("byte %d flipped: latest is %q, want %q", i, p, want)
			}
		}
		poke(t, d, ManifestName, i, image[i])
	}
	for bit := range 8 * preSum { // and every bit of what the preamble says
		i := int64(bit / 8)
		poke(t, d, ManifestName, i, image[i]^1<<(bit%8))
		_, err := openManifest(d)
		fails[*Damaged](t, err, "manifest has a preamble")
		poke(t, d, ManifestName, i, image[i])
	}
}

func TestManifestBothSlotsBroken(t *testing.T) {
	d, image := slotsOf(t)
	rnd := seeded(1)
	for range 1000 {
		i, j := PageSize+rnd.Int64N(PageSize), 2*PageSize+rnd.Int64N(PageSize)
		poke(t, d, ManifestName, i, image[i]^byte(1+rnd.IntN(255)))
		poke(t, d, ManifestName, j, image[j]^byte(1+rnd.IntN(255)))
		_, err := openManifest(d)
		fails[*Damaged](t, err, "manifest holds no valid slot")
		_, err = CreateManifest(d, testPreamble)
		fails[*Damaged](t, err, "manifest holds no valid slot")
		poke(t, d, ManifestName, i, image[i])
		poke(t, d, ManifestName, j, image[j])
	}
	// Pages lost to zeros are damage, too, and not a store that is being created.
	poke(t, d, ManifestName, PageSize, make([]byte, 2*PageSize)...)
	_, err := openManifest(d)
	fails[*Damaged](t, err, "manifest holds no valid slot")
	poke(t, d, ManifestName, 0, make([]byte, PageSize)...)
	poke(t, d, ManifestName, PageSize, image[PageSize:]...)
	_, err = openManifest(d)
	fails[*Damaged](t, err, "manifest has a preamble")
}

// A slot of another store, however good, is none of ours.
func TestManifestForeignSlot(t *testing.T) {
	d, image := slotsOf(t)
	other := NewMemDisk()
	defer other.Discard()
	p := testPreamble
	p.ID[0]++
	m, err := CreateManifest(other, p)
	must(t, err)
	for range 4 {
		_, err := m.Write([]byte("other"))
		must(t, err)
	}
	poke(t, d, ManifestName, 2*PageSize, other.nodes[ManifestName].mapping.Bytes()[2*PageSize:manifestSize]...)
	m, err = openManifest(d)
	must(t, err)
	if _, got, _ := m.Latest(); string(got) != "first" {
		t.Fatalf("latest is %q, want our own older slot", got)
	}
	poke(t, d, ManifestName, 0, image...)
}

// A file that was cut short says so: no crash does that, as all of it was allocated before anything counted.
func TestManifestCutShort(t *testing.T) {
	for size := int64(0); size <= manifestSize; size += 512 {
		d, _ := slotsOf(t)
		f, err := d.Open(ManifestName, FileOptions{})
		must(t, err)
		must(t, f.Truncate(size))
		m, err := openManifest(d)
		switch {
		case size == 0:
			if !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("an empty file: %v", err)
			}
		case size < manifestSize:
			fails[*Damaged](t, err, "manifest")
		default:
			must(t, err)
			if _, p, _ := m.Latest(); string(p) != "second" {
				t.Fatalf("latest is %q, want the second", p)
			}
		}
	}
}

func TestManifestStickySync(t *testing.T) {
	d := newTestMem(t)
	m := create(t, d)
	b := mustOpen(t, d, rows4, 0)
	_, err := m.Write([]byte("good"))
	must(t, err)
	broken := errors.New("write-back failed")
	d.SetHook(func(op Op, name string) error {
		if op == OpSync && name == b.Name() {
			return broken
		}
		return nil
	})
	fault := fails[*Fault](t, b.Sync(), "sync rows", "write-back failed")
	d.SetHook(nil) // the next sync would succeed, and would mean nothing
	for range 2 {
		if _, err := m.Write([]byte("bad")); !errors.Is(err, broken) {
			t.Fatalf("a manifest after a failed sync: %v", err)
		}
		if err := b.Sync(); !errors.Is(err, broken) || d.Health().Err() != error(fault) {
			t.Fatalf("a sync after a failed sync: %v, health %v", err, d.Health().Err())
		}
	}
	m, err = openManifest(d.Clone())
	must(t, err)
	if seq, p, _ := m.Latest(); seq != 1 || string(p) != "good" {
		t.Fatalf("the older state became %d %q", seq, p)
	}
}

// A write that fails short of the sync may be tried again, under a sequence that was never used.
func TestManifestWriteAgain(t *testing.T) {
	d := newTestMem(t)
	m := create(t, d)
	_, err := m.Write([]byte("one"))
	must(t, err)
	d.SetHook(func(op Op, name string) error {
		if op == OpWrite {
			return errors.New("no")
		}
		return nil
	})
	_, err = m.Write([]byte("two"))
	fails[*Fault](t, err, "write manifest")
	if seq, p, _ := m.Latest(); seq != 1 || string(p) != "one" {
		t.Fatalf("latest after a failed write is %d %q", seq, p)
	}
	d.SetHook(nil)
	seq, err := m.Write([]byte("three"))
	if err != nil || seq != 3 {
		t.Fatalf("tried again: %d, %v", seq, err)
	}
}

// TestManifestCrash loses power after every operation of a creation and of some writes, keeping any subset of the
// sectors that were not synced. A store is there, whole, with the newest acknowledged payload or the one that was being
// written; or, before the first write was acknowledged, it may be not there at all, and can then be created.
func TestManifestCrash(t *testing.T) {
	const writes = 4
	for stop := 0; ; stop++ {
		p := &powerDisk{MemDisk: newTestMem(t), left: stop, synced: map[string][]byte{}}
		acked, tried := runUntilPowerCut(p, writes)
		for seed := range uint64(60) {
			d := p.crash(seeded(seed))
			m, err := openManifest(d)
			switch {
			case errors.Is(err, fs.ErrNotExist) && acked == 0:
				p := testPreamble
				p.ID[5] = 5
				m, err := CreateManifest(d, p)
				must(t, err)
				_, err = m.Write([]byte("again"))
				must(t, err)
				_, err = openManifest(d)
				must(t, err)
				// What the first attempt had made of this body is gone.
				_, err = OpenBody(d, rows4, p.ID, 0)
				must(t, err)
			case err != nil:
				t.Fatalf("power lost after %d operations, seed %d, %d writes acknowledged: %v", stop, seed, acked, err)
			default:
				_, got, _ := m.Latest()
				if s := string(got); s != payloadOf(acked) && s != payloadOf(tried) {
					t.Fatalf("power lost after %d operations, seed %d: latest %q, acknowledged %d", stop, seed, s, acked)
				}
			}
			d.Discard()
		}
		if acked == writes {
			return
		}
	}
}

func payloadOf(n int) string { return fmt.Sprintf("%d %s", n, bytes.Repeat([]byte{byte(n)}, 3000)) }

// runUntilPowerCut creates a store with a body and writes manifests. It returns the writes acknowledged and tried.
func runUntilPowerCut(d Disk, writes int) (acked, tried int) {
	m, err := CreateManifest(d, testPreamble)
	if err != nil {
		return 0, 0
	}
	if b, err := OpenBody(d, rows4, testID, 0); err != nil || b.Sync() != nil {
		return 0, 0
	}
	for range writes {
		tried++
		if _, err := m.Write([]byte(payloadOf(tried))); err != nil {
			return acked, tried
		}
		acked++
	}
	return acked, tried
}

// powerDisk is a heap twin that knows what was synced and stops after a number of writes and syncs.
type powerDisk struct {
	*MemDisk
	left   int
	synced map[string][]byte // content of each file at its last sync
}

var errPower = errors.New("power lost")

func (d *powerDisk) spend() error {
	if d.left == 0 {
		return errPower
	}
	d.left--
	return nil
}

func (d *powerDisk) Open(name string, o FileOptions) (File, error) {
	f, err := d.MemDisk.Open(name, o)
	if err != nil {
		return nil, err
	}
	return powerFile{f, d}, nil
}

type powerFile struct {
	File
	disk *powerDisk
}

func (f powerFile) WriteAt(p []byte, off int64) error {
	if err := f.disk.spend(); err != nil {
		return err
	}
	return f.File.WriteAt(p, off)
}

func (f powerFile) Sync() error {
	if err := f.disk.spend(); err != nil {
		return err
	}
	f.disk.synced[f.Name()] = bytes.Clone(f.Mapping().Bytes()[:f.Size()])
	return f.File.Sync()
}

// crash returns what is left: each file as it was synced, plus any subset of its other sectors of 512 bytes, plus maybe
// its new length. Files stay in the folder (their loss is an easier case: it can only be before the first sync of it).
func (d *powerDisk) crash(rnd *rand.Rand) *MemDisk {
	image := NewMemDisk()
	image.SetReserveCap(64 << 10)
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		live := d.nodes[name].mapping.Bytes()[:d.nodes[name].size.Load()]
		after := make([]byte, len(live))
		kept := copy(after, d.synced[name])
		for i := 0; i < len(live); i += 512 {
			if rnd.IntN(2) == 0 {
				copy(after[i:min(i+512, len(live))], live[i:])
				kept = max(kept, min(i+512, len(live)))
			}
		}
		if rnd.IntN(2) == 0 {
			kept = len(live)
		}
		n := image.newNode(name, 64<<10)
		copy(n.mapping.Bytes(), after[:kept])
		n.size.Store(int64(kept))
	}
	return image
}
