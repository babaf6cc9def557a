package hashmap

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"stele/store"
)

var cellsTestID = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// cellsTestDisk returns a heap twin whose files may grow to size bytes.
func cellsTestDisk(size int64) *store.MemDisk {
	d := store.NewMemDisk()
	d.SetReserveCap(size)
	return d
}

// cellsSet is a record of the log that cells are derived from in these tests.
type cellsSet struct {
	n uint64
	v uint32
}

// cellsFixture keeps an array of cells beside its log and naive models of what it must answer.
type cellsFixture struct {
	t     rapid.TB
	disk  *store.MemDisk
	cells *Cells
	log   []cellsSet
	count uint64 // cells that exist

	file    map[uint64]uint32 // what merges have put into the file
	vague   map[uint64]bool   // numbers of which the file may have a newer value: of a merge that failed or was forgotten
	live    *cellsEpoch       // values of the active delta
	sealed  *cellsEpoch       // values of the sealed delta, nil: none
	mark    uint64            // of the sealed delta
	durable State             // what the last durable manifest says
	views   []cellsKept
}

// cellsEpoch is the model of one delta, shared by the views that hold it as the delta itself is.
type cellsEpoch struct{ values map[uint64]uint32 }

// cellsKept is a view with the models of what it holds by itself; the file below it may go forward.
type cellsKept struct {
	view         CellsView
	live, sealed *cellsEpoch
	count        uint64
}

func newCellsFixture(t rapid.TB, disk *store.MemDisk) *cellsFixture {
	f := &cellsFixture{t: t, disk: disk}
	f.open()
	return f
}

// open opens the cells as a crash of the process leaves them and replays the log.
func (f *cellsFixture) open() {
	f.t.Helper()
	cells, err := OpenCells(f.disk, cellsTestID, CellsSpec{Name: "spend"}, f.durable)
	if err != nil {
		f.t.Fatalf("open at %+v: %v", f.durable, err)
	}
	f.cells, f.views, f.sealed = cells, nil, nil
	f.live = &cellsEpoch{make(map[uint64]uint32)}
	f.file, f.vague = make(map[uint64]uint32), make(map[uint64]bool)
	for i, s := range f.log {
		if uint64(i) < f.durable.Watermark {
			f.file[s.n] = s.v
		}
	}
	for _, s := range f.log[f.durable.Watermark:] {
		cells.Set(s.n, s.v)
		f.live.values[s.n] = s.v
		f.vague[s.n] = true
	}
}

func (f *cellsFixture) set(n uint64, v uint32) {
	f.log = append(f.log, cellsSet{n, v})
	f.count = max(f.count, n+1)
	f.cells.Set(n, v)
	f.live.values[n] = v
}

func (f *cellsFixture) keep() {
	f.views = append(f.views, cellsKept{f.cells.View(), f.live, f.sealed, f.cells.View().count})
}

func (f *cellsFixture) seal() {
	f.t.Helper()
	f.mark = uint64(len(f.log))
	if err := f.cells.Seal(f.count, f.mark); err != nil {
		f.t.Fatal(err)
	}
	f.sealed, f.live = f.live, &cellsEpoch{make(map[uint64]uint32)}
}

// mergeSealed merges what seal left; it returns the error for tests that provoke one.
func (f *cellsFixture) mergeSealed() error {
	err := f.cells.MergeSealed()
	if err == nil && f.sealed != nil {
		maps.Copy(f.file, f.sealed.values)
		maps.DeleteFunc(f.vague, func(n uint64, _ bool) bool { return f.inSealed(n) })
		f.sealed = nil
	}
	if err != nil {
		for n := range f.sealed.values {
			f.vague[n] = true
		}
	}
	return err
}

