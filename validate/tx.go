package validate

import (
	"math"

	"stele/chain"
)

// Lengths of a coinbase's script, in bytes.
const (
	minCoinbaseScript = 2
	maxCoinbaseScript = 100
)

// CheckTx judges transaction tx of b by itself (Core: CheckTransaction, in its order). It needs no other part of
// the block, so that b may also be one decoded transaction. Tx of the verdict is tx; Input is set where one input
// is at fault: of two equal ones the later. It allocates only where scratch has to grow, for a transaction with
// very many inputs.
func CheckTx(b *chain.Block, tx int, scratch *Scratch) Verdict {
	t := &b.Txs[tx]
	if t.Ins == 0 {
		return refuseTx(ReasonNoInputs, tx, none)
	}
	if t.Outs == 0 {
		return refuseTx(ReasonNoOutputs, tx, none)
	}
	if stripped, _ := b.TxSize(tx); chain.WitnessScale*stripped > chain.MaxBlockWeight {
		return refuseTx(ReasonTxOversize, tx, none)
	}
	if reason := checkValues(b.Outs[t.FirstOut:][:t.Outs]); reason != "" {
		return refuseTx(reason, tx, none)
	}
	if i := repeatedInput(b, t, scratch); i != none {
		return refuseTx(ReasonDuplicateInputs, tx, i)
	}
	if b.Coinbase(tx) {
		if n := b.Ins[t.FirstIn].Script.Len; n < minCoinbaseScript || n > maxCoinbaseScript {
			return refuseTx(ReasonCoinbaseLength, tx, 0)
		}
		return valid
	}
	for i := range int(t.Ins) {
		if txid, vout := b.Outpoint(int(t.FirstIn) + i); vout == math.MaxUint32 && txid.IsZero() {
			return refuseTx(ReasonNullPrevout, tx, i)
		}
	}
	return valid
}

// checkValues is the first reason against the values of outs, or empty. Both limits hold for every sum before the
// next value is added, so no sum wraps.
func checkValues(outs []chain.Out) string {
	var sum int64
	for i := range outs {
		value := outs[i].Value
		switch {
		case value < 0:
			return ReasonValueNegative
		case value > chain.MaxMoney:
			return ReasonValueTooLarge
		}
		if sum += value; sum > chain.MaxMoney {
			return ReasonTotalTooLarge
		}
	}
	return ""
}

func refuseTx(reason string, tx, input int) Verdict {
	return Verdict{Reason: reason, Tx: tx, Input: input}
}
