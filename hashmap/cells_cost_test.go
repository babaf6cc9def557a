package hashmap

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// A lookup reads about one line of a delta and one cell, whatever the pattern of the numbers; one that lies beyond the
// file reads no cell.
func TestCellsCost(t *testing.T) {
	if size := unsafe.Sizeof(cellsLine{}); size != lineSize {
		t.Fatalf("a line of the delta has %d bytes, want %d", size, lineSize)
	}
	for _, stride := range []uint64{1, 2, 3, 64, 1 << 10, 1 << 20} {
		t.Run(fmt.Sprint(stride), func(t *testing.T) {
			d := newCellsDelta(0)
			const numbers = 150_000
			for i := range uint64(numbers) {
				d.set(i*stride, 1)
			}
			v := CellsView{active: d}
			hit, miss := 0, 0
			for i := range uint64(numbers) {
				_, _, c := v.Probe(i * stride)
				hit += c.Lines
				_, _, c = v.Probe((numbers + i) * stride)
				miss += c.Lines
				if c.Cells != 0 {
					t.Fatal("a cell was read without a file")
				}
			}
			lines := len(d.table.Load().lines)
			if load := float64(numbers) / float64(lines*cellsSlots); load < 0.3125 || load > 0.625 {
				t.Errorf("the table is filled to %.2f, want 5/16 to 5/8", load)
			}
			wantHit, wantMiss := cellsRandomProbes(lines, numbers)
			if float64(hit) > 1.02*wantHit || float64(miss) > 1.02*wantMiss {
				t.Errorf("%d hits read %d lines, as many misses %d; random homes %.0f and %.0f", numbers, hit, miss,
					wantHit, wantMiss)
			}
		})
	}
	f := newCellsFixture(t, cellsTestDisk(1<<16))
	f.set(5000, 7)
	f.merge()
	for n, cells := range map[uint64]int{5000: 1, 0: 1, 5001: 0} {
		if _, _, c := f.cells.View().Probe(n); c.Lines != 1 || c.Cells != cells {
			t.Errorf("cell %d cost %+v, want 1 line and %d cells", n, c, cells)
		}
	}
	f.seal()
	if _, _, c := f.cells.View().Probe(5000); c.Lines != 2 || c.Cells != 1 {
		t.Errorf("beside a sealed delta a lookup cost %+v, want 2 lines and 1 cell", c)
	}
	// A cell lies within one page and one cache line.
	v := f.cells.View()
	for n := range uint64(5000) {
		if at := uintptr(v.word(n)) - uintptr(v.word(0)); at/8 != uintptr(n/2) {
			t.Fatalf("cell %d lies %d bytes behind cell 0", n, at)
		}
	}
}

// cellsRandomProbes returns the lines that as many hits and misses read as there are numbers in a table, if every home
// were drawn by a random function.
func cellsRandomProbes(lines, numbers int) (hit, miss float64) {
	const rounds = 4
	coin := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		used := make([]int, lines)
		walk := func(at int) (end, read int) {
			for read = 1; used[at] == cellsSlots; read++ {
				at = (at + 1) % lines
			}
			return at, read
		}
		for range numbers {
			at, read := walk(coin.IntN(lines))
			used[at]++
			hit += float64(read) / rounds
		}
		for range numbers {
			_, read := walk(coin.IntN(lines))
			miss += float64(read) / rounds
		}
	}
	return hit, miss
}

