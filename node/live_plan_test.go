package node

import (
	"math/rand/v2"
	"testing"

	"stele/chain"
)

// What a node is given by several peers at once, in any order, comes to what an import of it does: the chain, every
// spender and the set of unspent outputs. So it does over restarts in the middle, where all that was not archived or
// pending is given again; and blocks that are archived, or on the chain, take no memory.
func TestLivePlansAgree(t *testing.T) {
	c := core(t)
	l := newLedger(chain.Regtest(), c.blocks)
	want := l.signature(t, hashOf(c.tip))
	sets, restarts := 0, 0
	for seed := range seeds(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := newPlan(rng)
		watch := watchCoins(t, &p.o)
		r := memRig(t, chain.Regtest())
		o := Options{ImportOptions: p.o, BlockBytes: pick[int64](rng, 1, 4_000, 100_000, 0)}
		blocks := p.arrange(rng, c.blocks)
		for {
			n := r.live(o)
			rounds := rng.IntN(2)
			if rounds > 0 {
				restarts++
				n.scatter(t, rng, 1+rng.IntN(4), c.blocks[:rng.IntN(len(c.blocks))])
			} else {
				n.scatter(t, rng, 1+rng.IntN(4), blocks)
				n.settle(t)
				if got := r.signature(t); got != want {
					t.Fatalf("seed %d, %v: another result\n%.1000s", seed, p, got)
				}
			}
			rep := n.stop(t)
			if len(rep.Rejected)+int(rep.Lost) > 0 {
				t.Fatalf("seed %d, %v: %+v", seed, p, rep)
			}
			if rounds == 0 {
				break
			}
			r.reopen(t)
		}
		r.wantCore(t, c)
		if watch.set != nil {
			t.Fatalf("seed %d, %v: a set was left", seed, p)
		}
		if watch.times > 0 && watch.last != (statedSet{}) {
			sets++
		}
		r.reopen(t)
		r.wantReplay(t, l)
		r.discard()
	}
	if !testing.Short() && (sets < 3 || restarts < 3) {
		t.Errorf("%d sets, %d restarts", sets, restarts)
	}
}

// The set that coins come from is what the tables say is unspent, and what Bitcoin Core has at that tip, however it
// came to be: loaded from the archive or from an image, at the beginning or in the middle, rolled or not.
func TestSetInUse(t *testing.T) {
	c := core(t)
	dir := t.TempDir()
	late := 0
	for seed := range seeds(16) {
		rng := rand.New(rand.NewPCG(seed, 6))
		r := memRig(t, chain.Regtest())
		for _, blocks := range [][][]byte{c.blocks[:rng.IntN(len(c.blocks))], c.blocks} {
			p := newPlan(rng)
			p.o.TablesAlone, p.o.reserve = false, 64<<10
			watch := watchCoins(t, &p.o)
			rep := r.run(t, p.options(t, rng, dir, blocks))
			if watch.times == 0 {
				late++ // the import ended sooner than it was ready
				if rep.Coins != "tables" {
					t.Fatalf("seed %d, %v: %s", seed, p, rep.Coins)
				}
				continue
			}
			if want := r.unspentSet(t); watch.last != want || rep.Coins != "set" {
				t.Fatalf("seed %d, %v: the set is %+v, the tables' %+v", seed, p, watch.last, want)
			}
			if _, height := r.t.Tip(); height == c.height && watch.last.serialized != c.setHash {
				t.Fatalf("seed %d, %v: the set's hash is %s", seed, p, watch.last.serialized)
			}
			r.reopen(t)
		}
		r.discard()
	}
	if late > int(seeds(16)) {
		t.Errorf("%d imports of %d had no set", late, 2*seeds(16))
	}
}
