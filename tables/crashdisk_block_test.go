package tables_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/tables"
)

// crashBlock is a made block with what the naive model wants to know of it.
type crashBlock struct {
	*chaintest.Block
	parent *crashBlock
	body   chain.Block
	mtp    uint32
}

func newCrashBlock(parent *crashBlock, b *chaintest.Block) *crashBlock {
	x := &crashBlock{Block: b, parent: parent, mtp: naiveMTP(b)}
	if err := x.body.Decode(b.Raw); err != nil {
		panic(err)
	}
	return x
}

// line returns the chain that ends at b, genesis first.
func (b *crashBlock) line() []*crashBlock {
	list := make([]*crashBlock, b.Height+1)
	for ; b != nil; b = b.parent {
		list[b.Height] = b
	}
	return list
}

// on reports whether b is in the chain that ends at tip.
func (b *crashBlock) on(tip *crashBlock) bool {
	for tip != nil && tip.Height > b.Height {
		tip = tip.parent
	}
	return tip == b
}

// ledger is the naive replay of a chain: every output that can be spent, in order, and what became of it.
type ledger struct {
	outs    []chaintest.Outpoint
	heights map[chaintest.Outpoint]uint32     // of outputs that are unspent
	spender map[chaintest.Outpoint]chain.Hash // of those that are not
}

func naiveLedger(tip *crashBlock) *ledger {
	l := &ledger{heights: map[chaintest.Outpoint]uint32{}, spender: map[chaintest.Outpoint]chain.Hash{}}
	for _, b := range tip.line()[1:] {
		for i, tx := range b.body.Txs {
			for n := tx.FirstIn; i > 0 && n < tx.FirstIn+tx.Ins; n++ {
				txid, vout := b.body.Outpoint(int(n))
				o := chaintest.Outpoint{Txid: *txid, Vout: vout}
				delete(l.heights, o)
				l.spender[o] = b.Txids[i]
			}
			for n := range tx.Outs {
				if s := b.body.Bytes(b.body.Outs[tx.FirstOut+n].Script); len(s) == 0 || s[0] != 0x6a {
					o := chaintest.Outpoint{Txid: b.Txids[i], Vout: n}
					l.outs = append(l.outs, o)
					l.heights[o] = b.Height
				}
			}
		}
	}
	return l
}

// nextBlock makes a block on b whose transactions spend random outputs of the chain, and of the block itself.
func (b *crashBlock) nextBlock(r *rand.Rand, salt uint32) *crashBlock {
	l := naiveLedger(b)
	var free []chaintest.Outpoint
	for _, o := range l.outs {
		if _, ok := l.heights[o]; ok {
			free = append(free, o)
		}
	}
	var txs []*chaintest.Tx
	for range r.IntN(4) {
		tx := &chaintest.Tx{Version: 2, LockTime: salt, Witness: r.IntN(2) == 0}
		ins := 1 + r.IntN(3)
		if r.IntN(8) == 0 {
			ins = 12
		}
		for ; ins > 0 && len(free) > 0; ins-- {
			i := r.IntN(len(free))
			tx.Ins = append(tx.Ins, free[i])
			free[i] = free[len(free)-1]
			free = free[:len(free)-1]
		}
		if len(tx.Ins) == 0 {
			break
		}
		outs := 1 + r.IntN(6)
		if r.IntN(8) == 0 {
			outs = 70
		}
		for n := range outs {
			script := []byte{0x51, byte(n)}
			if r.IntN(10) == 0 {
				script[0] = 0x6a
			}
			tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(n), Script: script})
		}
		_, txid := tx.Raw()
		for n, o := range tx.Outs {
			if o.Script[0] != 0x6a {
				free = append(free, chaintest.Outpoint{Txid: txid, Vout: uint32(n)})
			}
		}
		txs = append(txs, tx)
	}
	return newCrashBlock(b, b.Next(salt, txs...))
}

// agrees compares every answer of a view with the naive replay of the chain that ends at tip.
func agrees(v *tables.View, tip *crashBlock) error {
	if l, height := v.Tip(); height != tip.Height || v.Header(l).Hash() != tip.Hash {
		return fmt.Errorf("the tip is block %v at height %d, want %v at %d", v.Header(l).Hash(), height, tip.Hash, tip.Height)
	}
	l := naiveLedger(tip)
	found := 0
	err := v.EachUnspent(func(u *tables.Unspent) error {
		found++
		if h, ok := l.heights[chaintest.Outpoint{Txid: *u.Txid, Vout: u.Vout}]; !ok || h != u.Height {
			return fmt.Errorf("output %v:%d at height %d counts as unspent, and is not", u.Txid, u.Vout, u.Height)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found != len(l.heights) {
		return fmt.Errorf("%d outputs are unspent, want %d", found, len(l.heights))
	}
	for _, o := range l.outs {
		if by, ok := l.spender[o]; ok {
			if err := spentBy(v, o, by); err != nil {
				return err
			}
		}
	}
	for _, b := range tip.line() {
		h, ok := v.FindHeader(&b.Hash)
		if !ok {
			return fmt.Errorf("block %d is not found by its hash", b.Height)
		}
		raw, archived, err := v.AppendBlock(nil, h)
		if !archived || err != nil || !bytes.Equal(raw, b.Raw) {
			return fmt.Errorf("block %d is not rebuilt: archived %v, %v", b.Height, archived, err)
		}
		if at, ok := v.HeaderAt(b.Height); !ok || at != h || !v.Confirmed(h) {
			return fmt.Errorf("height %d is another block's", b.Height)
		}
	}
	return nil
}

// spentBy wants an output to lead to its spender, and the spender's input back to it.
func spentBy(v *tables.View, o chaintest.Outpoint, by chain.Hash) error {
	l, ok := v.FindTx(&o.Txid)
	if !ok || !v.Tx(l).Strong {
		return fmt.Errorf("transaction %v is not found strong", o.Txid)
	}
	out := v.Tx(l).FirstOut + tables.OutputLink(o.Vout)
	s, ok := v.Spender(out)
	if !ok || *v.Txid(s.Tx) != by {
		return fmt.Errorf("the spender of %v:%d is not found (%v)", o.Txid, o.Vout, ok)
	}
	if p, ok := v.Prevout(v.Tx(s.Tx).FirstIn + tables.InputLink(s.Index)); !ok || p != out {
		return fmt.Errorf("the input that spends %v:%d leads elsewhere", o.Txid, o.Vout)
	}
	return nil
}
