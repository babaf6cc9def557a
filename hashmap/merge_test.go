package hashmap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"stele/store"
)

// fileBytes returns the memory of a heap twin's file: what is written to it is on the disk.
func fileBytes(tb rapid.TB, disk store.Disk, name string) []byte {
	tb.Helper()
	f, err := disk.Open(name, store.FileOptions{MustExist: true})
	if err != nil {
		tb.Fatal(err)
	}
	return f.Mapping().Bytes()[:f.Size()]
}

// tear makes the file a mix of what it was and what it became: each sector of 512 bytes survives or does not. The
// stamp's does, since it was synced before.
func tear(r *rand.Rand, before, after []byte) {
	odds := r.Float64()
	for at := 0; at < len(after); at += 512 {
		if at != headStamp && r.Float64() < odds {
			copy(after[at:at+512], before[at:])
		}
	}
}

// mapDrawKeys draws crowded keys, or uniform ones with repeats.
func mapDrawKeys(r *rand.Rand, spec Spec, n int) []mapKey {
	keys := make([]mapKey, n)
	few := r.IntN(2) == 0
	for i := range keys {
		if !few {
			keys[i] = mapKeyOf(uint64(r.IntN(300)))
			continue
		}
		setBits(&keys[i], int(spec.Window), 64, uint64(r.IntN(5))<<61)
		setBits(&keys[i], int(spec.Window)+64, 10, uint64(r.IntN(3)))
		setBits(&keys[i], 0, 3, uint64(r.IntN(8)))
	}
	return keys
}

// TestTornMerge cuts the power in the middle of a merge, up to three times in a row, and merges again: more rows than
// before, fewer, or the same.
func TestTornMerge(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 50
	}
	torn := 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := txidSpec()
		spec.MergeBytes = []int64{1, 7 * rowBytes, 1 << 20}[r.IntN(3)]
		disk := store.NewMemDisk()
		disk.SetReserveCap(1 << 20)
		f := newMapFixture(t, disk, spec, crowded)
		f.add(mapDrawKeys(r, spec, 20+r.IntN(200))...)
		f.merge()
		first := len(f.keys)
		f.add(mapDrawKeys(r, spec, 1+r.IntN(first*9/10))...)
		f.flush()
		st := f.m.State()
		for range 1 + r.IntN(3) {
			name := f.m.fileName(st.Generation)
			before := slices.Clone(fileBytes(t, disk, name))
			to := first + r.IntN(len(f.keys)-first+1)
			if err := f.m.Merge(uint32(to)); err != nil {
				t.Fatal(err)
			}
			if f.m.now().Generation == st.Generation {
				torn++
				tear(r, before, fileBytes(t, disk, name))
			}
			f.close()
			f.open(st, f.keys) // at the state of before
			f.checkAll()
		}
		f.add(mapDrawKeys(r, spec, r.IntN(20))...)
		f.merge()
		f.checkAll()
		for range 30 {
			f.checkKey(f.m.View(), &f.keys[r.IntN(len(f.keys))], uint32(r.IntN(len(f.keys)+1)))
		}
	}
	if torn < int(seeds)/2 {
		t.Fatalf("only %d merges were torn", torn)
	}
}

// recorder is a disk that writes down what is rewritten in place.
type recorder struct {
	store.Disk
	pieces []piece
}

type piece struct{ off, end int64 }

func (d *recorder) Open(name string, o store.FileOptions) (store.File, error) {
	f, err := d.Disk.Open(name, o)
	if err != nil {
		return nil, err
	}
	return &recordedFile{f, d}, nil
}

type recordedFile struct {
	store.File
	d *recorder
}

func (f *recordedFile) Rewrite(p []byte, off int64) error {
	f.d.pieces = append(f.d.pieces, piece{off, off + int64(len(p))})
	return f.File.Rewrite(p, off)
}

// lines returns the pieces of lines, after the stamp's, and fails unless they ascend.
func (d *recorder) lines(t *testing.T) []piece {
	t.Helper()
	if len(d.pieces) == 0 || d.pieces[0] != (piece{headStamp, stampEnd}) {
		t.Fatalf("pieces %v, want the stamp first", d.pieces)
	}
	at := int64(headerSize)
	for _, p := range d.pieces[1:] {
		if p.off < at {
			t.Fatalf("pieces %v do not ascend", d.pieces)
		}
		at = p.end
	}
	return d.pieces[1:]
}

