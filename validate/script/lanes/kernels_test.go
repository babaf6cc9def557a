package lanes

import (
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// cases is STELE_LANES_CASES, or otherwise.
func cases(t testing.TB, otherwise int) int {
	text := os.Getenv("STELE_LANES_CASES")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("STELE_LANES_CASES=%q", text)
	}
	return n
}

// kernelsOnly skips a test of kernels where there are none.
func kernelsOnly(t *testing.T) {
	t.Helper()
	if !present {
		skipped.Add(1)
		t.Skip("no AVX-512 IFMA here: kernels are not compared with their twins")
	}
}

var bigP, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", 16)

// value is what limbs stand for; a limb may be above 52 bits.
func (v *limbs) value() *big.Int {
	sum := new(big.Int)
	for i := 4; i >= 0; i-- {
		sum.Lsh(sum, 52).Add(sum, new(big.Int).SetUint64(v[i]))
	}
	return sum
}

func limbsOf(x *big.Int) limbs {
	var v limbs
	t := new(big.Int).Set(x)
	for i := range 4 {
		v[i] = new(big.Int).And(t, big.NewInt(limbMask)).Uint64()
		t.Rsh(t, 52)
	}
	v[4] = t.Uint64()
	return v
}

// draw makes numbers of a magnitude: at random, with limbs at their bounds, or close to a multiple of p.
type draw struct{ *rand.Rand }

func newDraw(seed uint64) draw { return draw{rand.New(rand.NewPCG(seed, 52))} }

func (d draw) limbs(magnitude int) (v limbs) {
	switch d.IntN(4) {
	case 0:
		x := new(big.Int).Mul(bigP, big.NewInt(int64(d.IntN(magnitude+1))))
		x.Add(x, big.NewInt(int64(d.IntN(5)-2)))
		if x.Sign() < 0 {
			x.Add(x, bigP)
		}
		return limbsOf(x)
	default:
		for i := range v {
			top := uint64(limbMask)
			if i == 4 {
				top = uint64(magnitude)<<48 - 1
			}
			switch v[i] = d.Uint64() & top; d.IntN(6) {
			case 0:
				v[i] = 0
			case 1:
				v[i] = top
			case 2:
				v[i] = top - 1
			}
		}
		if v[4] > uint64(magnitude)<<48-1 {
			v[4] = uint64(magnitude)<<48 - 1
		}
		if d.IntN(8) == 0 {
			v[4] = uint64(magnitude)<<48 + uint64(d.IntN(256))
			v[3] &= 1<<50 - 1
		}
	}
	return v
}

// open makes an open number: junk above the limbs but the last.
func (d draw) open(magnitude int) limbs {
	v := d.limbs(magnitude)
	for i := range 4 {
		v[i] |= d.Uint64() << 52
	}
	return v
}

func (d draw) number(f func(int) limbs, magnitude int) (n number) {
	for l := range lanes {
		v := f(magnitude)
		n.setLane(l, &v)
	}
	return n
}

func same[T comparable](t *testing.T, what string, kernel, twin T) {
	t.Helper()
	if kernel != twin {
		t.Fatalf("%s: kernel %v, twin %v", what, kernel, twin)
	}
}

// TestFieldKernels compares products, squares and normalisation with their twins, and those with big integers.
func TestFieldKernels(t *testing.T) {
	kernelsOnly(t)
	d := newDraw(1)
	k, w := &machine{kernels: true}, &machine{}
	for range cases(t, 2000)/(3*lanes) + 1 {
		var a, b [3]number
		for i := range a {
			a[i], b[i] = d.number(d.open, 12), d.number(d.open, 12)
		}
		var x, y [3]number
		k.mul(x[:], a[:], b[:])
		w.mul(y[:], a[:], b[:])
		same(t, "mul", x, y)
		n := 1 + d.IntN(3)
		k.sqr(x[:2], a[:2], n)
		w.sqr(y[:2], a[:2], n)
		same(t, "sqr", x, y)
		for i := range a {
			a[i] = d.number(d.limbs, 15)
		}
		k.normalise(x[:], a[:])
		w.normalise(y[:], a[:])
		same(t, "normalise", x, y)
	}
}

