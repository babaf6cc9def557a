package validate

import "stele/chain"

// initialSubsidy is what a block may create before the first halving, in satoshis.
const initialSubsidy int64 = 50 * 1e8

// Subsidy is what the coinbase at height may claim beyond fees, in satoshis: halved, and rounded down, every
// p.HalvingInterval blocks, and nothing from the 64th halving on (Core: GetBlockSubsidy).
func Subsidy(p *chain.Params, height uint32) int64 {
	return initialSubsidy >> (height / p.HalvingInterval)
}

// BIP30 tells whether the block of this height and hash must not contain a transaction whose txid has outputs that
// are still unspent. bip34 is the hash of its ancestor at height p.BIP34, nil where the branch below the block is
// not that high.
//
// The two blocks that broke the rule before it existed are excepted by height and hash, not on any other branch.
// Above the height of BIP34 coinbases differ by their heights, so that the search can be left out, but only on the
// branch for which somebody looked: where that ancestor is the known one. From p.BIP30Resumes on (Core:
// BIP34_IMPLIES_BIP30_LIMIT) it is due again: the heights that some old coinbases happened to begin with are no
// longer in the future then.
func BIP30(p *chain.Params, height uint32, hash, bip34 *chain.Hash) bool {
	if height >= p.BIP30Resumes {
		return true
	}
	for i := range p.BIP30Exceptions {
		if x := &p.BIP30Exceptions[i]; x.Height == height && x.Hash == *hash {
			return false
		}
	}
	return bip34 == nil || *bip34 != p.BIP34Hash
}
