// Package confirm decides, block after block, whether the next block may join the chain, as far as order decides it:
// do its prevouts exist, and are they unspent; does it repeat the txid of unspent outputs (BIP30). It decides on links,
// tx rows and spend cells, never on a script or an amount, and it is the only stage of a node that must be sequential.
//
// A block that passes is archived and pushed in one step: its rows are appended where order puts them, its outputs are
// numbered, its inputs become the numbers of what they spend, and one record of the log makes all of its transactions
// strong. Nothing is appended for a block that does not pass, and a full disk is found before the first byte.
//
// Push does both halves; Decide and Commit are the halves, for whoever has more to ask of a block in between, over the
// amounts and scripts that it spends, which Coins reads out of the archive.
//
// # How a prevout is found
//
//	outpoint ──is it a transaction further up in this block?──▶ its output gets NextOutput() + offset
//	         ──tx.lines──▶ tx row that is strong in the chain below ──index──▶ output number ──spend cell──▶ unspent?
//
// An output may be spent once: the numbers that a block takes are entered into a set, and a second taking is a missing
// prevout, as a spent one is. Both are "bad-txns-inputs-missingorspent", Core's word for either.
//
// The scratch arrays of a Confirmer are reused from block to block; it belongs to the writer of its tables.
package confirm
