package lanes

import (
	"encoding/binary"
	"math/bits"
)

// scalar is an integer modulo the group's order n, below n, as four words, least significant first.
type scalar [4]uint64

var (
	order    = scalar{0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff}
	orderGap = [3]uint64{0x402da1732fc9bebf, 0x4551231950b75fc4, 1} // 2^256 - n
	orderToP = scalar{0x402da1722fc9baee, 0x4551231950b75fc4, 1}    // p - n
	unity    = scalar{1}
)

// words reads 32 bytes, big-endian.
func words(b []byte) [4]uint64 {
	_ = b[31]
	return [4]uint64{
		binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint64(b[16:]),
		binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b),
	}
}

// below tells whether a < b.
func below(a, b *[4]uint64) bool {
	_, c := bits.Sub64(a[0], b[0], 0)
	_, c = bits.Sub64(a[1], b[1], c)
	_, c = bits.Sub64(a[2], b[2], c)
	_, c = bits.Sub64(a[3], b[3], c)
	return c != 0
}

// reduced returns a number of 256 bits modulo n.
func reduced(a [4]uint64) scalar {
	if below(&a, (*[4]uint64)(&order)) {
		return a
	}
	r := scalar{}
	var c uint64
	for i := range r {
		r[i], c = bits.Sub64(a[i], order[i], c)
	}
	return r
}

func (a *scalar) isZero() bool { return a[0]|a[1]|a[2]|a[3] == 0 }

// neg sets r = -a.
func (r *scalar) neg(a *scalar) {
	if a.isZero() {
		*r = scalar{}
		return
	}
	var c uint64
	for i := range r {
		r[i], c = bits.Sub64(order[i], a[i], c)
	}
}

// row returns t + a*w, five words. It is called with words, not with memory, so that they stay in registers.
func row(t0, t1, t2, t3 uint64, a *[4]uint64, w uint64) (r0, r1, r2, r3, r4 uint64) {
	h0, l0 := bits.Mul64(a[0], w)
	h1, l1 := bits.Mul64(a[1], w)
	h2, l2 := bits.Mul64(a[2], w)
	h3, l3 := bits.Mul64(a[3], w)
	r0, c := bits.Add64(t0, l0, 0)
	r1, c = bits.Add64(t1, l1, c)
	r2, c = bits.Add64(t2, l2, c)
	r3, c = bits.Add64(t3, l3, c)
	r4 = h3 + c
	r1, c = bits.Add64(r1, h0, 0)
	r2, c = bits.Add64(r2, h1, c)
	r3, c = bits.Add64(r3, h2, c)
	return r0, r1, r2, r3, r4 + c
}

// wide returns a*b, 512 bits.
func wide(a, b *[4]uint64) (low, high [4]uint64) {
	t0, r1, r2, r3, r4 := row(0, 0, 0, 0, a, b[0])
	t1, r1, r2, r3, r4 := row(r1, r2, r3, r4, a, b[1])
	t2, r1, r2, r3, r4 := row(r1, r2, r3, r4, a, b[2])
	t3, r1, r2, r3, r4 := row(r1, r2, r3, r4, a, b[3])
	return [4]uint64{t0, t1, t2, t3}, [4]uint64{r1, r2, r3, r4}
}

// mul sets r = a*b modulo n. What is above 2^256 comes back times 2^256 - n, which has 129 bits, until nothing is: of
// 512 bits it makes 386, then 260, then 257, then 256.
func (r *scalar) mul(a, b *scalar) {
	low, high := wide((*[4]uint64)(a), (*[4]uint64)(b))
	s0, r1, r2, r3, r4 := row(low[0], low[1], low[2], low[3], &high, orderGap[0])
	s1, r1, r2, r3, r4 := row(r1, r2, r3, r4, &high, orderGap[1])
	s2, c := bits.Add64(r1, high[0], 0) // the third word of 2^256 - n is 1
	s3, c := bits.Add64(r2, high[1], c)
	q0, c := bits.Add64(r3, high[2], c)
	q1, q2 := bits.Add64(r4, high[3], c)

	high = [4]uint64{q0, q1, q2}
	s0, r1, r2, r3, r4 = row(s0, s1, s2, s3, &high, orderGap[0])
	s1, r1, r2, r3, _ = row(r1, r2, r3, r4, &high, orderGap[1])
	s2, c = bits.Add64(r1, q0, 0)
	s3, c = bits.Add64(r2, high[1], c)
	for q := r3 + q2 + c; q != 0; { // at most 32, then 1
		h0, l0 := bits.Mul64(q, orderGap[0])
		h1, l1 := bits.Mul64(q, orderGap[1])
		s0, c = bits.Add64(s0, l0, 0)
		s1, c = bits.Add64(s1, l1, c)
		s2, c = bits.Add64(s2, h1+q, c)
		s3, c = bits.Add64(s3, 0, c)
		carry := c
		s1, c = bits.Add64(s1, h0, 0)
		s2, c = bits.Add64(s2, 0, c)
		s3, c = bits.Add64(s3, 0, c)
		q = carry + c
	}
	*r = reduced([4]uint64{s0, s1, s2, s3})
}

