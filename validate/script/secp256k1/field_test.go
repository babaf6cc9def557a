package secp256k1

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var (
	bigP, _   = new(big.Int).SetString("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", 16)
	bigN, _   = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)
	two256    = new(big.Int).Lsh(big.NewInt(1), 256)
	allOnes64 = uint64(1<<64 - 1)
)

// toBig reads limbs, least significant first.
func toBig(limbs ...uint64) *big.Int {
	r := new(big.Int)
	for i := len(limbs) - 1; i >= 0; i-- {
		r.Lsh(r, 64).Or(r, new(big.Int).SetUint64(limbs[i]))
	}
	return r
}

// fromBig writes four limbs of a number below 2^256.
func fromBig(x *big.Int) (r [4]uint64) {
	var b [32]byte
	x.FillBytes(b[:])
	for i := range 32 {
		r[(31-i)/8] |= uint64(b[i]) << (8 * ((31 - i) % 8))
	}
	return r
}

func (a *field) big() *big.Int { return toBig(a[:]...) }

// residue is the class, as the oracle has it.
func (a *field) residue() *big.Int { x := a.big(); return x.Mod(x, bigP) }

// limbs draws four limbs: random ones, ones at the limbs' bounds, and numbers close to the multiples of p, n and 2^256,
// where carries run through and reductions happen or just do not.
func limbs() *rapid.Generator[[4]uint64] {
	edges := []uint64{0, 1, 2, 1 << 32, fold - 1, fold, fold + 1, 1<<63 - 1, 1 << 63, allOnes64 - fold,
		allOnes64 - fold + 1,
		allOnes64 - fold + 2, allOnes64 - 1, allOnes64}
	return rapid.Custom(func(t *rapid.T) (r [4]uint64) {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			for i := range r {
				r[i] = rapid.SampledFrom(edges).Draw(t, "limb")
			}
		case 1:
			halfN, halfP := new(big.Int).Rsh(bigN, 1), new(big.Int).Rsh(bigP, 1)
			base := rapid.SampledFrom([]*big.Int{new(big.Int), bigP, bigN, two256, halfN, halfP})
			x := new(big.Int).Add(base.Draw(t, "base"), big.NewInt(rapid.Int64Range(-1<<35, 1<<35).Draw(t, "offset")))
			r = fromBig(x.Mod(x, two256))
		default:
			for i := range r {
				r[i] = rapid.Uint64().Draw(t, "limb")
			}
		}
		return r
	})
}

func drawField(t *rapid.T, name string) field { return field(limbs().Draw(t, name)) }

// wantField compares residues.
func wantField(t interface{ Fatalf(string, ...any) }, what string, got *field, want *big.Int) {
	if got.residue().Cmp(new(big.Int).Mod(want, bigP)) != 0 {
		t.Fatalf("%s: %x, want %x", what, got.residue(), new(big.Int).Mod(want, bigP))
	}
}

func TestFieldConstants(t *testing.T) {
	if fieldP.big().Cmp(bigP) != 0 {
		t.Errorf("p = %x", fieldP.big())
	}
	if cube := new(big.Int).Exp(fieldBeta.big(), big.NewInt(3), bigP); cube.Cmp(big.NewInt(1)) != 0 {
		t.Errorf("beta^3 = %x", cube)
	}
}

func TestFieldArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawField(t, "a"), drawField(t, "b")
		x, y := a.big(), b.big()
		z := new(big.Int)
		var r field
		r.add(&a, &b)
		wantField(t, "add", &r, z.Add(x, y))
		r.sub(&a, &b)
		wantField(t, "sub", &r, z.Sub(x, y))
		r.mul(&a, &b)
		wantField(t, "mul", &r, z.Mul(x, y))
		r.sqr(&a)
		wantField(t, "sqr", &r, z.Mul(x, x))
		r.sqrs(&a, 3)
		wantField(t, "sqrs", &r, z.Exp(x, big.NewInt(8), bigP))
		r.neg(&a)
		wantField(t, "neg", &r, z.Neg(x))
		r.double(&a)
		wantField(t, "double", &r, z.Lsh(x, 1))
		r.threeHalves(&a)
		r.double(&r)
		wantField(t, "threeHalves", &r, z.Mul(x, big.NewInt(3)))

		if got, want := a.equal(&b), a.residue().Cmp(b.residue()) == 0; got != want {
			t.Fatalf("equal = %v, want %v", got, want)
		}
		if got, want := a.isZero(), a.residue().Sign() == 0; got != want {
			t.Fatalf("isZero = %v, want %v", got, want)
		}
		n := a
		n.normalise()
		if n.big().Cmp(a.residue()) != 0 {
			t.Fatalf("normalise: %x, want %x", n.big(), a.residue())
		}
		if got, want := n.isOdd(), a.residue().Bit(0) == 1; got != want {
			t.Fatalf("isOdd = %v, want %v", got, want)
		}
	})
}

