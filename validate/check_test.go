package validate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"stele/chain"
)

// breach is one way to break one rule of Check in a valid block.
type breach struct {
	reason string
	tx     int // where Core looks at transactions one by one: which it is; none: a rule of the block
	do     func(x *blockSpec)
}

func (b *breach) String() string { return fmt.Sprintf("%s (tx %d)", b.reason, b.tx) }

func addOutput(tx int, outs ...outSpec) func(*blockSpec) {
	return func(x *blockSpec) { x.txs[tx].outs = append(x.txs[tx].outs, outs...) }
}

func addInput(tx int, in inSpec) func(*blockSpec) {
	return func(x *blockSpec) { x.txs[tx].ins = append(x.txs[tx].ins, in) }
}

func coinbaseScript(n int) func(*blockSpec) {
	return func(x *blockSpec) { x.txs[0].ins[0].script = make([]byte, n) }
}

// breaches are in Core's order: of two the earlier is the reason. Those that replace or empty transactions come
// first in each group but are applied last, so that they undo nothing that they should outrank.
var breaches = []breach{
	{ReasonMerkleRoot, none, func(x *blockSpec) { x.wrongRoot = true }},
	{ReasonDuplicateTx, none, func(x *blockSpec) {
		if len(x.txs)%2 == 0 {
			x.txs = append(x.txs, spendSpec(50))
		}
		x.txs = append(x.txs, x.txs[len(x.txs)-1])
	}},
	{ReasonBlockLength, none, addOutput(2, outSpec{0, make([]byte, 1_000_000)})},
	{ReasonCoinbaseMissing, none, func(x *blockSpec) { x.txs[0] = spendSpec(60) }},
	{ReasonCoinbaseMultiple, none, func(x *blockSpec) { x.txs = append(x.txs, coinbaseSpec()) }},
	{ReasonNoOutputs, 0, func(x *blockSpec) { x.txs[0].outs = nil }},
	{ReasonValueNegative, 0, addOutput(0, outSpec{value: -1})},
	{ReasonCoinbaseLength, 0, coinbaseScript(1)},
	{ReasonNoInputs, 1, func(x *blockSpec) { x.txs[1].ins, x.txs[1].outs = nil, nil }},
	{ReasonNoOutputs, 1, func(x *blockSpec) { x.txs[1].outs = nil }},
	{ReasonValueNegative, 1, addOutput(1, outSpec{value: -1})},
	{ReasonValueTooLarge, 1, addOutput(1, outSpec{value: chain.MaxMoney + 1})},
	{ReasonTotalTooLarge, 1, addOutput(1, outSpec{value: chain.MaxMoney}, outSpec{value: chain.MaxMoney})},
	{ReasonDuplicateInputs, 1, addInput(1, inSpec{txid: label(0), vout: 1, script: []byte{1, 1}})},
	{ReasonNullPrevout, 1, addInput(1, inSpec{vout: 0xffff_ffff})},
	{ReasonValueNegative, 2, addOutput(2, outSpec{value: -1 << 63})},
	{ReasonDuplicateInputs, 2, addInput(2, inSpec{txid: label(2), vout: 0})},
	{ReasonSigOps, none, addOutput(2, outSpec{0, bytes.Repeat([]byte{opCheckSig}, 20_001)})},
}

// apply breaks the rules of the given places of breaches, those last that others must not work upon.
func apply(x *blockSpec, places ...int) {
	late := func(place int) int {
		switch breaches[place].reason {
		case ReasonNoInputs, ReasonNoOutputs:
			return 1
		case ReasonCoinbaseMissing:
			return 2
		case ReasonDuplicateTx:
			return 3
		}
		return 0
	}
	for stage := range 4 {
		for _, place := range places {
			if late(place) == stage {
				breaches[place].do(x)
			}
		}
	}
}

