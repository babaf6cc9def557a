package utxo

import "stele/chain"

// Who has the blocks needs no undo data kept for them: what a commit returned once is made again from what the block
// spent and made. Rebuild begins it; then the coins that the block spent, its own left out, go into Spent, those that it
// overwrote into Overwritten, both in any order, and every output that it left unspent is told to Made.

// Rebuild makes u the undo data of a block of that height that spent and made nothing yet.
func (u *Undo) Rebuild(height uint32) {
	u.Height = height
	u.Spent, u.Overwritten, u.made = u.Spent[:0], u.Overwritten[:0], u.made[:0]
}

// Made counts one output, which was neither unspendable nor spent by the block itself. The outputs of a transaction are
// told one after the other.
func (u *Undo) Made(txid *chain.Hash) {
	if n := len(u.made); n == 0 || u.made[n-1].txid != *txid {
		u.made = append(u.made, madeTrace{txid: *txid})
	}
	u.made[len(u.made)-1].outs++
}
