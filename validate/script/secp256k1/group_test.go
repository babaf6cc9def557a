package secp256k1

import (
	"flag"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var exhaustive = flag.Bool("exhaustive", false, "in the group of 199 points, all pairs of multipliers for every key")

// zs are some z to give to points; loose ones too.
var zs = []field{{1}, {2}, fieldBeta, {allOnes64 - 3, allOnes64, allOnes64, allOnes64},
	{fieldP[0] - 1, allOnes64, allOnes64, allOnes64}}

// TestAdditions runs through all pairs of points of the small groups: sums of different points, of equal ones and of
// opposites, and with infinity, in all kinds of addition.
func TestAdditions(t *testing.T) {
	for _, g := range smallGroups() {
		for i, a := range g.multiples {
			for j, b := range g.multiples {
				z := &zs[(i+j)%len(zs)]
				checkAdditions(t, a, b, g.multiples[(i+j)%g.order], z, &zs[(i+3*j)%len(zs)])
			}
			for _, z := range zs {
				p := a.at(&z)
				p.double(&p)
				if !p.model().equal(g.multiples[2*i%g.order]) {
					t.Fatalf("2*%d of %d: %v", i, g.order, p.model())
				}
			}
		}
	}
}

// checkAdditions wants a + b = sum from all functions, also where the result takes the place of an argument.
func checkAdditions(t interface{ Fatalf(string, ...any) }, a, b, sum model, az, bz *field) {
	p, q := a.at(az), b.at(bz)
	var r point
	want := func(what string, r *point) {
		if !r.model().equal(sum) {
			t.Fatalf("%s: %v + %v = %v, want %v", what, a, b, r.model(), sum)
		}
	}
	r.add(&p, &q)
	want("add", &r)
	r = p
	r.add(&r, &q)
	want("add to the first", &r)
	r = q
	r.add(&p, &r)
	want("add to the second", &r)
	if b.infinite() {
		return
	}
	by := b.affine()
	ratio := r.addAffine(&p, &by)
	want("addAffine", &r)
	if !ratio.isZero() {
		if ratio.mul(&ratio, &p.z); !ratio.equal(&r.z) {
			t.Fatalf("addAffine: the z is not the ratio's")
		}
	}
	r = p
	r.addAffine(&r, &by)
	want("addAffine to itself", &r)

	scale := *bz // p seen on the image: its z less that factor
	r = p
	if !r.infinity {
		var i field
		i.inverse(&scale)
		r.z.mul(&r.z, &i)
	}
	r.addScaled(&r, &by, &scale)
	if !r.infinity {
		r.z.mul(&r.z, &scale)
	}
	want("addScaled", &r)
}

// TestAdditionsLarge does the same in the true group, with the points that are easiest to get wrong.
func TestAdditionsLarge(t *testing.T) {
	g := (&generator).model()
	rapid.Check(t, func(t *rapid.T) {
		a, k := drawScalar(t, "a"), drawScalar(t, "b")
		b := k.big()
		switch rapid.IntRange(0, 4).Draw(t, "b is") {
		case 0:
			b = a.big()
		case 1:
			b.Neg(a.big())
		case 2:
			b.Mul(a.big(), lambda.big())
		}
		p, q := g.multiply(a.big()), g.multiply(b.Mod(b, bigN))
		z := drawField(t, "z")
		if z.isZero() {
			z = fieldOne
		}
		checkAdditions(t, p, q, p.add(q), &z, &fieldBeta)
	})
}

func TestOddMultiples(t *testing.T) {
	check := func(name string, a model, table []affine) {
		of := a.affine()
		z := oddMultiples(table, &of)
		for i := range table {
			p := point{x: table[i].x, y: table[i].y, z: z}
			if want := a.multiply(big.NewInt(int64(2*i + 1))); !p.model().equal(want) {
				t.Errorf("%s: %d times %v = %v", name, 2*i+1, a, p.model())
			}
		}
	}
	for _, g := range smallGroups() {
		for _, a := range g.multiples[1:] {
			check("small", a, make([]affine, 1<<(g.base.keyWindow-2)))
		}
	}
	for _, k := range []int64{1, 2, 3, 12345} {
		check("large", (&generator).model().multiply(big.NewInt(k)), make([]affine, 1<<(keyWindow-2)))
	}
}

func TestBaseTables(t *testing.T) {
	b, step := base(), (&generator).model()
	far := step.multiply(new(big.Int).Lsh(big.NewInt(1), 128))
	step2, far2 := step.add(step), far.add(far)
	for i := range b.low {
		if !b.low[i].model().equal(step) || !b.high[i].model().equal(far) {
			t.Fatalf("multiple %d is wrong", 2*i+1)
		}
		if b.low[i].x.overflows() || b.low[i].y.overflows() {
			t.Fatalf("multiple %d is not normal", 2*i+1)
		}
		step, far = step.add(step2), far.add(far2)
	}
}

func TestRecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limbs().Draw(t, "k")
		k := half{low: l[0], high: l[1], negative: rapid.Bool().Draw(t, "negative")}
		w := rapid.UintRange(2, 15).Draw(t, "w")
		var d digits
		n := d.recode(&k, w)
		sum, free := new(big.Int), 0
		for i := maxDigits - 1; i >= 0; i-- {
			sum.Lsh(sum, 1).Add(sum, big.NewInt(int64(d[i])))
		}
		for i, digit := range d {
			if digit == 0 {
				continue
			}
			if i < free || i >= n || digit&1 == 0 || digit >= 1<<(w-1) || digit <= -1<<(w-1) {
				t.Fatalf("digit %d at %d of %d, free from %d, window %d", digit, i, n, free, w)
			}
			free = i + int(w)
		}
		if sum.Cmp(k.big()) != 0 {
			t.Fatalf("digits of %v make %v", k.big(), sum)
		}
	})
}