// TestEachRuleAlone: a block that is right but for one thing is refused for that thing, and its header is left alone.
func TestEachRuleAlone(t *testing.T) {
	var scratch Scratch
	b, txids := validSpec().decode(t)
	wantReason(t, "valid block", Check(chain.Regtest(), b, txids, &scratch), "")
	for i := range breaches {
		x := validSpec()
		apply(x, i)
		b, txids := x.decode(t)
		v := Check(chain.Regtest(), b, txids, &scratch)
		wantReason(t, breaches[i].String(), v, breaches[i].reason)
		if v.Condemns {
			t.Errorf("%v condemns the header", &breaches[i])
		}
		wantTx, wantDetail := breaches[i].tx, ""
		if wantTx != none {
			wantDetail = fmt.Sprintf("Transaction check failed (tx hash %v)", txids[wantTx])
		}
		if breaches[i].reason == ReasonCoinbaseMultiple {
			wantTx = 3
		}
		if v.Tx != wantTx || wantDetail != "" && v.Detail != wantDetail || v.Detail == "" {
			t.Errorf("%v: %+v", &breaches[i], v)
		}
	}
}

// TestPairsOfBrokenRules: of two the reason is the one that Core comes upon first.
func TestPairsOfBrokenRules(t *testing.T) {
	var scratch Scratch
	for i := range breaches {
		for j := i + 1; j < len(breaches); j++ {
			x := validSpec()
			apply(x, i, j)
			b, txids := x.decode(t)
			v := Check(chain.Regtest(), b, txids, &scratch)
			want := breaches[i]
			wantReason(t, fmt.Sprintf("%v and %v", &breaches[i], &breaches[j]), v, want.reason)
			if want.tx != none && v.Tx != want.tx {
				t.Errorf("%v and %v: points at %d", &breaches[i], &breaches[j], v.Tx)
			}
		}
	}
	if n := len(breaches); n*(n-1)/2 != 153 {
		t.Errorf("%d pairs", n*(n-1)/2)
	}
}

// TestValuesInOutputOrder: outputs are judged one after the other, sums and values together.
func TestValuesInOutputOrder(t *testing.T) {
	const most = chain.MaxMoney
	for _, x := range []struct {
		values []int64
		reason string
	}{
		{[]int64{0}, ""},
		{[]int64{most}, ""},
		{[]int64{most, 0, 0}, ""},
		{[]int64{most - 1, 1}, ""},
		{[]int64{most + 1}, ReasonValueTooLarge},
		{[]int64{1<<63 - 1}, ReasonValueTooLarge},
		{[]int64{-1}, ReasonValueNegative},
		{[]int64{-1 << 63}, ReasonValueNegative},
		{[]int64{most, 1}, ReasonTotalTooLarge},
		{[]int64{1, most}, ReasonTotalTooLarge},
		{[]int64{most, 1, -1}, ReasonTotalTooLarge},
		{[]int64{most, -1, 1}, ReasonValueNegative},
		{[]int64{most, most + 1}, ReasonValueTooLarge},
		{[]int64{most + 1, -1}, ReasonValueTooLarge},
	} {
		tx := spendSpec(0)
		tx.outs = nil
		for _, value := range x.values {
			tx.outs = append(tx.outs, outSpec{value: value})
		}
		wantReason(t, fmt.Sprint(x.values), CheckTx(tx.decode(t), 0, new(Scratch)), x.reason)
	}
}

// TestTrap34ValueOverflow: the two outputs of mainnet block 74,638, each just below half of 2^64 satoshis.
func TestTrap34ValueOverflow(t *testing.T) {
	x := validSpec()
	x.txs[1].outs = []outSpec{{9_223_372_036_854_277_039, nil}, {9_223_372_036_854_277_039, nil}}
	b, txids := x.decode(t)
	v := Check(chain.Main(), b, txids, new(Scratch))
	wantReason(t, "value overflow", v, ReasonValueTooLarge)
	if v.Condemns {
		t.Error("condemns the header")
	}
}

