package lanes

// machine does the arithmetic, with the kernels or with their twins.
type machine struct {
	scratch scratch
	kernels bool
	_       [63]byte // what comes after begins in a cache line of its own
}

// mul sets r[i] = a[i] * b[i]. All have the length of r, one at least.
func (m *machine) mul(r, a, b []number) {
	a, b = a[:len(r)], b[:len(r)]
	if m.kernels {
		mulLanes(&r[0], &a[0], &b[0], len(r))
		return
	}
	for i := range r {
		for l := range lanes {
			x, y := a[i].lane(l), b[i].lane(l)
			x.mul(&x, &y)
			r[i].setLane(l, &x)
		}
	}
}

// sqr sets r[i] = a[i]^(2^n), n > 0.
func (m *machine) sqr(r, a []number, n int) {
	a = a[:len(r)]
	if m.kernels {
		sqrLanes(&r[0], &a[0], len(r), n)
		return
	}
	for i := range r {
		for l := range lanes {
			x := a[i].lane(l)
			for range n {
				x.sqr(&x)
			}
			r[i].setLane(l, &x)
		}
	}
}

// normalise sets r[i] to a[i], of magnitude 15 at most, below p.
func (m *machine) normalise(r, a []number) {
	a = a[:len(r)]
	if m.kernels {
		normaliseLanes(&r[0], &a[0], len(r))
		return
	}
	for i := range r {
		for l := range lanes {
			x := a[i].lane(l)
			x.normalise()
			r[i].setLane(l, &x)
		}
	}
}

// double doubles one point or a pair times times, times > 0.
func (m *machine) double(p []point, times int) {
	switch {
	case m.kernels && len(p) == 2:
		doublePair(&p[0], times, &m.scratch)
	case m.kernels:
		doubleOne(&p[0], times, &m.scratch)
	default:
		for g := range p {
			for l := range lanes {
				q := p[g].lane(l)
				for range times {
					q.double()
				}
				p[g].setLane(l, &q)
			}
		}
	}
}

// addKey adds what at names of the table to one point or a pair. Equal or opposite points give z = 0.
func (m *machine) addKey(p []point, table *keyTable, at *pick) {
	switch {
	case m.kernels && len(p) == 2:
		addKeyPair(&p[0], &table[0], at, &m.scratch)
	case m.kernels:
		addKeyOne(&p[0], &table[0], at, &m.scratch)
	default:
		addTwin(p, table[:], at, nil)
	}
}

// addBase does the same with true points; p are images of true points under scale.
func (m *machine) addBase(p []point, table *baseTable, at *pick, scale *[2]number) {
	switch {
	case m.kernels && len(p) == 2:
		addBasePair(&p[0], &table[0], at, &m.scratch, &scale[0])
	case m.kernels:
		addBaseOne(&p[0], &table[0], at, &m.scratch, &scale[0])
	default:
		addTwin(p, table[:], at, scale)
	}
}

func addTwin(p []point, table []line, at *pick, scale *[2]number) {
	for g := range p {
		for l := range lanes {
			q := p[g].lane(l)
			x, y := table[at[lanes*g+l]&placeMask].fetch()
			scaled := q.z
			if scale != nil {
				s := scale[g].lane(l)
				scaled.mulOpen(&scaled, &s)
			}
			q.add(&x, &y, &scaled, at[lanes*g+l]>>31 == 1)
			p[g].setLane(l, &q)
		}
	}
}

// climb sets to = from + step, which have one z, and takes the step to the z of the sum, for one group or two.
func (m *machine) climb(from, to, step *rung, groups int) {
	switch {
	case m.kernels && groups == 2:
		climbPair(from, to, step, &m.scratch)
	case m.kernels:
		climbOne(from, to, step, &m.scratch)
	default:
		for g := range groups {
			for l := range lanes {
				f, s := from.lane(g, l), step.lane(g, l)
				var t laneRung
				f.climb(&t, &s)
				to.setLane(g, l, &t)
				step.x[g].setLane(l, &s.x)
				step.y[g].setLane(l, &s.y)
			}
		}
	}
}

func (r *rung) lane(g, l int) laneRung {
	return laneRung{r.x[g].lane(l), r.y[g].lane(l), r.h[g].lane(l)}
}

func (r *rung) setLane(g, l int, v *laneRung) {
	r.x[g].setLane(l, &v.x)
	r.y[g].setLane(l, &v.y)
	r.h[g].setLane(l, &v.h)
}

// line writes odd multiple e, and its image under the endomorphism, where z is what the rung's z lacks to that of the
// table, and multiplies z with the rung's h.
func (m *machine) line(from *rung, z *[2]number, table *keyTable, e, groups int) {
	to := &table[keyLine(0, 0, e, 0)]
	switch {
	case m.kernels && groups == 2:
		linePair(from, &z[0], to, &m.scratch)
	case m.kernels:
		lineOne(from, &z[0], to, &m.scratch)
	default:
		for g := range groups {
			for l := range lanes {
				f, s := from.lane(g, l), z[g].lane(l)
				x, y := f.toZ(&s)
				table[keyLine(g, 0, e, l)].put(x, y)
				x.mul(&x, &beta)
				table[keyLine(g, 1, e, l)].put(x, y)
				s.mul(&s, &f.h)
				z[g].setLane(l, &s)
			}
		}
	}
}
