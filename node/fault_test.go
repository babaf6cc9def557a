package node

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// hookRig is a store whose disk calls a hook.
func hookRig(t fataler, hook func(op store.Op, name string) error) (*rig, *store.MemDisk) {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(512 << 10)
	r := newRig(t, d, chain.Regtest())
	d.SetHook(hook)
	return r, d
}

// The disk is full at every point of an import: at the k-th allocation, for every k; and at every size that it may
// have, in steps of two pages, as a store that finds no room for a whole step goes on by single pages. Then there
// is room, and the import is done again, on the store as it is or as it is opened anew.
func TestDiskFullAnywhere(t *testing.T) {
	c := core(t)
	o := fileOptions(t, file(chain.Regtest(), slices.Concat(c.blocks[200:], c.blocks[:200])...))
	o.CheckpointBytes = 50_000
	// full runs an import that the disk may be too small for, and tells whether it was.
	full := func(name string, k int, r *rig, d *store.MemDisk) bool {
		rep, err := Import(context.Background(), r.t, o)
		cut := &rig{disk: d.Clone(), p: r.p} // what a power cut leaves while the disk is full still
		d.SetHook(nil)
		d.SetCapacity(-1)
		if err == nil {
			r.wantCore(t, c)
			return false
		}
		voidLive(t, cut.disk)
		cut.open(t)
		if _, height := cut.t.Tip(); height != rep.Tip.Height {
			t.Fatalf("%s %d: tip at %d after a power cut, reported %d", name, k, height, rep.Tip.Height)
		}
		cut.discard()
		if !errors.As(err, new(*store.DiskFull)) || len(rep.Rejected) != 0 {
			t.Fatalf("%s %d: error %v, report %+v", name, k, err, rep)
		}
		if k%2 == 0 {
			r.reopen(t)
		}
		if _, height := r.t.Tip(); height != rep.Tip.Height {
			t.Fatalf("%s %d: tip at %d, reported %d", name, k, height, rep.Tip.Height)
		}
		r.run(t, o)
		r.wantCore(t, c)
		return true
	}
	sizes := 0
	for ; ; sizes++ {
		r, d := hookRig(t, nil)
		d.SetCapacity(d.Used() + int64(sizes)*store.PageSize)
		if !full("size", sizes, r, d) {
			break
		}
	}
	if sizes < 20 {
		t.Fatalf("%d sizes were too small only", sizes)
	}
	for k := 1; ; k++ {
		var n atomic.Int64
		r, d := hookRig(t, func(op store.Op, name string) error {
			if op == store.OpAllocate {
				if n.Add(1) >= int64(k) {
					return &store.DiskFull{Name: name, Need: 1, Err: errors.New("full")}
				}
			}
			return nil
		})
		if !full("allocation", k, r, d) {
			break
		}
	}
}

// cancelAt cancels when the store syncs for the n-th time: with a checkpoint after each block, anywhere in an import.
func cancelAt(n int) (context.Context, func(op store.Op, name string) error) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, func(op store.Op, _ string) error {
		if op == store.OpSync {
			if n--; n == 0 {
				cancel()
			}
		}
		return nil
	}
}

// oneByOne has a checkpoint after each block, which the next one waits for.
var oneByOne = limits{deltas: 1, chunkBlocks: 1, chunks: 2, batchBlocks: 3}

