// Package utxo is the set of unspent outputs: kept in memory for whoever confirms blocks, and handed from node to node by
// the hashes and files that all agree on.
//
// # The set
//
// A Set keeps one record a transaction, in 256 shards by the txid's first byte. A shard is an index of cache lines
// (table.go) and a slab of records (slab.go), both outside the heap and without Go pointers. A lookup reads one index line
// and one record; Lookup does so for a whole block with its cache misses side by side.
//
//	record.go    the record in use, its forms and their drawing; record_amount.go and record_script.go what they are made of
//	record_v4.go, record_v5.go    two older records: the oracle of tests, and what the one in use is measured against
//	commit.go    a window of blocks goes in, shard by shard on all workers, whole or not at all, for readers too; the coins
//	             that it spent come back, block by block (commit_sort.go, commit_shard.go, commit_spend.go, commit_make.go)
//	undo.go      takes a block out again, the newest first
//
// Invariants, which tests check from the inside (set_verify_test.go): every record has its one spelling; cells lie side by
// side, and are named by one index entry or free; the counts of passing entries are exact. Readers hold the gate shared; a
// commit holds it only while it changes index entries, and frees what they named after that. One writer at a time: locks
// are taken in the order writer, gate. What a lookup returns is the caller's; what Shard hands over is good for that call.
// Bad blocks are *MissingError and *DuplicateError, want of memory is *FullError, and both leave the set as it was.
//
// # Hashes
//
// Two hashes tell nodes of any make that they hold the same set. Both are Bitcoin Core's (gettxoutsetinfo), over the same
// bytes of a coin:
//
//	0        32       36                40       48
//	+--------+--------+-----------------+--------+------------+--------+
//	| txid   | vout   | height<<1       | value  | script     | script |
//	|        |        | | coinbase      |        | length     |        |
//	+--------+--------+-----------------+--------+------------+--------+
//	| 32     | 4      | 4               | 8      | CompactSize 1..9    |
//
// Integers are little-endian, the txid is in internal order.
//
//   - Serialized3 (hash_serialized_3) is the double SHA256 of all coins in the
//     order of their txid bytes, then of vout as a number. It needs the whole
//     set in order.
//   - MuHash (muhash, MuHash3072) is a product of one 3072-bit number a coin
//     modulo 2^3072-1103717. The order does not matter, coins can be removed
//     again, and hashes of parts of the set can be combined; so it can be
//     computed by several goroutines, or be carried from block to block.
//
// Stats counts what Core reports beside them. What belongs into the set is for the
// caller to know, with chain.Unspendable for the outputs that never do; nor is the
// genesis block's output part of it.
//
// # Files
//
// Two files hold sets, drawn in snapshot.go and image.go. Both are written and read through a Source: a set that is handed
// over shard by shard, to several goroutines (source.go).
//
//   - A snapshot is Core's, version 2 (dumptxoutset): WriteSnapshot, SnapshotReader.
//   - An image is a checkpoint's, with every output's number: SaveImage, OpenImage. It is replaced by another one at once
//     or not at all, whatever happens in between (image_disk.go has the order of the steps).
//
// One set has one spelling in either, and the readers take no other. compress.go has Core's spellings of numbers, amounts
// and scripts, curve.go what they need of the curve.
//
// Neither hash allocates per coin. A hasher belongs to one goroutine and keeps
// no reference to a coin that it was given.
package utxo