// part is one half of a scalar that was split: odd, between -2^129 and 2^129, two's complement.
type part [3]uint64

// The lattice of all (a, b) with a + b*lambda = 0 modulo n, where lambda is the cube root of one that belongs to
// beta, has the short basis (a1, -b1), (a2, a1): Gallant, Lambert and Vanstone (2001).
var (
	basisA1 = part{0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	basisB1 = part{0x6f547fa90abfe4c3, 0xe4437ed6010e8828}
	basisA2 = part{0x57c1108d9d44cfd8, 0x14ca50f7a8e2f3f6, 1}

	// a1 and b1 times 2^384/n, rounded.
	quotientA1 = [4]uint64{0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	quotientB1 = [4]uint64{0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828}
)

// split finds odd parts with k[0] + k[1]*lambda = a modulo n. What is nearest to (a, 0) in the lattice leaves |k[0]|
// < 0.65 * 2^128 and |k[1]| < 0.55 * 2^128. Where k[0] is even the first vector of the basis is added, where k[1]
// then is the second is taken off; so |k[0]| < 1.93 * 2^128 and |k[1]| < 1.64 * 2^128.
func (a *scalar) split() (k [2]part) {
	c1, c2 := quotient(a, &quotientA1), quotient(a, &quotientB1)
	k[0] = part{a[0], a[1], a[2]}
	p, q := lowProduct(&c1, &basisA1), lowProduct(&c2, &basisA2)
	k[0].sub(&p)
	k[0].sub(&q)
	k[1], q = lowProduct(&c1, &basisB1), lowProduct(&c2, &basisA1)
	k[1].sub(&q)
	if k[0][0]&1 == 0 {
		k[0].add(&basisA1)
		k[1].sub(&basisB1)
	}
	if k[1][0]&1 == 0 {
		k[0].sub(&basisA2)
		k[1].sub(&basisA1)
	}
	return k
}

// quotient returns a*q / 2^384, rounded to the nearest.
func quotient(a *scalar, q *[4]uint64) [2]uint64 {
	_, high := wide((*[4]uint64)(a), q)
	low, c := bits.Add64(high[2], high[1]>>63, 0)
	return [2]uint64{low, high[3] + c}
}

// lowProduct returns a*b modulo 2^192.
func lowProduct(a *[2]uint64, b *part) part {
	h0, l0 := bits.Mul64(a[0], b[0])
	h1, l1 := bits.Mul64(a[0], b[1])
	h2, l2 := bits.Mul64(a[1], b[0])
	m, c := bits.Add64(h0, l1, 0)
	h1 += c
	m, c = bits.Add64(m, l2, 0)
	return part{l0, m, h1 + h2 + c + a[1]*b[1] + a[0]*b[2]}
}

func (r *part) add(a *part) {
	var c uint64
	r[0], c = bits.Add64(r[0], a[0], 0)
	r[1], c = bits.Add64(r[1], a[1], c)
	r[2], _ = bits.Add64(r[2], a[2], c)
}

func (r *part) sub(a *part) {
	var c uint64
	r[0], c = bits.Sub64(r[0], a[0], 0)
	r[1], c = bits.Sub64(r[1], a[1], c)
	r[2], _ = bits.Sub64(r[2], a[2], c)
}

// digitBits is how many bits the digits of a part have: 26 windows of 5, or 10 of 13.
const digitBits = 130

// halve sets r to (r + 2^130 - 1)/2. Cut in windows of w bits, b each, that gives the digits 2b + 1 - 2^w of the odd
// r: all odd, between -2^w and 2^w, and none of them zero.
func (r *part) halve() {
	r.add(&part{1<<64 - 1, 1<<64 - 1, 3})
	r[0], r[1], r[2] = r[0]>>1|r[1]<<63, r[1]>>1|r[2]<<63, r[2]>>1&3
}

// place turns a window of w bits into the place of an odd multiple, of 2i+1 place i, with bit 31 set where it is to
// be taken off.
func place(window uint32, w int) (i, sign uint32) {
	positive := window >> (w - 1)
	return (window ^ (positive - 1)) & (1<<(w-1) - 1), (positive ^ 1) << 31
}
