package utxo

import (
	"encoding/binary"

	"stele/chain"
)

// A Coin is an unspent output. Txid and Script are views of the caller's.
type Coin struct {
	Txid     *chain.Hash
	Vout     uint32
	Height   uint32 // of the block that made it, less than 2^31
	Coinbase bool   // the first transaction of its block made it
	Value    int64  // satoshi
	Script   []byte
}

// coinFixed is the width of a coin's bytes in front of the script's length.
const coinFixed = chain.HashSize + 4 + 4 + 8

// Append appends the bytes of a coin that both hashes are made of (see the
// package's drawing).
func (c *Coin) Append(dst []byte) []byte {
	code := c.Height << 1
	if c.Coinbase {
		code |= 1
	}
	dst = append(dst, c.Txid[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, c.Vout)
	dst = binary.LittleEndian.AppendUint32(dst, code)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Value))
	dst = chain.AppendCompactSize(dst, uint64(len(c.Script)))
	return append(dst, c.Script...)
}

// maxScript is the length beyond which no script can run (Core's
// MAX_SCRIPT_SIZE).
const maxScript = 10_000

// bogoFixed is what Core's bogosize, a made-up measure that does not depend on
// how a node stores its set, counts for a coin beside its script: txid 32,
// vout 4, height and coinbase 4, value 8, script length 2.
const bogoFixed = 50

// Stats counts a set. The zero value is that of the empty set.
type Stats struct {
	Outputs      uint64
	Transactions uint64 // that have an unspent output
	BogoSize     uint64 // 50 bytes an output and its script's length
	Amount       int64  // satoshi

	last chain.Hash // txid of the last coin
}

// Count takes a coin in. The coins of a transaction must come side by side.
func (s *Stats) Count(c *Coin) {
	if s.Outputs == 0 || s.last != *c.Txid {
		s.Transactions++
		s.last = *c.Txid
	}
	s.Outputs++
	s.BogoSize += bogoFixed + uint64(len(c.Script))
	s.Amount += c.Value
}

// Combine takes in the counts of another part of the set. No transaction may
// have coins in both.
func (s *Stats) Combine(o *Stats) {
	s.Outputs += o.Outputs
	s.Transactions += o.Transactions
	s.BogoSize += o.BogoSize
	s.Amount += o.Amount
}

// A Hasher is either hash of a set.
type Hasher interface {
	// Add takes a coin in.
	Add(c *Coin) error
	// Sum is the hash of the coins so far. More may be added afterwards.
	Sum() chain.Hash
}
