package utxo

import (
	"fmt"
	"slices"

	"stele/chain"
)

// Block is what a block does to the set.
type Block struct {
	Height uint32
	Spends []Outpoint // of all inputs but the coinbase's, in their order
	Made   []Made     // transactions that make outputs, each txid once

	// Before is parallel to Spends: the number of the first output of the transaction that spends. A spend of an output
	// that the block itself makes is missing where that has this number or a higher one: a parent stands before its
	// child. Without it the order is not looked at.
	Before []uint64

	// Overwrites says that the block is one of the two that may make a transaction whose outputs are still unspent
	// (BIP30: mainnet's blocks 91842 and 91880). The old ones are gone then.
	Overwrites bool

	outs []Entry
}

// Take makes x what a parsed block does. first is the number of the block's first output. Scripts are views of b. It
// allocates nothing once x has held a block as large. What genesis makes is in no set: it is not to be taken.
func (x *Block) Take(b *chain.Block, txids []chain.Hash, height uint32, first uint64) {
	x.Height, x.Overwrites = height, false
	x.Spends, x.Before, x.Made = x.Spends[:0], x.Before[:0], x.Made[:0]
	x.outs = slices.Grow(x.outs[:0], len(b.Outs)) // does not move below: Made has views of it
	for i := range b.Txs {
		tx := &b.Txs[i]
		for in := tx.FirstIn; in < tx.FirstIn+tx.Ins && i > 0; in++ {
			txid, vout := b.Outpoint(int(in))
			x.Spends = append(x.Spends, Outpoint{*txid, vout})
			x.Before = append(x.Before, first)
		}
		from := len(x.outs)
		for n, out := range b.Outs[tx.FirstOut : tx.FirstOut+tx.Outs] {
			if script := b.Bytes(out.Script); !chain.Unspendable(script) {
				x.outs = append(x.outs, Entry{Vout: uint32(n), Value: out.Value, Script: script})
			}
		}
		if len(x.outs) > from {
			x.Made = append(x.Made, Made{
				Txid: txids[i], Coinbase: i == 0, First: first, Outs: x.outs[from:len(x.outs):len(x.outs)],
			})
		}
		first += uint64(tx.Outs)
	}
}

// Shift gives the block's first output another number, by further on: a block may be taken before its numbers are known.
func (x *Block) Shift(by uint64) {
	for i := range x.Before {
		x.Before[i] += by
	}
	for i := range x.Made {
		x.Made[i].First += by
	}
}

// Made is a transaction of a block with its outputs by ascending vout, without those that can never be spent (see
// chain.Unspendable). First is the number of its output 0.
type Made struct {
	Txid     chain.Hash
	Coinbase bool
	First    uint64
	Outs     []Entry
}

// Undo is what a commit returns: the coins that the block spent, and what is needed to take it back. It is the
// caller's, who may pass it to the next commit, which reuses its memory; scripts in it are good until then.
type Undo struct {
	Height      uint32
	Spent       []Spent // of the block's spends, in their order
	Overwritten []Spent

	made    []madeTrace // of the block's, in their order
	scripts [][]byte    // a buffer for each worker
}

// Spent is an output that left the set.
type Spent struct {
	Point Outpoint
	Coin  chain.Coin
	First uint64 // number of its transaction's output 0
	Own   bool   // the block itself made it: it was never in the set
}

// Link is the number of the output.
func (s *Spent) Link() uint64 { return s.First + uint64(s.Point.Vout) }

// madeTrace names a transaction that a block made, and how many of its outputs the block left.
type madeTrace struct {
	txid chain.Hash
	outs uint32
}

// MissingError names a prevout that is not in the set, that the block spends twice, or that it makes only after the
// spend: the first one of the block.
type MissingError struct {
	Spend int // of Block.Spends
	Point Outpoint
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("unspent output %v:%d is missing", e.Point.Txid, e.Point.Vout)
}

// DuplicateError names a transaction that still has unspent outputs and is made again (BIP30).
type DuplicateError struct{ Txid chain.Hash }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("transaction %v has unspent outputs already", e.Txid)
}

// UndoError says why a block cannot be taken back: it is not the last one that was committed.
type UndoError struct {
	Txid chain.Hash
	Why  string
}

func (e *UndoError) Error() string { return fmt.Sprintf("undo of transaction %v: %s", e.Txid, e.Why) }
