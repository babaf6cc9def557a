package secp256k1

import "math/bits"

// maxDigits is how many digits a number of 128 bits may have.
const maxDigits = 129

// keyWindow is the window of the digits of a key's multiplier: 8 odd multiples, which are made anew for every key.
const keyWindow = 5

// digits are a number in signed binary: the sum of d[i] * 2^i, where each digit is 0 or odd, below 2^(w-1) in size, and
// followed by w-1 zeros at least. On average one in w+1 is not 0.
type digits [maxDigits]int16

// recode sets d, which must be all zeros, to the digits of k for window w, and returns how many there are.
func (d *digits) recode(k *half, w uint) int {
	low, high := k.low, k.high
	top := 0
	for i := 0; low|high != 0; {
		zeros := bits.TrailingZeros64(low)
		if low == 0 {
			zeros = 64 + bits.TrailingZeros64(high)
			low, high = high, 0
			low >>= zeros - 64
		} else {
			low, high = low>>zeros|high<<(64-zeros), high>>zeros
		}
		i += zeros
		digit := int(low & (1<<w - 1))
		low, high = low>>w|high<<(64-w), high>>w
		if digit>>(w-1) != 0 { // take the negative digit, and one more of what is above it
			digit -= 1 << w
			var c uint64
			low, c = bits.Add64(low, 1, 0)
			high += c
		}
		if k.negative {
			d[i] = int16(-digit)
		} else {
			d[i] = int16(digit)
		}
		top = i + 1
		i += int(w)
	}
	return top
}

// oddMultiples sets t[i] = (2i+1)a, all with one z, which it returns: t holds the points of the image under (x, y) ->
// (z^2 x, z^3 y), where they are affine, so that no inversion is needed. The multiples up to the largest must differ,
// and none be infinity.
//
// With 2a = (X, Y, Z), a and 2a have on the image under Z the coordinates (Z^2 x, Z^3 y) and (X, Y). There (2i+1)a
// comes by adding 2a again and again. Then all are brought to the last one's z, through what each addition multiplied
// it with.
func oddMultiples(t []affine, a *affine) field {
	var twice, sum point
	sum.setAffine(a)
	twice.double(&sum)
	by := affine{twice.x, twice.y}
	sum = point{infinity: true}
	sum.addScaled(&sum, a, &twice.z)

	var ratios [1 << (keyWindow - 2)]field
	for i := range t {
		if i > 0 {
			ratios[i] = sum.addAffine(&sum, &by)
		}
		t[i] = affine{sum.x, sum.y}
	}
	z := fieldOne
	for i := len(t) - 2; i >= 0; i-- {
		if checked {
			require(!ratios[i+1].isZero(), "odd multiples that meet")
		}
		z.mul(&z, &ratios[i+1])
		t[i].scale(&z)
	}
	z.mul(&sum.z, &twice.z)
	return z
}

// scale takes a to its image, (z^2 x, z^3 y).
func (a *affine) scale(z *field) {
	var z2 field
	z2.sqr(z)
	a.x.mul(&a.x, &z2)
	z2.mul(&z2, z)
	a.y.mul(&a.y, &z2)
}

// pick returns the multiple that a digit asks for, from a table of odd multiples.
func pick(t []affine, digit int16) affine {
	if digit > 0 {
		return t[digit>>1]
	}
	var a affine
	a.neg(&t[-digit>>1])
	return a
}

// multiply sets r = g*G + k*key, with k in its two parts: Strauss's method, one row of doublings for four numbers of
// 128 bits, of which two pick from the table of the key and of its image under the endomorphism, and two from the
// tables of G and of 2^128*G.
func (r *point) multiply(g *scalar, key *affine, k *halves, base *baseTables) {
	var oddMemory, imageMemory [1 << (keyWindow - 2)]affine
	odd, image := oddMemory[:1<<(base.keyWindow-2)], imageMemory[:1<<(base.keyWindow-2)]
	scale := oddMultiples(odd, key)
	for i := range image {
		image[i].y = odd[i].y
		image[i].x.mul(&odd[i].x, &fieldBeta)
	}
	var first, second, low, high digits
	lows, highs := half{low: g[0], high: g[1]}, half{low: g[2], high: g[3]}
	top := max(first.recode(&k[0], base.keyWindow), second.recode(&k[1], base.keyWindow),
		low.recode(&lows, base.window), high.recode(&highs, base.window))

	*r = point{infinity: true}
	for i := top - 1; i >= 0; i-- {
		r.double(r)
		if d := first[i]; d != 0 {
			a := pick(odd, d)
			r.addAffine(r, &a)
		}
		if d := second[i]; d != 0 {
			a := pick(image, d)
			r.addAffine(r, &a)
		}
		if d := low[i]; d != 0 {
			a := pick(base.low, d)
			r.addScaled(r, &a, &scale)
		}
		if d := high[i]; d != 0 {
			a := pick(base.high, d)
			r.addScaled(r, &a, &scale)
		}
	}
	r.z.mul(&r.z, &scale)
}

// multiplyBase sets r = g*G.
func (r *point) multiplyBase(g *scalar, base *baseTables) {
	var low, high digits
	lows, highs := half{low: g[0], high: g[1]}, half{low: g[2], high: g[3]}
	top := max(low.recode(&lows, base.window), high.recode(&highs, base.window))
	*r = point{infinity: true}
	for i := top - 1; i >= 0; i-- {
		r.double(r)
		if d := low[i]; d != 0 {
			a := pick(base.low, d)
			r.addAffine(r, &a)
		}
		if d := high[i]; d != 0 {
			a := pick(base.high, d)
			r.addAffine(r, &a)
		}
	}
}
