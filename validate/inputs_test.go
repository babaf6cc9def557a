package validate

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// sameSpec is a transaction of n inputs whose last repeats the one at first; -1: all differ.
func sameSpec(n, first int) *txSpec {
	x := spendSpec(0)
	x.ins = nil
	for i := range n {
		x.ins = append(x.ins, inSpec{txid: label(i), vout: uint32(i)})
	}
	if first >= 0 {
		x.ins[n-1].txid, x.ins[n-1].vout = x.ins[first].txid, x.ins[first].vout
		x.ins[n-1].script = []byte{0x51} // the rest of the input may differ
	}
	return &x
}

// TestTrap35DuplicateInputs: the same outpoint twice in one transaction (CVE-2018-17144), for few inputs and for as
// many as a block can hold, first and last, next to each other and apart.
func TestTrap35DuplicateInputs(t *testing.T) {
	var scratch Scratch
	for _, n := range []int{1, 2, 3, pairwise - 1, pairwise, pairwise + 1, 100, 1000, 24_000} {
		wantReason(t, fmt.Sprint(n, " different"), CheckTx(sameSpec(n, -1).decode(t), 0, &scratch), "")
		for _, first := range []int{0, n / 2, n - 2} {
			if first < 0 || first >= n-1 {
				continue
			}
			v := CheckTx(sameSpec(n, first).decode(t), 0, &scratch)
			wantReason(t, fmt.Sprintf("%d, repeating %d", n, first), v, ReasonDuplicateInputs)
			if v.Tx != 0 || v.Input != n-1 {
				t.Errorf("%d, repeating %d: %+v", n, first, v)
			}
		}
	}
}

// TestTrap35InABlock: the rule is kept for every transaction of a block, whether what it spends is older or of the
// same block.
func TestTrap35InABlock(t *testing.T) {
	for _, parent := range []string{"in the block", "older"} {
		x := validSpec()
		txid := label(77)
		if parent == "in the block" {
			txid = chain.DoubleSHA256(x.txs[1].bytes(false))
		}
		x.txs = append(x.txs, spendSpec(5))
		x.txs[3].ins = []inSpec{{txid: txid}, {txid: label(78)}, {txid: txid}}
		b, txids := x.decode(t)
		v := Check(chain.Main(), b, txids, new(Scratch))
		wantReason(t, parent, v, ReasonDuplicateInputs)
		if v.Tx != 3 || v.Input != 2 {
			t.Errorf("%s: %+v", parent, v)
		}
	}
}

// TestInputsThatLookAlike: equal words, of which the quick comparison is made, are no equal outpoints.
func TestInputsThatLookAlike(t *testing.T) {
	for _, n := range []int{4, 40} {
		x := spendSpec(0)
		x.ins = nil
		for i := range n {
			txid := label(1000 - i) // first eight bytes and index add up to the same
			x.ins = append(x.ins, inSpec{txid: txid, vout: uint32(i)})
		}
		x.ins = append(x.ins, inSpec{txid: x.ins[0].txid, vout: 1}, inSpec{txid: x.ins[1].txid, vout: 0})
		wantReason(t, fmt.Sprint(n), CheckTx(x.decode(t), 0, new(Scratch)), "")
	}
}

// TestRepeatedInputModel: both ways give the first repetition that a map finds, whatever Scratch held before.
func TestRepeatedInputModel(t *testing.T) {
	var scratch Scratch
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3*pairwise).Draw(t, "inputs")
		labels := rapid.IntRange(1, 200).Draw(t, "labels")
		x := spendSpec(0)
		x.ins = nil
		want, seen := none, make(map[inSpecKey]bool)
		for i := range n {
			key := inSpecKey{label(rapid.IntRange(0, labels).Draw(t, "txid")), rapid.Uint32Range(0, 5).Draw(t, "vout")}
			x.ins = append(x.ins, inSpec{txid: key.txid, vout: key.vout})
			if seen[key] && want == none {
				want = i
			}
			seen[key] = true
		}
		var b chain.Block
		if err := b.DecodeTx(x.bytes(false)); err != nil {
			t.Fatal(err)
		}
		if got := repeatedInput(&b, &b.Txs[0], &scratch); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		if got := repeatedByHash(b.Raw, b.Ins, &scratch); got != want {
			t.Fatalf("by hash: %d, want %d", got, want)
		}
		if n <= pairwise {
			if got := repeatedByPairs(b.Raw, b.Ins); got != want {
				t.Fatalf("by pairs: %d, want %d", got, want)
			}
		}
	})
}

type inSpecKey struct {
	txid chain.Hash
	vout uint32
}