// TestTrap45CoinbaseLength: both ends of the lengths that a coinbase's script may have; that of an ordinary input
// is free.
func TestTrap45CoinbaseLength(t *testing.T) {
	for _, x := range []struct {
		length int
		reason string
	}{{0, ReasonCoinbaseLength}, {1, ReasonCoinbaseLength}, {2, ""}, {100, ""}, {101, ReasonCoinbaseLength},
		{103, ReasonCoinbaseLength}} {
		block := validSpec()
		coinbaseScript(x.length)(block)
		block.txs[1].ins[0].script = make([]byte, x.length)
		b, txids := block.decode(t)
		v := Check(chain.Main(), b, txids, new(Scratch))
		wantReason(t, fmt.Sprint(x.length), v, x.reason)
		if !v.OK() && (v.Tx != 0 || v.Input != 0) {
			t.Errorf("%d: %+v", x.length, v)
		}
	}
}

// TestNullPrevouts: what is null, and what only looks so.
func TestNullPrevouts(t *testing.T) {
	var scratch Scratch
	for _, x := range []struct {
		name   string
		second inSpec
		reason string
	}{
		{"null", inSpec{vout: 0xffff_ffff}, ReasonNullPrevout},
		{"zero txid, index 0", inSpec{}, ""},
		{"zero txid, last but one index", inSpec{vout: 0xffff_fffe}, ""},
		{"some txid, last index", inSpec{txid: label(9), vout: 0xffff_ffff}, ""},
	} {
		tx := spendSpec(0)
		tx.ins = []inSpec{tx.ins[0], x.second}
		v := CheckTx(tx.decode(t), 0, &scratch)
		wantReason(t, x.name, v, x.reason)
		if !v.OK() && v.Input != 1 {
			t.Errorf("%s: %+v", x.name, v)
		}
	}
	two := coinbaseSpec()
	two.ins = append(two.ins, two.ins[0])
	wantReason(t, "two null outpoints", CheckTx(two.decode(t), 0, &scratch), ReasonDuplicateInputs)
}

// TestTrap37MerkleMutation: repeating the end of a block keeps its root (CVE-2012-2459). Each way to do so is told
// from a wrong root, the header is not condemned, and the true block passes afterwards.
func TestTrap37MerkleMutation(t *testing.T) {
	var scratch Scratch
	for n := 1; n <= 40; n++ {
		x := &blockSpec{txs: []txSpec{coinbaseSpec()}}
		for i := 1; i < n; i++ {
			x.txs = append(x.txs, spendSpec(i))
		}
		b, txids := x.decode(t)
		honest := b.Header.Merkle
		wantReason(t, fmt.Sprint(n), Check(chain.Regtest(), b, txids, &scratch), "")
		for k := 1; k <= n; k++ {
			repeated := &blockSpec{txs: append(x.txs[:n:n], x.txs[n-k:]...)}
			b, txids := repeated.decode(t)
			want := ReasonDuplicateTx
			if b.Header.Merkle != honest {
				b.Header.Merkle, want = honest, ReasonMerkleRoot
			}
			v := Check(chain.Regtest(), b, txids, &scratch)
			wantReason(t, fmt.Sprintf("%d and last %d", n, k), v, want)
			if v.Condemns {
				t.Errorf("%d and last %d: condemns the header", n, k)
			}
		}
		wantReason(t, fmt.Sprint(n, " afterwards"), Check(chain.Regtest(), b, txids, &scratch), "")
	}
}

// TestTrap56NoLockLimit: the fork of March 2013 came of a limit on what one block may touch. There is none.
func TestTrap56NoLockLimit(t *testing.T) {
	x := &blockSpec{txs: []txSpec{coinbaseSpec()}}
	for i := range 1_700 {
		x.txs = append(x.txs, spendSpec(i))
	}
	b, txids := x.decode(t)
	wantReason(t, "1,701 transactions", Check(chain.Main(), b, txids, new(Scratch)), "")
}

// TestNoTransactions: without any the root is zero; with another in the header the root is what is wrong.
func TestNoTransactions(t *testing.T) {
	b, txids := new(blockSpec).decode(t)
	wantReason(t, "zero root", Check(chain.Main(), b, txids, new(Scratch)), ReasonBlockLength)
	b.Header.Merkle = label(1)
	wantReason(t, "some root", Check(chain.Main(), b, txids, new(Scratch)), ReasonMerkleRoot)
}

