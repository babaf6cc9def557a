package secp256k1

import "math/bits"

// mulGo sets r = a * b.
func (r *field) mulGo(a, b *field) { r.fold(product(a, b)) }

// sqrsGo sets r = a^(2^n): n squarings, n >= 1.
func (r *field) sqrsGo(a *field, n int) {
	r.fold(square(a))
	for ; n > 1; n-- {
		r.fold(square(r))
	}
}

// sqr sets r = a * a.
func (r *field) sqr(a *field) { r.sqrs(a, 1) }

// product returns a * b, 512 bits, made by rows.
func product(a, b *field) (t0, t1, t2, t3, t4, t5, t6, t7 uint64) {
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	b0 := b[0]
	var h0, h1, h2, l0, l1, l2, l3, c uint64
	h0, t0 = bits.Mul64(a0, b0)
	h1, t1 = bits.Mul64(a1, b0)
	h2, t2 = bits.Mul64(a2, b0)
	t4, t3 = bits.Mul64(a3, b0)
	t1, c = bits.Add64(t1, h0, 0)
	t2, c = bits.Add64(t2, h1, c)
	t3, c = bits.Add64(t3, h2, c)
	t4, _ = bits.Add64(t4, 0, c)

	b1 := b[1]
	h0, l0 = bits.Mul64(a0, b1)
	h1, l1 = bits.Mul64(a1, b1)
	h2, l2 = bits.Mul64(a2, b1)
	t5, l3 = bits.Mul64(a3, b1)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	t5, _ = bits.Add64(t5, 0, c)
	t1, c = bits.Add64(t1, l0, 0)
	t2, c = bits.Add64(t2, l1, c)
	t3, c = bits.Add64(t3, l2, c)
	t4, c = bits.Add64(t4, l3, c)
	t5, _ = bits.Add64(t5, 0, c)

	b2 := b[2]
	h0, l0 = bits.Mul64(a0, b2)
	h1, l1 = bits.Mul64(a1, b2)
	h2, l2 = bits.Mul64(a2, b2)
	t6, l3 = bits.Mul64(a3, b2)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	t6, _ = bits.Add64(t6, 0, c)
	t2, c = bits.Add64(t2, l0, 0)
	t3, c = bits.Add64(t3, l1, c)
	t4, c = bits.Add64(t4, l2, c)
	t5, c = bits.Add64(t5, l3, c)
	t6, _ = bits.Add64(t6, 0, c)

	b3 := b[3]
	h0, l0 = bits.Mul64(a0, b3)
	h1, l1 = bits.Mul64(a1, b3)
	h2, l2 = bits.Mul64(a2, b3)
	t7, l3 = bits.Mul64(a3, b3)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	t7, _ = bits.Add64(t7, 0, c)
	t3, c = bits.Add64(t3, l0, 0)
	t4, c = bits.Add64(t4, l1, c)
	t5, c = bits.Add64(t5, l2, c)
	t6, c = bits.Add64(t6, l3, c)
	t7, _ = bits.Add64(t7, 0, c)

	return t0, t1, t2, t3, t4, t5, t6, t7
}

// square returns a * a, 512 bits: the six mixed products are summed once and doubled.
func square(a *field) (t0, t1, t2, t3, t4, t5, t6, t7 uint64) {
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	var h0, h1, h2, h3, l0, l1, l2, l3, c uint64
	h0, t1 = bits.Mul64(a0, a1)
	h1, t2 = bits.Mul64(a0, a2)
	t4, t3 = bits.Mul64(a0, a3)
	t2, c = bits.Add64(t2, h0, 0)
	t3, c = bits.Add64(t3, h1, c)
	t4, _ = bits.Add64(t4, 0, c)
	h0, l0 = bits.Mul64(a1, a2)
	t5, l1 = bits.Mul64(a1, a3)
	l1, c = bits.Add64(l1, h0, 0)
	t5, _ = bits.Add64(t5, 0, c)
	t3, c = bits.Add64(t3, l0, 0)
	t4, c = bits.Add64(t4, l1, c)
	t5, _ = bits.Add64(t5, 0, c)
	t6, l0 = bits.Mul64(a2, a3)
	t5, c = bits.Add64(t5, l0, 0)
	t6, _ = bits.Add64(t6, 0, c)

	t7 = t6 >> 63
	t6 = t6<<1 | t5>>63
	t5 = t5<<1 | t4>>63
	t4 = t4<<1 | t3>>63
	t3 = t3<<1 | t2>>63
	t2 = t2<<1 | t1>>63
	t1 <<= 1

	h0, t0 = bits.Mul64(a0, a0)
	h1, l1 = bits.Mul64(a1, a1)
	h2, l2 = bits.Mul64(a2, a2)
	h3, l3 = bits.Mul64(a3, a3)
	t1, c = bits.Add64(t1, h0, 0)
	t2, c = bits.Add64(t2, l1, c)
	t3, c = bits.Add64(t3, h1, c)
	t4, c = bits.Add64(t4, l2, c)
	t5, c = bits.Add64(t5, h2, c)
	t6, c = bits.Add64(t6, l3, c)
	t7, _ = bits.Add64(t7, h3, c)
	return t0, t1, t2, t3, t4, t5, t6, t7
}

// fold sets r to a number of 512 bits modulo p: its upper half comes back times fold, twice.
func (r *field) fold(t0, t1, t2, t3, t4, t5, t6, t7 uint64) {
	// The first fold leaves t4 below 2^34.
	h0, l0 := bits.Mul64(t4, fold)
	h1, l1 := bits.Mul64(t5, fold)
	h2, l2 := bits.Mul64(t6, fold)
	t4, l3 := bits.Mul64(t7, fold)
	l1, c := bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	t4, _ = bits.Add64(t4, 0, c)
	t0, c = bits.Add64(t0, l0, 0)
	t1, c = bits.Add64(t1, l1, c)
	t2, c = bits.Add64(t2, l2, c)
	t3, c = bits.Add64(t3, l3, c)
	t4, _ = bits.Add64(t4, 0, c)

	if checked {
		require(t4 < 1<<34, "fold: first fold")
	}
	h0, l0 = bits.Mul64(t4, fold)
	t0, c = bits.Add64(t0, l0, 0)
	t1, c = bits.Add64(t1, h0, c)
	t2, c = bits.Add64(t2, 0, c)
	t3, c = bits.Add64(t3, 0, c)
	if checked {
		require(c == 0 || t1 < 16 && t2|t3 == 0, "fold: second fold")
	}
	if c != 0 { // what remains is below 2^67, so the second limb cannot overflow
		t0, c = bits.Add64(t0, fold, 0)
		t1, _ = bits.Add64(t1, 0, c)
	}
	r[0], r[1], r[2], r[3] = t0, t1, t2, t3
}
