// Package chain makes block chains to measure with: any number of blocks of regtest, of any size, the same bytes for
// the same options on every machine, at more than a hundred megabytes a second.
//
// A Source hands out one block after the other. Nothing but the unspent outputs is kept, so a chain may be far larger
// than memory; it is read as a block file (magic, length, block) or written into one, which a File describes: where
// each block lies, and a transaction of it.
//
// # What the chain is like
//
//   - Blocks have a coinbase with its height (BIP34), a witness commitment (BIP141), proof of work for regtest's
//     target, and the number of transactions that was asked for. Their times are a fixed step apart, from genesis on.
//   - Transactions have 2.4 inputs and 2.7 outputs on average, one and two most often, dozens rarely. All pay to and
//     spend from witness key hashes (P2WPKH): 31 bytes an output, 41 and 107 or 108 of witness an input.
//   - Inputs spend mostly what is young: four of five are drawn by an age that falls off exponentially, over about six
//     blocks, the rest evenly from all that is unspent. See pool.
//   - No input spends more than once, none before a coinbase has its hundred confirmations, values are conserved, a
//     coinbase takes the subsidy and the fees, and lock times are final.
//
// Keys and signatures are made up: signatures are strict DER with a low S, and sign nothing. Keys have the hashes that
// are paid to. So every rule holds and every script runs to its end, and what reads such a chain has to take its
// signatures as true.
//
// # How it begins
//
// The first hundred blocks have a coinbase only, for lack of anything to spend. Then each matured coinbase is split
// into hundreds of outputs (a fan-out) until there are enough for full blocks; until then blocks are smaller. Stats
// count fan-outs apart.
//
// # Ownership
//
// A Source belongs to one goroutine. A Block's bytes are the Source's and hold until the next call. Nothing allocates
// once the buffers have grown to the largest block, but for the pool, which grows with the number of unspent outputs:
// 56 bytes each, and a half more for holes.
package chain
