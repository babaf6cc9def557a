package coinset

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

const (
	unitTxs     = 1 << 14 // transactions from which on a run of heights is a unit of work
	unitHeights = 1 << 10 // heights of which it has no more
)

// units shares the heights of a chain out among goroutines, in order, so that together they read the archive forwards.
type units struct {
	mu   sync.Mutex // guards what follows
	v    *tables.View
	next uint32
	end  uint32 // height
	done uint64 // outputs that were passed over
}

// take returns the next run of heights, and how many outputs its blocks made; from == to: there is none.
func (u *units) take() (from, to uint32, outputs uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	from = u.next
	for txs := uint32(0); u.next < u.end && txs < unitTxs && u.next-from < unitHeights; u.next++ {
		link, _ := u.v.HeaderAt(u.next)
		b, _ := u.v.Block(link) // a block that is missing is for who reads it to find
		txs += b.Txs
		outputs += uint64(b.Outs)
	}
	return from, u.next, outputs
}

func (u *units) finished(outputs uint64) (done uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done += outputs
	return u.done
}

// fromArchive builds the set from the outputs that have no spender in the view: one pass over the archive.
func (l *Loader) fromArchive(ctx context.Context) (*utxo.Set, error) {
	return l.fill(ctx, 0, func(ctx context.Context, set *utxo.Set) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		_, tip := l.v.Tip()
		u := &units{v: l.v, end: tip + 1}
		start := hand{ctx: ctx, set: set, memory: l.o.Memory}
		var wg sync.WaitGroup
		for range l.o.Threads {
			wg.Go(func() {
				if err := store.Guard(func() error { return l.pass(u, start) }); err != nil {
					cancel(err) // the first one counts, and ends the others
				}
			})
		}
		wg.Wait()
		err := context.Cause(ctx)
		var image *utxo.ImageError
		if errors.As(err, &image) {
			return &store.Damaged{Name: "output", What: "holds what no set of unspent outputs can: " + image.What}
		}
		return err
	})
}

// pass loads what is unspent of one unit after the other.
func (l *Loader) pass(u *units, start hand) error {
	total := l.v.Cut().Outs // those of stale blocks too, which are few
	c := collector{hand: start}
	for {
		if err := c.look(); err != nil {
			return err
		}
		from, to, outputs := u.take()
		if from == to {
			return nil
		}
		if err := c.unit(l.v, from, to); err != nil {
			return fmt.Errorf("the unspent outputs of blocks %d to %d: %w", from, to-1, err)
		}
		l.tell("archive", u.finished(outputs), total)
	}
}

// collector puts the outputs of a transaction, which come one after the other, together into its record.
type collector struct {
	hand
	rec     utxo.Record
	tx      tables.TxLink
	scripts []byte
}

func (c *collector) unit(v *tables.View, from, to uint32) error {
	c.rec.Outs = c.rec.Outs[:0]
	if err := v.EachUnspentIn(from, to, c.add); err != nil {
		return err
	}
	return c.flush()
}

// add takes an output in. Its script is a view of mapped bytes, or of a buffer that the next one is decoded into.
func (c *collector) add(u *tables.Unspent) error {
	if r := &c.rec; len(r.Outs) == 0 || u.Tx != c.tx {
		if err := c.flush(); err != nil {
			return err
		}
		c.tx, c.scripts = u.Tx, c.scripts[:0]
		r.Txid, r.Height, r.Coinbase, r.First = *u.Txid, u.Height, u.Coinbase, uint64(u.Output)-uint64(u.Vout)
	}
	from := len(c.scripts)
	c.scripts = append(c.scripts, u.Script...) // where it grows, earlier scripts stay in the memory that it leaves
	script := c.scripts[from:len(c.scripts):len(c.scripts)]
	c.rec.Outs = append(c.rec.Outs, utxo.Entry{Vout: u.Vout, Value: u.Value, Script: script})
	return nil
}

func (c *collector) flush() error {
	if len(c.rec.Outs) == 0 {
		return nil
	}
	err := c.load(&c.rec)
	c.rec.Outs = c.rec.Outs[:0]
	return err
}
