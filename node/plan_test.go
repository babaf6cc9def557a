package node

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stele/chain"
)

// plan is one of many ways to bring the same blocks into a store. All must come to the same.
type plan struct {
	order  string // of arrival
	stream bool
	coins  string // how they are found
	o      ImportOptions
}

func (p *plan) String() string {
	return fmt.Sprintf("%s order, stream %v, %d threads, checkpoints at %d bytes and every %v, %+v, %s",
		p.order, p.stream, p.o.Threads, p.o.CheckpointBytes, p.o.CheckpointEvery, p.o.limits, p.coins)
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// newPlan draws a plan. What the budget of memory comes to is drawn as it is, since the least budget would hold all.
func newPlan(rng *rand.Rand) *plan {
	p := &plan{order: pick(rng, "given", "near", "any", "children first"), stream: rng.IntN(3) > 0}
	p.o.StopHeight = -1
	p.o.Threads = 1 + rng.IntN(4)
	p.o.CheckpointBytes = pick[int64](rng, 1, 5_000, 100_000, 0)
	p.o.CheckpointEvery = pick(rng, time.Nanosecond, time.Millisecond, time.Hour)
	p.o.publishEvery = pick(rng, time.Nanosecond, 0, time.Millisecond)
	p.o.limits = limits{
		deltas:      pick[int64](rng, 1, 6_000, 20_000, 0),
		chunkBlocks: pick(rng, 1, 3, 64), chunks: 1 + rng.IntN(4), batchBlocks: pick(rng, 1, 7, 60, 1000),
	}
	p.planCoins(rng)
	return p
}

// planCoins draws where coins come from: the tables, a set from the beginning or from some moment on, and until memory
// is short; and when images of it are made.
func (p *plan) planCoins(rng *rand.Rand) {
	o := &p.o
	o.heap, o.reserve = true, pick(rng, 32<<10, 32<<10, 32<<10, 1<<10)
	o.TablesAlone = rng.IntN(4) == 0
	o.times.near, o.times.images = pick[uint64](rng, 1, 30, 0), pick[uint64](rng, 0, 1, 40, 300)
	if late := rng.IntN(30); rng.IntN(2) == 0 {
		o.times.loaded = func() bool { late--; return late < 0 }
	}
	p.coins = fmt.Sprintf("tables alone %v, a set of %d, late %v, images after %d", o.TablesAlone, o.reserve,
		o.times.loaded != nil, o.times.images)
}

// arrange puts blocks, of which parents stand before their children, into the plan's order.
func (p *plan) arrange(rng *rand.Rand, blocks [][]byte) [][]byte {
	all := append([][]byte(nil), blocks...)
	switch p.order {
	case "near":
		const reach = 12
		for i := range all {
			j := min(i+rng.IntN(reach), len(all)-1)
			all[i], all[j] = all[j], all[i]
		}
	case "any":
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	case "children first":
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
	}
	return all
}

// options are those of an import of blocks of regtest by the plan; dir is where the file is made.
func (p *plan) options(t fataler, rng *rand.Rand, dir string, blocks [][]byte) ImportOptions {
	t.Helper()
	content := file(chain.Regtest(), p.arrange(rng, blocks)...)
	o := p.o
	if p.stream {
		s := streamOptions(content)
		o.Paths, o.Stdin = s.Paths, s.Stdin
		return o
	}
	o.Paths = []string{filepath.Join(dir, "plan.blk")}
	if err := os.WriteFile(o.Paths[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// Whatever the budget, the number of threads, the cadence of checkpoints and the order of arrival: the chain, every
// spender and the set of unspent outputs are the same.
func TestPlansAgree(t *testing.T) {
	c := core(t)
	l := newLedger(chain.Regtest(), c.blocks)
	want := l.signature(t, hashOf(c.tip))
	dir := t.TempDir()
	var checkpoints, stalls, popped uint64
	for seed := range seeds(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newPlan(rng)
		r := memRig(t, chain.Regtest())
		rep := r.run(t, p.options(t, rng, dir, c.blocks))
		if got := r.signature(t); got != want {
			t.Fatalf("seed %d, %v: another result\n%.1000s", seed, p, got)
		}
		r.reopen(t)
		r.wantReplay(t, l)
		popped += rep.Popped
		checkpoints += stageOf(t, rep, "sync").Count
		stalls += stageOf(t, rep, "stall").Count
		r.discard()
	}
	if testing.Short() {
		return
	}
	if checkpoints < 500 || stalls < 50 || popped < 10 {
		t.Errorf("%d checkpoints beside the writer, %d stalls, %d blocks popped: too few", checkpoints, stalls, popped)
	}
}

func stageOf(t fataler, rep *ImportReport, name string) Stage {
	t.Helper()
	for _, s := range rep.Stages {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stage %s", name)
	return Stage{}
}

// seeds is how many of n runs are made: fewer in short runs, as under the race detector, which makes each ten times
// slower.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return max(2, n/8)
	}
	return n
}