// TestTxidsOfAnotherBlock: fewer txids than transactions, which no caller should pass, are a wrong root and no panic.
func TestTxidsOfAnotherBlock(t *testing.T) {
	b, txids := validSpec().decode(t)
	for n := range txids {
		wantReason(t, fmt.Sprint(n), Check(chain.Main(), b, txids[:n], new(Scratch)), ReasonMerkleRoot)
	}
	wantReason(t, "too many", Check(chain.Main(), b, append(txids, txids[2]), new(Scratch)), ReasonMerkleRoot)
}

// TestTrap59Sizes: a million bytes without witnesses, four million units of weight with them.
func TestTrap59Sizes(t *testing.T) {
	var scratch Scratch
	for _, x := range []struct {
		stripped int
		reason   string
	}{{1_000_000, ""}, {1_000_001, ReasonBlockLength}} {
		b, txids := validSpec().padded(t, x.stripped).decode(t)
		wantReason(t, fmt.Sprint(x.stripped), Check(chain.Main(), b, txids, &scratch), x.reason)
	}
	for _, x := range []struct {
		weight int
		reason string
	}{{4_000_000, ""}, {4_000_001, ReasonWeight}} {
		block := validSpec().padded(t, 900_000)
		for range 4 {
			b, _ := block.decode(t)
			item := &block.txs[2].ins[0].witness[0]
			*item = make([]byte, len(*item)+x.weight-b.Weight())
		}
		b, txids := block.decode(t)
		if b.Weight() != x.weight {
			t.Fatalf("weight %d, want %d", b.Weight(), x.weight)
		}
		v := Weight(b)
		wantReason(t, fmt.Sprint("weight ", x.weight), v, x.reason)
		if v.Condemns {
			t.Error("a witness that nothing vouches for condemns the header")
		}
		wantReason(t, "context-free rules at that weight", Check(chain.Main(), b, txids, &scratch), "")
	}
}

// TestTxOversize: one transaction of a million bytes without its witness, and one of one more.
func TestTxOversize(t *testing.T) {
	for _, x := range []struct {
		stripped int
		reason   string
	}{{1_000_000, ""}, {1_000_001, ReasonTxOversize}} {
		tx := spendSpec(0)
		tx.ins[0].witness = [][]byte{make([]byte, 3_000)} // does not count
		for range 4 {
			stripped, _ := tx.decode(t).TxSize(0)
			tx.outs[0].script = make([]byte, len(tx.outs[0].script)+x.stripped-stripped)
		}
		b := tx.decode(t)
		if stripped, _ := b.TxSize(0); stripped != x.stripped {
			t.Fatalf("stripped size %d, want %d", stripped, x.stripped)
		}
		wantReason(t, fmt.Sprint(x.stripped), CheckTx(b, 0, new(Scratch)), x.reason)
	}
}

// TestNoInputsBeforeNoOutputs: on the wire a transaction without inputs has no outputs either; in memory it can.
func TestNoInputsBeforeNoOutputs(t *testing.T) {
	tx := spendSpec(0)
	b := tx.decode(t)
	b.Txs[0].Ins = 0
	v := CheckTx(b, 0, new(Scratch))
	wantReason(t, "no inputs", v, ReasonNoInputs)
	if v.Tx != 0 || v.Input != none {
		t.Errorf("%+v", v)
	}
}

// TestBreachesCoverEveryReason: the tables above leave no rule of Check out, but the one that a block cannot reach.
func TestBreachesCoverEveryReason(t *testing.T) {
	var have []string
	for _, b := range breaches {
		have = append(have, b.reason)
	}
	all := strings.Join(have, " ")
	for _, reason := range []string{ReasonMerkleRoot, ReasonDuplicateTx, ReasonBlockLength, ReasonCoinbaseMissing,
		ReasonCoinbaseMultiple, ReasonNoInputs, ReasonNoOutputs, ReasonValueNegative, ReasonValueTooLarge,
		ReasonTotalTooLarge, ReasonDuplicateInputs, ReasonCoinbaseLength, ReasonNullPrevout, ReasonSigOps} {
		if !strings.Contains(all, reason) {
			t.Errorf("no breach of %s", reason)
		}
	}
}
