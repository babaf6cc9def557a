package coinset

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
)

func (r *rig) wantHashes(set *utxo.Set, outputs uint64, serialized, muhash string) {
	r.Helper()
	stats, hash, err := utxo.Serialized3Of(set, 2, nil)
	if err != nil || stats.Outputs != outputs || hash.String() != serialized {
		r.Errorf("%+v, %v, %v; want %d outputs, %s", stats, hash, err, outputs, serialized)
	}
	if _, m, err := utxo.MuHashOf(set, 2, nil); muhash != "" && (err != nil || m.Sum().String() != muhash) {
		r.Errorf("muhash %v, %v; want %s", m.Sum(), err, muhash)
	}
}

// Both ways to a set end in the one that Bitcoin Core has of the chain.
func TestRealChains(t *testing.T) {
	both := func(r *rig, outputs uint64, serialized, muhash string) {
		built, _ := r.mustLoad("archive")
		r.wantHashes(built, outputs, serialized, muhash)
		r.save(built)
		loaded, _ := r.mustLoad("image")
		r.wantHashes(loaded, outputs, serialized, muhash)
	}
	t.Run("regtest", func(t *testing.T) {
		r, outputs, hash := coreRig(t)
		both(r, outputs, hash, "")
	})
	t.Run("mainnet", func(t *testing.T) {
		d := store.NewMemDisk()
		defer d.Discard()
		// gettxoutsetinfo at height 14,131
		both(mainRig(t, d), 13_416, "74c5a654587d4eaac9248b73889453e0b2fbc918bbc7bb8d8e6301d4d8c98db3",
			"859e27f17a6cce9768b75dd0dbd969890157d29a152b0f4a0afa6c67cbcd5975")
	})
}

// The number of goroutines makes no difference to the image's bytes.
func TestThreads(t *testing.T) {
	m := newMade(1)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.blocks(30, 20)...)
	r.checkpoint()
	var first []byte
	for _, threads := range []int{1, 2, 7, 300} {
		o, _ := options()
		o.Threads = threads
		set, err := r.load(o)
		if err != nil {
			t.Fatal(err)
		}
		r.wantSet(set)
		r.save(set)
		set.Close()
		names, err := utxo.Images(onStore{r.d})
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		b, done, err := onStore{r.d}.Read(names[0])
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = bytes.Clone(b)
		}
		if !bytes.Equal(b, first) {
			t.Errorf("%d goroutines give another image", threads)
		}
		if err := errors.Join(done(), r.d.Remove(names[0])); err != nil {
			t.Fatal(err)
		}
	}
}

// A repeated txid (before BIP30) leaves the later transaction alone in the set.
func TestRepeatedTxid(t *testing.T) {
	r := memRig(t, chain.Regtest(), 1<<20)
	cb := chaintest.Coinbase(1, 5)
	one := chaintest.Genesis().NextWith(cb)
	two := one.Next(6)
	three := two.NextWith(cb)
	r.push(one.Raw, two.Raw, three.Raw)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	if c, _, _, ok := set.Get(&three.Txids[0], 0, nil); !ok || c.Height != 3 || set.Len() != 2 {
		t.Errorf("%+v, %v, %d outputs", c, ok, set.Len())
	}
	r.save(set)
	r.mustLoad("image")
}

// An image of an earlier block is rolled to the tip; without a way to do so the archive is used, and the image stays.
func TestRoll(t *testing.T) {
	m := newMade(2)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.blocks(20, 10)...)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	r.save(set)
	before := r.t.View().Cut().Ins
	r.push(m.blocks(11, 10)...)
	r.checkpoint()
	if _, e := r.mustLoad("image"); e.steps["roll"] != 11 {
		t.Errorf("rolled over %d blocks", e.steps["roll"])
	}
	for _, c := range []struct {
		roll  rollFunc
		from  string
		since uint64
	}{
		{nil, "archive", NoImage},
		{confirm.Roll, "image", r.t.View().Cut().Ins - before},
	} {
		o, e := options()
		o.Roll = c.roll
		l, err := Start(r.t.View(), r.d, o)
		if err != nil {
			t.Fatal(err)
		}
		set, _, err := l.Result()
		if err != nil || e.used() != c.from || l.Since() != c.since || len(e.damaged) > 0 {
			t.Fatalf("%v, from %s, since %d, %v; want %+v", err, e.used(), l.Since(), e.damaged, c)
		}
		r.wantSet(set)
		set.Close()
		l.Close()
	}
	r.mustLoad("image")
}

