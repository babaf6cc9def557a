package script

import (
	"sync"

	"stele/validate/script/secp256k1"
)

// Native verifies with package secp256k1, and the BIP340 signatures of a group in one batch.
type Native struct{}

// Name is that of the package.
func (Native) Name() string { return "secp256k1" }

// ECDSA implements Verifier.
func (Native) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	return secp256k1.VerifyECDSA(key, rs, hash)
}

// Schnorr implements Verifier.
func (Native) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	return secp256k1.VerifySchnorr(key, sig, hash[:])
}

// Tweak implements Verifier.
func (Native) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	return secp256k1.CheckTweak(output, internal, tweak, odd)
}

// fewSchnorr is how many signatures a batch must have to cost less than one by one.
const fewSchnorr = 8

// schnorrBatch is the memory of a batch.
type schnorrBatch struct {
	checks  []secp256k1.SchnorrCheck
	scratch secp256k1.Scratch
}

var schnorrBatches = sync.Pool{New: func() any { return new(schnorrBatch) }}

// Group implements GroupVerifier. A batch that fails does not say for which signature, so then each is verified alone.
func (n Native) Group(checks []Check, bad []int) []int {
	good := n.allSchnorr(checks)
	for i := range checks {
		c := &checks[i]
		if (c.Kind != KindSchnorr || !good) && !c.Run(n) {
			bad = append(bad, i)
		}
	}
	return bad
}

// allSchnorr tells whether all BIP340 signatures among the checks are known to be valid.
func (n Native) allSchnorr(checks []Check) bool {
	b := schnorrBatches.Get().(*schnorrBatch)
	defer schnorrBatches.Put(b)
	b.checks = b.checks[:0]
	for i := range checks {
		if c := &checks[i]; c.Kind == KindSchnorr {
			b.checks = append(b.checks, secp256k1.SchnorrCheck{Key: [32]byte(c.Key[:32]), Sig: c.Sig, Msg: c.Hash})
		}
	}
	return len(b.checks) >= fewSchnorr && secp256k1.VerifySchnorrBatch(b.checks, &b.scratch)
}
