// Package chain is what Bitcoin writes on the wire, and what follows from those bytes alone: blocks and transactions as
// views, hashes, merkle roots, targets and work, and the parameters of the networks. It knows no store, no clock and no
// rule that needs another block; whether a block is valid is for package validate.
//
// # Blocks
//
// A [Block] is parsed once into arrays of offsets over its own bytes. Nothing is copied: scripts, outpoints and witness
// items are runs of Raw.
//
//	Raw    | header 80 | count | tx 0 | tx 1 | ... |
//	Txs    Tx:  where it begins and ends, and which Ins and Outs are its own
//	Ins    In:  where its outpoint and script are, and which Items are its witness stack
//	Outs   Out: its value, and where its script is
//	Items  Span
//
// Positions are 32-bit offsets of bytes in Raw; the rows hold no Go pointers, so the collector has nothing to follow.
// The arrays belong to the Block and serve one Decode after the other; a decode into arrays that are large enough
// allocates nothing. Raw is the caller's. It must neither change nor be recycled while the Block is used; [Block.Own]
// moves it into an [Arena], and as views are offsets they stay right.
//
// Decoding is as strict as Core's: what it accepts has exactly one encoding, and AppendTx and Append write that from
// the parsed fields. So a round trip proves a parse. Bad bytes are a [*DecodeError], never a panic, and never cost
// memory that is not in proportion to the bytes present.
//
// # Ownership
//
// Reading a Block is safe from any number of goroutines. Decode, DecodeTx, Own, Txids and Wtxids want it alone, as
// they use its arrays or its scratch buffer. An Arena belongs to one goroutine at a time and is dead after Release:
// its chunks go to other arenas, through pools that all share. Values ([Hash], [Header], [Work]) are copied freely.
// [Params] are shared and must not be changed.
//
// # Numbers
//
// A [Hash] is in internal order; only its text is reversed. [Work] is a 256-bit number that serves for work and
// targets; its arithmetic wraps as that of Core's arith_uint256, and compact targets keep Core's odd cases (sign,
// overflow), as headers that have them must be refused for the same reason.
package chain
