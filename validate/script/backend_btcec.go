package script

import (
	"crypto/sha256"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
)

// Btcec verifies with package btcec, which is Go throughout. ECDSA allocates, the others do not.
type Btcec struct{}

func (Btcec) Name() string { return "btcec" }

// ECDSA takes hybrid keys because btcec's parser does, and checks their parity.
func (Btcec) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	var r, s btcec.ModNScalar
	if r.SetBytes((*[32]byte)(rs[:32])) != 0 || s.SetBytes((*[32]byte)(rs[32:])) != 0 {
		return false
	}
	if r.IsZero() || s.IsZero() || s.IsOverHalfOrder() {
		return false
	}
	point, err := btcec.ParsePubKey(key)
	return err == nil && ecdsa.NewSignature(&r, &s).Verify(hash[:], point)
}

// challengeTag begins the challenge of BIP340.
var challengeTag = tagPrefix("BIP0340/challenge")

// Schnorr computes R = s*G - e*P and compares its x with r; R must be finite and have an even y (BIP340, Verify).
func (Btcec) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	var r btcec.FieldVal
	var s, e btcec.ModNScalar
	var p, sG, eP, point btcec.JacobianPoint
	if !liftX(key, &p) || r.SetBytes((*[32]byte)(sig[:32])) != 0 || s.SetBytes((*[32]byte)(sig[32:])) != 0 {
		return false
	}
	var message [64 + 32 + 32 + 32]byte
	copy(message[:], challengeTag[:])
	copy(message[64:], sig[:32])
	copy(message[96:], key[:])
	copy(message[128:], hash[:])
	challenge := sha256.Sum256(message[:])
	e.SetBytes(&challenge)
	e.Negate()

	btcec.ScalarBaseMultNonConst(&s, &sG)
	btcec.ScalarMultNonConst(&e, &p, &eP)
	btcec.AddNonConst(&sG, &eP, &point)
	if point.Z.IsZero() || point.X.IsZero() && point.Y.IsZero() {
		return false
	}
	point.ToAffine()
	return !point.Y.IsOdd() && r.Equals(&point.X)
}

// Tweak computes internal + tweak*G.
func (Btcec) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	var t btcec.ModNScalar
	var p, tG, point btcec.JacobianPoint
	if t.SetBytes(tweak) != 0 || !liftX(internal, &p) {
		return false
	}
	btcec.ScalarBaseMultNonConst(&t, &tG)
	btcec.AddNonConst(&p, &tG, &point)
	if point.Z.IsZero() || point.X.IsZero() && point.Y.IsZero() {
		return false
	}
	point.ToAffine()
	return *point.X.Bytes() == *output && point.Y.IsOdd() == odd
}

// liftX makes p the point with that x and an even y (BIP340, lift_x). False: no point has it.
func liftX(x *[32]byte, p *btcec.JacobianPoint) bool {
	if p.X.SetBytes(x) != 0 || !btcec.DecompressY(&p.X, false, &p.Y) {
		return false
	}
	p.X.Normalize()
	p.Y.Normalize()
	p.Z.SetInt(1)
	return true
}
