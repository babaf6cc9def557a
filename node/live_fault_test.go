package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stele/chain"
	"stele/store"
)

// A node whose disk is full at any of its allocations waits until there is room again, and serves on meanwhile:
// nothing of what was given is lost, nobody is blamed, and it comes to the same end.
func TestNodeWaitsForRoom(t *testing.T) {
	c := core(t)
	for seed := range seeds(8) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var allocations, refusals atomic.Int64
		first, most := int64(1)<<rng.IntN(6), int64(1+rng.IntN(3))
		r, d := hookRig(t, nil)
		var n *liveRig
		d.SetHook(func(op store.Op, name string) error {
			if op == store.OpAllocate && allocations.Add(1) >= first && refusals.Add(1) <= most {
				return &store.DiskFull{Name: name, Need: 1, Err: errors.New("full")}
			}
			return nil
		})
		p := newPlan(rng)
		o := Options{ImportOptions: p.o, BlockBytes: pick[int64](rng, 1, 4_000, 0)}
		o.times.patience = time.Millisecond
		told := 0
		o.Full = func(error) { told++ }
		n = r.live(o)
		n.scatter(t, rng, 2, p.arrange(rng, c.blocks))
		n.settle(t)
		if all := n.refused(); len(all) > 0 {
			t.Fatalf("seed %d, %v: %+v", seed, p, all)
		}
		r.wantCore(t, c)
		n.stop(t)
		if refusals.Load() >= most && told == 0 && p.o.times.images == 0 {
			t.Fatalf("seed %d, %v: nobody was told", seed, p)
		}
		r.reopen(t)
		r.wantCore(t, c)
		r.discard()
	}
}

// A node that is stopped at any moment leaves no goroutine (TestMain) and no set; what it had archived is durable, and
// another one goes on from there. Whoever asks it something then is told so.
func TestNodeStopsAnywhere(t *testing.T) {
	c := core(t)
	l := newLedger(chain.Regtest(), c.blocks)
	inFlight := 0
	for seed := range seeds(16) {
		rng := rand.New(rand.NewPCG(seed, 8))
		d := store.NewMemDisk()
		d.SetReserveCap(512 << 10)
		r := newRig(t, d, chain.Regtest())
		p := newPlan(rng)
		p.o.reserve = 32 << 10
		w := watchCoins(t, &p.o)
		var changes atomic.Int64
		at := int64(1) << rng.IntN(11)
		reached := make(chan struct{})
		var once sync.Once
		d.SetHook(func(store.Op, string) error {
			if changes.Add(1) >= at {
				once.Do(func() { close(reached) })
			}
			return nil
		})
		n := r.live(Options{ImportOptions: p.o, BlockBytes: 4_000})
		for _, b := range c.blocks {
			n.header(t, b)
		}
		blocks := p.arrange(rng, c.blocks)
		for _, b := range blocks {
			n.block(t, b, 1)
		}
		select {
		case <-reached:
		case <-time.After(200 * time.Millisecond): // it makes fewer changes
		}
		rep := n.stop(t)
		if w.set != nil || len(rep.Rejected) > 0 {
			t.Fatalf("seed %d, %v: a set is left, or %+v", seed, p, rep.Rejected)
		}
		if rep.Tip.Hash != hashOf(c.tip) {
			inFlight++
		}
		hash := hashOf(c.tip)
		if err := n.n.PutBlock(&hash, c.tip, 1); !errors.Is(err, ErrStopped) {
			t.Fatalf("put: %v", err)
		}
		if err := n.n.Settle(context.Background()); !errors.Is(err, ErrStopped) {
			t.Fatalf("settle: %v", err)
		}
		r.reopen(t)
		r.wantReplay(t, l)
		n = r.live(Options{ImportOptions: p.o})
		n.scatter(t, rng, 2, blocks)
		n.settle(t)
		r.wantCore(t, c)
		n.stop(t)
		r.discard()
	}
	if !testing.Short() && inFlight < 3 {
		t.Errorf("%d were stopped before their end", inFlight)
	}
}

// A set that outgrows its memory in the middle of a run is given up, with what was in flight: the run goes on from the
// tables, to the same end, and says so. So it is where a shard is full, and where the budget is.
func TestSetOutgrowsMemory(t *testing.T) {
	c := core(t)
	for name, small := range map[string]func(o *ImportOptions){
		"shard":  func(o *ImportOptions) { o.reserve = 600 },
		"budget": func(o *ImportOptions) { o.limits.set = 1_200_000 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, threads := range []int{1, 4} {
				r := memRig(t, chain.Regtest())
				o := streamOptions(file(chain.Regtest(), c.blocks...))
				o.Threads, o.heap = threads, true
				o.limits.chunkBlocks, o.limits.batchBlocks = 3, 40
				w := watchCoins(t, &o)
				small(&o)
				var remarks []string
				o.Remark = func(text string) { remarks = append(remarks, text) }
				rep := r.run(t, o)
				r.wantCore(t, c)
				if rep.Coins != "tables" || w.times != 1 || w.set != nil || len(remarks) != 1 ||
					!strings.Contains(remarks[0], "tables alone") {
					t.Fatalf("coins from %s, %d sets, remarks %q", rep.Coins, w.times, remarks)
				}
				r.discard()
			}
		})
	}
}

// The image that is saved at a stop is where the next start takes the set from; one that is damaged is not, and the
// archive is.
func TestImageIsUsed(t *testing.T) {
	c := core(t)
	d := store.NewMemDisk()
	d.SetReserveCap(512 << 10)
	r := newRig(t, d, chain.Regtest())
	defer r.discard()
	var mu sync.Mutex
	var steps, remarks []string
	var o Options
	o.times.images = 1
	w := watchCoins(t, &o.ImportOptions)
	o.Coins = func(step string, done, total uint64) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	o.Remark = func(text string) { remarks = append(remarks, text) }
	start := func(blocks ...[]byte) []string {
		t.Helper()
		steps, remarks = nil, nil
		n := r.live(o)
		n.settle(t)
		mu.Lock()
		loaded := slices.Clone(steps)
		mu.Unlock()
		n.give(t, blocks...)
		n.settle(t)
		want := r.unspentSet(t)
		n.stop(t)
		if w.last != want {
			t.Fatalf("the set is %+v, the tables' %+v", w.last, want)
		}
		r.reopen(t)
		return loaded
	}
	half := len(c.blocks) / 2
	start(c.blocks[:half]...)
	if got := start(c.blocks[half:]...); !slices.Contains(got, "image") || slices.Contains(got, "archive") {
		t.Fatalf("loaded by %q", got)
	}
	r.wantCore(t, c)
	names, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "utxo") {
			continue
		}
		f, err := d.Open(name, store.FileOptions{Reserve: store.PageSize, MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		at := int(f.Size()) / 2
		if err := f.WriteAt([]byte{f.Mapping().Bytes()[at] ^ 1}, int64(at)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	got := start()
	if damaged == 0 || !slices.Contains(got, "archive") || len(remarks) == 0 {
		t.Fatalf("of %q %d were damaged; loaded by %q, remarks %q", names, damaged, got, remarks)
	}
}