func TestCancel(t *testing.T) {
	c := core(t)
	blocks := file(chain.Regtest(), c.blocks...)
	interrupted := 0
	for _, n := range []int{1, 50, 333, 1000, 2000} {
		for name, o := range map[string]ImportOptions{"file": fileOptions(t, blocks), "stream": streamOptions(blocks)} {
			ctx, hook := cancelAt(n)
			r, d := hookRig(t, hook)
			o.limits = oneByOne
			rep, err := Import(ctx, r.t, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !rep.Interrupted || rep.Tip.Height == 415 {
				t.Fatalf("%s, sync %d: %+v", name, n, rep)
			}
			interrupted++
			// A power cut now loses nothing: the report's tip is durable.
			cut := &rig{disk: d.Clone(), p: r.p}
			cut.open(t)
			if _, height := cut.t.Tip(); height != rep.Tip.Height {
				t.Fatalf("%s: tip at %d after a power cut, reported %d", name, height, rep.Tip.Height)
			}
			cut.load(t, c.blocks...)
			cut.wantCore(t, c)
		}
	}
	if interrupted != 10 {
		t.Fatalf("%d imports were interrupted", interrupted)
	}
}

// Cancelled in the middle of a reorganisation, the chain is no worse than before.
func TestCancelInReorganisation(t *testing.T) {
	var m maker
	p := chain.Regtest()
	trunk, fork := m.branch(genesisAt(p), 5)
	old, _ := m.branch(fork, 10)
	side, _ := m.branch(fork, 14)
	kept, moved := 0, 0
	for n := 1; n < 600; n += 26 {
		ctx, hook := cancelAt(n)
		r, d := hookRig(t, nil)
		r.load(t, append(trunk, old...)...)
		d.SetHook(hook)
		o := fileOptions(t, file(p, side...))
		o.limits = oneByOne
		rep, err := Import(ctx, r.t, o)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Tip.Height < 15 {
			t.Fatalf("sync %d: the tip fell to height %d", n, rep.Tip.Height)
		}
		if rep.Tip.Hash == hashOf(old[9]) {
			kept++
			r.wantTip(t, old[9])
		} else {
			moved++
		}
		r.load(t, side...)
		r.wantTip(t, side[13])
	}
	if kept < 3 || moved < 3 {
		t.Fatalf("the old chain was kept %d times and left %d times", kept, moved)
	}
}

// A stream that goes quiet does not keep what it brought, and a cancelled import does not wait for it.
func TestQuietStream(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, _ := m.branch(genesisAt(p), 3)
	r := memRig(t, p)
	in, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan *ImportReport)
	tb := r.t
	go func() {
		rep, err := Import(ctx, tb, ImportOptions{Paths: []string{"-"}, Stdin: in, StopHeight: -1, Verifier: verifier})
		if err != nil {
			t.Error(err)
		}
		done <- rep
	}()
	for i, b := range blocks {
		if _, err := out.Write(file(p, b)); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, height := tb.View().Tip(); height == uint32(i+1) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("block %d was not organised while the stream was open", i+1)
			}
		}
	}
	cancel()
	rep := <-done // the reader is in a read that nothing ends
	if !rep.Interrupted || rep.Blocks != 3 {
		t.Fatalf("report %+v", rep)
	}
	r.wantTip(t, blocks[2])
	out.Close()
}

// Readers look while the chain grows and reorganises: what a view says of it is consistent, and its work only
// grows. Over the heap twin, so that the race detector sees every access.
func TestReadersDuringImport(t *testing.T) {
	c := core(t)
	var ids []chain.Hash
	for _, b := range c.blocks {
		var block chain.Block
		if err := block.Decode(b); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, block.Txids(nil)...)
	}
	r := memRig(t, chain.Regtest())
	tb := r.t
	var stop atomic.Bool
	var looks atomic.Uint64
	done := make(chan error, 2)
	for g := range cap(done) {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var last chain.Work
			for !stop.Load() {
				v := tb.View()
				tip, _ := v.Tip()
				work := v.Header(tip).Work()
				if work.Cmp(last) < 0 {
					done <- errors.New("a view has less work than the one before it")
					return
				}
				last = work
				for range 20 {
					if err := look(v, &ids[rng.IntN(len(ids))]); err != nil {
						done <- err
						return
					}
				}
				looks.Add(1)
			}
			done <- nil
		}()
	}
	for i := 0; i < len(c.blocks); i += 5 {
		o := streamOptions(file(r.p, c.blocks[i:min(i+5, len(c.blocks))]...))
		o.limits = limits{chunkBlocks: 1, batchBlocks: 1}
		o.publishEvery = 1
		if i%3 == 0 {
			o.CheckpointBytes = 1
		}
		r.run(t, o)
	}
	stop.Store(true)
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if looks.Load() == 0 {
		t.Error("no reader came to look")
	}
	r.wantCore(t, c)
}

// look asks a view for one transaction and for who spends its outputs.
func look(v *tables.View, txid *chain.Hash) error {
	l, ok := v.FindTx(txid)
	if !ok {
		return nil
	}
	tx := v.Tx(l)
	if tx.Txid != *txid || tx.Strong != v.Confirmed(tx.Header) {
		return errors.New("a transaction is not the one that was asked for, or strong without its block")
	}
	for n := range tx.Outs {
		o := tx.FirstOut + tables.OutputLink(n)
		s, ok := v.Spender(o)
		if !ok {
			continue
		}
		by := v.Tx(s.Tx)
		spent, _ := v.Prevout(by.FirstIn + tables.InputLink(s.Index))
		if !by.Strong || spent != o {
			return errors.New("a spender is off the chain, or spends something else")
		}
	}
	return nil
}
