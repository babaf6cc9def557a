package confirm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"stele/chain"
	"stele/tables"
	"stele/validate"
)

// Confirmer confirms blocks into one store. It is used by the store's writer alone.
type Confirmer struct {
	t        *tables.Tables
	inBlock  index   // txid → position
	taken    numbers // output numbers that the block spends
	decision         // on the block in hand
}

// decision is what was found out about one block: what its archiving needs, and where its coins are.
type decision struct {
	prevouts   []tables.OutputLink // one an input
	origins    []origin            // one an input
	overwrites bool
	coins      []chain.Coin
	scripts    []byte // of coins of other blocks
}

// origin is where the output that an input spends was made.
type origin struct {
	tx    tables.TxLink // tables.NoTx: a transaction of the block itself
	place uint32        // index among the outputs of tx, or of all outputs of the block
}

// New returns a confirmer of blocks into t.
func New(t *tables.Tables) *Confirmer {
	return &Confirmer{t: t, inBlock: index{secret: rand.Uint64() | 1}}
}

// Push confirms the block of header l onto the tip: decides, archives, pushes. b is the block, txids those of its
// transactions, r its rows. A block that was archived before, on a branch that was left and is now taken again, is
// pushed as it stands: what it spends was decided by its ancestors, and they are the same.
//
// A verdict that is not OK leaves the store as it was. An error is a fault of the store, and says nothing about the
// block: *store.DiskFull (nothing was appended; try again when there is room), *store.Fault, *store.Damaged.
func (c *Confirmer) Push(
	l tables.HeaderLink, b *chain.Block, txids []chain.Hash, r *tables.Rows,
) (validate.Verdict, error) {
	if _, ok := c.t.Archived(l); ok {
		return pass, c.t.Push(l)
	}
	if v := c.Decide(l, b, txids); !v.OK() {
		return v, nil
	}
	return pass, c.Commit(l, r)
}

// Decide is the first half of Push, for whoever has more to ask of a block before it is archived: the verdict alone.
// It changes nothing but the Confirmer, which holds the decision until the next one.
func (c *Confirmer) Decide(l tables.HeaderLink, b *chain.Block, txids []chain.Hash) validate.Verdict {
	v := c.t.Live()
	overwrites, verdict := c.repeats(v, l, txids)
	c.overwrites = overwrites
	if !verdict.OK() {
		return verdict
	}
	return c.resolve(v, b, txids)
}

// Commit is the second half of Push, for the block that was decided last and passed: it archives and pushes it.
// Errors are those of Push.
func (c *Confirmer) Commit(l tables.HeaderLink, r *tables.Rows) error {
	if _, err := c.t.Archive(l, r, c.prevouts, c.overwrites); err != nil {
		return err
	}
	return c.t.Push(l)
}

// Coins returns what the inputs of the block that was decided last spend, one an input; the coinbase's is zero. Where
// the block did not pass for a missing prevout, they end before it: len(Coins) is the input without one. The coins hold
// until the next Decide. An error is *store.Damaged.
//
// Cost: the rows of the output's transaction again, and its run of the output slab, up to the output.
func (c *Confirmer) Coins(b *chain.Block) (coins []chain.Coin, err error) {
	v := c.t.Live()
	_, tip := v.Tip()
	c.coins, c.scripts = c.coins[:0], c.scripts[:0]
	for n, o := range c.origins {
		var coin chain.Coin
		switch {
		case c.prevouts[n] == tables.NoOutput:
		case o.tx == tables.NoTx:
			out := &b.Outs[o.place]
			coin = chain.Coin{Value: out.Value, Script: b.Bytes(out.Script), Height: tip + 1, Coinbase: o.place < b.Txs[0].Outs}
		default:
			if coin, c.scripts, err = v.Coin(o.tx, o.place, c.scripts); err != nil {
				return nil, err
			}
		}
		c.coins = append(c.coins, coin)
	}
	return c.coins, nil
}

// pass is the verdict on a block that breaks no rule of this package.
var pass = validate.Verdict{Tx: -1, Input: -1}

// repeats looks for transactions whose txid has unspent outputs in the chain below (BIP30). Where the rule is due, the
// first one is the verdict; in the blocks that are excepted from it, it tells that the block overwrites. Where the rule
// need not be checked (see validate.BIP30) no txid can repeat, and nothing is looked up.
func (c *Confirmer) repeats(v *tables.View, l tables.HeaderLink, txids []chain.Hash) (bool, validate.Verdict) {
	p, h := c.t.Params(), c.t.Header(l)
	height, hash := h.Height(), h.Hash()
	var bip34 *chain.Hash
	if a, ok := v.HeaderAt(p.BIP34); ok && p.BIP34 < height {
		h := v.Header(a).Hash()
		bip34 = &h
	}
	overwrites := false
	due := validate.BIP30(p, height, &hash, bip34)
	if !due && bip34 != nil {
		return false, pass
	}
	for i := range txids {
		old, ok := v.FindStrong(&txids[i])
		if !ok || !unspentLeft(v, old) {
			continue
		}
		if due {
			return false, validate.Verdict{
				Reason: validate.ReasonBIP30, Detail: fmt.Sprintf("tried to overwrite transaction %v", txids[i]),
				Tx: i, Input: -1, Condemns: true,
			}
		}
		overwrites = true
	}
	return overwrites, pass
}

