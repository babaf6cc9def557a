package secp256k1

// CheckTweak tells whether internal + tweak*G is the point whose x is output and whose y is odd or not (BIP341).
// internal is the x of a point with an even y. It is false where that is no x of the curve, for a tweak not below n,
// and where the sum is at infinity.
func CheckTweak(output, internal, tweak *[32]byte, odd bool) bool {
	var x field
	var t scalar
	var p affine
	if !x.setBytes(output) || !t.setBytes(tweak) || !p.parseX(internal) {
		return false
	}
	var q point
	q.multiplyBase(&t, base())
	q.addAffine(&q, &p)
	return !q.infinity && q.hasX(&x) && q.hasEvenY() != odd
}