func TestCellsAllocateNothing(t *testing.T) {
	f := newCellsFixture(t, cellsTestDisk(1<<20))
	for n := range uint64(50_000) {
		f.set(n, uint32(n+1))
	}
	f.merge()
	for n := range uint64(1000) {
		f.cells.Set(n*3, 7)
	}
	ns, deltas, bases := make([]uint64, 100), make([]uint32, 100), make([]uint32, 100)
	n, sum := uint64(0), uint32(0)
	for what, call := range map[string]func(){
		"Get":  func() { d, b := f.cells.View().Get(n % 60_000); n += 17; sum += d + b },
		"Set":  func() { f.cells.Set(n%40_000, 9); n += 17 },
		"View": func() { v := f.cells.View(); sum += uint32(v.count) },
		"GetGroup": func() {
			for i := range ns {
				ns[i] = (n + uint64(i)*101) % 60_000
			}
			f.cells.View().GetGroup(ns, deltas, bases)
		},
	} {
		if allocs := testing.AllocsPerRun(1000, call); allocs != 0 {
			t.Errorf("%s allocates %v times", what, allocs)
		}
	}
	if sum == 0 {
		t.Error("nothing was found")
	}
}

// FuzzCellsOpen opens any bytes at any state: an error, or cells that can be read and merged without a panic.
func FuzzCellsOpen(f *testing.F) {
	x := newCellsFixture(f, cellsTestDisk(1<<16))
	x.set(10, 1)
	x.set(1200, 2)
	x.merge()
	good, st := cellsTestBytes(f, x.disk, "spend.cells-1"), x.cells.State()
	f.Add(good, st.AppendTo(nil), uint64(11))
	f.Add(good[:4096], st.AppendTo(nil), uint64(0))
	f.Add(good[:100], st.AppendTo(nil), uint64(0))
	f.Add([]byte{}, State{}.AppendTo(nil), uint64(1)<<39)
	f.Fuzz(func(t *testing.T, data, state []byte, n uint64) {
		st, err := ParseState(state)
		if err != nil || len(data) > 1<<16 {
			return
		}
		c, err := OpenCells(cellsTestFile(t, "spend.cells-1", data), cellsTestID, CellsSpec{Name: "spend"}, st)
		if err != nil {
			return
		}
		v := c.View()
		for _, n := range []uint64{n % MaxCells, st.Entries - 1, st.Entries, 0} {
			if _, base := v.Get(n); base != 0 && n >= st.Entries {
				t.Fatalf("cell %d of %d is %d", n, st.Entries, base)
			}
		}
		c.Set(n%1000, 5)
		count := max(st.Entries, 1000)
		if err := c.Merge(count, st.Watermark); err == nil {
			if delta, base := c.View().Get(n % 1000); delta != 0 || base != 5 {
				t.Fatalf("cell %d is (%d, %d) after a merge, want (0, 5)", n%1000, delta, base)
			}
		}
	})
}

func BenchmarkCells(b *testing.B) {
	const numbers = 1 << 20
	f := newCellsFixture(b, cellsTestDisk(cellsEnd(4*numbers)))
	f.count = 4 * numbers
	for n := range uint64(numbers) {
		f.cells.Set(n*4, uint32(n)+1)
	}
	if err := f.cells.Merge(f.count, 1); err != nil {
		b.Fatal(err)
	}
	for n := range uint64(numbers / 4) {
		f.cells.Set(n*16+1, 1)
	}
	v := f.cells.View()
	sum := uint32(0)
	b.Run("get", func(b *testing.B) {
		for i := range b.N {
			d, base := v.Get(Mix64(uint64(i), 1) % (4 * numbers))
			sum += d + base
		}
	})
	b.Run("group", func(b *testing.B) {
		var ns [128]uint64
		var deltas, bases [128]uint32
		for i := 0; i < b.N; i += len(ns) {
			for j := range ns {
				ns[j] = Mix64(uint64(i+j), 1) % (4 * numbers)
			}
			v.GetGroup(ns[:], deltas[:], bases[:])
			sum += deltas[0] + bases[0]
		}
	})
	b.Run("set", func(b *testing.B) {
		d := newCellsDelta(0)
		for i := range b.N {
			d.set(Mix64(uint64(i), 1)%(4*numbers), 1)
		}
	})
	b.Run("merge", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			for n := range uint64(numbers) {
				f.cells.Set(Mix64(n, uint64(i))%(4*numbers), uint32(n)+1)
			}
			b.StartTimer()
			if err := f.cells.Merge(f.count, 1); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/numbers, "ns/value")
	})
}