// What an image cannot say, or what the chain does not go on from, proves that it is wrong, though its checksums are right.
func TestWrongImage(t *testing.T) {
	coin := func(txid byte, height uint32, first uint64) *utxo.Record {
		outs := []utxo.Entry{{Vout: 1, Script: []byte{0x51}}}
		return &utxo.Record{Txid: chain.Hash{txid}, Height: height, First: first, Outs: outs}
	}
	for what, c := range map[string]struct {
		rec *utxo.Record // instead of all
		on  int          // blocks after it
	}{
		"number beyond":       {rec: coin(1, 3, 1<<30)},
		"height beyond":       {rec: coin(2, 21, 3)},
		"nothing to spend":    {on: 1},
		"nothing to spend, 9": {on: 9},
	} {
		for name, roll := range map[string]rollFunc{"naive": replay, "confirm": confirm.Roll} {
			m := newMade(3)
			r := memRig(t, chain.Regtest(), 1<<20)
			r.push(m.blocks(20, 10)...)
			r.checkpoint()
			wrong := utxo.New(utxo.Options{Heap: true, Reserve: 64 << 10})
			if c.rec != nil {
				if err := wrong.Load(c.rec); err != nil {
					t.Fatal(err)
				}
			}
			r.save(wrong)
			wrong.Close()
			r.push(m.blocks(c.on, 10)...)
			r.checkpoint()
			o, e := options()
			o.Roll = roll
			set, err := r.load(o)
			if err != nil || e.used() != "archive" || len(e.damaged) != 1 || len(imagesOf(t, r.d)) > 0 {
				t.Fatalf("%s, %s: %v, from %s, %v", what, name, err, e.used(), e.damaged)
			}
			r.wantSet(set)
			set.Close()
		}
	}
}

type rollFunc = func(context.Context, *tables.View, *utxo.Set, tables.HeaderLink, func(uint32, uint32)) error

// An image of a branch that was left is rolled back to the fork and on to the tip.
func TestRollOverAFork(t *testing.T) {
	m := newMade(7)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.blocks(12, 10)...)
	fork, free := m.tip, slices.Clone(m.free)
	r.push(m.blocks(5, 10)...)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	r.save(set)
	for range 5 {
		if err := r.t.Pop(); err != nil {
			t.Fatal(err)
		}
	}
	m.tip, m.free = fork, free
	r.push(m.blocks(7, 10)...)
	r.checkpoint()
	o, e := options()
	o.Roll = confirm.Roll
	set, err := r.load(o)
	if err != nil || e.used() != "image" || e.steps["roll"] != 12 {
		t.Fatalf("%v, from %s, %v: %v", err, e.used(), e.steps, e.damaged)
	}
	defer set.Close()
	r.wantSet(set)
}

// A fault of the roll that says nothing against the image is an error.
func TestRollFails(t *testing.T) {
	m := newMade(4)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.next(0))
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	r.save(set)
	r.push(m.next(0))
	r.checkpoint()
	broken := &store.Damaged{Name: "ins"}
	o, e := options()
	o.Roll = func(context.Context, *tables.View, *utxo.Set, tables.HeaderLink, func(uint32, uint32)) error {
		return broken
	}
	if set, err := r.load(o); !errors.Is(err, broken) || set != nil || len(e.damaged) > 0 {
		t.Errorf("%v, %v", err, e.damaged)
	}
	r.mustLoad("image")
}

// A set that is larger than it may be is given up while it is made, in whichever way that is.
func TestTooLarge(t *testing.T) {
	m := newMade(5)
	r := memRig(t, chain.Regtest(), 32<<20)
	grow := func(outputs int) (*utxo.Set, int64) {
		for len(m.free) < outputs {
			r.push(m.next(2000))
		}
		r.checkpoint()
		o, _ := options()
		o.Reserve = 1 << 20
		set, err := r.load(o)
		if err != nil {
			t.Fatal(err)
		}
		return set, set.Bytes()
	}
	tooLarge := func(from string, memory, most int64) {
		t.Helper()
		o, e := options()
		o.Memory, o.Reserve = memory, 1<<20
		set, err := r.load(o)
		var large *TooLarge
		if !errors.As(err, &large) || set != nil || large.Memory != memory || large.Wanted <= memory || large.Wanted > most {
			t.Errorf("%s: %v; want more than %d bytes, and no more than %d", from, err, memory, most)
		}
		others := maps.Clone(e.steps) // a step that is given up at once is not told of
		delete(others, from)
		if _, ok := others["archive"]; ok || len(e.damaged) > 0 || len(others) > 0 && from != "roll" {
			t.Errorf("%s: %v, %v", from, e.steps, e.damaged)
		}
	}
	set, part := grow(20_000)
	tooLarge("archive", part-1, part)
	r.save(set)
	set.Close()
	tooLarge("image", part-1, part)
	set, whole := grow(80_000)
	defer set.Close()
	tooLarge("roll", (part+whole)/2, whole)
	r.save(set)
	tooLarge("image", whole/4, whole/2)
	if err := r.d.Remove(imagesOf(t, r.d)[0]); err != nil {
		t.Fatal(err)
	}
	tooLarge("archive", whole/4, whole/2)
}

