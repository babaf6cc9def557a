package secp256k1

import "crypto/sha256"

// VerifySchnorr verifies a signature of BIP340 under an x-only key: with e the hash of r, key and message, s*G -
// e*key must be a point whose x is r and whose y is even. msg may have any length; up to 32 bytes nothing is
// allocated.
func VerifySchnorr(key *[32]byte, sig *[64]byte, msg []byte) bool {
	var x field
	var s scalar
	if !x.setBytes((*[32]byte)(sig[:32])) || !s.setBytes((*[32]byte)(sig[32:])) {
		return false
	}
	var p affine
	if !p.parseX(key) {
		return false
	}
	var e scalar
	e.challenge((*[32]byte)(sig[:32]), key, msg)
	e.neg(&e)
	parts := e.split()
	var r point
	r.multiply(&s, &p, &parts, base())
	return !r.infinity && r.hasX(&x) && r.hasEvenY()
}

// hasEvenY tells whether the y of a, which is not at infinity, is even.
func (a *point) hasEvenY() bool {
	var i, y field
	i.inverse(&a.z)
	y.sqr(&i)
	y.mul(&y, &i)
	y.mul(&y, &a.y)
	y.normalise()
	return !y.isOdd()
}

// challengeTag is what tagged hashes begin with: the tag's hash, twice.
var challengeTag = sha256.Sum256([]byte("BIP0340/challenge"))

// challenge sets e to the tagged hash of r, key and msg, modulo n.
func (e *scalar) challenge(r, key *[32]byte, msg []byte) {
	var b [160]byte
	copy(b[:], challengeTag[:])
	copy(b[32:], challengeTag[:])
	copy(b[64:], r[:])
	copy(b[96:], key[:])
	var hash [32]byte
	if len(msg) <= 32 {
		hash = sha256.Sum256(b[:128+copy(b[128:], msg)])
	} else {
		h := sha256.New()
		h.Write(b[:128])
		h.Write(msg)
		h.Sum(hash[:0])
	}
	e.setBytes(&hash)
}
