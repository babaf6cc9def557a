// Package utxo computes the two interchange hashes of a set of unspent
// outputs, by which nodes of any make can tell that they hold the same set.
// Both are Bitcoin Core's (gettxoutsetinfo), over the same bytes of a coin:
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
// Neither hash allocates per coin. A hasher belongs to one goroutine and keeps
// no reference to a coin that it was given.
package utxo
