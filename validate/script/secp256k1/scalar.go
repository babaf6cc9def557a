package secp256k1

import (
	"encoding/binary"
	"math/bits"
)

// scalar is an integer modulo the group's order n, four limbs, least significant first. It is always below n.
type scalar [4]uint64

// order is n, and orderGap 2^256 - n, which has 129 bits.
var (
	order    = scalar{0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff}
	orderGap = [3]uint64{0x402da1732fc9bebf, 0x4551231950b75fc4, 1}
	orderToP = scalar{0x402da1722fc9baee, 0x4551231950b75fc4, 1} // p - n
)

// setBytes reads 32 bytes, big-endian, modulo n, and tells whether they were below n.
func (r *scalar) setBytes(b *[32]byte) bool {
	r[3] = binary.BigEndian.Uint64(b[0:])
	r[2] = binary.BigEndian.Uint64(b[8:])
	r[1] = binary.BigEndian.Uint64(b[16:])
	r[0] = binary.BigEndian.Uint64(b[24:])
	return !r.reduceOnce(0)
}

// reduceOnce takes n off r, which has a fifth limb, unless r is below n, and tells whether it did. r must be below 2n.
func (r *scalar) reduceOnce(fifth uint64) bool {
	t0, c := bits.Sub64(r[0], order[0], 0)
	t1, c := bits.Sub64(r[1], order[1], c)
	t2, c := bits.Sub64(r[2], order[2], c)
	t3, c := bits.Sub64(r[3], order[3], c)
	if _, c = bits.Sub64(fifth, 0, c); c != 0 {
		return false
	}
	*r = scalar{t0, t1, t2, t3}
	return true
}

func (a *scalar) requireReduced() {
	if checked {
		require(a.below(&order), "a scalar that is not reduced")
	}
}

func (a *scalar) isZero() bool { return *a == scalar{} }

// below tells whether a < b.
func (a *scalar) below(b *scalar) bool {
	_, c := bits.Sub64(a[0], b[0], 0)
	_, c = bits.Sub64(a[1], b[1], c)
	_, c = bits.Sub64(a[2], b[2], c)
	_, c = bits.Sub64(a[3], b[3], c)
	return c != 0
}

// add sets r = a + b.
func (r *scalar) add(a, b *scalar) {
	a.requireReduced()
	b.requireReduced()
	t0, c := bits.Add64(a[0], b[0], 0)
	t1, c := bits.Add64(a[1], b[1], c)
	t2, c := bits.Add64(a[2], b[2], c)
	t3, c := bits.Add64(a[3], b[3], c)
	*r = scalar{t0, t1, t2, t3}
	r.reduceOnce(c)
}

// neg sets r = -a.
func (r *scalar) neg(a *scalar) {
	a.requireReduced()
	if a.isZero() {
		*r = scalar{}
		return
	}
	t0, c := bits.Sub64(order[0], a[0], 0)
	t1, c := bits.Sub64(order[1], a[1], c)
	t2, c := bits.Sub64(order[2], a[2], c)
	t3, _ := bits.Sub64(order[3], a[3], c)
	*r = scalar{t0, t1, t2, t3}
}

// inverse sets r = 1/a, or 0 for 0.
func (r *scalar) inverse(a *scalar) {
	a.requireReduced()
	*r = invert(*a, &modN)
}

// mul sets r = a * b. What is above 2^256 comes back times orderGap until nothing is: of 512 bits it makes 386, then
// 260, then 257, then 256.
func (r *scalar) mul(a, b *scalar) {
	var t [8]uint64
	for i, w := range b {
		t[i+4] = addRow((*[4]uint64)(t[i:]), a, w)
	}
	high := scalar(t[4:])
	for range 2 {
		t = [8]uint64{t[0], t[1], t[2], t[3]}
		for i, w := range orderGap {
			t[i+4] = addRow((*[4]uint64)(t[i:]), &high, w)
		}
		high = scalar(t[4:])
	}
	*r = scalar(t[:4])
	if checked {
		require(t[4] <= 32 && t[5]|t[6]|t[7] == 0, "scalar mul: second fold")
	}
	for q := t[4]; q != 0; { // at most 32, then 1
		q = addRow((*[4]uint64)(r), &scalar{orderGap[0], orderGap[1], orderGap[2]}, q)
	}
	r.reduceOnce(0)
}

