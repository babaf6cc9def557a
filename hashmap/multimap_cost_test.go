package hashmap

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"stele/store"
)

// At 4 pairs a bucket most lookups read one line, as many as a random function would have them read, and false
// candidates are as rare as tags of 24 bits make them.
func TestMultimapCost(t *testing.T) {
	if size := unsafe.Sizeof(multiPair{}); size != 20 {
		t.Fatalf("a pair in memory has %d bytes, want 20", size)
	}
	const buckets, pairs = 10_000, 40_000
	coin := rand.New(rand.NewPCG(3, 4))
	f := newMultiFixture(t, cellsTestDisk(2<<20), MultimapSpec{Once: true, Buckets: buckets})
	var keys [pairs]uint64
	for i := range keys {
		keys[i] = coin.Uint64()
		f.m.Add(keys[i], uint64(i))
	}
	if err := f.m.Merge(pairs); err != nil {
		t.Fatal(err)
	}
	v := f.m.View()
	var hit, miss MultiCounters
	sum := func(to *MultiCounters, c MultiCounters) {
		to.Heads, to.Pairs, to.Lines, to.Passes = to.Heads+c.Heads, to.Pairs+c.Pairs, to.Lines+c.Lines, to.Passes+c.Passes
	}
	for i, key := range keys {
		got, c := v.Probe(nil, key)
		if len(got) != 1 || got[0] != uint64(i) {
			t.Fatalf("key %d has %v", i, got)
		}
		sum(&hit, c)
		_, c = v.Probe(nil, coin.Uint64())
		sum(&miss, c)
	}
	// Lines that a random function needs: a whole chain each time.
	var used [buckets]int
	for range pairs {
		used[coin.IntN(buckets)]++
	}
	wantHit, wantMiss := 0.0, 0.0
	for _, n := range used {
		lines := float64(max(1, (n+multiEntries-1)/multiEntries))
		wantHit += float64(n) * lines
		wantMiss += pairs / buckets * lines
	}
	if float64(hit.Lines) > 1.02*wantHit || float64(miss.Lines) > 1.02*wantMiss {
		t.Errorf("hits read %d lines, misses %d, random buckets %.0f and %.0f", hit.Lines, miss.Lines, wantHit, wantMiss)
	}
	// 80,000 lookups compare 5 entries each: 0.02 false ones are expected.
	if hit.Passes+miss.Passes > pairs+1 || hit.Heads+miss.Heads != 2*pairs || hit.Pairs+miss.Pairs != 0 {
		t.Errorf("hits cost %+v, misses %+v", hit, miss)
	}
}

// What single lookups read, beside a sealed delta.
func TestMultimapCostOfOne(t *testing.T) {
	one := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Once: true})
	one.add(1<<60, 5)
	one.merge()
	one.add(1<<61, 6)
	one.seal()
	for _, want := range []struct {
		key uint64
		MultiCounters
	}{
		{1 << 60, MultiCounters{Heads: 2, Lines: 1, Passes: 1}},
		{1 << 61, MultiCounters{Heads: 2, Lines: 1, Pairs: 1}},
		{1 << 62, MultiCounters{Heads: 2, Lines: 1}},
	} {
		if _, c := one.m.View().Probe(nil, want.key); c != want.MultiCounters {
			t.Errorf("key %#x cost %+v, want %+v", want.key, c, want.MultiCounters)
		}
	}
	// A line lies within one page and one cache line: its place is a multiple of its size from the page-aligned start.
	g := one.m.View().file
	if at := uintptr(g.line(63)) - uintptr(unsafe.Pointer(&g.mapping.Bytes()[0])); at != 4096+63*64 {
		t.Errorf("line 63 lies at byte %d", at)
	}
}

func TestMultimapAllocateNothing(t *testing.T) {
	for _, once := range []bool{true, false} {
		f := newMultiFixture(t, cellsTestDisk(1<<20), MultimapSpec{Mixed: true, Once: once})
		for i := range uint64(5000) {
			f.m.Add(i/10, i)
		}
		if err := f.m.Merge(5000); err != nil {
			t.Fatal(err)
		}
		dst := make([]uint64, 0, 100)
		i, found := uint64(0), 0
		for what, call := range map[string]func(){
			"Add":  func() { f.m.Add(i%500, 5000+i); i++ },
			"All":  func() { dst = f.m.View().All(dst[:0], i%600); i++; found += len(dst) },
			"View": func() { v := f.m.View(); found += int(v.lines) },
		} {
			if allocs := testing.AllocsPerRun(1000, call); allocs != 0 {
				t.Errorf("%s allocates %v times", what, allocs)
			}
		}
		if found == 0 {
			t.Error("nothing was found")
		}
	}
}

