package confirm

import (
	"stele/chain"
)

// Resolved is what the judge is told of a block's prevouts.
type Resolved struct {
	Coins   []chain.Coin      // one for each of Block.Ins; from the missing one on they are zero
	Missing int               // the first of Block.Ins whose prevout does not exist or is spent; -1: none is
	Repeats func(tx int) bool // as in validate.Case; nil where BIP30 asks for nothing
	Err     func() error      // a fault that Repeats met: then nothing that was judged counts
}

// Resolve looks for the prevouts of a block once more, one by one and in Core's order, for the judge. The block's
// parent is the tip, and nothing is in flight. What it returns is the caller's. It is slow. An error is a fault.
func (c *Confirmer) Resolve(w *Work) (Resolved, error) {
	b := w.Block
	r := Resolved{Coins: make([]chain.Coin, len(b.Ins)), Missing: -1}
	if w.Place.Height == c.params.BIP34 {
		c.bip34 = w.Place.Hash
	}
	if due, _ := c.bip30(&w.Place); due {
		var fault error
		r.Err = func() error { return fault }
		r.Repeats = func(tx int) bool {
			found, err := c.unspent(w, tx)
			if err != nil {
				fault = err
			}
			return found
		}
	}
	type point struct {
		txid chain.Hash
		vout uint32
	}
	spent, made := map[point]bool{}, map[chain.Hash]int{}
	for tx := range b.Txs {
		t := &b.Txs[tx]
		for in := int(t.FirstIn); in < int(t.FirstIn+t.Ins) && tx > 0; in++ {
			txid, vout := b.Outpoint(in)
			p := point{*txid, vout}
			coin, ok := c.ownCoin(w, made, txid, vout)
			if !ok {
				var err error
				if coin, ok, err = c.source.coin(txid, vout); err != nil {
					return r, err
				}
			}
			if !ok || spent[p] {
				r.Missing = in
				return r, nil
			}
			spent[p], r.Coins[in] = true, coin
		}
		made[w.Txids[tx]] = tx
	}
	return r, nil
}

// ownCoin looks for an output of the block itself, among those of the transactions further up.
func (c *Confirmer) ownCoin(w *Work, made map[chain.Hash]int, txid *chain.Hash, vout uint32) (chain.Coin, bool) {
	tx, ok := made[*txid]
	if !ok {
		return chain.Coin{}, false
	}
	_, coin, ok := w.output(tx, vout)
	return coin, ok
}

// unspent reports whether the txid of a block's transaction has an unspent output in the chain below. A transaction that
// has the same txid has as many outputs.
func (c *Confirmer) unspent(w *Work, tx int) (bool, error) {
	for vout := range w.Block.Txs[tx].Outs {
		if _, ok, err := c.source.coin(&w.Txids[tx], vout); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