// addRow adds a*w to four limbs and returns the fifth.
func addRow(t *[4]uint64, a *scalar, w uint64) uint64 {
	h0, l0 := bits.Mul64(a[0], w)
	h1, l1 := bits.Mul64(a[1], w)
	h2, l2 := bits.Mul64(a[2], w)
	h3, l3 := bits.Mul64(a[3], w)
	l1, c := bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3, _ = bits.Add64(h3, 0, c)
	t[0], c = bits.Add64(t[0], l0, 0)
	t[1], c = bits.Add64(t[1], l1, c)
	t[2], c = bits.Add64(t[2], l2, c)
	t[3], c = bits.Add64(t[3], l3, c)
	h3, _ = bits.Add64(h3, 0, c)
	return h3
}

// half is a signed number of up to 128 bits: one part of a scalar that was split.
type half struct {
	low, high uint64
	negative  bool
}

// halves are the two parts of one scalar.
type halves [2]half

// The lattice of all pairs (a, b) with a + b*lambda = 0 modulo n has the short basis (a1, -b1), (a2, a1). lambda is
// the cube root of one that belongs to fieldBeta. See Gallant, Lambert and Vanstone, "Faster point multiplication on
// elliptic curves with efficient endomorphisms" (2001).
var (
	lambda  = scalar{0xdf02967c1b23bd72, 0x122e22ea20816678, 0xa5261c028812645a, 0x5363ad4cc05c30e0}
	basisA1 = [2]uint64{0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	basisB1 = [2]uint64{0x6f547fa90abfe4c3, 0xe4437ed6010e8828}
	basisA2 = [2]uint64{0x57c1108d9d44cfd8, 0x14ca50f7a8e2f3f6} // and 2^128

	// a1 and b1 times 2^320/n, rounded: with them a division by n becomes a product's upper limbs.
	quotientA1 = [3]uint64{0x3daa8a1471e8ca80, 0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	quotientB1 = [3]uint64{0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828}
)

// split finds k[0] + k[1]*lambda = a modulo n with parts below 2^128. It takes off (a, 0) the nearest points of the
// lattice in the direction of either vector: c1 = a*a1/n of the first and c2 = a*b1/n of the second. As both are off
// by 1/2 + 2^-64 at most, |k[0]| <= 0.51(a1 + a2) < 0.65 * 2^128 and |k[1]| <= 0.51(b1 + a1) < 0.55 * 2^128. So three
// limbs of every product suffice.
func (a *scalar) split() halves {
	a.requireReduced()
	c1, c2 := divideRound(a, &quotientA1), divideRound(a, &quotientB1)
	p, q := lowProduct(&c1, &basisA1), lowProduct(&c2, &basisA2)
	q[2] += c2[0]
	s, t := lowProduct(&c1, &basisB1), lowProduct(&c2, &basisA1)
	first := subtract(&[3]uint64{a[0], a[1], a[2]}, &p)
	first = subtract(&first, &q)
	second := subtract(&s, &t)
	return halves{signed(&first), signed(&second)}
}

// divideRound returns a*q / 2^320, rounded to the nearest.
func divideRound(a *scalar, q *[3]uint64) [2]uint64 {
	var t [7]uint64
	for i, w := range q {
		t[i+4] = addRow((*[4]uint64)(t[i:]), a, w)
	}
	low, c := bits.Add64(t[5], t[4]>>63, 0)
	return [2]uint64{low, t[6] + c}
}

// lowProduct returns a*b modulo 2^192.
func lowProduct(a, b *[2]uint64) [3]uint64 {
	h0, l0 := bits.Mul64(a[0], b[0])
	h1, l1 := bits.Mul64(a[0], b[1])
	h2, l2 := bits.Mul64(a[1], b[0])
	l1, c := bits.Add64(l1, h0, 0)
	h1 += c
	l1, c = bits.Add64(l1, l2, 0)
	return [3]uint64{l0, l1, h1 + h2 + c + a[1]*b[1]}
}

// subtract returns a-b modulo 2^192.
func subtract(a, b *[3]uint64) (r [3]uint64) {
	var c uint64
	r[0], c = bits.Sub64(a[0], b[0], 0)
	r[1], c = bits.Sub64(a[1], b[1], c)
	r[2], _ = bits.Sub64(a[2], b[2], c)
	return r
}

// signed reads two's complement.
func signed(a *[3]uint64) half {
	if checked {
		require(a[2] == 0 || a[2] == 1<<64-1 && a[0]|a[1] != 0, "a half of more than 128 bits")
	}
	if a[2]>>63 == 0 {
		return half{low: a[0], high: a[1]}
	}
	m := subtract(&[3]uint64{}, a)
	return half{low: m[0], high: m[1], negative: true}
}
