// Package esplora makes the JSON shapes that wallets and scripts know out of a tables.View: Esplora's transaction,
// outspend, block and status, and two of Bitcoin Core's (gettxout, gettxoutsetinfo) where those are the custom.
//
// # Which Esplora
//
// The shapes are those of Blockstream's Esplora HTTP API (API.md of Blockstream/esplora): amounts are satoshis, hashes
// are in display order, a transaction off the best chain has status {"confirmed":false}. Scripts are spelled as the
// Rust servers spell them (asm.go). Two things are from mempool.space's server, whose front end expects them:
// scriptpubkey_type has the values multisig and anchor besides Esplora's own.
//
// A field that has no right value is absent, as in Esplora: scriptpubkey_address of a script without address, the inner
// scripts of an input that has none. Of what the executable's contract lists nothing is left out: witness is [] where
// Esplora omits it, prevout is null for a coinbase, previousblockhash is null for genesis.
//
// # Cost
//
// An answer reads each row that it is about once: a transaction rebuilds its own wire bytes, then asks for the output
// behind each input. A coinbase asks for none. Decoding scratch is pooled; what an answer holds is its own.
//
// # Ownership
//
// A View is immutable, so everything here may be called by any number of goroutines. Nothing keeps a view or a slice
// of the store: answers are strings and numbers. Faults of mapped memory are the caller's to catch (store.Guard).
package esplora
