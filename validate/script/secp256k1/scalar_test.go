package secp256k1

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func (a *scalar) big() *big.Int { return toBig(a[:]...) }

// drawScalar takes limbs modulo n.
func drawScalar(t *rapid.T, name string) scalar {
	l := limbs().Draw(t, name)
	x := toBig(l[:]...)
	return scalar(fromBig(x.Mod(x, bigN)))
}

// wantScalar compares numbers, so that a result that is not reduced fails.
func wantScalar(t interface{ Fatalf(string, ...any) }, what string, got *scalar, want *big.Int) {
	if want = new(big.Int).Mod(want, bigN); got.big().Cmp(want) != 0 {
		t.Fatalf("%s: %x, want %x", what, got.big(), want)
	}
}

func TestScalarConstants(t *testing.T) {
	gap := toBig(orderGap[:]...)
	if order.big().Cmp(bigN) != 0 || gap.Add(gap, bigN).Cmp(two256) != 0 {
		t.Error("n or 2^256 - n is wrong")
	}
	if d := orderToP.big(); d.Add(d, bigN).Cmp(bigP) != 0 {
		t.Error("p - n is wrong")
	}
	for _, m := range []*modulus{&modP, &modN} {
		if n := toBig(m.m[:]...); n.Cmp(bigP) != 0 && n.Cmp(bigN) != 0 {
			t.Errorf("%x is neither p nor n", n)
		}
		if m.m[0]*m.inverse != 1 {
			t.Errorf("%x is not the inverse of %x", m.inverse, m.m[0])
		}
	}
	a1, b1, a2 := toBig(basisA1[:]...), toBig(basisB1[:]...), toBig(basisA2[0], basisA2[1], 1)
	l := lambda.big()
	if new(big.Int).Exp(l, big.NewInt(3), bigN).Cmp(big.NewInt(1)) != 0 {
		t.Error("lambda^3 is not 1")
	}
	first := new(big.Int).Sub(a1, new(big.Int).Mul(b1, l))
	second := new(big.Int).Add(a2, new(big.Int).Mul(a1, l))
	if first.Mod(first, bigN).Sign() != 0 || second.Mod(second, bigN).Sign() != 0 {
		t.Error("the basis is not in the lattice")
	}
	if d := new(big.Int).Add(new(big.Int).Mul(a1, a1), new(big.Int).Mul(a2, b1)); d.Cmp(bigN) != 0 {
		t.Errorf("the basis spans %x, not n", d)
	}
	for _, q := range []struct {
		of *big.Int
		q  [3]uint64
	}{{a1, quotientA1}, {b1, quotientB1}} {
		want := new(big.Int).Lsh(q.of, 321)
		want.Div(want.Add(want, bigN), new(big.Int).Lsh(bigN, 1))
		if toBig(q.q[:]...).Cmp(want) != 0 {
			t.Errorf("quotient %x, want %x", q.q, want)
		}
	}
}

func TestScalarArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawScalar(t, "a"), drawScalar(t, "b")
		x, y := a.big(), b.big()
		var r scalar
		r.add(&a, &b)
		wantScalar(t, "add", &r, new(big.Int).Add(x, y))
		r.mul(&a, &b)
		wantScalar(t, "mul", &r, new(big.Int).Mul(x, y))
		if got, want := a.below(&b), x.Cmp(y) < 0; got != want {
			t.Fatalf("below = %v, want %v", got, want)
		}
		r.neg(&a)
		wantScalar(t, "neg", &r, new(big.Int).Neg(x))
		r.inverse(&a)
		if a.isZero() {
			wantScalar(t, "inverse of 0", &r, new(big.Int))
		} else {
			wantScalar(t, "inverse", &r, new(big.Int).ModInverse(x, bigN))
		}
		r = a
		r.mul(&r, &r)
		wantScalar(t, "mul in place", &r, new(big.Int).Mul(x, x))
	})
}

func TestScalarBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limbs().Draw(t, "a")
		x := toBig(l[:]...)
		var b [32]byte
		x.FillBytes(b[:])
		var r scalar
		if got, want := r.setBytes(&b), x.Cmp(bigN) < 0; got != want {
			t.Fatalf("setBytes = %v, want %v", got, want)
		}
		wantScalar(t, "setBytes", &r, x)
	})
}

func (h *half) big() *big.Int {
	r := toBig(h.low, h.high)
	if h.negative {
		r.Neg(r)
	}
	return r
}

// TestSplit draws scalars near those where the rounding of a part changes, too: half multiples of n/a1 and n/b1.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawScalar(t, "a")
		if rapid.Bool().Draw(t, "near a turn") {
			by := toBig(rapid.SampledFrom([][]uint64{basisA1[:], basisB1[:]}).Draw(t, "by")...)
			k := toBig(rapid.Uint64().Draw(t, "low"), rapid.Uint64().Draw(t, "high"))
			k.Mod(k, by).Lsh(k, 1).Add(k, big.NewInt(1)).Mul(k, bigN).Div(k, by.Lsh(by, 1))
			k.Add(k, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "offset")))
			a = scalar(fromBig(k.Mod(k, bigN)))
		}
		h := a.split()
		sum := new(big.Int).Mul(h[1].big(), lambda.big())
		wantScalar(t, "parts", &a, sum.Add(sum, h[0].big()))
		if bits := [2]int{h[0].big().BitLen(), h[1].big().BitLen()}; bits[0] > 128 || bits[1] > 128 {
			t.Fatalf("parts of %d bits", bits)
		}
	})
}
