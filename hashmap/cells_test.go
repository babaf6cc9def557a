package hashmap

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/store"
)

// cellsNumbers draws numbers that share words, lie at the edges of pages, and at the edge of the window of a merge.
func cellsNumbers() *rapid.Generator[uint64] {
	const page = store.PageSize / cellSize
	return rapid.OneOf(
		rapid.Uint64Range(0, 9),
		rapid.Uint64Range(page-3, page+3),
		rapid.Uint64Range(0, 5*page),
		rapid.Uint64Range(1<<cellsWindowBits-3, 1<<cellsWindowBits+3),
	)
}

type cellsMachine struct{ *cellsFixture }

func (m cellsMachine) actions() map[string]func(*rapid.T) {
	set := func(t *rapid.T) {
		m.set(cellsNumbers().Draw(t, "n"), rapid.SampledFrom([]uint32{0, 1, 2, 1 << 31, 1<<32 - 1}).Draw(t, "v"))
	}
	return map[string]func(*rapid.T){
		"set":   set,
		"again": set,
		"many": func(t *rapid.T) {
			for n := range rapid.Uint64Range(1, 300).Draw(t, "many") {
				m.set(n*7, uint32(len(m.log)))
			}
		},
		"grow":  func(t *rapid.T) { m.count += rapid.Uint64Range(0, 2000).Draw(t, "more") },
		"keep":  func(*rapid.T) { m.keep() },
		"merge": func(*rapid.T) { m.merge() },
		"seal": func(t *rapid.T) {
			if m.sealed != nil {
				t.Skip("sealed already")
			}
			m.seal()
		},
		"merge sealed": func(t *rapid.T) {
			if err := m.mergeSealed(); err != nil {
				t.Fatal(err)
			}
		},
		"settle": func(*rapid.T) { m.settle() },
		"kill":   func(*rapid.T) { m.open() },
		"":       func(*rapid.T) { m.check() },
	}
}

// The cells against a map for each delta and one for the file, with views that are kept over merges, and restarts at
// the last manifest with merges that it does not know of in the file.
func TestCellsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := cellsMachine{newCellsFixture(t, cellsTestDisk(2<<20))}
		t.Repeat(m.actions())
	})
}

// Numbers of 40 bits of which some differ in the high byte alone, or share their home line in every table so far.
func TestCellsDeltaAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var together []uint64 // numbers with one home in a table of 2^10 lines
		for n := uint64(1) << 33; len(together) < 20; n++ {
			if Mix64(n, 0)>>54 == 5 {
				together = append(together, n)
			}
		}
		number := rapid.OneOf(rapid.Uint64Range(0, MaxCells-1), rapid.SampledFrom(together),
			rapid.Map(rapid.Uint64Range(0, 255), func(high uint64) uint64 { return high<<32 | 77 }))
		d, model := newCellsDelta(0), make(map[uint64]uint32)
		for range rapid.IntRange(0, 400).Draw(t, "sets") {
			n, v := number.Draw(t, "n"), rapid.Uint32().Draw(t, "v")
			d.set(n, v)
			model[n] = v
		}
		table := d.table.Load()
		for _, n := range append(together, 77, MaxCells-1) {
			if _, _, _, found := table.find(n); found {
				if _, ok := model[n]; !ok {
					t.Fatalf("cell %d was never set", n)
				}
			}
		}
		found := make(map[uint64]uint32)
		table.each(func(n uint64, v uint32) { found[n] = v })
		if len(found) != len(model) || int(d.count.Load()) != len(model) {
			t.Fatalf("%d numbers, counted %d, want %d", len(found), d.count.Load(), len(model))
		}
		for n, v := range model {
			l, slot, _, ok := table.find(n)
			if !ok || l.values[slot].Load() != v || found[n] != v || n >= d.end {
				t.Fatalf("cell %d: found %v, listed %d, want %d", n, ok, found[n], v)
			}
		}
	})
}

