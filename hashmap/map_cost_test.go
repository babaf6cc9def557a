package hashmap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"stele/store"
)

// mapAtLoad is a map of that many buckets, filled by two merges to a load in per cent.
func mapAtLoad(tb testing.TB, buckets, load uint64, spec Spec) *mapFixture {
	tb.Helper()
	disk := store.NewMemDisk()
	f := newMapFixture(tb, disk, spec, func(m *Map) { m.leastBuckets = buckets })
	rows := buckets * lineSlots * load / 100
	f.add(mapKeysOf(0, rows/3)...)
	f.merge()
	f.add(mapKeysOf(rows/3, rows)...)
	f.flush()
	// Loads beyond the limit are reached as on a disk without room.
	disk.SetCapacity(disk.Used())
	if err := f.m.Merge(uint32(rows)); err != nil {
		tb.Fatal(err)
	}
	disk.SetCapacity(-1)
	if st := f.m.now(); st.Generation != 1 || st.Buckets != buckets {
		tb.Fatalf("state %+v, want one generation of %d buckets", st, buckets)
	}
	return f
}

// mapWork sums the counters of lookups.
func mapWork(f *mapFixture, keys []mapKey) (sum Counters, hits int) {
	v, below := f.m.View(), uint32(len(f.keys))
	for i := range keys {
		_, ok, c := v.Probe(&keys[i], below)
		if ok {
			hits++
		}
		sum.Slots += c.Slots
		sum.Lines += c.Lines
		sum.TagPasses += c.TagPasses
		sum.Rows += c.Rows
	}
	return sum, hits
}

// TestWork counts lookups where no line spills: a hit is one line and one row, but for keys that share bucket and tag;
// an absent key is one line, and a row in one of about 1024/2.15 lookups.
func TestWork(t *testing.T) {
	f := mapAtLoad(t, 928, 18, txidSpec())
	rows := len(f.keys)
	type place struct {
		bucket uint64
		tag    uint32
	}
	shared := make(map[place]int) // rows a place
	for i := range f.keys {
		window, tag := f.m.place.of(&f.keys[i])
		shared[place{bucketOf(window, 928), tag}]++
	}
	want := Counters{Lines: uint32(rows)}
	atLeast := uint32(rows)
	for _, n := range shared {
		want.TagPasses += uint32(n * n)
		want.Rows += uint32(n * (n + 1) / 2) // as they lie: the row itself and the older ones before it are compared
	}
	have, hits := mapWork(f, f.keys)
	if hits != rows || have.Lines != want.Lines || have.TagPasses != want.TagPasses || have.Slots != 0 {
		t.Fatalf("%d hits of %d: %+v, want %+v", hits, rows, have, want)
	}
	if have.Rows < atLeast || have.Rows > have.TagPasses || have.TagPasses > uint32(rows+rows/100) {
		t.Fatalf("%d rows and %d tag passes in %d hits", have.Rows, have.TagPasses, rows)
	}

	absent := mapKeysOf(1e6, 1e6+50_000)
	wantRows := uint32(0)
	for i := range absent {
		window, tag := f.m.place.of(&absent[i])
		wantRows += uint32(shared[place{bucketOf(window, 928), tag}])
	}
	have, hits = mapWork(f, absent)
	if hits != 0 || have.Lines != uint32(len(absent)) || have.Rows != wantRows || have.TagPasses != wantRows {
		t.Fatalf("absent keys: %d hits, %+v, want %d rows", hits, have, wantRows)
	}
	// 50,000 lookups of 2.16 entries with tags of 10 bits: 105 rows, standard deviation 10.
	if wantRows < 50 || wantRows > 160 {
		t.Fatalf("%d rows in %d lookups of absent keys", wantRows, len(absent))
	}
}

// TestWorkAtLimit counts lookups at the highest load before growth, against the table in the package comment.
func TestWorkAtLimit(t *testing.T) {
	f := mapAtLoad(t, 14_000, loadLimit, txidSpec())
	rows := float64(len(f.keys))
	hit, hits := mapWork(f, f.keys)
	if lines := float64(hit.Lines) / rows; hits != len(f.keys) || lines > 1.11 {
		t.Errorf("%.4f lines a hit", lines)
	}
	if n := float64(hit.Rows) / rows; n > 1.012 {
		t.Errorf("%.4f rows a hit", n)
	}
	absent := mapKeysOf(1e6, 1e6+uint64(rows))
	miss, hits := mapWork(f, absent)
	if lines := float64(miss.Lines) / rows; hits != 0 || lines > 1.15 {
		t.Errorf("%d hits, %.4f lines an absent key", hits, lines)
	}
	if n := float64(miss.Rows) / rows; n > 0.0130 {
		t.Errorf("%.4f rows an absent key", n)
	}
}

