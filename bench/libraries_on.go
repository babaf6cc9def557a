//go:build bench

package bench

import (
	"bytes"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/zeebo/xxh3"

	"stele/chain"
)

// Libraries that we are measured against. Without the tag they are nil.
var (
	wireDecode = func(raw []byte) error { return new(wire.MsgBlock).Deserialize(bytes.NewReader(raw)) }
	wireTxids  = wireIDs
	hashXXH3   = func(key *[32]byte) uint64 { return xxh3.Hash(key[:]) }
)

// wireIDs returns the txids of a block as btcd's wire computes them.
func wireIDs(raw []byte) ([]chain.Hash, error) {
	var b wire.MsgBlock
	if err := b.Deserialize(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	ids := make([]chain.Hash, len(b.Transactions))
	for i, tx := range b.Transactions {
		ids[i] = chain.Hash(tx.TxHash())
	}
	return ids, nil
}
