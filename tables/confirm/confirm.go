package confirm

import (
	"errors"
	"fmt"
	"slices"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
	"stele/validate"
)

// Confirmer confirms blocks onto the tip of one store, ahead of it as far as is wanted.
//
// With a set, Take may run beside Put: what Take, Drop and MTPAt use is apart from what Put does. All other calls, and
// all calls with the tables alone, are for the store's writer, and for one at a time.
type Confirmer struct {
	t      *tables.Tables
	params *chain.Params
	source source

	// Of the speculative chain: the tables' and the blocks in flight above it. Put does not look at them.
	entered uint64              // Works ever taken, less those dropped
	next    tables.OutputLink   // that the next block gets for its first output
	mtps    []uint32            // by height
	bip34   chain.Hash          // of the block at params.BIP34, once some block above it is taken
	at      func(uint32) uint32 // MTPAt, as one value for all calls

	puts uint64 // Works that came out through Put: those in flight are puts..taken-1
}

// source is where coins come from.
type source interface {
	// take is Take; what every Work needs beside its coins is known.
	take(ws []*Work) (n int, err error)
	// put is told that the oldest block in flight is the tip.
	put(w *Work)
	// drop takes the newest block in flight back.
	drop(w *Work) error
	// pop takes the tip off the tables, nothing being in flight.
	pop() error
	// coin looks for one unspent output, nothing being in flight. The script is the caller's.
	coin(txid *chain.Hash, vout uint32) (c chain.Coin, ok bool, err error)
}

// errOrder says that a block is handed back out of its turn: a mistake of the caller.
var errOrder = errors.New("confirm: another block's turn is before this one's")

// New returns a confirmer of blocks into t, which finds coins in t alone.
func New(t *tables.Tables) *Confirmer {
	c := &Confirmer{t: t, params: t.Params()}
	c.at = c.MTPAt
	c.Use(nil)
	return c
}

// Use makes s the source of coins from now on, or the tables alone where it is nil. s is level with the tip; nothing is
// in flight.
func (c *Confirmer) Use(s *utxo.Set) {
	if s == nil {
		c.source = newArchive(c)
	} else {
		c.source = &coins{c: c, set: s}
	}
	v := c.t.Live()
	_, tip := v.Tip()
	c.entered, c.puts, c.next = 0, 0, c.t.NextOutput()
	c.mtps = slices.Grow(c.mtps[:0], int(tip)+1+spareHeights)
	for height := range tip + 1 {
		l, _ := v.HeaderAt(height)
		c.mtps = append(c.mtps, v.Header(l).MTP())
	}
	if l, ok := v.HeaderAt(c.params.BIP34); ok {
		c.bip34 = v.Header(l).Hash()
	}
}

// spareHeights is room for the median times of blocks to come.
const spareHeights = 1 << 14

// MTPAt is the median time past of the block at a height of the speculative chain.
func (c *Confirmer) MTPAt(height uint32) uint32 { return c.mtps[height] }

// Take takes blocks in, each the child of the one before it, the first that of the block taken last (or of the tip): it
// decides whether their prevouts exist and are unspent, BIP30, maturity and BIP68, and finds their coins. n is how many
// it took. Where that is fewer than all and err is nil, ws[n] breaks one of these rules, and neither it nor what is
// above it was taken; Resolve and validate.Judge say which. An error is a fault, and says nothing about ws[n]:
// *utxo.FullError, or one of the store.
func (c *Confirmer) Take(ws []*Work) (n int, err error) {
	height, next := uint32(len(c.mtps)), c.next
	for i, w := range ws {
		if w.Place.Height != height+uint32(i) {
			return 0, fmt.Errorf("confirm: block of height %d cannot follow height %d", w.Place.Height, height+uint32(i)-1)
		}
		next = w.begin(next)
		if w.Place.Height == c.params.BIP34 {
			c.bip34 = w.Place.Hash
		}
		w.due, w.excepted = c.bip30(&w.Place)
	}
	return c.source.take(ws)
}

// bip30 tells whether a block must not repeat the txid of unspent outputs, and whether it is one of those that may.
// Neither: no txid can repeat (see validate.BIP30).
func (c *Confirmer) bip30(pl *validate.Place) (due, excepted bool) {
	var bip34 *chain.Hash
	if pl.Height > c.params.BIP34 {
		bip34 = &c.bip34
	}
	if validate.BIP30(c.params, pl.Height, &pl.Hash, bip34) {
		return true, false
	}
	return false, slices.Contains(c.params.BIP30Exceptions, chain.HeightHash{Height: pl.Height, Hash: pl.Hash})
}

// enter counts a block in that broke no rule.
func (c *Confirmer) enter(w *Work) {
	w.seq, w.inFlight = c.entered, true
	c.entered++
	c.mtps = append(c.mtps, w.MTP)
	if !w.archived {
		c.next = w.first + tables.OutputLink(len(w.Block.Outs))
	}
}

// Put makes the oldest block in flight the tip of the tables: its rows are appended (unless it is Archived; r is not
// looked at then), and one record of the log makes all its transactions strong. Errors are those of tables.Archive and
// tables.Push; after *store.DiskFull nothing has changed, and Put may be called again.
func (c *Confirmer) Put(w *Work, r *tables.Rows) error {
	if !w.inFlight || w.seq != c.puts {
		return errOrder
	}
	if !w.archived {
		if next := c.t.NextOutput(); next != w.first {
			return fmt.Errorf("confirm: a block was given output %d, and the archive goes on at %d", w.first, next)
		}
		if _, err := c.t.Archive(w.Link, r, w.prevouts, w.overwrites); err != nil {
			return err
		}
	}
	if err := c.t.Push(w.Link); err != nil {
		return err
	}
	c.puts++
	w.inFlight = false
	c.source.put(w)
	return nil
}

// Drop takes the newest block in flight back, as if it had never been taken. After an error (*utxo.FullError, or one
// of the store) it still is in flight.
func (c *Confirmer) Drop(w *Work) error {
	if !w.inFlight || w.seq+1 != c.entered {
		return errOrder
	}
	if err := c.source.drop(w); err != nil {
		return err
	}
	w.inFlight = false
	c.entered--
	c.mtps = c.mtps[:len(c.mtps)-1]
	if !w.archived {
		c.next = w.first
	}
	return nil
}

// Pop takes the tip off the chain, nothing being in flight. The set is brought level with what the archive says that
// the block spent and made; the coins that it overwrote (BIP30) come back. Errors are those of tables.Pop, of reading
// the archive, and *utxo.FullError; nothing has changed then.
func (c *Confirmer) Pop() error {
	if c.puts != c.entered {
		return errOrder
	}
	if err := c.source.pop(); err != nil {
		return err
	}
	c.mtps = c.mtps[:len(c.mtps)-1]
	return nil
}