// A merge that a crash tore leaves any subset of the cells that it wrote, and anything beyond the cells that were
// there. The replay mends it, in one batch or in several, and however often it is torn again.
func TestCellsTornMerges(t *testing.T) {
	for seed := range cellsTestSeeds(60) {
		coin := rand.New(rand.NewPCG(seed, 1))
		f := newCellsFixture(t, cellsTestDisk(1<<17))
		change := func() {
			for range 1 + coin.IntN(60) {
				f.set(coin.Uint64N(1+coin.Uint64N(4000)), coin.Uint32N(5))
			}
		}
		for range 4 {
			change()
			if coin.IntN(2) == 0 {
				f.merge()
				f.settle()
			}
			change()
			before := f.disk.Clone()
			f.merge()
			name := f.cells.files.file(max(1, f.durable.Generation))
			f.disk = cellsTear(t, before, f.disk, name, store.PageSize, cellSize, coin)
			f.open()
			f.check()
			if coin.IntN(2) == 0 {
				f.merge()
				f.check()
			}
		}
		f.merge()
		f.settle()
		f.open()
		f.check()
		if f.cells.Len() != 0 || t.Failed() {
			t.Fatalf("seed %d: %d values in memory after all were merged", seed, f.cells.Len())
		}
	}
}

// The disk fills, or an operation fails, at every point of a merge in turn: values and watermark stay, and the next
// attempt succeeds.
func TestCellsMergeFails(t *testing.T) {
	type point struct {
		op store.Op
		n  int
	}
	var points []point
	for _, op := range []store.Op{store.OpOpen, store.OpAllocate, store.OpWrite, store.OpRewrite} {
		for n := range 3 {
			points = append(points, point{op, n})
		}
	}
	failed := make(map[store.Op]int)
	for _, first := range []bool{true, false} {
		for _, p := range points {
			f := newCellsFixture(t, cellsTestDisk(1<<20))
			for n := range uint64(3000) {
				f.set(n*3, uint32(n+1))
			}
			if !first {
				f.merge()
				f.settle()
				f.set(5, 6)
				f.set(7000, 8)
				f.set(20000, 9)
			}
			f.keep()
			state, calls, cause := f.cells.State(), 0, errors.New("broken")
			f.disk.SetHook(func(op store.Op, _ string) error {
				if op == p.op {
					if calls++; calls == p.n+1 {
						return cause
					}
				}
				return nil
			})
			f.seal()
			if err := f.mergeSealed(); err == nil {
				continue // the merge has fewer such operations
			} else if !errors.Is(err, cause) {
				t.Fatalf("%v %d: %v", p.op, p.n, err)
			}
			failed[p.op]++
			f.check()
			if got := f.cells.State(); got != state {
				t.Fatalf("%v %d: state %+v after a failed merge, want %+v", p.op, p.n, got, state)
			}
			f.settle() // a manifest in between takes no file away
			f.set(11, 12)
			f.merge()
			f.check()
			f.settle()
			f.open()
			f.check()
		}
	}
	for _, op := range []store.Op{store.OpOpen, store.OpAllocate, store.OpWrite, store.OpRewrite} {
		if failed[op] == 0 {
			t.Errorf("no merge failed in %v", op)
		}
	}
}

