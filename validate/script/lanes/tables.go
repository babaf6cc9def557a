package lanes

import "sync"

const (
	keyWindow   = 5
	keyOdds     = 1 << (keyWindow - 1) // odd multiples of a key: 1 to 31
	keyWindows  = digitBits / keyWindow
	baseWindow  = 13
	baseOdds    = 1 << (baseWindow - 1) // of G: 1 to 8191
	baseWindows = digitBits / baseWindow
)

// keyTable are the odd multiples of the keys of two groups, 32 KiB, and their images under the endomorphism; the
// order, which the kernels know, is that of keyLine. Each lane's are on one image of the curve, where their z is 1.
type keyTable [2 * 2 * keyOdds * lanes]line

// keyLine is the place of a multiple, 2e+1.
func keyLine(group, image, e, lane int) int {
	return ((2*group+image)*keyOdds+e)*lanes + lane
}

// baseTable are the odd multiples of G, then their images. 512 KiB, of which a verification reads 20 lines.
type baseTable [2 * baseOdds]line

// base returns the table, made at the first call in a few milliseconds.
var base = sync.OnceValue(newBaseTable)

// newBaseTable climbs from G as the table of a key does, takes all to the last one's z, inverts that, and so has all
// at z = 1.
func newBaseTable() *baseTable {
	p := lanePoint{z: one}
	p.x, p.y = generator.fetch()
	for _, v := range []*limbs{&p.x, &p.y} {
		for i := range 4 {
			v[i] &= limbMask
		}
	}
	rungs := make([]laneRung, baseOdds)
	rungs[0].start(&p)
	step := laneRung{x: p.x, y: p.y}
	last := p.z
	for i := 1; i < len(rungs); i++ {
		rungs[i-1].climb(&rungs[i], &step)
		last.mul(&last, &rungs[i].h)
	}
	z := last.inverse()
	t := new(baseTable)
	for i := len(rungs) - 1; i >= 0; i-- {
		x, y := rungs[i].toZ(&z)
		t[i].put(x, y)
		x.mul(&x, &beta)
		t[baseOdds+i].put(x, y)
		z.mul(&z, &rungs[i].h)
	}
	return t
}

// start sets r to p, whose z is 1, on the image where 2p, which p becomes, has z = 1: (x*y^2, y^4).
func (r *laneRung) start(p *lanePoint) {
	var yy limbs
	yy.sqr(&p.y)
	r.x.mul(&p.x, &yy)
	r.y.sqr(&yy)
	p.double()
}

// inverse returns 1/a, a^(p-2), or 0 for 0.
func (a *limbs) inverse() limbs {
	r := one
	for i := 255; i >= 0; i-- {
		r.sqr(&r)
		w := fieldP[i/64]
		if i < 64 {
			w -= 2
		}
		if w>>(i%64)&1 == 1 {
			r.mul(&r, a)
		}
	}
	return r
}

// table makes the odd multiples of one group's keys or of two's, at x and y, of magnitude 1, and returns the image's
// scale: a table's point is (X, Y) for the true (X/scale^2, Y/scale^3).
func (v *Verifier) table(x, y []number, scale *[2]number) {
	groups := len(x)
	p := v.sum[:groups]
	for g := range p {
		p[g].x, p[g].y = x[g], y[g]
		p[g].z.setAll(&one)
		scale[g].setAll(&one)
	}
	first, step := &v.rungs[0], &v.step
	m := &v.machine
	m.sqr(first.h[:groups], y, 1)
	m.mul(first.x[:groups], x, first.h[:groups])
	m.sqr(first.y[:groups], first.h[:groups], 1)
	m.double(p, 1)
	for g := range p {
		step.x[g], step.y[g] = p[g].x, p[g].y
		first.h[g] = p[g].z
	}
	for e := 1; e < keyOdds; e++ {
		m.climb(&v.rungs[e-1], &v.rungs[e], step, groups)
	}
	for e := keyOdds - 1; e >= 0; e-- {
		m.line(&v.rungs[e], scale, &v.keys, e, groups)
	}
}
