package validate

import "stele/chain"

// Deployments is the set of rules, of those that begin at a height, which hold for a block. Rules that Core applies
// to every block since genesis (P2SH, witness programs, taproot; less the exceptions in chain.Params) are not in
// it.
type Deployments uint32

const (
	BIP34  Deployments = 1 << iota // the coinbase script begins with the height; version >= 2
	DERSIG                         // BIP66: strict DER signatures; version >= 3
	CLTV                           // BIP65: OP_CHECKLOCKTIMEVERIFY; version >= 4
	CSV                            // BIP68, 112 and 113: relative locks, and the MTP as the clock of absolute ones
	Segwit                         // BIP141 and 147: the witness commitment, and the null dummy of OP_CHECKMULTISIG
)

// Has tells whether all of x hold.
func (d Deployments) Has(x Deployments) bool { return d&x == x }

// DeploymentsAt is what holds for the block at height. All of them are buried: the height alone decides, on any
// branch (BIP90, and Core's buried deployments).
func DeploymentsAt(p *chain.Params, height uint32) Deployments {
	var d Deployments
	for _, begin := range [...]struct {
		height uint32
		what   Deployments
	}{{p.BIP34, BIP34}, {p.BIP66, DERSIG}, {p.BIP65, CLTV}, {p.CSV, CSV}, {p.Segwit, Segwit}} {
		if height >= begin.height {
			d |= begin.what
		}
	}
	return d
}
