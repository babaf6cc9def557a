package node

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"stele/chain"
	"stele/internal/crashdisk"
	"stele/store"
	"stele/tables"
)

// How many whole imports over a disk that loses power are tried. Neither the writer nor the checkpoint beside it waits
// for the other, so that a seed draws the same plan each time, but not the same interleaving.
var crashSeeds = flag.Uint64("crashseeds", 50, "imports over the crash disk")

// TestCrashAnywhere stops imports at a random operation of the disk, or fails a sync or an allocation there, and then
// cuts the power, kills the process, or goes on where it can. What opens must answer like a replay to its tip, hold all
// that an import had returned with, and come to the same end.
func TestCrashAnywhere(t *testing.T) {
	c := core(t)
	u := &crashes{core: c, ledger: newLedger(chain.Regtest(), c.blocks), dir: t.TempDir()}
	for seed := range seeds(*crashSeeds) {
		u.run(t, seed)
	}
	if n := *crashSeeds; !testing.Short() && n >= 20 && (u.stopped < n/2 || u.recovered < n || u.refused == 0) {
		t.Errorf("%d imports stopped, %d stores recovered, %d syncs and allocations refused", u.stopped, u.recovered, u.refused)
	}
}

// crashes is a run of TestCrashAnywhere: what all seeds share, and what they met.
type crashes struct {
	core                        *coreChain
	ledger                      ledger
	dir                         string
	stopped, recovered, refused uint64
}

// crashRig is one store on its way through crashes.
type crashRig struct {
	rig
	*crashes
	disk  *crashdisk.Disk // behind the gate
	rng   *rand.Rand      // of the test, which draws the same for a seed each time
	noise *rand.Rand      // of the disks, which two goroutines call
	safe  chain.Work      // of the tip when an import last returned without an error
	name  uint64
}

// mount puts the gate before a disk.
func (r *crashRig) mount(d *crashdisk.Disk) {
	r.disk, r.rig.disk = d, newGate(d, true)
	d.SetWriteback(1 + r.rng.IntN(60))
}

func (u *crashes) run(t *testing.T, seed uint64) {
	r := &crashRig{
		crashes: u, name: seed, rng: rand.New(rand.NewPCG(seed, 3)), noise: rand.New(rand.NewPCG(seed, 4)),
	}
	r.p = chain.Regtest()
	r.mount(crashdisk.New(r.noise, 512<<10))
	var err error
	if r.t, err = tables.Create(r.rig.disk, r.p, tables.Options{PendingBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	r.safe = r.work()
	for range 1 + r.rng.IntN(3) {
		r.importSome(t)
		r.end(t)
	}
	p := newPlan(r.rng)
	r.rig.run(t, p.options(t, r.rng, u.dir, u.core.blocks))
	r.wantCore(t, u.core)
	r.next(t, r.disk.Crash(r.noise), false)
	r.wantCore(t, u.core) // the import had returned: no power cut takes it back
	r.wantReplay(t, u.ledger)
	r.disk.Discard()
}

// importSome runs an import that the disk may break off.
func (r *crashRig) importSome(t *testing.T) {
	k := 1 << r.rng.IntN(13)
	k += r.rng.IntN(k)
	switch r.rng.IntN(6) {
	case 0:
		r.disk.FailSync(1 + k/8)
	case 1:
		r.disk.FullAt(1 + k/64)
	case 2: // it comes to its end, or the plan's first reader does
	default:
		r.disk.StopAt(k)
	}
	p := newPlan(r.rng)
	blocks := r.core.blocks
	if r.rng.IntN(2) == 0 {
		blocks = blocks[:r.rng.IntN(len(blocks))+1]
	}
	rep, err := Import(context.Background(), r.t, p.options(t, r.rng, r.dir, blocks))
	switch {
	case err == nil:
		if !r.disk.Stopped() {
			r.safe = r.work()
		}
	case r.disk.Stopped():
		r.stopped++
	case errors.Is(err, crashdisk.ErrWriteback), errors.As(err, new(*store.DiskFull)):
		r.refused++
	default:
		t.Fatalf("seed %d, %v: %v", r.name, p, err)
	}
	if len(rep.Rejected) > 0 {
		t.Fatalf("seed %d, %v: a block is blamed for the disk: %+v", r.name, p, rep.Rejected)
	}
}

// end ends the process somehow, and opens what is there then.
func (r *crashRig) end(t *testing.T) {
	r.disk.FailSync(0)
	r.disk.FullAt(0)
	switch how := r.rng.IntN(6); {
	case how < 2:
		r.next(t, r.disk.Kill(r.noise), true)
	case how == 2 && !r.disk.Stopped() && r.disk.Health().Err() == nil:
		if err := r.t.Close(); err != nil && !r.disk.Stopped() {
			t.Fatalf("seed %d: close: %v", r.name, err)
		}
		r.next(t, r.disk.Crash(r.noise), false)
	default:
		r.next(t, r.disk.Crash(r.noise), false)
	}
	r.recovered++
	r.wantReplay(t, r.ledger)
	if r.work().Cmp(r.safe) < 0 {
		t.Fatalf("seed %d: an import had returned with more work", r.name)
	}
}

// next opens the store on the next disk, which may stop during the recovery.
func (r *crashRig) next(t *testing.T, d *crashdisk.Disk, killed bool) {
	if !killed {
		r.disk.Discard()
	}
	r.mount(d)
	if r.rng.IntN(3) == 0 {
		d.StopAt(1 + r.rng.IntN(60))
		tb, err := tables.Open(r.rig.disk, r.p, tables.Options{DeltaBytes: 1})
		if err != nil && !errors.Is(err, crashdisk.ErrStopped) {
			t.Fatalf("seed %d: open: %v", r.name, err)
		}
		if tb != nil && r.rng.IntN(2) == 0 {
			_ = tb.Close() // it may be stopped there, too
		}
		d = d.Crash(r.noise)
		r.disk.Discard()
		r.mount(d)
	}
	tb, err := tables.Open(r.rig.disk, r.p, tables.Options{PendingBytes: 64 << 20, DeltaBytes: int64(1 << r.rng.IntN(20))})
	if err != nil {
		t.Fatalf("seed %d: open: %v", r.name, err)
	}
	r.t = tb
}
