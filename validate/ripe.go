package validate

import "stele/chain"

// Ripe tells whether everything that b spends may be spent in its place already: coinbases have their hundred
// confirmations, and relative locks are over (BIP68). It is what depends on where coins stand in the chain, and is
// asked where blocks are confirmed; which rule is broken, and by which transaction, is for Judge to say. coins and
// mtpAt are as for Connect. Passing allocates nothing.
func Ripe(pl *Place, b *chain.Block, coins []chain.Coin, mtpAt func(height uint32) uint32) bool {
	for tx := 1; tx < len(b.Txs); tx++ {
		t := &b.Txs[tx]
		spent := coins[t.FirstIn:][:t.Ins]
		for i := range spent {
			if spent[i].Coinbase && int64(pl.Height)-int64(spent[i].Height) < coinbaseMaturity {
				return false
			}
		}
		if !SequenceLocks(pl, b, tx, spent, mtpAt) {
			return false
		}
	}
	return true
}