// TestFieldAliases gives every function its own result as argument.
func TestFieldAliases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawField(t, "a"), drawField(t, "b")
		for name, op := range map[string]func(r, a, b *field){
			"add": (*field).add, "sub": (*field).sub, "mul": (*field).mul,
			"sqr":         func(r, a, _ *field) { r.sqr(a) },
			"neg":         func(r, a, _ *field) { r.neg(a) },
			"threeHalves": func(r, a, _ *field) { r.threeHalves(a) },
			"inverse":     func(r, a, _ *field) { r.inverse(a) },
			"sqrt":        func(r, a, _ *field) { r.sqrt(a) },
		} {
			var want, same field
			op(&want, &a, &b)
			x, y := a, b
			if op(&x, &x, &y); x != want {
				t.Fatalf("%s: the result in a differs", name)
			}
			x, y = a, b
			if op(&y, &x, &y); y != want {
				t.Fatalf("%s: the result in b differs", name)
			}
			op(&same, &a, &a)
			x = a
			if op(&x, &x, &x); x != same {
				t.Fatalf("%s: all in one differs", name)
			}
		}
	})
}

// lastCarries makes factors whose product's second fold overflows 2^256, which chance finds once in 2^190. a*2^240 is
// a>>16 * 2^256 + (a & 0xffff) << 240, and a's upper 240 bits are chosen so that fold times them ends in 240 bits of
// -d, its lower 16 so that the sum is a multiple of 2^256, less d.
func lastCarries() (pairs [][2]field) {
	two240 := new(big.Int).Lsh(big.NewInt(1), 240)
	inverse := new(big.Int).ModInverse(big.NewInt(fold), two240)
	for _, d := range []int64{1, 2, fold, 1 << 40, 1 << 44} {
		high := new(big.Int).Mul(big.NewInt(-d), inverse)
		high.Mod(high, two240)
		q := new(big.Int).Mul(high, big.NewInt(fold))
		q.Add(q, big.NewInt(d)).Rsh(q, 240)
		low := new(big.Int).And(q.Neg(q), big.NewInt(0xffff))
		a, b := field(fromBig(new(big.Int).Or(new(big.Int).Lsh(high, 16), low))), field(fromBig(two240))
		pairs = append(pairs, [2]field{a, b}, [2]field{b, a})
	}
	return append(pairs, lowCarry())
}

// lowCarry makes factors after whose second fold the last carry runs on into the second limb. For that the first fold
// must leave r = 2^64/fold above 2^256, and 2^256 - d below, so that r*fold - d, which remains, is just below 2^64.
// So a*b is (r+1)*2^256 - d modulo p, and between r and r+1 times 2^512/fold: both are close to 2^256. For one b
// after the other the least d is found that puts a there, until it is small enough.
func lowCarry() [2]field {
	f, r, rest := big.NewInt(fold), new(big.Int).Lsh(big.NewInt(1), 64), new(big.Int)
	r.DivMod(r, f, rest)
	r1 := new(big.Int).Add(r, big.NewInt(1))
	for i := int64(1); ; i++ {
		b := new(big.Int).Sub(two256, big.NewInt(i))
		step := new(big.Int).ModInverse(b, bigP)
		s := new(big.Int).Mul(r1, two256)
		s.Mul(s, step).Mod(s, bigP) // a is s - d*step
		below := new(big.Int).Mul(f, b)
		low := new(big.Int).Lsh(r, 512)
		high := new(big.Int).Lsh(r1, 512)
		low.Div(low, below).Add(low, big.NewInt(1))
		high.Div(high, below).Sub(high, big.NewInt(1))
		from, to := new(big.Int).Sub(s, high), new(big.Int).Sub(s, low)
		if from.Mod(from, bigP).Cmp(to.Mod(to, bigP)) > 0 {
			continue
		}
		d := firstWithin(step, bigP, from, to)
		if d.Sign() > 0 && new(big.Int).Add(d, rest).Cmp(f) < 0 {
			a := new(big.Int).Mul(d, step)
			return [2]field{fromBig(a.Sub(s, a).Mod(a, bigP)), fromBig(b)}
		}
	}
}