// Close ends a loader at any point of its work; goleak looks for what is left.
func TestCancel(t *testing.T) {
	d := store.NewMemDisk()
	defer d.Discard()
	r := mainRig(t, d)
	for _, step := range []string{"archive", "image", "roll", "end"} {
		if step == "image" {
			set, _ := r.mustLoad("archive")
			r.save(set)
		}
		if step == "roll" {
			h := chain.Header{Prev: r.t.View().Header(mustTip(r.t)).Hash(), Version: 1, Bits: 0x1d00ffff, Nonce: 1}
			r.push(append(h.Append(nil), r.p.GenesisBlock[chain.HeaderSize:]...))
			r.checkpoint()
		}
		o, _ := options()
		reached, once := make(chan struct{}), false
		ended := make(chan struct{})
		o.Progress = func(s string, _, _ uint64) {
			if s == step && !once {
				once = true
				close(reached)
				<-ended // by Close
			}
		}
		l, err := Start(r.t.View(), d, o)
		if err != nil {
			t.Fatal(err)
		}
		if step == "end" {
			<-l.Ready()
			close(ended)
		} else {
			<-reached
			l.cancel()
			close(ended)
		}
		l.Close()
		if set, _, err := l.Result(); !errors.Is(err, context.Canceled) || set != nil {
			t.Errorf("%s: a set %v, %v", step, set != nil, err)
		}
	}
}

func mustTip(t *tables.Tables) tables.HeaderLink {
	l, _ := t.Tip()
	return l
}

// A mapped page that cannot be read is damage of an image, and an error of the archive's.
func TestUnreadablePages(t *testing.T) {
	dir := t.TempDir()
	d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "test", ReserveCap: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := mainRig(t, d)
	set, _ := r.mustLoad("archive")
	r.save(set)
	names, err := utxo.Images(onStore{d})
	if err != nil {
		t.Fatal(err)
	}
	cut := func(step, file string, to int64) (Options, *events) {
		o, e := options()
		o.Threads = 1
		told := o.Progress
		o.Progress = func(s string, done, total uint64) {
			told(s, done, total)
			if s == step {
				if err := os.Truncate(filepath.Join(dir, file), to); err != nil {
					t.Error(err)
				}
			}
		}
		return o, e
	}
	o, e := cut("image", names[0], 2*store.PageSize)
	set, err = r.load(o)
	if err != nil || e.used() != "archive" || len(e.damaged) != 1 {
		t.Fatalf("%v, from %s, %v", err, e.used(), e.damaged)
	}
	r.wantSet(set)
	set.Close()

	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	o, _ = cut("archive", "output", store.PageSize)
	var fault *store.Fault
	if set, err := r.load(o); !errors.As(err, &fault) || fault.Name != "output" || set != nil {
		t.Errorf("%v", err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "output"), output, 0o600), r.t.Close()); err != nil {
		t.Fatal(err)
	}
}

// The writer goes on while a set of an earlier view is loaded.
func TestBesideTheWriter(t *testing.T) {
	m := newMade(6)
	r := memRig(t, chain.Regtest(), 4<<20)
	r.push(m.blocks(60, 30)...)
	r.checkpoint()
	o, _ := options()
	want, err := r.load(o)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	l, err := Start(r.t.View(), r.d, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for loading, n := true, 0; loading && n < 40; n++ {
		r.push(m.blocks(3, 30)...)
		tip := mustTip(r.t)
		if err := errors.Join(r.t.Pop(), r.t.Push(tip)); err != nil {
			t.Fatal(err)
		}
		r.checkpoint()
		select {
		case <-l.Ready():
			loading = false
		default:
		}
	}
	set, at, err := l.Result()
	if err != nil || r.t.View().Header(at).Height() != 60 {
		t.Fatal(err)
	}
	defer set.Close()
	_, a, _ := utxo.MuHashOf(want, 1, nil)
	if _, b, err := utxo.MuHashOf(set, 1, nil); err != nil || a.Sum() != b.Sum() {
		t.Errorf("%v", err)
	}
}

// The set stays as it is while it is saved.
func TestSaveHolds(t *testing.T) {
	m := newMade(8)
	r := memRig(t, chain.Regtest(), 1<<20)
	r.push(m.blocks(9, 10)...)
	r.checkpoint()
	set, _ := r.mustLoad("archive")
	var had atomic.Bool
	var wg sync.WaitGroup
	err := Save(context.Background(), r.t.View(), r.d, set, 1, func(done, _ uint64) {
		if done == 1 {
			wg.Go(func() {
				defer set.Hold()()
				had.Store(true)
			})
		}
		for range 10 {
			runtime.Gosched()
		}
		if had.Load() {
			t.Error("somebody else held the set")
		}
	})
	wg.Wait()
	if err != nil || !had.Load() {
		t.Error(err)
	}
}
