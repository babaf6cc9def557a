package secp256k1

// affine is a point of y^2 = x^3 + 7 by its coordinates. It is never the point at infinity, and the coordinates are
// loose. 64 bytes: one cache line.
type affine struct{ x, y field }

// point is the point (x/z^2, y/z^3), or at infinity; then the coordinates mean nothing. The formulas do not use the 7
// of the equation, so that they hold on all curves y^2 = x^3 + b, which the tables use, as long as no point has y =
// 0: the order of the group is odd.
type point struct {
	x, y, z  field
	infinity bool
}

var generator = affine{
	field{0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac},
	field{0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465},
}

// lift sets r to the point of x whose y is odd or not, normal if x is, and tells whether there is one.
func (r *affine) lift(x *field, odd bool) bool {
	r.x = *x
	r.y.rightSide(x)
	if !r.y.sqrt(&r.y) { // the cube is never -7, so that y is not 0
		return false
	}
	r.y.setParity(odd)
	return true
}

// liftPair lifts two to even y, and tells whether both could be.
func liftPair(r *[2]affine, x *[2]field) bool {
	var y [2]field
	y[0].rightSide(&x[0])
	y[1].rightSide(&x[1])
	ok := sqrtPair(&y, &y)
	for i := range r {
		y[i].setParity(false)
		r[i] = affine{x[i], y[i]}
	}
	return ok
}

// rightSide sets r = x^3 + 7.
func (r *field) rightSide(x *field) {
	var t field
	t.sqr(x)
	t.mul(&t, x)
	r.add(&t, &field{7})
}

// setParity negates y unless it is odd or even as wanted. y must not be 0.
func (y *field) setParity(odd bool) {
	y.normalise()
	if y.isOdd() != odd {
		y.neg(y)
	}
}

// onCurve tells whether y^2 = x^3 + 7.
func (a *affine) onCurve() bool {
	var l, r field
	l.sqr(&a.y)
	r.rightSide(&a.x)
	return l.equal(&r)
}

// setAffine sets r = a.
func (r *point) setAffine(a *affine) { *r = point{x: a.x, y: a.y, z: fieldOne} }

// toAffine sets r = a, normal. a must not be at infinity.
func (r *affine) toAffine(a *point) {
	if checked {
		require(!a.infinity, "toAffine: infinity")
	}
	var i, i2 field
	i.inverse(&a.z)
	i2.sqr(&i)
	r.x.mul(&a.x, &i2)
	i2.mul(&i2, &i)
	r.y.mul(&a.y, &i2)
	r.x.normalise()
	r.y.normalise()
}

// neg sets r = -a.
func (r *affine) neg(a *affine) {
	r.x = a.x
	r.y.neg(&a.y)
}

// double sets r = 2a: with S = y^2, T = xS and L = 3x^2/2, the result is x' = L^2 - 2T, y' = L(T - x') - S^2, z' =
// yz. These are the usual tangent formulas in which (x, y, z) is written as (x/4, y/8, z/2). 3 multiplications, 4
// squarings.
func (r *point) double(a *point) {
	if r.infinity = a.infinity; a.infinity {
		return
	}
	if checked {
		require(!a.y.isZero() && !a.z.isZero(), "double: a point of order 2, or infinity unmarked")
	}
	r.tangent(a)
}

func (r *point) tangentGo(a *point) {
	var s, l, t field
	s.sqr(&a.y)
	l.sqr(&a.x)
	l.threeHalves(&l)
	t.mul(&a.x, &s)
	r.z.mul(&a.y, &a.z)
	r.x.sqr(&l)
	r.x.sub(&r.x, &t)
	r.x.sub(&r.x, &t)
	t.sub(&t, &r.x)
	s.sqr(&s)
	t.mul(&t, &l)
	r.y.sub(&t, &s)
}

// addAffine sets r = a + b, and returns what a's z was multiplied with: 8 multiplications, 3 squarings. Where the
// formulas do not hold, at infinity and for b = a or -a, it returns 0.
func (r *point) addAffine(a *point, b *affine) field {
	if a.infinity {
		r.setAffine(b)
		return field{}
	}
	return r.addAt(a, b, &a.z)
}

// addScaled sets r = a + b, where b is on the curve itself and a on its image under (x, y) -> (scale^2 x, scale^3 y),
// as is r. 9 multiplications, 3 squarings.
func (r *point) addScaled(a *point, b *affine, scale *field) {
	var z field
	if a.infinity {
		z.sqr(scale)
		r.x.mul(&b.x, &z)
		z.mul(&z, scale)
		r.y.mul(&b.y, &z)
		r.z, r.infinity = fieldOne, false
		return
	}
	z.mul(&a.z, scale)
	r.addAt(a, b, &z)
}

// differences are h = x2 z^2 - x1 and s = y2 z^3 - y1, for points that are to be added.
type differences struct{ h, s field }

// addAt sets r = a + b, with z for a's z in the comparison of coordinates. It returns h, or 0 where h was.
func (r *point) addAt(a *point, b *affine, z *field) field {
	if checked {
		require(!a.z.isZero() && !b.y.isZero(), "addition: infinity unmarked")
	}
	var d differences
	d.between(a, b, z)
	if d.h.isZero() {
		r.addSameX(a, d.s.isZero())
		return field{}
	}
	r.chord(a, &d)
	r.infinity = false
	return d.h
}

func (d *differences) betweenGo(a *point, b *affine, z *field) {
	var z2 field
	z2.sqr(z)
	d.s.mul(z, &z2)
	d.h.mul(&b.x, &z2)
	d.h.sub(&d.h, &a.x)
	d.s.mul(&d.s, &b.y)
	d.s.sub(&d.s, &a.y)
}

// addSameX sets r = 2a, or infinity.
func (r *point) addSameX(a *point, same bool) {
	if same {
		r.double(a)
		return
	}
	r.infinity = true
}

// chordGo is the second half of an addition: x' = s^2 - h^3 - 2 x1 h^2, y' = s(x1 h^2 - x') - y1 h^3, z' = z1 h.
func (r *point) chordGo(a *point, d *differences) {
	var h, v field
	h.sqr(&d.h)
	v.mul(&a.x, &h)
	h.mul(&h, &d.h)
	r.z.mul(&a.z, &d.h)
	r.x.sqr(&d.s)
	r.x.sub(&r.x, &h)
	r.x.sub(&r.x, &v)
	r.x.sub(&r.x, &v)
	h.mul(&h, &a.y)
	v.sub(&v, &r.x)
	v.mul(&v, &d.s)
	r.y.sub(&v, &h)
}

// add sets r = a + b: with a brought to the z of both, x1 z2^2 and so on, it is the addition above. 12
// multiplications, 4 squarings.
func (r *point) add(a, b *point) {
	if a.infinity {
		*r = *b
		return
	}
	if b.infinity {
		*r = *a
		return
	}
	var t point
	var d differences
	var z field
	z.sqr(&b.z)
	t.x.mul(&a.x, &z)
	z.mul(&z, &b.z)
	t.y.mul(&a.y, &z)
	t.z.mul(&a.z, &b.z)
	d.between(&t, &affine{b.x, b.y}, &a.z)
	if d.h.isZero() {
		r.addSameX(a, d.s.isZero())
		return
	}
	r.chord(&t, &d)
	r.infinity = false
}