// firstWithin returns the least x >= 0 for which a*x modulo m is from l to r, with 0 <= l <= r < m and a prime to m.
// Where none of the multiples of a below m is, m*y must fall between -r and -l modulo a, for the number y of times
// that m was taken off.
func firstWithin(a, m, l, r *big.Int) *big.Int {
	up := func(n, d *big.Int) *big.Int { // n/d, rounded up
		q := new(big.Int).Sub(d, big.NewInt(1))
		return q.Add(q, n).Div(q, d)
	}
	if l.Sign() == 0 {
		return new(big.Int)
	}
	if new(big.Int).Lsh(a, 1).Cmp(m) > 0 {
		return firstWithin(new(big.Int).Sub(m, a), m, new(big.Int).Sub(m, r), new(big.Int).Sub(m, l))
	}
	if x := up(l, a); new(big.Int).Mul(x, a).Cmp(r) <= 0 {
		return x
	}
	less := func(n *big.Int) *big.Int { n = new(big.Int).Neg(n); return n.Mod(n, a) }
	y := firstWithin(new(big.Int).Mod(m, a), a, less(r), less(l))
	return up(y.Mul(y, m).Add(y, l), a)
}

// TestLowCarry checks that the case is what it claims to be, in big numbers.
func TestLowCarry(t *testing.T) {
	c := lowCarry()
	n := new(big.Int).Mul(c[0].big(), c[1].big())
	for range 2 {
		high := new(big.Int).Rsh(n, 256)
		n.Mod(n, two256).Add(n, high.Mul(high, big.NewInt(fold)))
	}
	n.Sub(n, two256)
	if n.Sign() < 0 || n.BitLen() > 64 || n.Add(n, big.NewInt(fold)).BitLen() != 65 {
		t.Errorf("%x remains", n)
	}
}

func TestMulLastCarry(t *testing.T) {
	for _, c := range lastCarries() {
		want := new(big.Int).Mul(c[0].big(), c[1].big())

		// That the case is what it claims to be: both folds, in big numbers.
		once := new(big.Int).Mod(want, two256)
		once.Add(once, new(big.Int).Mul(new(big.Int).Rsh(want, 256), big.NewInt(fold)))
		twice := new(big.Int).Mod(once, two256)
		twice.Add(twice, new(big.Int).Mul(new(big.Int).Rsh(once, 256), big.NewInt(fold)))
		if twice.Cmp(two256) < 0 {
			t.Fatalf("%x times %x: no carry", c[0], c[1])
		}
		var r field
		r.mul(&c[0], &c[1])
		wantField(t, "mul", &r, want)
		r.mulGo(&c[0], &c[1])
		wantField(t, "mulGo", &r, want)
	}
}

// TestFold takes any 512 bits, not only products.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, h := limbs().Draw(t, "low"), limbs().Draw(t, "high")
		var r field
		r.fold(l[0], l[1], l[2], l[3], h[0], h[1], h[2], h[3])
		wantField(t, "fold", &r, toBig(l[0], l[1], l[2], l[3], h[0], h[1], h[2], h[3]))
	})
}

func TestFieldRootAndInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawField(t, "a")
		var r field
		want := new(big.Int).ModSqrt(a.residue(), bigP)
		if ok := r.sqrt(&a); ok != (want != nil) {
			t.Fatalf("sqrt(%x) = %v", a.residue(), ok)
		} else if ok {
			r.sqr(&r)
			wantField(t, "sqrt", &r, a.residue())
		}
		b := drawField(t, "b")
		var root field
		pair := [2]field{a, b}
		ok := sqrtPair(&pair, &pair)
		if okA, okB := root.sqrt(&a), r.sqrt(&b); ok != (okA && okB) {
			t.Fatalf("pair of roots: %v, %v and %v alone", ok, okA, okB)
		}
		if pair != [2]field{root, r} {
			t.Fatalf("pair of roots %x, alone %x, %x", pair, root, r)
		}
		r.inverse(&a)
		if r.overflows() {
			t.Fatalf("inverse not normal: %x", r.big())
		}
		if a.isZero() {
			wantField(t, "inverse of 0", &r, new(big.Int))
		} else {
			wantField(t, "inverse", &r, new(big.Int).ModInverse(a.residue(), bigP))
		}
	})
}

func TestInvertAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Map(limbs(), func(l [4]uint64) field { return field(l) }), 0, 9).
			Filter(func(all []field) bool {
				for i := range all {
					if all[i].isZero() {
						return false
					}
				}
				return true
			}).Draw(t, "all")
		got := append([]field(nil), all...)
		invertAll(got, make([]field, len(got)))
		for i := range all {
			wantField(t, "inverse", &got[i], new(big.Int).ModInverse(all[i].residue(), bigP))
		}
	})
}

func TestFieldBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limbs().Draw(t, "a")
		var in, out [32]byte
		toBig(l[:]...).FillBytes(in[:])
		var r field
		if got, want := r.setBytes(&in), toBig(l[:]...).Cmp(bigP) < 0; got != want {
			t.Fatalf("setBytes = %v, want %v", got, want)
		} else if !want {
			return
		}
		if r.bytes(&out); in != out {
			t.Fatalf("%x came back as %x", in, out)
		}
	})
}
