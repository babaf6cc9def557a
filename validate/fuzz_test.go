package validate

import (
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
)

// FuzzCheck: whatever decodes is judged without panic, and as the rules written down plainly judge it, once as it
// is and once with its merkle root put right, so that the other rules are reached.
func FuzzCheck(f *testing.F) {
	f.Add(chain.Main().GenesisBlock)
	add := func(x *blockSpec) {
		b, _ := x.decode(f)
		if len(b.Raw) < 10_000 {
			f.Add(b.Raw)
		}
	}
	add(validSpec())
	for i := range breaches {
		x := validSpec()
		apply(x, i)
		add(x)
	}
	for _, n := range []int{pairwise, 3 * pairwise} {
		x := validSpec()
		x.txs = append(x.txs, *sameSpec(n, 1))
		add(x)
	}
	var scratch Scratch
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b chain.Block
		if b.Decode(raw) != nil {
			return
		}
		txids := b.Txids(nil)
		for range 2 {
			v := Check(chain.Main(), &b, txids, &scratch)
			if want := plainCheck(&b, txids); v.Reason != want {
				t.Fatalf("%v, want %q", v, want)
			}
			if v.Condemns || v.Tx < none || v.Tx >= len(b.Txs) || v.Input < none || v.OK() && v != valid {
				t.Fatalf("%+v", v)
			}
			Weight(&b)
			b.Header.Merkle = plainRoot(txids)
		}
	})
}

// plainCheck is Check by other means: recursion for the tree, maps for duplicates, another implementation for
// operations.
func plainCheck(b *chain.Block, txids []chain.Hash) string {
	if plainRoot(txids) != b.Header.Merkle {
		return ReasonMerkleRoot
	}
	if plainMutated(txids) {
		return ReasonDuplicateTx
	}
	stripped := len(chain.AppendCompactSize(nil, uint64(len(b.Txs)))) + chain.HeaderSize
	for i := range b.Txs {
		stripped += len(b.AppendTx(nil, i, false))
	}
	if len(b.Txs) == 0 || 4*stripped > 4_000_000 {
		return ReasonBlockLength
	}
	for i := range b.Txs {
		if b.Coinbase(i) != (i == 0) {
			return map[bool]string{true: ReasonCoinbaseMissing, false: ReasonCoinbaseMultiple}[i == 0]
		}
	}
	operations := 0
	for i := range b.Txs {
		reason, n := plainCheckTx(b, i)
		if reason != "" {
			return reason
		}
		operations += n
	}
	if operations > 20_000 {
		return ReasonSigOps
	}
	return ""
}

// plainMutated follows the tree upwards and compares each pair that is one.
func plainMutated(level []chain.Hash) bool {
	if len(level) < 2 {
		return false
	}
	var up []chain.Hash
	for i := 0; i < len(level); i += 2 {
		if i+1 < len(level) && level[i] == level[i+1] {
			return true
		}
		up = append(up, plainRoot(level[i:min(i+2, len(level))]))
		if i+1 == len(level) {
			up[len(up)-1] = plainRoot([]chain.Hash{level[i], level[i]})
		}
	}
	return plainMutated(up)
}

// plainCheckTx gives the transaction's legacy signature operations where it breaks no rule.
func plainCheckTx(b *chain.Block, i int) (reason string, operations int) {
	tx := &b.Txs[i]
	ins, outs := b.Ins[tx.FirstIn:tx.FirstIn+tx.Ins], b.Outs[tx.FirstOut:tx.FirstOut+tx.Outs]
	if len(ins) == 0 {
		return ReasonNoInputs, 0
	}
	if len(outs) == 0 {
		return ReasonNoOutputs, 0
	}
	const most = 21_000_000 * 100_000_000
	sum := int64(0)
	for _, out := range outs {
		if out.Value < 0 {
			return ReasonValueNegative, 0
		}
		if out.Value > most {
			return ReasonValueTooLarge, 0
		}
		if sum += out.Value; sum > most {
			return ReasonTotalTooLarge, 0
		}
		operations += txscript.GetSigOpCount(b.Bytes(out.Script))
	}
	seen := make(map[inSpecKey]bool)
	null := inSpecKey{vout: 0xffff_ffff}
	for j, in := range ins {
		txid, vout := b.Outpoint(int(tx.FirstIn) + j)
		key := inSpecKey{*txid, vout}
		if seen[key] {
			return ReasonDuplicateInputs, 0
		}
		seen[key] = true
		operations += txscript.GetSigOpCount(b.Bytes(in.Script))
	}
	switch {
	case i > 0 && seen[null]:
		return ReasonNullPrevout, 0
	case i == 0 && (ins[0].Script.Len < 2 || ins[0].Script.Len > 100):
		return ReasonCoinbaseLength, 0
	}
	return "", operations
}