// Whatever lies beyond the cells that the manifest counts, the new ones are zero: the odd one in the last old one's
// word, and those in windows that no value falls into.
func TestCellsGarbageBeyondCount(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(4<<20))
	f.set(4, 9)
	f.merge()
	f.settle()
	file, err := f.disk.Open("spend.cells-1", store.FileOptions{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	f.count = 3<<cellsWindowBits - 1
	if err := file.Allocate(cellsEnd(f.count)); err != nil {
		t.Fatal(err)
	}
	from := int64(store.PageSize + 5*cellSize)
	if err := file.WriteAt(bytes.Repeat([]byte{0xff}, int(cellsEnd(f.count)-from)), from); err != nil {
		t.Fatal(err)
	}
	f.open()
	f.set(f.count-1, 3)
	f.merge()
	v := f.cells.View()
	for n := range f.count + 2 {
		want := map[uint64]uint32{4: 9, f.count - 1: 3}[n]
		if delta, base := v.Get(n); delta != 0 || base != want {
			t.Fatalf("cell %d is (%#x, %#x), want (0, %d)", n, delta, base, want)
		}
	}
}

// The stamp stays at the mark of a torn merge until the replay has passed it, whatever merges come before.
func TestCellsMergingTo(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<16))
	f.set(1, 1)
	f.merge()
	f.settle()
	for n := range uint64(10) {
		f.set(n, 2)
	}
	f.merge()
	for range 2 {
		c, err := OpenCells(f.disk, cellsTestID, CellsSpec{Name: "spend"}, f.durable)
		if err != nil {
			t.Fatal(err)
		}
		if c.MergingTo() != 11 {
			t.Fatalf("merging to %d, want 11", c.MergingTo())
		}
		c.Set(0, 2)
		if err := c.Merge(f.count, 2); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCellsDiskFull(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<20))
	f.set(1, 1)
	f.merge()
	f.disk.SetCapacity(f.disk.Used() + 1000)
	for n := range uint64(50_000) {
		f.set(n, uint32(n+2))
	}
	f.keep()
	f.seal()
	var full *store.DiskFull
	for range 2 {
		if err := f.mergeSealed(); !errors.As(err, &full) {
			t.Fatalf("merge onto a full disk: %v", err)
		}
	}
	if st := f.cells.State(); st.Watermark != 1 || st.Entries != 2 || f.cells.Len() != 50_000 {
		t.Fatalf("after a full disk: %+v with %d values in memory", st, f.cells.Len())
	}
	f.check()
	f.disk.SetCapacity(-1)
	f.merge()
	f.check()
	if st := f.cells.State(); st.Watermark != 50_001 || f.cells.Len() != 0 {
		t.Fatalf("after there was room: %+v with %d values in memory", st, f.cells.Len())
	}
}

// The bytes of a file, written out by hand from the drawings.
func TestCellsFormat(t *testing.T) {
	d := cellsTestDisk(1 << 16)
	c, err := OpenCells(d, cellsTestID, CellsSpec{Name: "spend"}, State{})
	if err != nil {
		t.Fatal(err)
	}
	c.Set(0, 0x01020304)
	c.Set(2, 0xfffffffe)
	if err := c.Merge(3, 0x1122); err != nil {
		t.Fatal(err)
	}
	data := cellsTestBytes(t, d, "spend.cells-1")
	zeros := strings.Repeat("00", 8)
	for _, part := range []struct {
		what     string
		from, to int
		want     string
	}{
		{"magic, generation, buckets", 0, 32, "7374656c6563656c" + "01000000" + "00000000" + zeros + zeros},
		{"store id", 32, 48, "0102030405060708090a0b0c0d0e0f10"},
		{"name", 48, 88, "0000000000000000" + hex.EncodeToString(append([]byte("spend"), make([]byte, 27)...))},
		{"stamp", 512, 528, "2211000000000000" + "0000000000000000"},
		{"cells", 4096, 4112, "04030201" + "00000000" + "feffffff" + "00000000"},
	} {
		if have := hex.EncodeToString(data[part.from:part.to]); have != part.want {
			t.Errorf("%s is %s, want %s", part.what, have, part.want)
		}
	}
	for _, hole := range [][2]int{{96, 512}, {536, 4096}} {
		if !bytes.Equal(data[hole[0]:hole[1]], make([]byte, hole[1]-hole[0])) {
			t.Errorf("bytes %d to %d are not zero", hole[0], hole[1])
		}
	}
	if want := (State{Generation: 1, Watermark: 0x1122, Entries: 3}); c.State() != want {
		t.Errorf("state %+v, want %+v", c.State(), want)
	}
}

