// Package mainnet holds the first 14,132 blocks of Bitcoin's main chain
// (heights 0 to 14,131: January to May 2009, 14,247 transactions) inside the
// executable, so that a demonstration or a test needs neither a network nor a
// data folder.
//
// Blocks unpacks them into one ordinary block file:
//
//	| magic f9beb4d9 | length 4 LE | block | magic | length | block | ...
//
// in height order, 3,272,717 bytes without padding.
//
// The embedded form is columns.bin, 1.2 MB. What the chain itself implies is not
// stored: a header's previous hash, and the merkle root of a block whose only
// transaction is its coinbase (14,044 of the blocks). Public keys of coinbase outputs are
// incompressible and stand apart, in the clear; only the rest is deflated.
// Against gzip -9 of the block file that is 1.18 MB for 2.11 MB, and 16 ms for
// 21 ms to unpack (BenchmarkBlocks and BenchmarkGzip), hashing included.
// The hash of the last header that comes out is compared with TipHash, and as
// every header holds its predecessor's hash, the tip vouches for every byte of
// the chain but the multi-transaction blocks' bodies; those the tests compare
// with the source.
//
// Invariants: the package imports nothing of Stele; the embedded bytes are
// never changed; what Blocks returns belongs to the caller. All functions may
// be called from several goroutines.
//
// go generate makes columns.bin again out of the btcd module's test data (see
// gen); the same source and Go release give the same bytes.
package mainnet
