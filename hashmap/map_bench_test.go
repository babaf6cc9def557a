package hashmap

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"stele/store"
)

// BenchmarkLoads makes the table of the package comment: what lines look like, and cost, at a load.
func BenchmarkLoads(b *testing.B) {
	const buckets = 14_000
	for _, load := range []uint64{60, 70, 75, 80, 85, 90} {
		b.Run(fmt.Sprint(load), func(b *testing.B) {
			f := mapAtLoad(b, buckets, load, txidSpec())
			rows := float64(len(f.keys))
			var s Stats
			v := f.m.View()
			v.scan(&s, uint64(len(f.keys)), [][2]uint64{{0, v.gen.lines}})
			absent := mapKeysOf(1e6, 1e6+uint64(rows))
			var hit, miss Counters
			for b.Loop() {
				hit, _ = mapWork(f, f.keys)
				miss, _ = mapWork(f, absent)
			}
			b.ReportMetric(rows/buckets, "entries/line")
			b.ReportMetric(100*s.Spilled, "%passed")
			b.ReportMetric(s.ProbeMean, "probes")
			b.ReportMetric(float64(s.ProbeMax), "maxprobes")
			b.ReportMetric(float64(hit.Lines)/rows, "lines/hit")
			b.ReportMetric(float64(hit.Rows)/rows, "rows/hit")
			b.ReportMetric(float64(miss.Lines)/rows, "lines/miss")
			b.ReportMetric(float64(miss.Rows)/rows, "rows/miss")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchRows is the number of rows of the benchmarks in time: 210 MB of rows, 38 MB of lines or more.
const benchRows = 5_000_000

// benchWidth is the width of a transaction's row.
const benchWidth = 42

// benchMap is a map of that many rows on the file system, merged at once, all warm.
func benchMap(b *testing.B, rows uint64) (*Map, []mapKey) {
	b.Helper()
	disk, err := store.OpenDir(b.TempDir(), store.DirOptions{Verb: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = disk.Close() })
	body, err := store.OpenBody(disk, store.BodySpec{Name: "rows", Kind: "test", Width: benchWidth}, mapID, 0)
	if err != nil {
		b.Fatal(err)
	}
	m, err := OpenMap(disk, mapID, txidSpec(), Rows{Body: body, Width: benchWidth}, State{})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]mapKey, rows)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range keys {
		for at := 0; at < 256; at += 64 {
			setWord(&keys[i], at/8, r.Uint64())
		}
		if err := body.Reserve(benchWidth); err != nil {
			b.Fatal(err)
		}
		copy(body.Grow(benchWidth), keys[i][:])
		if err := body.FlushIfLarge(); err != nil {
			b.Fatal(err)
		}
		if err := m.Insert(uint32(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := body.Flush(); err != nil {
		b.Fatal(err)
	}
	return m, keys
}

func setWord(key *mapKey, at int, w uint64) {
	for i := range 8 {
		key[at+i] = byte(w >> (8 * i))
	}
}

// BenchmarkFind looks up random keys, present and absent, a batch one by one and the next in groups, in turns, so that
// what else the machine does falls on both alike.
func BenchmarkFind(b *testing.B) {
	m, rows := benchMap(b, benchRows)
	if err := m.Merge(uint32(len(rows))); err != nil {
		b.Fatal(err)
	}
	v := m.View()
	v.FindGroup(rows, NoLink, make([]uint32, len(rows))) // every page is mapped from here on
	const batch, batches = 2048, 128
	r := rand.New(rand.NewPCG(2, 2))
	present, absent := make([]mapKey, batch*batches), make([]mapKey, batch*batches)
	for i := range present {
		present[i] = rows[r.IntN(len(rows))]
		for at := 0; at < 32; at += 8 {
			setWord(&absent[i], at, r.Uint64())
		}
	}
	dst := make([]uint32, batch)
	for name, keys := range map[string][]mapKey{"hit": present, "miss": absent} {
		b.Run(name, func(b *testing.B) {
			var single, group time.Duration
			found, n := 0, 0
			for ; b.Loop(); n++ {
				at := 2 * n % batches * batch
				one, many := keys[at:at+batch], keys[at+batch:at+2*batch]
				start := time.Now()
				for i := range one {
					if _, ok := v.Find(&one[i], NoLink); ok {
						found++
					}
				}
				between := time.Now()
				v.FindGroup(many, NoLink, dst)
				single += between.Sub(start)
				group += time.Since(between)
			}
			if (name == "hit") != (found == n*batch) || (name == "miss") != (found == 0) {
				b.Fatalf("%d of %d found", found, n*batch)
			}
			b.ReportMetric(float64(single.Nanoseconds())/float64(n*batch), "ns/single")
			b.ReportMetric(float64(group.Nanoseconds())/float64(n*batch), "ns/grouped")
			b.ReportMetric(float64(single)/float64(group), "single/grouped")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkInsert inserts rows into the delta; BenchmarkMerge builds lines of all rows, and merges a fifth in place.
func BenchmarkInsert(b *testing.B) {
	m, keys := benchMap(b, 1_000_000)
	i := 0
	for b.Loop() {
		if i == len(keys) {
			i = 0
			m.view.Load().active.table.Store(newDeltaTable(minDelta))
			m.view.Load().active.count.Store(0)
		}
		if err := m.Insert(uint32(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkMerge(b *testing.B) {
	m, keys := benchMap(b, benchRows)
	rows := uint32(len(keys))
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			gen, err := m.build(uint64(rows / 5 * 4))
			if err != nil {
				b.Fatal(err)
			}
			if err := gen.file.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows/5*4), "ns/row")
	})
	if err := m.Merge(rows / 5 * 4); err != nil {
		b.Fatal(err)
	}
	b.Run("inplace", func(b *testing.B) {
		gen := m.View().gen
		for b.Loop() {
			if err := m.mergeInPlace(gen, uint64(rows/5*4), uint64(rows)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows/5), "ns/row")
	})
}
