package validate

import (
	"fmt"

	"stele/chain"
)

// coinbaseMaturity is how many blocks a coinbase's outputs are from their block to that of their spender, at least
// (Core: COINBASE_MATURITY).
const coinbaseMaturity = 100

// Parts of a sequence that is a relative lock (BIP68).
const (
	sequenceDisabled = 1 << 31
	sequenceTime     = 1 << 22 // the value is a time, else a height
	sequenceValue    = 0xffff
	sequenceShift    = 9 // times are in units of 512 seconds
	sequenceVersion  = 2 // of transactions that have relative locks, from there up, compared unsigned
)

// Connect judges all of a block but its scripts, over the coins that its inputs take (Core: ConnectBlock, in its
// order, coinbase amount last), and gives the sum of its fees in satoshis. coins has an entry for each of b.Ins; that
// of the coinbase is not read. b has passed Check and Accept, each coin was unspent when its turn came, and no txid
// repeats (BIP30). mtpAt is as in SequenceLocks; where it is nil relative locks are left out, as Ripe was asked.
//
// Whatever fails condemns the header. Passing allocates nothing. The order in which blocks are connected does not
// matter: nothing here depends on any state.
func Connect(pl *Place, b *chain.Block, txids []chain.Hash, coins []chain.Coin, mtpAt func(height uint32) uint32) (
	fees int64, v Verdict,
) {
	s := newTally(pl, b, txids, mtpAt)
	for tx := range b.Txs {
		t := &b.Txs[tx]
		if v := s.add(tx, coins[t.FirstIn:][:t.Ins]); !v.OK() {
			return 0, v
		}
	}
	return s.fees, s.reward()
}

// tally is what the transactions of a block add up to, in their order.
type tally struct {
	pl            *Place
	b             *chain.Block
	txids         []chain.Hash
	mtpAt         func(height uint32) uint32
	p2sh, witness bool
	fees          int64 // satoshis
	sigOps        int   // cost
}

func newTally(pl *Place, b *chain.Block, txids []chain.Hash, mtpAt func(height uint32) uint32) tally {
	p2sh, witness := pl.programs()
	return tally{pl: pl, b: b, txids: txids, mtpAt: mtpAt, p2sh: p2sh, witness: witness}
}

// add judges transaction tx, given the coins of its inputs, as one more of the block.
func (s *tally) add(tx int, coins []chain.Coin) Verdict {
	if !s.b.Coinbase(tx) {
		fee, v := TxInputs(s.pl, s.b, tx, coins)
		if !v.OK() {
			v.Detail += inTransaction(s.txids, tx)
			return v
		}
		if s.fees += fee; s.fees > chain.MaxMoney {
			return condemnTx(ReasonAccumulatedFees, "accumulated fee in the block out of range", tx, none)
		}
		if s.mtpAt != nil && !SequenceLocks(s.pl, s.b, tx, coins, s.mtpAt) {
			return condemnTx(ReasonNonFinal, "contains a non-BIP68-final transaction "+s.txids[tx].String(), tx, none)
		}
	}
	if s.sigOps += SigOpsCost(s.b, tx, coins, s.p2sh, s.witness); s.sigOps > maxSigOpsCost {
		return condemnTx(ReasonSigOps, "too many sigops", tx, none)
	}
	return valid
}

// reward judges what the coinbase claims: at most the subsidy and the fees. It may claim less.
func (s *tally) reward() Verdict {
	if len(s.b.Txs) == 0 {
		return condemn(ReasonCoinbaseMissing, "first tx is not coinbase")
	}
	claim, limit := valueOut(s.b, 0), s.fees+Subsidy(s.pl.Params, s.pl.Height)
	if claim > limit {
		return condemnTx(ReasonCoinbaseAmount,
			fmt.Sprintf("coinbase pays too much (actual=%d vs limit=%d)", claim, limit), 0, none)
	}
	return valid
}

// TxInputs judges what transaction tx of b, not a coinbase, does with the coins of its inputs, which are in their
// order: maturity and range input by input, then what it pays out (Core: CheckTxInputs, once the coins are found). fee
// is in satoshis. Its outputs have passed CheckTx. Passing allocates nothing.
func TxInputs(pl *Place, b *chain.Block, tx int, coins []chain.Coin) (fee int64, v Verdict) {
	var in int64
	for i := range coins {
		coin := &coins[i]
		if depth := int64(pl.Height) - int64(coin.Height); coin.Coinbase && depth < coinbaseMaturity {
			return 0, condemnTx(ReasonPremature, fmt.Sprintf("tried to spend coinbase at depth %d", depth), tx, i)
		}
		if coin.Value < 0 || coin.Value > chain.MaxMoney || in+coin.Value > chain.MaxMoney {
			return 0, condemnTx(ReasonInputValues, "", tx, i)
		}
		in += coin.Value
	}
	out := valueOut(b, tx)
	if in < out {
		detail := fmt.Sprintf("value in (%s) < value out (%s)", coinText(in), coinText(out))
		return 0, condemnTx(ReasonInBelowOut, detail, tx, none)
	}
	// Out of range only if an output is, which CheckTx has refused; Core asks nevertheless, and so do we.
	if fee = in - out; fee < 0 || fee > chain.MaxMoney {
		return 0, condemnTx(ReasonFee, "", tx, none)
	}
	return fee, valid
}

// SequenceLocks tells whether the relative locks of transaction tx of b, not a coinbase, are over (BIP68), given the
// coins of its inputs in their order. It is true before CSV, and for versions 0 and 1.
//
// A lock of n blocks lets a coin be spent n blocks after its own; one of n units of time lets it be spent when the
// parent's median time past is n * 512 seconds or more after that of the block before the coin's. mtpAt gives the
// median time past of the block at a height, 0 to the parent's, on the branch below; only locks of time ask for it.
func SequenceLocks(pl *Place, b *chain.Block, tx int, coins []chain.Coin, mtpAt func(height uint32) uint32) bool {
	t := &b.Txs[tx]
	if t.Version < sequenceVersion || !pl.Deployments.Has(CSV) {
		return true
	}
	ins := b.Ins[t.FirstIn:][:t.Ins]
	for i := range ins {
		sequence := ins[i].Sequence
		if sequence&sequenceDisabled != 0 {
			continue
		}
		since, n, now := int64(coins[i].Height), int64(sequence&sequenceValue), int64(pl.Height)
		if sequence&sequenceTime != 0 {
			since, n = int64(mtpAt(max(coins[i].Height, 1)-1)), n<<sequenceShift
			now = int64(pl.ParentMTP)
		}
		if since+n > now {
			return false
		}
	}
	return true
}

// valueOut is the sum of the outputs of transaction tx of b, which have passed CheckTx.
func valueOut(b *chain.Block, tx int) (sum int64) {
	t := &b.Txs[tx]
	outs := b.Outs[t.FirstOut:][:t.Outs]
	for i := range outs {
		sum += outs[i].Value
	}
	return sum
}

// inTransaction is how Core ends what it says of one transaction's inputs.
func inTransaction(txids []chain.Hash, tx int) string { return " in transaction " + txids[tx].String() }

// coinText is an amount in coins, with two to eight places (Core: FormatMoney).
func coinText(satoshis int64) string {
	text := fmt.Sprintf("%d.%08d", satoshis/1e8, satoshis%1e8)
	for i := 0; i < 6 && text[len(text)-1] == '0'; i++ {
		text = text[:len(text)-1]
	}
	return text
}
