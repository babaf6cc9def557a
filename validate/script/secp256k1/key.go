package secp256k1

// parse reads a public key: 33 bytes, 02 or 03 for an even or odd y, then x; or 65, 04, x and y; or 65, 06 or 07, where
// the first byte must agree with the parity of y. It is false for all else, for coordinates not below p, and off the
// curve. The result is normal but for y of 33 bytes.
func (r *affine) parse(key []byte) bool {
	switch {
	case len(key) == 33 && key[0]&^1 == 2:
		var x field
		return x.setBytes((*[32]byte)(key[1:])) && r.lift(&x, key[0] == 3)
	case len(key) == 65 && (key[0] == 4 || key[0]&^1 == 6):
		if !r.x.setBytes((*[32]byte)(key[1:])) || !r.y.setBytes((*[32]byte)(key[33:])) {
			return false
		}
		return (key[0] == 4 || r.y.isOdd() == (key[0] == 7)) && r.onCurve()
	}
	return false
}

// parseX reads the x of a point whose y is even (BIP340).
func (r *affine) parseX(key *[32]byte) bool {
	var x field
	return x.setBytes(key) && r.lift(&x, false)
}

// hasX tells whether x is that of a, which must not be at infinity, without an inversion.
func (a *point) hasX(x *field) bool {
	if checked {
		require(!a.infinity, "hasX: infinity")
	}
	var t field
	t.sqr(&a.z)
	t.mul(&t, x)
	return t.equal(&a.x)
}