// TestMergePieces counts what merges write into a file of 2 MB: a few rows cost their lines, many cost each line once,
// in large pieces; merging the same rows again finds nothing to change and writes the same lines again, since it cannot
// know what the disk kept.
func TestMergePieces(t *testing.T) {
	mem := store.NewMemDisk()
	disk := &recorder{Disk: mem}
	f := newMapFixture(t, disk, txidSpec(), nil)
	const rows, few, many = 150_000, 10, 20_000
	f.add(mapKeysOf(0, rows)...)
	f.merge()
	f.add(mapKeysOf(rows, rows+few)...)
	f.merge()
	total := int64(0)
	pieces := disk.lines(t)
	for _, p := range pieces {
		total += p.end - p.off
	}
	if len(pieces) > few || total > few*(gapLines+1)*lineSize {
		t.Fatalf("%d rows: %d bytes in %d pieces", few, total, len(pieces))
	}

	st := f.m.State()
	f.add(mapKeysOf(rows+few, rows+few+many)...)
	disk.pieces = nil
	f.merge()
	pieces = slices.Clone(disk.lines(t))
	want := int((st.Buckets + pieceLines - 1) / pieceLines)
	if st != (State{1, st.Buckets, rows + few, rows + few}) || len(pieces) != want {
		t.Fatalf("%d rows: %d pieces, want %d", many, len(pieces), want)
	}
	touched := make([]bool, f.m.View().gen.lines)
	for _, p := range pieces {
		for i := (p.off - headerSize) / lineSize; i < (p.end-headerSize)/lineSize; i++ {
			touched[i] = true
		}
	}
	for i := range touched {
		l := f.m.View().gen.line(uint64(i))
		for s := range lineSlots {
			if stored := uint64(l.stored(s)); stored > rows+few && !touched[i] {
				t.Fatalf("line %d has the new row %d and was not written", i, stored-1)
			}
		}
	}

	before := slices.Clone(fileBytes(t, mem, f.m.fileName(1)))
	f.close()
	f.open(st, f.keys)
	disk.pieces = nil
	f.merge()
	if !slices.Equal(disk.lines(t), pieces) {
		t.Fatalf("repeated merge: pieces %v, want %v", disk.pieces, pieces)
	}
	if !slices.Equal(before, fileBytes(t, mem, f.m.fileName(1))) {
		t.Fatal("a merge that was repeated changed the file")
	}
}

// TestMergeWriteOrder records what merges ask of the disk, and that the state changes after all of it.
func TestMergeWriteOrder(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, txidSpec(), nil)
	record := func(rows uint64) (ops []string) {
		f.add(mapKeysOf(uint64(len(f.keys)), rows)...)
		f.flush()
		before := f.m.now()
		disk.SetHook(func(op store.Op, name string) error {
			if f.m.now() != before {
				t.Fatalf("the state changed before %s of %s", op, name)
			}
			ops = append(ops, string(op)+" "+name)
			return nil
		})
		f.merge()
		disk.SetHook(nil)
		return slices.Compact(ops)
	}
	want := []string{"open tx.lines-1", "allocate tx.lines-1", "write tx.lines-1", "sync tx.lines-1", "sync ."}
	if have := record(100); !slices.Equal(have, want) {
		t.Fatalf("build: %q, want %q", have, want)
	}
	want = []string{
		"rewrite tx.lines-1", "sync tx.lines-1", // the stamp
		"open tx.lines-1", "rewrite tx.lines-1", "sync tx.lines-1",
	}
	if have := record(200); !slices.Equal(have, want) {
		t.Fatalf("in place: %q, want %q", have, want)
	}
}

// TestMergeFaults lets each change of the disk in a merge fail once: lookups and state stay, and the merge can be
// repeated. A failed sync is for ever.
func TestMergeFaults(t *testing.T) {
	for _, grow := range []bool{false, true} {
		for fail := 1; ; fail++ {
			disk := store.NewMemDisk()
			f := newMapFixture(t, disk, txidSpec(), crowded)
			f.add(mapKeysOf(0, 300)...)
			f.merge()
			more := uint64(320)
			if grow {
				more = 700
			}
			f.add(mapKeysOf(300, more)...)
			f.flush()
			before, view, calls := f.m.State(), f.m.View(), 0
			var failed store.Op
			disk.SetHook(func(op store.Op, name string) error {
				if calls++; calls == fail {
					failed = op
					return errors.New("broken on purpose")
				}
				return nil
			})
			err := f.m.Merge(uint32(more))
			disk.SetHook(nil)
			if failed == "" {
				if err != nil || fail < 4 {
					t.Fatalf("after %d faults: %v", fail-1, err)
				}
				break
			}
			if err == nil || f.m.State() != before {
				t.Fatalf("fault %d (%s): error %v, state %+v, want %+v", fail, failed, err, f.m.State(), before)
			}
			for i := range f.keys {
				f.checkKey(view, &f.keys[i], uint32(len(f.keys)))
				f.checkKey(f.m.View(), &f.keys[i], uint32(len(f.keys)))
			}
			if err := f.m.Merge(uint32(more)); (err != nil) != (failed == store.OpSync) {
				t.Fatalf("fault %d (%s): the repeated merge: %v", fail, failed, err)
			} else if err == nil {
				f.checkAll()
			}
		}
	}
}

