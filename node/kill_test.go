package node

import (
	"math/rand/v2"
	"testing"

	"stele/chain"
	"stele/store"
)

// image is a disk as it was in the middle of an import, and what readers had seen then.
type image struct {
	disk *store.MemDisk
	seen chain.Work // of the readers' tip
}

// record has an image taken before each of the given changes to the disk of r, which is a gate before a MemDisk.
func (r *rig) record(at map[int64]bool) (images *[]image) {
	g, tb := r.disk.(*gate), r.t
	images = new([]image)
	g.at = at
	g.then = func() {
		v := tb.View()
		tip, _ := v.Tip()
		*images = append(*images, image{g.Disk.(*store.MemDisk).Clone(), v.Header(tip).Work()})
	}
	return images
}

// Killed at any moment, between any two changes that the writer and the checkpoint beside it make, a store opens at a
// chain that it answers for like a replay, holds all that readers have seen, and takes the rest to the same end. The
// same images without their live record are what a power cut leaves where everything had been written back.
func TestKilledAnywhere(t *testing.T) {
	c := core(t)
	l := newLedger(chain.Regtest(), c.blocks)
	dir := t.TempDir()
	rest := fileOptions(t, file(chain.Regtest(), c.blocks...))
	taken, ahead := 0, 0
	for seed := range seeds(16) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := newPlan(rng)
		d := store.NewMemDisk()
		d.SetReserveCap(512 << 10)
		r := newRig(t, newGate(d, false), chain.Regtest())
		at := map[int64]bool{}
		for n := float64(60); n < 20_000; n *= 1 + rng.Float64()*3 {
			at[int64(n)] = true
		}
		images := r.record(at)
		r.run(t, p.options(t, rng, dir, c.blocks))
		for i, one := range *images {
			kept := &rig{disk: one.disk, p: r.p}
			lost := &rig{disk: one.disk.Clone(), p: r.p}
			voidLive(t, lost.disk)
			taken++
			kept.open(t)
			lost.open(t)
			if kept.work().Cmp(lost.work()) > 0 {
				ahead++
			}
			// Only where the deltas' memory is used up readers may be shown, and manifests may hold, less than there was.
			if p.o.limits.deltas == 0 && kept.work().Cmp(one.seen) < 0 {
				t.Fatalf("seed %d, image %d, %v: readers had seen more", seed, i, p)
			}
			for _, r := range []*rig{kept, lost} {
				r.wantReplay(t, l)
				r.run(t, rest)
				r.wantCore(t, c)
				r.discard()
			}
		}
		d.Discard()
	}
	if !testing.Short() && (taken < 40 || ahead < 10) {
		t.Errorf("%d images, of which %d had a live record ahead of the manifest", taken, ahead)
	}
}

func voidLive(t *testing.T, d store.Disk) {
	t.Helper()
	live, err := d.(store.LiveDisk).OpenLive()
	if err != nil {
		t.Fatal(err)
	}
	live.Void()
}

// work is that of the writer's tip.
func (r *rig) work() chain.Work {
	tip, _ := r.t.Tip()
	return r.t.Header(tip).Work()
}