// TestMultiplyExhaustive: every key, every multiplier of it in both parts, every multiplier of the generator, each
// number enlarged at random by a multiple of the order, so that all digits are in use.
func TestMultiplyExhaustive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, g := range smallGroups() {
		n := g.order
		for key := 1; key < n; key++ {
			for first := range n {
				for i := range n {
					if n > 100 && !*exhaustive && i > 0 {
						break
					}
					second, of := rnd.IntN(n), i
					if n < 100 {
						checkMultiply(t, g, rnd, key, first, second, of)
						second = i
					}
					if n > 100 && !*exhaustive {
						of = rnd.IntN(n)
					}
					checkMultiply(t, g, rnd, key, first, second, of)
				}
			}
		}
	}
}

func checkMultiply(t *testing.T, g *group, rnd *rand.Rand, key, first, second, of int) {
	t.Helper()
	k := halves{g.enlarge(rnd, first), g.enlarge(rnd, second)}
	h := [2]half{g.enlarge(rnd, of), g.enlarge(rnd, 0)}
	for i := range h {
		if h[i].negative { // the generator's multiplier has no sign
			h[i] = half{low: uint64((of * (1 - i)) % g.order)}
		}
	}
	a := g.multiples[key].affine()
	var r point
	r.multiply(&scalar{h[0].low, h[0].high, h[1].low, h[1].high}, &a, &k, g.base)
	if want := g.multiples[(of+key*(first+second*g.lambda))%g.order]; !r.model().equal(want) {
		t.Fatalf("order %d: %d + %d*(%d + %d*%d) = %v, want %v", g.order, of, key, first, second, g.lambda, r.model(), want)
	}
}

// enlarge returns a number of up to 128 bits with a sign that is k modulo the order.
func (g *group) enlarge(rnd *rand.Rand, k int) half {
	n := big.NewInt(int64(g.order))
	x := toBig(rnd.Uint64(), rnd.Uint64())
	x.Rsh(x, rnd.UintN(129))
	x.Sub(x, new(big.Int).Mod(x, n))
	if rnd.IntN(2) == 0 {
		x.Neg(x)
	}
	if x.Add(x, big.NewInt(int64(k))); x.BitLen() > 128 {
		x.Sub(x, n)
	}
	b := fromBig(new(big.Int).Abs(x))
	return half{low: b[0], high: b[1], negative: x.Sign() < 0}
}

// TestMultiplyLarge compares with the schoolbook, among others where partial sums meet: keys that are small multiples
// of G or of its images, opposite multipliers.
func TestMultiplyLarge(t *testing.T) {
	g := (&generator).model()
	rapid.Check(t, func(t *rapid.T) {
		u, k := drawScalar(t, "u"), drawScalar(t, "k")
		of := new(big.Int)
		if rapid.Bool().Draw(t, "near key") {
			of.SetInt64(rapid.Int64Range(-20, 20).Filter(func(i int64) bool { return i != 0 }).Draw(t, "key"))
			of.Mul(of, new(big.Int).Exp(lambda.big(), big.NewInt(rapid.Int64Range(0, 2).Draw(t, "image")), bigN))
		} else {
			x := drawScalar(t, "key")
			of = x.big()
		}
		if of.Mod(of, bigN).Sign() == 0 {
			of.SetInt64(1)
		}
		if rapid.Bool().Draw(t, "cancel") {
			x := new(big.Int).Mul(k.big(), of)
			u = scalar(fromBig(x.Neg(x).Mod(x, bigN)))
		}
		key := g.multiply(of).affine()
		parts := k.split()
		var r point
		r.multiply(&u, &key, &parts, base())
		sum := new(big.Int).Mul(k.big(), of)
		sum.Add(sum, u.big()).Mod(sum, bigN)
		if want := g.multiply(sum); !r.model().equal(want) {
			t.Fatalf("%v, want %v", r.model(), want)
		}
	})
}