// unspentLeft reports whether a transaction has an output that is still unspent.
func unspentLeft(v *tables.View, l tables.TxLink) bool {
	tx := v.Tx(l)
	for i := range tx.Outs {
		if !v.Spent(tx.FirstOut + tables.OutputLink(i)) {
			return true
		}
	}
	return false
}

// resolve finds the output that each input of the block spends, in order: an output is there for transactions further
// down in the block only, and once.
func (c *Confirmer) resolve(v *tables.View, b *chain.Block, txids []chain.Hash) validate.Verdict {
	c.prevouts, c.origins = c.prevouts[:0], c.origins[:0]
	c.inBlock.reset(txids)
	c.taken.reset(len(b.Ins))
	for i := range b.Txs {
		tx := &b.Txs[i]
		for n := tx.FirstIn; n < tx.FirstIn+tx.Ins; n++ {
			if i == 0 {
				c.decided(tables.NoOutput, origin{})
				continue
			}
			o, from, ok := c.find(v, b, int(n), i, txids)
			if !ok || !c.taken.add(uint64(o)) {
				return missing(b, i, int(n))
			}
			c.decided(o, from)
		}
		c.inBlock.add(txids, i)
	}
	return pass
}

func (c *Confirmer) decided(o tables.OutputLink, from origin) {
	c.prevouts, c.origins = append(c.prevouts, o), append(c.origins, from)
}

// find returns the number of the output that input n of the block spends, if it exists and is unspent in the chain
// below, or is made by a transaction before position tx.
func (c *Confirmer) find(
	v *tables.View, b *chain.Block, n, tx int, txids []chain.Hash,
) (tables.OutputLink, origin, bool) {
	txid, vout := b.Outpoint(n)
	if parent, ok := c.inBlock.find(txids, txid); ok && parent < tx {
		p := &b.Txs[parent]
		if vout >= p.Outs || chain.Unspendable(b.Bytes(b.Outs[p.FirstOut+vout].Script)) {
			return 0, origin{}, false
		}
		place := p.FirstOut + vout
		return c.t.NextOutput() + tables.OutputLink(place), origin{tables.NoTx, place}, true
	}
	l, ok := v.FindStrong(txid)
	if !ok {
		return 0, origin{}, false
	}
	parent := v.Tx(l)
	if vout >= parent.Outs {
		return 0, origin{}, false
	}
	o := parent.FirstOut + tables.OutputLink(vout)
	return o, origin{l, vout}, !v.Spent(o)
}

func missing(b *chain.Block, tx, in int) validate.Verdict {
	txid, vout := b.Outpoint(in)
	return validate.Verdict{
		Reason: validate.ReasonMissingOrSpent, Detail: fmt.Sprintf("no unspent output %v:%d", txid, vout),
		Tx: tx, Input: in - int(b.Txs[tx].FirstIn), Condemns: true,
	}
}

// index finds the transactions of one block by txid: open addressing over their positions, at most half full. The slot
// comes from eight bytes of the txid times a secret of the process, so that nobody can grind the txids of a block into
// one run of slots.
type index struct {
	slots  []uint32 // position plus one
	secret uint64   // odd
}

func (x *index) reset(txids []chain.Hash) {
	x.slots = clearTo(x.slots, tableSize(len(txids)))
}

// slot is where the search for a txid starts.
func (x *index) slot(txid *chain.Hash) uint64 {
	return binary.LittleEndian.Uint64(txid[8:]) * x.secret >> 32 & uint64(len(x.slots)-1)
}

func (x *index) find(txids []chain.Hash, txid *chain.Hash) (position int, ok bool) {
	mask := uint64(len(x.slots) - 1)
	for at := x.slot(txid); x.slots[at] != 0; at = (at + 1) & mask {
		if p := int(x.slots[at] - 1); txids[p] == *txid {
			return p, true
		}
	}
	return 0, false
}

// add enters position p: of two equal txids the later one is found.
func (x *index) add(txids []chain.Hash, p int) {
	mask := uint64(len(x.slots) - 1)
	at := x.slot(&txids[p])
	for x.slots[at] != 0 && txids[x.slots[at]-1] != txids[p] {
		at = (at + 1) & mask
	}
	x.slots[at] = uint32(p) + 1
}

// numbers is a set of output numbers: open addressing, at most half full.
type numbers struct{ slots []uint64 } // number plus one

func (s *numbers) reset(n int) {
	s.slots = clearTo(s.slots, tableSize(n))
}

// add enters a number and reports whether it was not in the set before.
func (s *numbers) add(n uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for at := n * 0x9e3779b97f4a7c15 >> 32 & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case 0:
			s.slots[at] = n + 1
			return true
		case n + 1:
			return false
		}
	}
}

// tableSize is the power of two that leaves a table of n entries at most half full.
func tableSize(n int) int {
	size := 4
	for size < 2*n {
		size *= 2
	}
	return size
}

// clearTo returns a zeroed slice of n elements, in the array of s where it is large enough.
func clearTo[T uint32 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
