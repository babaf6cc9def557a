package confirm_test

import (
	"runtime"
	"testing"

	generate "stele/bench/chain"
	"stele/chain"
	"stele/store"
	"stele/tables/confirm"
	"stele/utxo"
)

// generated makes a chain of full blocks as nodes without a ledger of their own.
func generated(t fataler, blocks, txs int) (tip *node) {
	t.Helper()
	src, err := generate.New(generate.Options{Seed: 3, Blocks: uint32(blocks), Txs: txs, Mix: generate.Mainnet, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	tip = genesisNode()
	times := []uint32{tip.Time}
	for b := new(generate.Block); src.Next(b); {
		h, err := chain.ParseHeader(b.Raw)
		if err != nil {
			t.Fatal(err)
		}
		n := &node{Block: tip.Block.Next(0), parent: tip, verdict: good}
		n.Raw, n.Hash, n.Time = append([]byte(nil), b.Raw...), b.Hash, h.Time
		times = append(times, h.Time)
		n.mtp = medianTime(times)
		tip = n
	}
	return tip
}

// largeRig is a store with room for generated chains.
func largeRig(t fataler, set bool) *rig {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(16 << 20)
	return rigOn(t, d, chain.Regtest(), set)
}

// path lists the blocks above genesis up to n.
func (n *node) path() []*node {
	path := make([]*node, n.Height)
	for at := n; at.parent != nil; at = at.parent {
		path[at.Height-1] = at
	}
	return path
}

// TestTakeBesidePut: with a set, one goroutine takes blocks while another puts them, as far apart as they like; the race
// detector sees all that they share. Now and then what is in flight is dropped and taken again.
func TestTakeBesidePut(t *testing.T) {
	tip := generated(t, 150, 30)
	r := largeRig(t, true)
	defer r.discard()
	path := tip.path()
	var items []*item
	for _, n := range path {
		r.link(n)
	}
	for _, n := range path {
		items = append(items, r.item(n))
	}
	taken, done := make(chan *item, 20), make(chan error)
	go func() {
		var first error
		for x := range taken {
			if err := r.c.Put(&x.w, &x.rows); first == nil {
				first = err
			}
		}
		done <- first
	}()
	for i := 0; i < len(items); {
		k := min(len(items)-i, 1+i%5)
		var ws []*confirm.Work
		for _, x := range items[i : i+k] {
			ws = append(ws, &x.w)
		}
		for round := range 1 + i%2 {
			if n, err := r.c.Take(ws); n != k || err != nil {
				t.Fatalf("took %d of %d: %v", n, k, err)
			}
			for j := k - 1; j >= 0 && round < i%2; j-- {
				if err := r.c.Drop(ws[j]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, x := range items[i : i+k] {
			taken <- x
		}
		i += k
	}
	close(taken)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, height := r.t.Tip(); height != tip.Height {
		t.Fatalf("tip at height %d, want %d", height, tip.Height)
	}
	rolled := newSet()
	defer rolled.Close()
	r.roll(rolled, genesisOf(tip))
	wantSame(t, rolled, r.set)
}

// TestNothingAllocated: once memory has grown, Take allocates nothing, and Put only where the tables grow.
func TestNothingAllocated(t *testing.T) {
	tip := generated(t, 220, 60)
	bothModes(t, func(t *testing.T, set bool) {
		r := largeRig(t, false)
		defer r.discard()
		if set {
			r.set = utxo.New(utxo.Options{Salt: 1, Workers: 1})
			r.c.Use(r.set)
		}
		const window = 4
		take, put := uint64(0), uint64(0)
		for path := tip.path(); len(path) > 0; path = path[window:] {
			counts := len(path) <= 40
			var ws []*confirm.Work
			var items []*item
			for _, n := range path[:window] {
				x := r.item(n)
				items, ws = append(items, x), append(ws, &x.w)
			}
			taking := func() {
				if n, err := r.c.Take(ws); n != window || err != nil {
					t.Fatal(n, err)
				}
			}
			for range 3 { // before it counts: the set's lists of free cells grow at times
				taking()
				for i := window - 1; i >= 0; i-- {
					if err := r.c.Drop(ws[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			take += mallocs(counts, taking)
			put += mallocs(counts, func() {
				for _, x := range items {
					if err := r.c.Put(&x.w, &x.rows); err != nil {
						t.Fatal(err)
					}
				}
			})
			for _, x := range items {
				r.free(x)
			}
		}
		most := uint64(0)
		if set {
			most = 3 // its lists still grow now and then
		}
		if take > most || put > 20 {
			t.Errorf("40 blocks allocated %d times in Take, want %d, and %d in Put, want 20 at the most", take, most, put)
		}
	})
}

// mallocs counts the allocations of f.
func mallocs(counts bool, f func()) uint64 {
	if !counts {
		f()
		return 0
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
