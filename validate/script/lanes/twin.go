package lanes

import "math/bits"

// The twins: what the kernels do to one lane, limb for limb, junk of open numbers included. gen/field.go and
// gen/curve.go are their other half; a change here is a change there.

// addProduct adds the halves of a product of 52 by 52 bits, as one pair of instructions does.
func addProduct(low, high *uint64, a, b uint64) {
	h, l := bits.Mul64(a&limbMask, b&limbMask)
	*low += l & limbMask
	*high += h<<12 | l>>52
}

// columns are a product before it is reduced: column i counts 2^(52i).
type columns [10]uint64

func (c *columns) addProduct(a, b *limbs) {
	for i := range a {
		for j := range b {
			addProduct(&c[i+j], &c[i+j+1], a[i], b[j])
		}
	}
}

func (c *columns) square(a *limbs) {
	*c = columns{}
	for i := range a {
		for j := i + 1; j < len(a); j++ {
			addProduct(&c[i+j], &c[i+j+1], a[i], a[j])
		}
	}
	for i := range c {
		c[i] *= 2
	}
	for i := range a {
		addProduct(&c[2*i], &c[2*i+1], a[i], a[i])
	}
}

// columnsP is a multiple of p, each column no less than that of a square of magnitude 1.
var columnsP = columns{
	1<<56 - 0x1f88003e1384, 1<<56 - 0x10000041110, 1<<56 - 0x1000003d110, 1<<56 - 0x1000003d110, 1<<56 - 0x1000003d110,
	1 << 56, 1 << 56, 1 << 56, 1 << 56, 1 << 46,
}

// fold sets r to limbs below 2^59, to be carried, of a number of magnitude 1.
func (r *limbs) fold(c *columns) {
	for i := 5; i < 9; i++ {
		if checked {
			require(c[i] < 1<<58 && c[i-5] < 1<<58, "a column of 2^58")
		}
		c[i+1] += c[i] >> 52
	}
	if checked {
		require(c[9] < 1<<52, "a last column of 2^52")
	}
	var above uint64
	for i := range 4 {
		addProduct(&c[i], &c[i+1], 16*fold, c[5+i])
	}
	addProduct(&c[4], &above, 16*fold, c[9])
	above = above<<4 + c[4]>>48
	c[4] &= topMask
	if checked {
		require(above < 1<<42, "more than 2^298 after the first fold")
	}
	addProduct(&c[0], &c[1], fold, above)
	copy(r[:], c[:5])
}

// require asserts a magnitude.
func (r *limbs) require(m uint64) {
	if checked {
		require(r[0]|r[1]|r[2]|r[3] <= limbMask && r[4] < m<<48+1<<8, "magnitude")
	}
}

// takeOff adds k*p and takes numbers off; nil is 0.
func (r *limbs) takeOff(k int, a, b, c *limbs) {
	for i := range r {
		r[i] += timesP(k, i) - a[i]
		if b != nil {
			r[i] -= b[i]
		}
		if c != nil {
			r[i] -= c[i]
		}
	}
}

func (r *limbs) foldProduct(a, b *limbs) {
	var c columns
	c.addProduct(a, b)
	r.fold(&c)
}

func (r *limbs) foldSquare(a *limbs) {
	var c columns
	c.square(a)
	r.fold(&c)
}

func (r *limbs) mul(a, b *limbs) {
	r.foldProduct(a, b)
	r.ripple(true)
	r.require(1)
}

func (r *limbs) mulOpen(a, b *limbs) {
	r.foldProduct(a, b)
	r.ripple(false)
}

func (r *limbs) sqr(a *limbs) {
	r.foldSquare(a)
	r.ripple(true)
	r.require(1)
}

func (r *limbs) sqrOpen(a *limbs) {
	r.foldSquare(a)
	r.ripple(false)
}

// sqrLess sets r = a^2 + 4p - b - c - d.
func (r *limbs) sqrLess(a, b, c, d *limbs) {
	var t limbs
	t.foldSquare(a)
	t.takeOff(4, b, c, d)
	t.ripple(true)
	*r = t
}

// mulLess sets r = a*b + k*p - c.
func (r *limbs) mulLess(k int, mask bool, a, b, c *limbs) {
	var t limbs
	t.foldProduct(a, b)
	t.takeOff(k, c, nil, nil)
	t.ripple(mask)
	*r = t
}

// mulAdd sets r = a*b + x*y.
func (r *limbs) mulAdd(a, b, x, y *limbs) {
	var c columns
	c.addProduct(a, b)
	c.addProduct(x, y)
	r.fold(&c)
	r.ripple(true)
	r.require(1)
}

// mulSub sets r = a*b - x^2.
func (r *limbs) mulSub(a, b, x *limbs) {
	var c columns
	c.square(x)
	for i := range c {
		if checked {
			require(c[i] <= columnsP[i], "a square's column")
		}
		c[i] = columnsP[i] - c[i]
	}
	c.addProduct(a, b)
	r.fold(&c)
	r.ripple(true)
	r.require(1)
}

// ripple carries from limb to limb; limbs may be negative, the number not. Without mask it leaves an open number.
func (r *limbs) ripple(mask bool) {
	for i := range 4 {
		r[i+1] += uint64(int64(r[i]) >> 52)
		if mask {
			r[i] &= limbMask
		}
	}
	if checked {
		require(r[4] < 1<<52, "limb 4 negative, or of 2^52")
	}
}

