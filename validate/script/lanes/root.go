package lanes

// chunk is how many groups go through a chain of squarings together, so that none waits for the one before.
const chunk = 4

// powers are those of the numbers that a chain begins with: a^(2^n - 1), whose exponents are n ones.
type powers struct{ two, three, twentyTwo, fortyFour, eightyEight, running, square [chunk]number }

// raise sets to = from^(2^n) * by: n bits behind from's exponent, and by's added.
func (v *Verifier) raise(to, from []number, n int, by []number) {
	t := v.powers.square[:len(to)]
	v.sqr(t, from, n)
	v.mul(to, t, by)
}

// ones raises a, chunk numbers at most, to 2^223 - 1 in running, and leaves the powers for 2 and 22.
func (v *Verifier) ones(a []number) {
	n := len(a)
	w := &v.powers
	two, three, twentyTwo, fortyFour := w.two[:n], w.three[:n], w.twentyTwo[:n], w.fortyFour[:n]
	eightyEight, running := w.eightyEight[:n], w.running[:n]
	v.raise(two, a, 1, a)
	v.raise(three, two, 1, a)
	v.raise(running, three, 3, three)   // 6
	v.raise(running, running, 3, three) // 9
	v.raise(running, running, 2, two)   // 11
	v.raise(twentyTwo, running, 11, running)
	v.raise(fortyFour, twentyTwo, 22, twentyTwo)
	v.raise(eightyEight, fortyFour, 44, fortyFour)
	v.raise(running, eightyEight, 88, eightyEight) // 176
	v.raise(running, running, 44, fortyFour)       // 220
	v.raise(running, running, 3, three)
}

// root sets r = a^((p+1)/4), a root if there is one: in binary 223 ones, a zero, 22 ones, four zeros, two ones, two
// zeros.
func (v *Verifier) root(r, a []number) {
	n := len(a)
	w := &v.powers
	running := w.running[:n]
	v.ones(a)
	v.raise(running, running, 23, w.twentyTwo[:n])
	v.raise(running, running, 6, w.two[:n])
	v.sqr(r, running, 2)
}

// invert sets r = a^(p-2): 223 ones, a zero, 22 ones, four zeros, 101101.
func (v *Verifier) invert(r, a []number) {
	n := len(a)
	w := &v.powers
	running := w.running[:n]
	v.ones(a)
	v.raise(running, running, 23, w.twentyTwo[:n])
	v.raise(running, running, 5, a)
	v.raise(running, running, 3, w.two[:n])
	v.raise(r, running, 2, a)
}

// lift sets y to the roots of x^3 + 7, below p, that are odd where odd has the lane's bit, and ok to the lanes where
// there are such. x is below 2^256.
func (v *Verifier) lift(y, x []number, odd, ok []uint8) {
	for at := 0; at < len(x); at += chunk {
		end := min(at+chunk, len(x))
		v.liftChunk(y[at:end], x[at:end], odd[at:end], ok[at:end])
	}
}

func (v *Verifier) liftChunk(y, x []number, odd, ok []uint8) {
	n := len(x)
	cube, t := v.cube[:n], v.powers.square[:n]
	v.sqr(t, x, 1)
	v.mul(cube, t, x)
	for g := range cube {
		for l := range lanes {
			c := cube[g].lane(l)
			c[0] += 7
			c.ripple(true)
			cube[g].setLane(l, &c)
		}
	}
	v.root(y, cube)
	v.sqr(t, y, 1)
	for g := range t {
		for l := range lanes {
			a, b := t[g].lane(l), cube[g].lane(l)
			a.linear(2, true, &a, &b)
			t[g].setLane(l, &a)
		}
	}
	v.normalise(t, t)
	v.normalise(y, y)
	for g := range t {
		ok[g] = t[g].zeros()
		for l := range lanes {
			if r := y[g].lane(l); uint8(r[0]&1) != odd[g]>>l&1 {
				r.linear(1, true, &limbs{}, &r)
				y[g].setLane(l, &r)
			}
		}
	}
}

// zeros returns the lanes of a normal number that are 0.
func (n *number) zeros() (z uint8) {
	for l := range lanes {
		if v := n.lane(l); v.isZero() {
			z |= 1 << l
		}
	}
	return z
}

// odds returns the lanes of a normal number that are odd.
func (n *number) odds() (o uint8) {
	for l := range lanes {
		o |= uint8(n[0][l]&1) << l
	}
	return o
}