// TestTwinFields compares the twins with big integers.
func TestTwinFields(t *testing.T) {
	d := newDraw(2)
	residue := func(v *limbs) *big.Int { x := v.value(); return x.Mod(x, bigP) }
	check := func(what string, got limbs, want *big.Int) {
		t.Helper()
		if want.Mod(want, bigP); residue(&got).Cmp(want) != 0 {
			t.Fatalf("%s: %x, want %x", what, got.value(), want)
		}
	}
	product := func(a, b *limbs) *big.Int { return new(big.Int).Mul(a.value(), b.value()) }
	for range cases(t, 2000) {
		a, b, c, s := d.limbs(12), d.limbs(12), d.limbs(1), d.limbs(1)
		var r limbs
		r.mul(&a, &b)
		check("mul", r, product(&a, &b))
		r.sqr(&a)
		check("sqr", r, product(&a, &a))
		e, f := d.limbs(7), d.limbs(7)
		r.mulAdd(&e, &f, &c, &s)
		check("mulAdd", r, new(big.Int).Add(product(&e, &f), product(&c, &s)))
		r.mulSub(&e, &f, &s)
		check("mulSub", r, new(big.Int).Sub(product(&e, &f), product(&s, &s)))
		r.linear(6, true, &e, &c)
		check("linear", r, new(big.Int).Sub(e.value(), c.value()))
		r.sqrLess(&e, &c, &s, &s)
		check("sqrLess", r, new(big.Int).Sub(product(&e, &e), new(big.Int).Add(c.value(), new(big.Int).Lsh(s.value(), 1))))
		r.mulLess(6, true, &e, &f, &c)
		check("mulLess", r, new(big.Int).Sub(product(&e, &f), c.value()))
		r = a
		r.normalise()
		check("normalise", r, a.value())
		if r.value().Cmp(bigP) >= 0 {
			t.Fatalf("normalise: %x of %x", r.value(), a.value())
		}
		r.threeHalves(&c)
		r.mul(&r, &limbs{2})
		check("threeHalves", r, new(big.Int).Mul(c.value(), big.NewInt(3)))
		if r = c.inverse(); residue(&c).Sign() != 0 {
			r.mul(&r, &c)
			check("inverse", r, big.NewInt(1))
		}
	}
}

// TestCurveKernels compares doublings, additions, and the making of tables with their twins, on numbers that need be
// no points.
func TestCurveKernels(t *testing.T) {
	kernelsOnly(t)
	d := newDraw(3)
	k, w := New(), New()
	w.kernels = false
	for range cases(t, 500)/(2*lanes) + 1 {
		groups := 1 + d.IntN(2)
		var p [2]point
		for g := range p {
			p[g] = point{d.number(d.limbs, 5), d.number(d.limbs, 1), d.number(d.limbs, 1)}
		}
		both := func(what string, f func(v *Verifier, p []point)) {
			a, b := p, p
			f(k, a[:groups])
			f(w, b[:groups])
			same(t, what, a, b)
		}
		times := 1 + d.IntN(3)
		both("double", func(v *Verifier, p []point) { v.double(p, times) })
		var at pick
		for i := range at {
			at[i] = uint32(d.IntN(len(k.keys))) | d.Uint32()<<31
		}
		for i := range k.keys {
			for j := range k.keys[i] {
				k.keys[i][j] = d.Uint64()
			}
		}
		w.keys = k.keys
		both("addKey", func(v *Verifier, p []point) { v.addKey(p, &v.keys, &at) })
		scale := [2]number{d.number(d.limbs, 1), d.number(d.limbs, 1)}
		for i := range at {
			at[i] = uint32(d.IntN(len(baseTable{}))) | d.Uint32()<<31
		}
		both("addBase", func(v *Verifier, p []point) { v.addBase(p, base(), &at, &scale) })
		compareTables(t, d, k, w, groups)
	}
}

func compareTables(t *testing.T, d draw, k, w *Verifier, groups int) {
	t.Helper()
	x := [2]number{d.number(d.limbs, 1), d.number(d.limbs, 1)}
	y := [2]number{d.number(d.limbs, 1), d.number(d.limbs, 1)}
	var a, b [2]number
	k.keys, w.keys = keyTable{}, keyTable{}
	k.table(x[:groups], y[:groups], &a)
	w.table(x[:groups], y[:groups], &b)
	for g := range groups {
		same(t, "scale", a[g], b[g])
	}
	for e := range k.rungs {
		for g := range groups {
			for l := range lanes {
				same(t, "rung", k.rungs[e].lane(g, l), w.rungs[e].lane(g, l))
			}
		}
	}
	same(t, "table", k.keys, w.keys)
}
