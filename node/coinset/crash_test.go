package coinset

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"stele/chain"
	"stele/internal/crashdisk"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// endOf is what the next start finds: after a power cut, or after the process was killed.
func endOf(d *crashdisk.Disk, r *rand.Rand) *crashdisk.Disk {
	if r.IntN(4) == 0 {
		return d.Kill(r)
	}
	return d.Crash(r)
}

// recovered opens a store, of which nothing may go wrong any more, and wants the right set of it. It returns what from.
func recovered(t *testing.T, d *crashdisk.Disk, seed uint64, at int) string {
	t.Helper()
	r := open(t, d, chain.Regtest())
	o, e := options()
	o.Reserve = 16 << 10
	set, err := r.load(o)
	if err != nil {
		t.Fatalf("seed %d, stopped at %d: %v", seed, at, err)
	}
	defer set.Close()
	r.wantSet(set)
	names, err := utxo.Images(onStore{d})
	if err != nil || len(names) > 2 {
		t.Fatalf("seed %d, stopped at %d: images %q, %v", seed, at, names, err)
	}
	// The next save works, and leaves its image alone.
	r.save(set)
	if names, err := utxo.Images(onStore{d}); err != nil || len(names) != 1 {
		t.Fatalf("seed %d, stopped at %d: images %q, %v", seed, at, names, err)
	}
	if err := r.t.Close(); err != nil {
		t.Fatal(err)
	}
	return e.used()
}

// A power cut or a kill at any operation of a save leaves the older image, the newer one, or none: the set is right.
func TestCrashInSave(t *testing.T) {
	const seeds = 4
	outcomes := map[string]int{}
	for seed := range uint64(seeds) {
		for at := 1; ; at++ {
			rnd := rand.New(rand.NewPCG(seed, uint64(at)))
			m := newMade(seed)
			r, d := crashRig(t, rnd)
			r.push(m.blocks(3, 4)...)
			r.checkpoint()
			set, _ := r.mustLoad("archive")
			r.save(set)
			r.push(m.blocks(2, 4)...)
			r.checkpoint()
			set, _ = r.mustLoad("image")
			d.SetWriteback([]int{0, 3, 20}[rnd.IntN(3)])
			d.StopAt(at)
			err := Save(context.Background(), r.t.View(), d, set, 1, nil)
			stopped := d.Stopped()
			if stopped != errors.Is(err, crashdisk.ErrStopped) || !stopped && err != nil {
				t.Fatal(err)
			}
			next := endOf(d, rnd)
			outcomes[recovered(t, next, seed, at)]++
			next.Discard()
			if !stopped {
				break
			}
		}
	}
	if outcomes["image"] < 10 {
		t.Errorf("%v", outcomes)
	}
}

// lostTail is a store that lost its last two blocks in a power cut, and kept an image that was made over them. Both stand
// on the same block, and an archive that has them in one order is as long as one that has them in the other.
func lostTail(t *testing.T, rnd *rand.Rand) (r *rig, one, two []byte) {
	m := newMade(9)
	r, d := crashRig(t, rnd)
	defer d.Discard()
	r.push(m.blocks(3, 6)...)
	r.checkpoint()
	one, two = m.tip.Next(100).Raw, m.tip.Next(101).Raw
	r.push(one)
	r.archive(two)
	if err := r.t.Publish(); err != nil {
		t.Fatal(err)
	}
	o, _ := options()
	o.Reserve = 16 << 10
	set, err := r.load(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	// No manifest covers the two blocks: Save refuses, and is got round.
	if err := Save(context.Background(), r.t.View(), d, set, 1, nil); !errors.Is(err, ErrNotDurable) {
		t.Fatal(err)
	}
	if err := save(context.Background(), r.t.View(), d, set, 1, nil); err != nil {
		t.Fatal(err)
	}
	r = open(t, d.Crash(rnd), chain.Regtest())
	if _, height := r.t.Tip(); height != 3 || len(imagesOf(t, r.d)) != 1 {
		t.Fatalf("height %d, images %q", height, imagesOf(t, r.d))
	}
	return r, one, two
}

// The blocks that an image was made over are archived again in another order, in a run without a set: it may not be used,
// though every length is the one of before.
func TestOtherOrder(t *testing.T) {
	r, one, two := lostTail(t, rand.New(rand.NewPCG(1, 1)))
	r.archive(two)
	r.push(one)
	r.checkpoint()
	if _, e := r.mustLoad("archive"); len(e.damaged) != 1 || len(imagesOf(t, r.d)) > 0 {
		t.Errorf("%v, images %q", e.damaged, imagesOf(t, r.d))
	}
	r.d.(*crashdisk.Disk).Discard()
}

// An image beyond the cut is gone for good when Start returns, wherever the power went in an earlier start.
func TestBeyondTheCut(t *testing.T) {
	cut := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r, _, _ := lostTail(t, rnd)
		d := r.d.(*crashdisk.Disk)
		d.StopAt(1 + rnd.IntN(4))
		o, _ := options()
		if l, err := Start(r.t.View(), d, o); err == nil {
			l.Close()
		} else {
			cut++
		}
		d = endOf(d, rnd)
		l, err := Start(open(t, d, chain.Regtest()).t.View(), d, o)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		d = endOf(d, rnd)
		if names := imagesOf(t, d); len(names) > 0 {
			t.Fatalf("seed %d: images %q have come back", seed, names)
		}
		open(t, d, chain.Regtest()).mustLoad("archive")
		d.Discard()
	}
	if cut < 10 {
		t.Errorf("%d starts were cut short", cut)
	}
}