// TestMergeWithoutRoom fills the disk: a new generation finds no room, and the old one serves on at a higher load, but
// not without end.
func TestMergeWithoutRoom(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, txidSpec(), func(m *Map) { m.leastBuckets = 100 })
	f.add(mapKeysOf(0, 400)...)
	f.merge()
	if st := f.m.State(); st.Buckets != 100 {
		t.Fatalf("%d buckets, want 100", st.Buckets)
	}
	f.add(mapKeysOf(400, 1300)...)
	f.flush()
	disk.SetCapacity(disk.Used())
	full := uint32(100 * lineSlots * loadFull / 100)
	for _, to := range []uint32{100 * lineSlots * loadLimit / 100, 1000, full} {
		if err := f.m.Merge(to); err != nil {
			t.Fatal(err)
		}
		if st := f.m.State(); st.Generation != 1 || st.Watermark != uint64(to) {
			t.Fatalf("state %+v after a merge to %d", st, to)
		}
	}
	var want *store.DiskFull
	before := f.m.State()
	if err := f.m.Merge(full + 1); !errors.As(err, &want) || f.m.State() != before {
		t.Fatalf("merge to %d: %v, state %+v", full+1, err, f.m.State())
	}
	f.checkAll()
	disk.SetCapacity(-1)
	f.merge()
	if st := f.m.State(); st.Generation != 2 || st.Watermark != 1300 || st.Buckets*lineSlots < 2*1300 {
		t.Fatalf("state %+v once there is room", st)
	}
	f.checkAll()
}

// TestSpareLines puts many rows into the last bucket: what the spare lines cannot hold makes a generation with more.
func TestSpareLines(t *testing.T) {
	f := newMapFixture(t, store.NewMemDisk(), txidSpec(), func(m *Map) { m.leastBuckets, m.spare = 400, 2 })
	last := func(n uint64) (key mapKey) {
		key = mapKeyOf(n)
		setBits(&key, int(f.spec.Window), 64, 1<<64-1)
		return key
	}
	for n := range uint64(30) {
		f.add(last(n))
	}
	f.merge()
	for n := uint64(30); n < 300; n++ {
		f.add(last(n))
		if n%7 == 0 {
			f.merge()
		}
	}
	f.merge()
	if st := f.m.State(); st.Generation < 2 || st.Generation > 5 || st.Buckets != 400 {
		t.Fatalf("state %+v, want some generations of 400 buckets", st)
	}
	f.checkAll()
	if st := f.m.Stats(); st.ProbeMax != 300/lineSlots {
		t.Fatalf("longest probe %d lines, want %d", st.ProbeMax, 300/lineSlots)
	}
}

// TestSortRows compares the counting sort with the order of the numbers.
func TestSortRows(t *testing.T) {
	for _, buckets := range []uint64{1, 2, 1000, 1 << 11, 1<<11 + 1, 1<<22 + 1, maxBuckets} {
		r := rand.New(rand.NewPCG(buckets, 2))
		b := &batch{rows: make([]sortRow, 0, 3*smallSort)}
		for i := range uint64(cap(b.rows)) {
			row := r.Uint64N(buckets)<<(tagBits+rowBits) | r.Uint64N(1<<tagBits)<<rowBits | i
			b.rows = append(b.rows, sortRow(row))
		}
		want := slices.Clone(b.rows)
		slices.SortStableFunc(want, func(x, y sortRow) int { return int(x.bucket()) - int(y.bucket()) })
		b.sort(buckets)
		if !slices.Equal(b.rows, want) {
			t.Fatalf("%d buckets: not in order", buckets)
		}
		for _, row := range b.rows {
			if have := row.stored(7); have != uint32(row&(maxBatch-1))+8 || row.bucket() >= buckets {
				t.Fatalf("row %#x: link plus one %d, bucket %d", uint64(row), have, row.bucket())
			}
		}
	}
}

// TestSmallStore: a map takes nothing until its first merge, and 64 KiB then.
func TestSmallStore(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, txidSpec(), nil)
	f.add(mapKeyOf(0))
	names, err := disk.List()
	if err != nil || !slices.Equal(names, []string{"rows"}) {
		t.Fatalf("files %q, %v", names, err)
	}
	f.merge()
	if size := f.m.Stats().Bytes; size > 64<<10 {
		t.Fatalf("first generation of %d bytes", size)
	}
	rows := uint64(firstLines-spareLines) * lineSlots * loadLimit / 100
	f.add(mapKeysOf(1, rows)...)
	f.merge()
	if st := f.m.State(); st.Generation != 1 || st.Watermark != rows {
		t.Fatalf("state %+v after %d rows, want the first generation", st, rows)
	}
	f.checkAll()
	f.add(mapKeyOf(rows))
	f.merge()
	if st := f.m.State(); st.Generation != 2 || st.Buckets*lineSlots*loadLimit < 200*rows {
		t.Fatalf("state %+v after a row more, want a second one with room for twice the rows", st)
	}
	f.checkAll()
}
