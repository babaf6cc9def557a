package lanes

import "math/bits"

// The inverse modulo n, by Bernstein and Yang's division steps, "Fast constant-time gcd computation and modular
// inversion" (2019), in the variant that begins with delta = 1/2: 590 steps do for 256 bits.

// stepsARound is how many steps are taken on the lowest words before the long numbers follow. 11 rounds do; d and e
// grow by n a round, so that with stepsARound bits more they stay below 2^319.
const stepsARound = 56

// orderInverse is 1/n modulo 2^64.
const orderInverse = 0xb4f20099aa774ec1

// long is a signed number, two's complement.
type long [5]uint64

// times returns u*a + v*b.
func times(u int64, a *long, v int64, b *long) (r long) {
	r.addTimes(u, a)
	r.addTimes(v, b)
	return r
}

// addTimes adds u*a: for a negative u, |u| times the complement of a, and |u|.
func (r *long) addTimes(u int64, a *long) {
	sign := uint64(u >> 63)
	w := (uint64(u) ^ sign) - sign
	carry := w & sign
	for i := range r {
		h, l := bits.Mul64(a[i]^sign, w)
		var c uint64
		l, c = bits.Add64(l, carry, 0)
		h += c
		r[i], c = bits.Add64(r[i], l, 0)
		carry = h + c
	}
}

// shift divides by 2^stepsARound.
func (r *long) shift() {
	for i := range 4 {
		r[i] = r[i]>>stepsARound | r[i+1]<<(64-stepsARound)
	}
	r[4] = uint64(int64(r[4]) >> stepsARound)
}

// inverse sets r = 1/a. a must not be 0.
func (r *scalar) inverse(a *scalar) {
	n := long{order[0], order[1], order[2], order[3]}
	f, g := n, long{a[0], a[1], a[2], a[3]}
	var d, e long // modulo n, d*a = f and e*a = g
	e[0] = 1
	for delta := 1; g != (long{}); {
		var t [4]int64
		delta, t = divisionSteps(delta, f[0], g[0])
		f, g = times(t[0], &f, t[1], &g), times(t[2], &f, t[3], &g)
		f.shift()
		g.shift()
		d, e = times(t[0], &d, t[1], &e), times(t[2], &d, t[3], &e)
		for _, x := range []*long{&d, &e} { // a multiple of n makes the division exact
			x.addTimes(int64(-x[0]*orderInverse&(1<<stepsARound-1)), &n)
			x.shift()
		}
	}
	if f[4]>>63 == 1 {
		d = times(-1, &d, 0, &d)
	}
	for d[4]>>63 == 1 {
		d.addTimes(1, &n)
	}
	for d[4] != 0 {
		d.addTimes(-1, &n)
	}
	*r = reduced([4]uint64(d[:4]))
}

// divisionSteps does the steps of a round on f, odd, and g, and returns what takes both there: f to (t0*f + t1*g) and
// g to (t2*f + t3*g), over 2^stepsARound. A step sets, for delta > 0 and g odd, f = g, g = (g-f)/2, delta = 2-delta;
// otherwise g = (g, or g+f where g is odd)/2, delta += 2. delta is twice the paper's. The even ones are done at once,
// and as many of the second kind as are sure to come, six at most.
func divisionSteps(delta int, f, g uint64) (int, [4]int64) {
	u, v, q, r := int64(1), int64(0), int64(0), int64(1)
	for left := stepsARound; ; {
		zeros := min(bits.TrailingZeros64(g), left)
		g >>= zeros
		u, v = u<<zeros, v<<zeros
		delta += 2 * zeros
		if left -= zeros; left == 0 {
			return delta, [4]int64{u, v, q, r}
		}
		if delta > 0 {
			delta, f, g = -delta, g, -f
			u, v, q, r = q, r, -u, -v
		}
		n := min(left, (1-delta)/2, 6)
		w := -g * (f * (2 - f*f)) & (1<<n - 1) // f*(2-f*f) is 1/f modulo 2^6
		g += w * f
		q += int64(w) * u
		r += int64(w) * v
	}
}
