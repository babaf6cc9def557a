package chaintest

import (
	"testing"

	"stele/chain"
)

// TestBlocksDecode holds what is made against the decoder: it must read back the same ids, and re-encode the bytes.
func TestBlocksDecode(t *testing.T) {
	b := Genesis().Next(1)
	spend := &Tx{
		Version: 2, Ins: []Outpoint{{Txid: b.Txids[0]}}, Witness: true,
		Outs: []Output{{Value: 1, Script: []byte{0x6a}}},
	}
	b = b.Next(1, spend)
	var d chain.Block
	if err := d.Decode(b.Raw); err != nil {
		t.Fatal(err)
	}
	if ids := d.Txids(nil); len(ids) != 2 || ids[0] != b.Txids[0] || ids[1] != b.Txids[1] {
		t.Errorf("txids %v, want %v", ids, b.Txids)
	}
	if d.Header.Hash() != b.Hash || string(d.Append(nil)) != string(b.Raw) {
		t.Error("the block does not survive decoding and encoding")
	}
	if target, _, _ := chain.CompactToTarget(d.Header.Bits); !chain.HashMeetsTarget(&b.Hash, target) {
		t.Error("the block has no proof of work")
	}
}
