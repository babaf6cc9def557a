package secp256k1

// VerifyECDSA tells whether r and s, 32 bytes each, big-endian, are a signature of hash under key (SEC 1, 4.1.4). It
// is false for an r or s that is zero or not below n, and for a key that parse refuses. s may be low or high: n - s
// gives the same answer.
func VerifyECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	var r, s, z scalar
	if !r.setBytes((*[32]byte)(rs[:32])) || !s.setBytes((*[32]byte)(rs[32:])) || r.isZero() || s.isZero() {
		return false
	}
	var q affine
	if !q.parse(key) {
		return false
	}
	z.setBytes(hash) // modulo n
	s.inverse(&s)
	z.mul(&z, &s)
	s.mul(&s, &r)

	parts := s.split()
	var sum point
	sum.multiply(&z, &q, &parts, base())
	return !sum.infinity && sum.hasXModuloN(&r)
}

// hasXModuloN tells whether the x of a, not at infinity, is r modulo n: r itself, or r + n where that is below p.
func (a *point) hasXModuloN(r *scalar) bool {
	x := field(*r)
	if a.hasX(&x) {
		return true
	}
	if !r.below(&orderToP) {
		return false
	}
	x.add(&x, (*field)(&order))
	return a.hasX(&x)
}