// merge seals and merges, and fails the test if that fails.
func (f *cellsFixture) merge() {
	f.t.Helper()
	err := f.mergeSealed()
	if err == nil {
		f.seal()
		err = f.mergeSealed()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// settle writes the manifest.
func (f *cellsFixture) settle() {
	f.t.Helper()
	f.durable = f.cells.State()
	if err := f.cells.Retire(); err != nil {
		f.t.Fatal(err)
	}
}

// want is what a view must answer for a number.
func (f *cellsFixture) want(k *cellsKept, n uint64) (delta, base uint32) {
	if n < k.count {
		base = f.file[n]
	}
	for _, e := range []*cellsEpoch{k.live, k.sealed} {
		if e == nil {
			continue
		}
		if v, ok := e.values[n]; ok {
			if v == 0 {
				base = 0
			}
			return v, base
		}
	}
	return 0, base
}

// check asks every kept view, and a new one, for every number that was ever set, one that was not and one beyond all.
func (f *cellsFixture) check() {
	f.t.Helper()
	f.keep()
	numbers := []uint64{0, f.count, f.count + 1, MaxCells - 1}
	seen := make(map[uint64]bool)
	for _, s := range f.log {
		if !seen[s.n] {
			seen[s.n] = true
			numbers = append(numbers, s.n, s.n^1)
		}
	}
	deltas, bases := make([]uint32, len(numbers)), make([]uint32, len(numbers))
	for i := range f.views {
		k := &f.views[i]
		k.view.GetGroup(numbers, deltas, bases)
		for j, n := range numbers {
			wantDelta, wantBase := f.want(k, n)
			delta, base := k.view.Get(n)
			if delta != wantDelta || base != wantBase && !f.vague[n] {
				f.t.Fatalf("view %d of %d: cell %d is (%d, %d), want (%d, %d)", i, len(f.views), n, delta, base,
					wantDelta, wantBase)
			}
			if delta != deltas[j] || base != bases[j] {
				f.t.Fatalf("cell %d is (%d, %d), in a group (%d, %d)", n, delta, base, deltas[j], bases[j])
			}
		}
	}
	f.views = f.views[:len(f.views)-1]
}

func (f *cellsFixture) inSealed(n uint64) bool {
	_, ok := f.sealed.values[n]
	return ok
}

// cellsTear returns a disk on which a crash has left each unit of size bytes of a file either as it is on disk before
// or as it is on disk after, as the coin says. Bytes below from are as after: they were synced before the rest was
// written. What the merge allocated beyond the old file's end may hold anything where its writing was lost.
func cellsTear(t rapid.TB, before, after *store.MemDisk, name string, from, size int, coin *rand.Rand) *store.MemDisk {
	t.Helper()
	torn := after.Clone()
	old, data := cellsTestBytes(t, before, name), cellsTestBytes(t, after, name)
	percent := coin.IntN(101)
	for at := from; at+size <= len(data); at += size {
		if coin.IntN(100) >= percent {
			continue
		}
		if at+size <= len(old) {
			copy(data[at:at+size], old[at:])
			continue
		}
		for i := range size {
			data[at+i] = byte(coin.Uint32() & coin.Uint32())
		}
	}
	f, err := torn.Open(name, store.FileOptions{MustExist: true})
	if err == nil {
		err = f.WriteAt(data, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return torn
}

// cellsTestBytes returns a copy of a file, nothing where there is none.
func cellsTestBytes(t rapid.TB, d *store.MemDisk, name string) []byte {
	t.Helper()
	f, err := d.Open(name, store.FileOptions{MustExist: true})
	if err != nil {
		return nil
	}
	defer f.Close()
	return append([]byte(nil), f.Mapping().Bytes()[:f.Size()]...)
}

// cellsTestFile puts a file of the given bytes onto a new disk.
func cellsTestFile(t rapid.TB, name string, data []byte) *store.MemDisk {
	t.Helper()
	d := cellsTestDisk(max(int64(len(data)), store.PageSize) + 1<<16)
	f, err := d.Open(name, store.FileOptions{})
	if err == nil && len(data) > 0 {
		err = f.Allocate(int64(len(data)))
		if err == nil {
			err = f.Truncate(int64(len(data)))
		}
		if err == nil {
			err = f.WriteAt(data, 0)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cellsTestSeeds is n, or the tenth of it where time is short (as under the race detector).
func cellsTestSeeds(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}

func cellsIsDamaged(err error) bool {
	var damaged *store.Damaged
	return errors.As(err, &damaged)
}

func cellsIsForeign(err error) bool {
	var foreign *store.Foreign
	return errors.As(err, &foreign)
}
