package validate

import (
	"fmt"

	"stele/chain"
)

// Case is what the judge is told of a block's surroundings. Its functions are asked from one goroutine, in order, and
// for no more than what it takes to come to a verdict.
type Case struct {
	// Coins has an entry for each of Block.Ins, as for Connect. Of an input that is missing it is not read.
	Coins []chain.Coin

	// Missing tells whether the prevout of input in, an index of Block.Ins, does not exist or is spent when its turn
	// comes: at the end of all transactions before its own. Nil: all exist.
	Missing func(in int) bool

	// Repeats tells whether an output of the txid of transaction tx is unspent in the chain below the block. Nil: BIP30
	// asks for nothing here (see BIP30).
	Repeats func(tx int) bool

	// MTPAt is as in SequenceLocks.
	MTPAt func(height uint32) uint32

	// Script runs the scripts of one input, an index in the transaction, and gives the text of Core's error, or nothing
	// where they succeed. Nil: scripts are assumed to be valid.
	Script func(tx, input int) string
}

// Judge names the first rule that b breaks in Core's order (ConnectBlock, with its script threads), where a faster way
// has found that it breaks one: BIP30 for the whole block; then, transaction by transaction, inputs, amounts, fees,
// relative locks and the growing cost of signature operations; then the coinbase's claim; then scripts, of which the
// lowest input of the lowest transaction counts. b has passed Check and Accept. Whatever fails condemns the header.
func Judge(pl *Place, b *chain.Block, txids []chain.Hash, c *Case) Verdict {
	if c.Repeats != nil {
		for tx := range b.Txs {
			if c.Repeats(tx) {
				return condemnTx(ReasonBIP30, "tried to overwrite transaction", tx, none)
			}
		}
	}
	s := newTally(pl, b, txids, c.MTPAt)
	for tx := range b.Txs {
		if v := c.missing(b, txids, tx); !v.OK() {
			return v
		}
		t := &b.Txs[tx]
		if v := s.add(tx, c.Coins[t.FirstIn:][:t.Ins]); !v.OK() {
			return v
		}
	}
	if v := s.reward(); !v.OK() || c.Script == nil {
		return v
	}
	for tx := 1; tx < len(b.Txs); tx++ {
		for i := range int(b.Txs[tx].Ins) {
			if text := c.Script(tx, i); text != "" {
				return ScriptFailed(b, txids, tx, i, text)
			}
		}
	}
	return valid
}

// missing judges whether all prevouts of transaction tx are there. Core asks for all of them before it looks at one.
func (c *Case) missing(b *chain.Block, txids []chain.Hash, tx int) Verdict {
	t := &b.Txs[tx]
	if c.Missing == nil || b.Coinbase(tx) {
		return valid
	}
	for i := range int(t.Ins) {
		if c.Missing(int(t.FirstIn) + i) {
			detail := "CheckTxInputs: inputs missing/spent" + inTransaction(txids, tx)
			return condemnTx(ReasonMissingOrSpent, detail, tx, i)
		}
	}
	return valid
}

// ScriptFailed is the verdict on a block where an input, an index in transaction tx, failed its scripts; text is what
// Core calls the error (ScriptErrorString). It condemns.
func ScriptFailed(b *chain.Block, txids []chain.Hash, tx, input int, text string) Verdict {
	t := &b.Txs[tx]
	txid, vout := b.Outpoint(int(t.FirstIn) + input)
	detail := fmt.Sprintf("input %d of %v (wtxid %v), spending %v:%d",
		input, txids[tx], chain.DoubleSHA256(b.Raw[t.Off:t.End]), *txid, vout)
	return condemnTx(ReasonScript+" ("+text+")", detail, tx, input)
}