// timesP returns limb i of k*p, for k < 16.
func timesP(k, i int) uint64 {
	switch {
	case k == 0:
		return 0
	case i == 0:
		return 1<<52 - uint64(k)*fold
	case i == 4:
		return uint64(k)<<48 - 1
	}
	return limbMask
}

// linear sets r = k*p + a - b.
func (r *limbs) linear(k int, mask bool, a, b *limbs) {
	t := *a
	t.takeOff(k, b, nil, nil)
	t.ripple(mask)
	*r = t
}

// threeHalves sets r = 3a/2: half of 3a, or of 3a + p where a is odd.
func (r *limbs) threeHalves(a *limbs) {
	t := *a
	for i := range t {
		t[i] *= 3
		if a[0]&1 == 1 {
			t[i] += timesP(1, i)
		}
	}
	t.ripple(false)
	for i := range 4 { // bit 51 comes from the next limb
		r[i] = t[i]>>1&^(1<<51) | t[i+1]<<51&(1<<51)
	}
	r[4] = t[4] >> 1
}

// weaken takes magnitude up to 15 below 2^256 or, above magnitude 1, to magnitude 1.
func (r *limbs) weaken() {
	r[0] += r[4] >> 48 * fold
	r[4] &= topMask
	r.ripple(true)
}

// normalise makes a number of magnitude 15 at most one below p.
func (r *limbs) normalise() {
	r.weaken()
	r.weaken()
	t := *r
	t[0] += fold
	t.ripple(true)
	if t[4]>>48 != 0 {
		t[4] &= topMask
		*r = t
	}
}

// lanePoint is one lane of a point.
type lanePoint struct{ x, y, z limbs }

func (p *point) lane(l int) lanePoint { return lanePoint{p.x.lane(l), p.y.lane(l), p.z.lane(l)} }

func (p *point) setLane(l int, v *lanePoint) {
	p.x.setLane(l, &v.x)
	p.y.setLane(l, &v.y)
	p.z.setLane(l, &v.z)
}

func (p *lanePoint) double() {
	p.x.require(6)
	p.y.require(1)
	var s, l, t, u limbs
	s.sqrOpen(&p.y)
	u.sqr(&p.x)
	t.mul(&p.x, &s)
	l.threeHalves(&u)
	p.z.mulOpen(&p.z, &p.y)
	p.x.sqrLess(&l, &t, &t, nil)
	p.x.require(5)
	u.linear(6, false, &t, &p.x)
	p.y.mulSub(&l, &u, &s)
}

// add adds (x, y), open, or (x, -y), on the image where p's z is scaled.
func (p *lanePoint) add(x, y, scaled *limbs, negative bool) {
	p.x.require(6)
	p.y.require(1)
	var zz, s, h, hh, hhh, v, t, r, n, zero limbs
	zz.sqrOpen(scaled)
	s.mulOpen(y, scaled)
	h.mulLess(6, false, x, &zz, &p.x)
	r.foldProduct(&s, &zz)
	for i := range r {
		if negative {
			r[i] += p.y[i]
		} else {
			r[i] += timesP(4, i) - p.y[i]
		}
	}
	r.ripple(false)
	hh.sqrOpen(&h)
	p.z.mulOpen(&p.z, &h)
	v.mul(&hh, &p.x)
	hhh.mul(&hh, &h)
	n.linear(2, false, &zero, &p.y)
	p.x.sqrLess(&r, &hhh, &v, &v)
	p.x.require(5)
	if negative {
		t.linear(2, false, &p.x, &v)
	} else {
		t.linear(6, false, &v, &p.x)
	}
	p.y.mulAdd(&r, &t, &hhh, &n)
}

// fetch reads a line as open numbers.
func (r *line) fetch() (x, y limbs) {
	for i, to := range [2]*limbs{&x, &y} {
		w := r[4*i : 4*i+4]
		*to = limbs{w[0], w[0]>>52 | w[1]<<12, w[1]>>40 | w[2]<<24, w[2]>>28 | w[3]<<36, w[3] >> 16}
	}
	return x, y
}

// put writes numbers of magnitude 1.
func (r *line) put(x, y limbs) {
	x.require(1)
	y.require(1)
	x.weaken()
	y.weaken()
	a, b := x.pack(), y.pack()
	copy(r[:4], a[:])
	copy(r[4:], b[:])
}

// laneRung is one lane of a rung.
type laneRung struct{ x, y, h limbs }

// climb sets to = from + step and takes the step to the same z.
func (from *laneRung) climb(to, step *laneRung) {
	from.x.require(5)
	from.y.require(3)
	step.x.require(5)
	step.y.require(1)
	var c, w, r, d, t limbs
	to.h.linear(6, false, &step.x, &from.x)
	r.linear(4, false, &step.y, &from.y)
	c.sqrOpen(&to.h)
	step.x.mul(&step.x, &c)
	w.mul(&from.x, &c)
	to.x.sqrLess(&r, &step.x, &w, nil)
	to.x.require(5)
	d.linear(2, false, &step.x, &w)
	t.linear(6, false, &step.x, &to.x)
	step.y.mul(&step.y, &d)
	to.y.mulLess(2, true, &r, &t, &step.y)
	to.y.require(3)
}

// toZ returns the rung's point at z = 1, when z is what the rung's z lacks.
func (from *laneRung) toZ(z *limbs) (x, y limbs) {
	var zz, zzz limbs
	zz.sqrOpen(z)
	zzz.mulOpen(&zz, z)
	x.mul(&from.x, &zz)
	y.mul(&from.y, &zzz)
	return x, y
}