// TestQuestions asks every point of the small groups, under every z, for every x, and for the parity of its y.
func TestQuestions(t *testing.T) {
	for _, g := range smallGroups() {
		for i, a := range g.multiples[1:] {
			for _, z := range zs {
				p := a.at(&z)
				for _, b := range g.multiples[1:] {
					x := field(fromBig(b.x))
					if got, want := p.hasX(&x), a.x.Cmp(b.x) == 0; got != want {
						t.Fatalf("order %d: hasX(%x) of %v = %v", g.order, b.x, a, got)
					}
				}
				if got, want := p.hasEvenY(), a.y.Bit(0) == 0; got != want {
					t.Fatalf("order %d, %d: hasEvenY = %v, want %v", g.order, i+1, got, want)
				}
			}
		}
	}
}

// TestHasXModuloN tries numbers around both bounds: x below n, and x from n to p, whose remainder r is below p - n.
func TestHasXModuloN(t *testing.T) {
	gap := new(big.Int).Sub(bigP, bigN)
	one := big.NewInt(1)
	for _, x := range []*big.Int{one, new(big.Int).Sub(gap, one), gap, new(big.Int).Add(gap, one),
		new(big.Int).Sub(bigN, one),
		new(big.Int).Add(bigN, one), new(big.Int).Sub(bigP, one)} {
		for _, z := range zs {
			a := model{x, big.NewInt(1)}.at(&z) // on some curve, which is all the same
			r := bigScalar(x)
			if !a.hasXModuloN(&r) {
				t.Errorf("%x modulo n is not found", x)
			}
			opposite := new(big.Int).Mul(x, big.NewInt(-2))
			for _, add := range []*big.Int{one, big.NewInt(-1), gap, new(big.Int).Neg(gap), opposite} {
				r := bigScalar(new(big.Int).Add(x, add))
				if want := new(big.Int).Mod(x, bigN).Cmp(r.big()) == 0; a.hasXModuloN(&r) != want {
					t.Errorf("x %x, r %x: want %v", x, r.big(), want)
				}
			}
		}
	}
}

// TestParse walks through the forms of a key: what each first byte makes of G, and coordinates that are p or more.
func TestParse(t *testing.T) {
	g := generator // y is even
	var x, y, minus [32]byte
	g.x.bytes(&x)
	g.y.bytes(&y)
	g.neg(&g)
	g.y.bytes(&minus)
	join := func(first byte, parts ...[32]byte) (key []byte) {
		key = []byte{first}
		for _, p := range parts {
			key = append(key, p[:]...)
		}
		return key
	}
	for first := range 256 {
		var a affine
		b := byte(first)
		if got, want := a.parse(join(b, x)), b == 2 || b == 3; got != want {
			t.Errorf("%02x and x: %v", b, got)
		} else if got {
			a.y.normalise()
			if a.y.isOdd() != (b == 3) || !a.onCurve() {
				t.Errorf("%02x and x: the wrong y", b)
			}
		}
		if got, want := a.parse(join(b, x, y)), b == 4 || b == 6; got != want {
			t.Errorf("%02x, x and even y: %v", b, got)
		}
		if got, want := a.parse(join(b, x, minus)), b == 4 || b == 7; got != want {
			t.Errorf("%02x, x and odd y: %v", b, got)
		}
	}
	var off affine
	if off.parse(join(4, x, x)) || off.parse(join(4, x, put(big.NewInt(0)))) || off.parse(join(2, put(big.NewInt(5)))) {
		t.Error("a key off the curve")
	}
	// The smallest x of a point is 1, so that 1 + p is the same to who does not look; a y below 2^256 - p needs x^3 =
	// y^2 - 7.
	one, onePlus := put(big.NewInt(1)), put(new(big.Int).Add(bigP, big.NewInt(1)))
	var a affine
	if !a.parse(join(2, one)) || a.parse(join(2, onePlus)) || a.parseX(&onePlus) || !a.parseX(&one) {
		t.Error("an x of p + 1, or the x of 1")
	}
	a.parse(join(2, one))
	oneY := put(a.y.residue())
	if !a.parse(join(4, one, oneY)) || a.parse(join(4, onePlus, oneY)) {
		t.Error("an x of p + 1 in 65 bytes")
	}
	cx, cy := smallY(t)
	if !a.parse(join(4, put(cx), put(cy))) || a.parse(join(4, put(cx), put(cy.Add(cy, bigP)))) {
		t.Error("a y of p or more")
	}
	for n := range 70 {
		if n != 33 && n != 65 && (a.parse(make([]byte, n)) || a.parse(append([]byte{2}, make([]byte, n)...)[:n])) {
			t.Errorf("a key of %d bytes", n)
		}
	}
}

// smallY finds a point with a small y: p is 7 modulo 9, so that a cube root of a cube a is a^((p+2)/9).
func smallY(t *testing.T) (x, y *big.Int) {
	e := new(big.Int).Add(bigP, big.NewInt(2))
	e.Div(e, big.NewInt(9))
	for i := int64(1); i < 100; i++ {
		x = new(big.Int).Exp(new(big.Int).Mod(big.NewInt(i*i-7), bigP), e, bigP)
		if p := (model{x, big.NewInt(i)}).affine(); p.onCurve() {
			return x, big.NewInt(i)
		}
	}
	t.Fatal("no small y")
	return nil, nil
}
