package script

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

func wtxid(n uint64) *chain.Hash {
	var h chain.Hash
	binary.LittleEndian.PutUint64(h[:], n)
	return &h
}

// TestCacheModel: what was added last is there, what was never added is not, and flags are part of a key.
func TestCacheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCache(rapid.SampledFrom([]int{0, 64, 1000, 1 << 16}).Draw(t, "bytes"))
		added := map[[2]uint64]bool{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			n := rapid.Uint64Range(0, 50).Draw(t, "tx")
			f := rapid.SampledFrom([]Flags{NoFlags, P2SH, Consensus}).Draw(t, "flags")
			if rapid.Bool().Draw(t, "add") {
				c.Add(wtxid(n), f)
				added[[2]uint64{n, uint64(f)}] = true
				if !c.Has(wtxid(n), f) {
					t.Fatal("forgotten at once")
				}
			} else if c.Has(wtxid(n), f) && !added[[2]uint64{n, uint64(f)}] {
				t.Fatalf("%d under %b was never added", n, f)
			}
		}
	})
}

// TestCacheHolds: a cache keeps most of what fits in it by count, adding the same again costs no room, and it stays
// within its bound.
func TestCacheHolds(t *testing.T) {
	const room = 1 << 12
	c := NewCache(room * 16)
	if size := len(c.buckets) * bucketSize; size != room*16 || reflect.TypeFor[cacheBucket]().Size() != bucketSize {
		t.Fatalf("%d bytes, want %d", size, room*16)
	}
	for range 3 {
		for n := range uint64(room / 2) {
			c.Add(wtxid(n), Consensus)
		}
	}
	held := 0
	for n := range uint64(room / 2) {
		if c.Has(wtxid(n), Consensus) {
			held++
		}
	}
	if held < room/2*9/10 { // with 2 of 4 ways in use on average, few buckets overflow
		t.Errorf("%d of %d held", held, room/2)
	}
	for n := range uint64(room * 10) {
		c.Add(wtxid(n), 0)
		if c.Has(wtxid(n+1<<40), 0) {
			t.Fatalf("%d was never added", n+1<<40)
		}
	}
	if other := NewCache(room * 16); other.secret == c.secret || other.Has(wtxid(1), Consensus) {
		t.Error("two caches share a secret")
	}
	if n := testing.AllocsPerRun(100, func() { c.Add(wtxid(1), 0); c.Has(wtxid(2), 0) }); n > 2 { // two of wtxid
		t.Errorf("%v allocations", n)
	}
}

// TestCacheRace: many goroutines in one small cache; none ever finds what nobody added (a test for the race detector).
func TestCacheRace(t *testing.T) {
	c := NewCache(1 << 10)
	var all sync.WaitGroup
	for g := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(g, 1))
			for range 20_000 {
				c.Add(wtxid(r.Uint64N(500)<<1), 0)
				if n := r.Uint64N(500)<<1 | 1; c.Has(wtxid(n), 0) {
					t.Errorf("%d was never added", n)
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkCache(b *testing.B) {
	c := NewCache(32 << 20)
	h := wtxid(5)
	c.Add(h, Consensus)
	b.ReportAllocs()
	for b.Loop() {
		if !c.Has(h, Consensus) {
			b.Fatal("forgotten")
		}
	}
}