// The image of another store is refused, though its chain is the same.
func TestOtherStore(t *testing.T) {
	a, b := memRig(t, chain.Regtest(), 1<<20), memRig(t, chain.Regtest(), 1<<20)
	blocks := newMade(10).blocks(5, 5)
	a.push(blocks...)
	b.push(blocks...)
	a.checkpoint()
	b.checkpoint()
	set, _ := a.mustLoad("archive")
	a.save(set)
	a.mustLoad("image")
	copyImage(t, a.d, b.d, func([]byte) {})
	if _, e := b.mustLoad("archive"); len(e.damaged) != 1 {
		t.Errorf("%v", e.damaged)
	}
	if names, err := utxo.Images(onStore{b.d}); err != nil || len(names) > 0 {
		t.Errorf("images %q, %v", names, err)
	}
}

// copyImage copies the image of a disk to another one, changed.
func copyImage(t *testing.T, from, to store.Disk, change func([]byte)) {
	t.Helper()
	names, err := utxo.Images(onStore{from})
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, done, err := onStore{from}.Read(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b = slices.Clone(b)
	change(b)
	f, err := onStore{to}.Create(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Allocate(int64(len(b))), f.WriteAt(b, 0), f.Close(), done()); err != nil {
		t.Fatal(err)
	}
}

// Whatever byte of an image decays, the archive has the same set.
func TestDamagedImage(t *testing.T) {
	m := newMade(11)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.blocks(40, 40)...)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	r.save(set)
	_, want, err := utxo.MuHashOf(set, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := r.d.(*store.MemDisk)
	whole := d.Clone()
	names, _ := utxo.Images(onStore{whole})
	f, _, _ := onStore{whole}.Read(names[0])
	end := len(f)
	for end > 0 && f[end-1] == 0 { // allocated ahead
		end--
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for region, span := range map[string][2]int{
		"magic": {0, 8}, "format": {8, 16}, "height": {16, 24}, "base": {24, 56}, "counts": {56, 72}, "hash": {72, 456},
		"shards": {512, 6656}, "archive": {6656, 6728}, "zeros": {6728, 8184}, "checksum": {8184, 8192}, "records": {8192, end},
	} {
		tries := 2
		if region == "records" {
			tries = 20
		}
		for range tries {
			at, mask := span[0]+rnd.IntN(span[1]-span[0]), byte(1)<<rnd.IntN(8)
			copyImage(t, whole, d, func(b []byte) { b[at] ^= mask })
			o, e := options()
			set, err := r.load(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, got, err := utxo.MuHashOf(set, 1, nil); err != nil || got.Sum() != want.Sum() || e.used() != "archive" {
				t.Errorf("%s, byte %d: %v, %s", region, at, err, e.used())
			}
			if names, _ := utxo.Images(onStore{d}); len(e.damaged) != 1 || len(names) > 0 {
				t.Errorf("%s, byte %d: %v, %q", region, at, e.damaged, names)
			}
			set.Close()
		}
	}
}

// A save that fails leaves the older image and takes no room: no space, a failed sync, an end by the caller.
func TestSaveFails(t *testing.T) {
	m := newMade(12)
	r := memRig(t, chain.Regtest(), 1<<20)
	d := r.d.(*store.MemDisk)
	r.push(m.blocks(30, 30)...)
	r.checkpoint()
	old, _ := r.mustLoad("archive")
	r.save(old)
	r.push(m.blocks(30, 60)...)
	r.checkpoint()
	set, _ := r.mustLoad("image")
	used, names := d.Used(), imagesOf(t, d)
	unchanged := func(what string) {
		t.Helper()
		if got := imagesOf(t, d); d.Used() != used || !slices.Equal(got, names) {
			t.Errorf("%s: %d bytes of files, %q; before %d, %q", what, d.Used(), got, used, names)
		}
	}
	for _, room := range []int64{0, store.PageSize, 3 * store.PageSize, 64 << 10} {
		d.SetCapacity(used + room)
		var full *store.DiskFull
		if err := Save(context.Background(), r.t.View(), d, set, 2, nil); !errors.As(err, &full) {
			t.Errorf("%d bytes: %v", room, err)
		}
		unchanged("full")
	}
	d.SetCapacity(-1)
	ctx, cancel := context.WithCancel(context.Background())
	err := Save(ctx, r.t.View(), d, set, 2, func(done, total uint64) {
		if done == total/2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	unchanged("canceled")
	r.mustLoad("image")
	fails := errors.New("no")
	d.SetHook(func(op store.Op, name string) error {
		if op == store.OpSync {
			return fails
		}
		return nil
	})
	if err := Save(context.Background(), r.t.View(), d, set, 2, nil); !errors.Is(err, fails) {
		t.Error(err)
	}
	unchanged("sync")
}

func imagesOf(t *testing.T, d store.Disk) []string {
	t.Helper()
	names, err := utxo.Images(onStore{d})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A store that cannot be written keeps an image that is no good, and does not use it.
func TestReadOnly(t *testing.T) {
	m := newMade(13)
	r := memRig(t, chain.Regtest(), 1<<20)
	d := r.d.(*store.MemDisk)
	r.push(m.blocks(3, 3)...)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	r.save(set)
	copyImage(t, d, d, func(b []byte) { b[len(b)-1], b[8192] = 1, b[8192]^1 })
	if err := r.t.Close(); err != nil {
		t.Fatal(err)
	}
	d.SetReadOnly(true)
	tb, err := tables.Open(d, chain.Regtest(), tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.t = tb
	if _, e := r.mustLoad("archive"); len(e.damaged) != 1 || len(imagesOf(t, d)) != 1 {
		t.Errorf("%v", e.damaged)
	}
}
