package lanes

// multiply sums g*G + k*key for the groups from first to end, one or two: 125 doublings, in which 26 digits of each
// half of k add multiples of the key, and 10 of each half of g multiples of G. All lanes do the same at the same
// time.
func (v *Verifier) multiply(first, end int) {
	n := end - first
	a := &v.all
	for g := range n {
		for l := range lanes {
			v.setPicks(g, l, &a.g[(first+g)*lanes+l], &a.k[(first+g)*lanes+l])
		}
	}
	v.table(a.x[first:end], a.y[first:end], &v.scale)
	p, table := v.sum[:n], base()
	top := keyWindows - 1
	v.start(p, &v.keyPicks[0][top])
	v.addKey(p, &v.keys, &v.keyPicks[1][top])
	doublings := 0
	for bit := top*keyWindow - 1; bit >= 0; bit-- {
		doublings++
		if bit%keyWindow != 0 && bit%baseWindow != 0 {
			continue
		}
		v.double(p, doublings)
		doublings = 0
		for image := range v.keyPicks {
			if bit%keyWindow == 0 {
				v.addKey(p, &v.keys, &v.keyPicks[image][bit/keyWindow])
			}
			if bit%baseWindow == 0 {
				v.addBase(p, table, &v.basePicks[image][bit/baseWindow], &v.scale)
			}
		}
	}
	for g := range p {
		a.sumX[first+g], a.sumY[first+g], a.sumZ[first+g] = p[g].x, p[g].y, p[g].z
	}
	z := a.sumZ[first:end]
	v.mul(z, z, v.scale[:n])
}

// start sets p to points of the key's table, with z = 1.
func (v *Verifier) start(p []point, at *pick) {
	for g := range p {
		for l := range lanes {
			w := &v.keys[at[lanes*g+l]&placeMask]
			q := lanePoint{unpack((*[4]uint64)(w[:4])), unpack((*[4]uint64)(w[4:])), one}
			if at[lanes*g+l]>>31 == 1 {
				q.y.linear(2, true, &limbs{}, &q.y)
				q.y.weaken()
			}
			p[g].setLane(l, &q)
		}
	}
}

// setPicks writes the digits of one lane's multipliers.
func (v *Verifier) setPicks(g, l int, ofG, ofKey *scalar) {
	k := ofKey.split()
	k[0].keyDigits(&v.keyPicks[0], lanes*g+l, uint32(keyLine(g, 0, 0, l)))
	k[1].keyDigits(&v.keyPicks[1], lanes*g+l, uint32(keyLine(g, 1, 0, l)))
	k = ofG.split()
	k[0].baseDigits(&v.basePicks[0], lanes*g+l, 0)
	k[1].baseDigits(&v.basePicks[1], lanes*g+l, baseOdds)
}

// keyDigits writes those of a key's multiplier for one lane; first is the place of its key.
func (r *part) keyDigits(to *[keyWindows]pick, at int, first uint32) {
	r.halve()
	low, middle, high := r[0], r[1], r[2]
	for w := range to {
		i, sign := place(uint32(low)&(1<<keyWindow-1), keyWindow)
		to[w][at] = i*lanes + first | sign
		low, middle = low>>keyWindow|middle<<(64-keyWindow), middle>>keyWindow|high<<(64-keyWindow)
		high >>= keyWindow
	}
}

// baseDigits writes those of G's; first is the place of G or of its image.
func (r *part) baseDigits(to *[baseWindows]pick, at int, first uint32) {
	r.halve()
	low, middle, high := r[0], r[1], r[2]
	for w := range to {
		i, sign := place(uint32(low)&(1<<baseWindow-1), baseWindow)
		to[w][at] = i + first | sign
		low, middle = low>>baseWindow|middle<<(64-baseWindow), middle>>baseWindow|high<<(64-baseWindow)
		high >>= baseWindow
	}
}

// compare tells for n groups in which lanes the sum's x is r, and in which z is 0.
func (v *Verifier) compare(n int) (equal, infinite [most]uint8) {
	a := &v.all
	t, u := a.t[:n], a.u[:n]
	v.sqr(t, a.sumZ[:n], 1)
	v.mul(u, t, a.r[:n])
	for g := range u {
		for l := range lanes {
			d, x := u[g].lane(l), a.sumX[g].lane(l)
			d.linear(6, true, &d, &x)
			u[g].setLane(l, &d)
		}
	}
	v.normalise(u, u)
	v.normalise(a.sumZ[:n], a.sumZ[:n])
	for g := range n {
		equal[g], infinite[g] = u[g].zeros(), a.sumZ[g].zeros()
	}
	return equal, infinite
}

// evenSums sets ok to the lanes whose y has the parity that is asked for, or where none is. sumZ must be normal; it
// becomes 1 where it is 0, so that its lane's other groups can be inverted with it.
func (v *Verifier) evenSums(ok, infinite *[most]uint8, n int) {
	a := &v.all
	asked := uint8(0)
	for g := range n {
		asked |= a.parity[g]
		ok[g] = ^uint8(0)
		for l := range lanes {
			if infinite[g]>>l&1 == 1 {
				a.sumZ[g].setLane(l, &one)
			}
		}
	}
	if asked == 0 {
		return
	}
	product, z := a.products[:n], a.sumZ[:n]
	product[0] = z[0]
	for g := 1; g < n; g++ {
		v.mul(product[g:g+1], product[g-1:g], z[g:g+1])
	}
	rest, t := a.t[:1], a.u[:1]
	v.invert(rest, product[n-1:n])
	for g := n - 1; g >= 0; g-- {
		inverse := product[g : g+1]
		if g > 0 {
			v.mul(inverse, rest, product[g-1:g])
			v.mul(rest, rest, z[g:g+1])
		} else {
			product[0] = rest[0]
		}
		v.sqr(t, inverse, 1)
		v.mul(t, t, inverse)
		v.mul(inverse, t, a.sumY[g:g+1])
		v.normalise(inverse, inverse)
		ok[g] = ^(a.parity[g] & (product[g].odds() ^ a.want[g]))
	}
}
