package node

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// Readers and a backup after the other beside one import whose checkpoints run beside it, over the heap twin, so that
// the race detector sees every access. The input comes in pieces, the next one when another backup is done. Each
// backup is a store that answers like a replay to its tip, and views have more and more work.
func TestBesideImport(t *testing.T) {
	c := core(t)
	r := memRig(t, chain.Regtest())
	l := newLedger(r.p, c.blocks)
	in, out := io.Pipe()
	o := ImportOptions{Paths: []string{"-"}, Stdin: in, StopHeight: -1, Verifier: verifier, CheckpointEvery: time.Nanosecond}
	o.limits, o.publishEvery = limits{chunkBlocks: 2, batchBlocks: 3}, time.Nanosecond
	const pieces = 12
	b := &backups{done: make(chan *store.MemDisk), stop: make(chan struct{})}
	tb := r.t
	var wait sync.WaitGroup
	wait.Go(func() { b.err = b.run(tb) })
	var watched [2]error
	for g := range watched {
		wait.Go(func() { watched[g] = watch(tb, c, uint64(g), b.stop) })
	}
	wait.Go(func() {
		defer out.Close()
		for i := range pieces {
			n := len(c.blocks)
			if _, err := out.Write(file(r.p, c.blocks[i*n/pieces:(i+1)*n/pieces]...)); err != nil {
				return // the import failed, and says why
			}
			b.wait(1)
		}
	})
	rep := r.run(t, o)
	close(b.stop)
	wait.Wait()
	r.wantCore(t, c)
	if err := errors.Join(append(watched[:], b.err)...); err != nil {
		t.Error(err)
	}
	if n := stageOf(t, rep, "sync").Count; n < pieces {
		t.Errorf("%d checkpoints beside the import", n)
	}
	heights := map[uint32]bool{}
	for _, d := range b.all {
		cp := &rig{disk: d, p: r.p}
		cp.open(t)
		cp.wantReplay(t, l)
		_, height := cp.t.Tip()
		heights[height] = true
		cp.discard()
	}
	if len(heights) < 3 {
		t.Errorf("%d backups of %d different heights", len(b.all), len(heights))
	}
}

// watch is a reader.
func watch(tb *tables.Tables, c *coreChain, seed uint64, stop chan struct{}) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	var last chain.Work
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		v := tb.View()
		tip, _ := v.Tip()
		work := v.Header(tip).Work()
		if work.Cmp(last) < 0 {
			return errors.New("a view has less work than the one before it")
		}
		last = work
		for range 20 {
			hash := hashOf(c.blocks[rng.IntN(len(c.blocks))])
			if err := lookBlock(v, &hash); err != nil {
				return err
			}
		}
	}
}

// lookBlock looks at the transactions of a block, if the view has it.
func lookBlock(v *tables.View, hash *chain.Hash) error {
	l, ok := v.FindHeader(hash)
	if !ok {
		return nil
	}
	b, ok := v.Block(l)
	if !ok {
		return nil
	}
	for i := range b.Txs {
		tx := v.Tx(b.FirstTx + tables.TxLink(i))
		if err := look(v, &tx.Txid); err != nil {
			return fmt.Errorf("block %v: %w", *hash, err)
		}
	}
	return nil
}

// backups takes one backup after the other.
type backups struct {
	all  []*store.MemDisk
	done chan *store.MemDisk
	stop chan struct{}
	err  error
}

func (b *backups) run(tb *tables.Tables) error {
	for {
		d := store.NewMemDisk()
		d.SetReserveCap(512 << 10)
		if err := tb.Backup(d, nil); err != nil {
			close(b.done)
			return fmt.Errorf("backup %d: %w", len(b.all), err)
		}
		b.all = append(b.all, d)
		select {
		case b.done <- d:
		case <-b.stop:
			return nil
		}
	}
}

// wait waits for n further backups.
func (b *backups) wait(n int) {
	for range n {
		<-b.done
	}
}