// TestProbesAgainstRandom compares the mean number of lines from home to entry with that of a random function at the
// same load: the windows of hashes must be no worse than 1.02 times it, at any offset.
func TestProbesAgainstRandom(t *testing.T) {
	const buckets = 14_000
	random := rand.New(rand.NewPCG(1, 2))
	want := 0.0
	const runs = 5
	for range runs {
		want += randomProbes(random, buckets, buckets*lineSlots*loadLimit/100) / runs
	}
	for _, spec := range []Spec{
		{Name: "t", UniformBits: 256, Window: 0}, {Name: "t", UniformBits: 256, Window: 77},
		{Name: "t", UniformBits: 256, Window: 192}, {Name: "t", UniformBits: 160, Window: 96},
		{Name: "t", Mixed: true, Secret: [16]byte{3}},
	} {
		f := mapAtLoad(t, buckets, loadLimit, spec)
		var s Stats
		v := f.m.View()
		v.scan(&s, uint64(len(f.keys)), [][2]uint64{{0, v.gen.lines}})
		if s.Scanned != uint64(len(f.keys)) || s.ProbeMean > 1.02*want || s.ProbeMean < want/1.02 {
			t.Errorf("%+v: %.4f probes of %d entries, a random function has %.4f", spec, s.ProbeMean, s.Scanned, want)
		}
	}
}

// randomProbes throws rows at buckets and returns their mean probes: what a full line cannot take moves on by one line.
// The sum does not depend on who moves.
func randomProbes(r *rand.Rand, buckets, rows int) float64 {
	counts := make([]int, buckets)
	for range rows {
		counts[r.IntN(buckets)]++
	}
	moved, sum := 0, rows
	for _, n := range counts {
		moved = max(0, moved+n-lineSlots)
		sum += moved
	}
	return float64(sum) / float64(rows)
}

// TestNoAllocations: lookups never allocate, inserts only when the delta grows.
func TestNoAllocations(t *testing.T) {
	f := mapAtLoad(t, 928, 60, txidSpec())
	f.add(mapKeysOf(50_000, 50_100)...) // some in the delta
	v, below := f.m.View(), uint32(len(f.keys))
	keys := slices.Concat(mapKeysOf(0, 20), mapKeysOf(50_000, 50_020), mapKeysOf(90_000, 90_020))
	dst, all := make([]uint32, len(keys)), make([]uint32, 0, 8)
	found := 0
	for what, call := range map[string]func(){
		"Find": func() {
			for i := range keys {
				local := keys[i]
				if _, ok := v.Find(&local, below); ok {
					found++
				}
			}
		},
		"FindAll": func() {
			for i := range keys {
				all = v.FindAll(all[:0], &keys[i], below)
			}
		},
		"FindGroup": func() { v.FindGroup(keys, below, dst) },
		"View":      func() { v = f.m.View() },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	if found != 101*40 {
		t.Errorf("%d found, want %d", found, 101*40)
	}
	// A table just after it grew has room for as many rows again.
	grown := f.m.view.Load().active.table.Load()
	link := uint32(0)
	for f.m.view.Load().active.table.Load() == grown {
		f.insertLink(link)
		link++
	}
	if n := testing.AllocsPerRun(100, func() { f.insertLink(link); link++ }); n != 0 {
		t.Errorf("Insert: %v allocations", n)
	}
}

// TestInsertOverflow: the link that would read as empty is refused.
func TestInsertOverflow(t *testing.T) {
	f := newMapFixture(t, store.NewMemDisk(), txidSpec(), nil)
	var overflow *LinkOverflow
	if err := f.m.Insert(NoLink); !errors.As(err, &overflow) || f.m.View().active.count.Load() != 0 {
		t.Fatalf("Insert(NoLink): %v", err)
	}
}