// The mixer is a bijection that spreads numbers side by side over all buckets, differently for each secret.
func TestMultimapMix(t *testing.T) {
	a, b := [16]byte{1}, [16]byte{9: 1}
	var buckets [64]int
	seen := make(map[uint64]bool)
	same := 0
	for key := range uint64(64 * 100) {
		x, y := multiMix(key, &a), multiMix(key, &b)
		buckets[x>>58]++
		if x>>58 == y>>58 {
			same++
		}
		seen[x] = true
	}
	if len(seen) != 6400 {
		t.Errorf("%d words of 6400 keys", len(seen))
	}
	for i, n := range buckets { // 100 each expected, deviation 10
		if n < 50 || n > 150 {
			t.Errorf("bucket %d has %d keys of 100", i, n)
		}
	}
	if same < 50 || same > 150 {
		t.Errorf("%d of 6400 keys have the same bucket under two secrets, want about 100", same)
	}
}

// FuzzMultimapOpen opens any bytes at any state: an error, or a multimap that can be read, verified and merged into
// without a panic or an endless chain. With whole, the header page is made to fit the state, so that the lines decide.
func FuzzMultimapOpen(f *testing.F) {
	x := newMultiFixture(f, cellsTestDisk(1<<16), MultimapSpec{Buckets: 2})
	for i := range uint64(40) {
		x.add(i%3<<62, i)
	}
	x.merge()
	good, st := cellsTestBytes(f, x.disk, "conflict.multi-1"), x.m.State()
	loop := append([]byte(nil), good...)
	loop[4096+2*64+56] = 1 // an overflow line that is its own older one
	f.Add(good, st.AppendTo(nil), uint64(1), true)
	f.Add(loop, st.AppendTo(nil), uint64(0), true)
	f.Add(good, st.AppendTo(nil), uint64(0), false)
	f.Add(good[:4096+64], st.AppendTo(nil), uint64(1)<<62, true)
	f.Add([]byte{}, State{}.AppendTo(nil), uint64(1)<<63, false)
	f.Fuzz(func(t *testing.T, data, state []byte, key uint64, whole bool) {
		st, err := ParseState(state)
		if err != nil || len(data) > 1<<16 {
			return
		}
		if whole && len(data) >= store.PageSize {
			st.Generation = 1
			data = bytes.Clone(data)
			copy(data, x.m.files.head(1, st.Buckets))
			copy(data[cellsHeadStamp:], cellsStamp{to: st.Watermark + key%2}.bytes())
		}
		m, err := OpenMultimap(cellsTestFile(t, "conflict.multi-1", data), cellsTestID, MultimapSpec{Name: "conflict"}, st)
		if err != nil {
			return
		}
		m.Verify()
		if got := m.View().All(nil, key); uint64(len(got)) > (st.Entries+1)*multiEntries {
			t.Fatalf("%d values in %d overflow lines", len(got), st.Entries)
		}
		m.Add(key, 5)
		m.Add(^key, MaxMultiValue)
		if err := m.Merge(st.Watermark); err != nil {
			return
		}
		for key, value := range map[uint64]uint64{key: 5, ^key: MaxMultiValue} {
			found := false
			for _, v := range m.View().All(nil, key) {
				found = found || v == value
			}
			if !found {
				t.Fatalf("key %#x has lost %d", key, value)
			}
		}
	})
}

func BenchmarkMultimap(b *testing.B) {
	const pairs = 1 << 20
	f := newMultiFixture(b, cellsTestDisk(64<<20), MultimapSpec{Once: true, Buckets: pairs / 4})
	for i := range uint64(pairs) {
		f.m.Add(Mix64(i, 1), i)
	}
	if err := f.m.Merge(1); err != nil {
		b.Fatal(err)
	}
	v, sum := f.m.View(), uint64(0)
	dst := make([]uint64, 0, 100)
	b.Run("all hit", func(b *testing.B) {
		for i := range b.N {
			dst = v.All(dst[:0], Mix64(uint64(i)%pairs, 1))
			sum += dst[0]
		}
	})
	b.Run("all miss", func(b *testing.B) {
		for i := range b.N {
			dst = v.All(dst[:0], Mix64(uint64(i), 2))
			sum += uint64(len(dst))
		}
	})
	b.Run("add", func(b *testing.B) {
		d := newMultiDelta(0)
		for i := range b.N {
			d.add(Mix64(uint64(i), 1), uint64(i))
		}
	})
	b.Run("merge", func(b *testing.B) {
		for range b.N {
			err := f.m.Rebuild(pairs/4, func(_ uint64, yield func(key, value uint64)) error {
				for i := range uint64(pairs) {
					yield(Mix64(i, 1), i)
				}
				return nil
			})
			if err == nil {
				f.m.State()
				err = f.m.Retire()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/pair")
	})
}
