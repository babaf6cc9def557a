package secp256k1

import "math/bits"

// modulus is an odd prime of 256 bits, and its inverse modulo 2^64.
type modulus struct {
	m       long
	inverse uint64
}

var (
	modP = modulus{long{-fold & (1<<64 - 1), 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}, 0x27c7f6e22ddacacf}
	modN = modulus{long{0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 1<<64 - 1}, 0xb4f20099aa774ec1}
)

// step is how many division steps are done on the lowest words before the long numbers follow. A round's coefficients
// have a sum of 2^step at most, so that with 59 nothing here leaves five words: d and e grow by half a modulus a round,
// to less than 2^259 in the ten rounds that there are at most, and by step bits more before they are shifted back.
const step = 59

// long is a signed number, two's complement in five words, least significant first.
type long [5]uint64

// steps are the coefficients of a round: it takes f and g to (fu*f + fv*g) and (gu*f + gv*g), both divided by 2^step.
type steps struct{ fu, fv, gu, gv int64 }

// invert returns 1/a modulo m, for a < m, and 0 for 0. The method is Bernstein and Yang's, "Fast constant-time gcd
// computation and modular inversion" (2019), in the variant that begins with delta = 1/2, where 590 division steps are
// enough for 256 bits; here it stops as soon as it is done.
//
// Modulo m, d*a = f and e*a = g. A round takes f and g through their divisions by 2^step, which are exact, and d and e
// through the same ones modulo m. When g has come to 0, f is 1 or -1 (or, for a = 0, still m, and d still 0).
func invert(a [4]uint64, m *modulus) [4]uint64 {
	f := m.m
	g := long{a[0], a[1], a[2], a[3]}
	var d, e long
	e[0] = 1
	for delta, rounds := 1, 0; g != (long{}); rounds++ { // delta is twice the paper's, to be whole
		if checked {
			require(rounds < 10 && f.within(3) && g.within(3) && d.within(3) && e.within(3), "inverse: too long")
		}
		var t steps
		delta, t = divide(delta, f[0], g[0])
		var f2, d2 long
		f2.combine(t.fu, &f, t.fv, &g)
		g.combine(t.gu, &f, t.gv, &g)
		f = f2
		d2.combineModulo(t.fu, &d, t.fv, &e, m)
		e.combineModulo(t.gu, &d, t.gv, &e, m)
		d = d2
	}
	return d.reduce(f[4]>>63 == 1, m)
}

// divide does step division steps on the lowest words of f, which is odd, and g. One such step, for delta > 0 and g
// odd, sets f = g, g = (g-f)/2 and delta = 2-delta; otherwise g = (g + f, or without f where g is even)/2 and delta
// += 2. Steps of the second kind are done as many at once as are sure to come.
func divide(delta int, f, g uint64) (int, steps) {
	t := steps{fu: 1, gv: 1}
	for left := step; ; {
		zeros := min(bits.TrailingZeros64(g), left) // where g is even nothing is added
		g >>= zeros
		t.fu <<= zeros // instead of halving the coefficients of g
		t.fv <<= zeros
		delta += 2 * zeros
		if left -= zeros; left == 0 {
			return delta, t
		}
		if delta > 0 { // f = g, g = -f; what is left of this step is one of the second kind
			delta, f, g = -delta, g, -f
			t = steps{t.gu, t.gv, -t.fu, -t.fv}
		}
		// In this many steps delta does not exceed 0; together they add w*f, which clears as many bits. 3f XOR 2 is the
		// inverse of f modulo 2^5, and a step of Newton's makes that 2^10.
		n := min((1-delta)/2, left, 10)
		x := f*3 ^ 2
		x *= 2 - f*x
		w := -g * x & (1<<n - 1)
		g += w * f
		t.gu += int64(w) * t.fu
		t.gv += int64(w) * t.fv
	}
}

// combine sets r = (a*x + b*y) / 2^step.
func (r *long) combine(a int64, x *long, b int64, y *long) {
	var t long
	t.addProduct(a, x)
	t.addProduct(b, y)
	r.shift(&t)
}

// combineModulo does so modulo m: the multiple of m between -2^(step-1) and 2^(step-1) that makes the sum divisible
// is added first.
func (r *long) combineModulo(a int64, x *long, b int64, y *long, m *modulus) {
	var t long
	t.addProduct(a, x)
	t.addProduct(b, y)
	k := int64(-t[0]*m.inverse<<(64-step)) >> (64 - step)
	t.addProduct(k, &m.m)
	r.shift(&t)
}

// addProduct adds a*x. As an unsigned word a negative a is 2^64 too large, so that times x is taken off again.
func (r *long) addProduct(a int64, x *long) {
	u, negative := uint64(a), uint64(a>>63)
	h0, l0 := bits.Mul64(u, x[0])
	h1, l1 := bits.Mul64(u, x[1])
	h2, l2 := bits.Mul64(u, x[2])
	h3, l3 := bits.Mul64(u, x[3])
	l4 := u * x[4]
	l1, c := bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	l4, _ = bits.Add64(l4, h3, c)
	l1, c = bits.Sub64(l1, x[0]&negative, 0)
	l2, c = bits.Sub64(l2, x[1]&negative, c)
	l3, c = bits.Sub64(l3, x[2]&negative, c)
	l4, _ = bits.Sub64(l4, x[3]&negative, c)
	r[0], c = bits.Add64(r[0], l0, 0)
	r[1], c = bits.Add64(r[1], l1, c)
	r[2], c = bits.Add64(r[2], l2, c)
	r[3], c = bits.Add64(r[3], l3, c)
	r[4], _ = bits.Add64(r[4], l4, c)
}

// within tells whether the size of r is below 2^(256+n), for n < 63.
func (r *long) within(n int) bool {
	top := int64(r[4]) >> n
	return top == 0 || top == -1
}

// shift sets r = t / 2^step, rounded down.
func (r *long) shift(t *long) {
	if checked {
		require(t.within(62) && t[0]<<(64-step) == 0, "inverse: above 2^318, or not divisible")
	}
	r[0] = t[0]>>step | t[1]<<(64-step)
	r[1] = t[1]>>step | t[2]<<(64-step)
	r[2] = t[2]>>step | t[3]<<(64-step)
	r[3] = t[3]>>step | t[4]<<(64-step)
	r[4] = uint64(int64(t[4]) >> step)
}

// reduce returns r, or -r, modulo m. r is a few moduli at most.
func (r *long) reduce(negate bool, m *modulus) [4]uint64 {
	one := int64(1)
	var t long
	if negate {
		one = -1
	}
	t.addProduct(one, r)
	for t[4]>>63 == 1 {
		t.addProduct(1, &m.m)
	}
	for t[4]>>63 == 0 {
		t.addProduct(-1, &m.m)
	}
	t.addProduct(1, &m.m)
	return [4]uint64(t[:4])
}