// A file whose header was changed in any byte, that was cut, or that is another one, is refused.
func TestCellsDamagedHeader(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<16))
	f.set(1500, 7)
	f.merge()
	state, name := f.cells.State(), "spend.cells-1"
	good := cellsTestBytes(t, f.disk, name)
	open := func(data []byte, id [16]byte, spec CellsSpec, st State) error {
		c, err := OpenCells(cellsTestFile(t, name, data), id, spec, st)
		if err == nil {
			c.Close()
		}
		return err
	}
	spec := CellsSpec{Name: "spend"}
	if err := open(good, cellsTestID, spec, state); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	for at := range cellsStampEnd {
		if at >= cellsHeadEnd && at < cellsHeadStamp {
			continue
		}
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		if err := open(bad, cellsTestID, spec, state); !cellsIsDamaged(err) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
	for _, size := range []int{0, 1, store.PageSize - 1, store.PageSize, int(cellsEnd(1501)) - 1} {
		if err := open(good[:size], cellsTestID, spec, state); !cellsIsDamaged(err) {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
	}
	if err := open(good, [16]byte{9}, spec, state); !cellsIsForeign(err) {
		t.Errorf("another store: %v", err)
	}
	other := state
	other.Generation = 2
	more := state
	more.Buckets = 1
	for what, st := range map[string]State{
		"missing": other, "buckets": more,
		"too many": {Generation: 1, Entries: MaxCells + 1}, "no file": {Entries: 1},
	} {
		if err := open(good, cellsTestID, spec, st); !cellsIsDamaged(err) {
			t.Errorf("state %s: %v", what, err)
		}
	}
	for _, name := range []string{"", fmt.Sprintf("%033d", 0)} {
		if err := open(good, cellsTestID, CellsSpec{Name: name}, State{}); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
}

// What a merge is refused for, and that it then changes nothing.
func TestCellsSealRefused(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<16))
	f.set(9, 1)
	f.merge()
	f.set(20, 2)
	for _, bad := range []struct{ count, mark uint64 }{{9, 2}, {20, 2}, {21, 0}, {MaxCells + 1, 2}} {
		if err := f.cells.Merge(bad.count, bad.mark); err == nil {
			t.Errorf("merge of %d cells to %d was taken", bad.count, bad.mark)
		}
	}
	f.check()
	f.seal()
	if err := f.cells.Seal(21, 2); err == nil {
		t.Error("a second seal was taken")
	}
	f.check()
	defer func() {
		if recover() == nil {
			t.Error("a number beyond 40 bits was taken")
		}
	}()
	f.cells.Set(MaxCells, 1)
}

// Opening with the zero State beside a file that a manifest names makes another generation; Retire removes the old one
// only when a manifest names the new one.
func TestCellsRebuild(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<16))
	f.set(3, 1)
	f.merge()
	f.settle()
	old := f.durable
	f.durable = State{}
	f.open()
	f.set(4, 2)
	f.merge()
	if got := f.cells.State().Generation; got != 2 {
		t.Fatalf("the new generation is %d, want 2", got)
	}
	if _, err := OpenCells(f.disk.Clone(), cellsTestID, CellsSpec{Name: "spend"}, old); err != nil {
		t.Fatalf("the old generation before the manifest: %v", err)
	}
	f.settle()
	f.check()
	if names, err := f.disk.List(); err != nil || len(names) != 1 || names[0] != "spend.cells-2" {
		t.Fatalf("files %v, %v", names, err)
	}
}

// On a real file system, through the mapping.
func TestCellsOnDisk(t *testing.T) {
	dir := t.TempDir()
	want := make(map[uint64]uint32)
	var st State
	for round := range uint64(3) {
		d, err := store.OpenDir(dir, store.DirOptions{Verb: "test"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := OpenCells(d, cellsTestID, CellsSpec{Name: "spend", Reserve: 1 << 30}, st)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(40_000) {
			n := (i*7919 + round) % 600_000
			c.Set(n, uint32(i+round)|1)
			want[n] = uint32(i+round) | 1
		}
		if err := c.Merge(600_001, round+1); err != nil {
			t.Fatal(err)
		}
		st = c.State()
		v := c.View()
		for n := range uint64(600_001) {
			if delta, base := v.Get(n); delta != 0 || base != want[n] {
				t.Fatalf("round %d: cell %d is (%d, %d), want (0, %d)", round, n, delta, base, want[n])
			}
		}
		if err := errors.Join(c.Retire(), c.Close(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
