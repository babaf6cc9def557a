package utxo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"

	"stele/chain"
)

// batchBytes is how many bytes of coins are gathered for one write to the hash.
const batchBytes = 8 << 10

// Serialized3 is Core's hash_serialized_3: SHA256(SHA256(all coins)).
type Serialized3 struct {
	sha  hash.Hash
	buf  []byte // not yet written; has room for batchBytes and a script beyond
	last chain.Hash
	vout uint32 // of the last coin
	any  bool
}

// NewSerialized3 returns the hash of the empty set.
func NewSerialized3() *Serialized3 {
	return &Serialized3{sha: sha256.New(), buf: make([]byte, 0, batchBytes+coinFixed+maxScript+9)}
}

// OutOfOrder says that a coin does not come behind the one before it.
type OutOfOrder struct {
	Txid, Before     chain.Hash
	Vout, VoutBefore uint32
}

func (e *OutOfOrder) Error() string {
	return fmt.Sprintf("coin %s:%d is out of order behind %s:%d", e.Txid, e.Vout, e.Before, e.VoutBefore)
}

// Add takes the next coin in. One that is not behind its predecessor, by the
// bytes of the txid and then by vout, is an *OutOfOrder and changes nothing.
func (s *Serialized3) Add(c *Coin) error {
	if s.any {
		order := bytes.Compare(s.last[:], c.Txid[:])
		if order > 0 || order == 0 && s.vout >= c.Vout {
			return &OutOfOrder{Txid: *c.Txid, Vout: c.Vout, Before: s.last, VoutBefore: s.vout}
		}
	}
	s.any, s.last, s.vout = true, *c.Txid, c.Vout
	s.buf = c.Append(s.buf)
	if len(s.buf) >= batchBytes {
		s.flush()
	}
	return nil
}

// write takes in the bytes of coins that are known to come next.
func (s *Serialized3) write(coins []byte) {
	if s.buf = append(s.buf, coins...); len(s.buf) >= batchBytes {
		s.flush()
	}
}

func (s *Serialized3) flush() {
	s.sha.Write(s.buf) // a hash.Hash never fails
	s.buf = s.buf[:0]
}

// Sum is the hash of the coins so far.
func (s *Serialized3) Sum() chain.Hash {
	s.flush()
	var once [sha256.Size]byte
	return sha256.Sum256(s.sha.Sum(once[:0]))
}
