//go:build !magnitudes && !purego

package secp256k1

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTwins wants the assembly's results to be those of the Go code, limb for limb.
func TestTwins(t *testing.T) {
	if !useADX {
		t.Skip("this processor has no ADX")
	}
	rapid.Check(t, func(t *rapid.T) {
		a := point{x: drawField(t, "x1"), y: drawField(t, "y1"), z: drawField(t, "z1")}
		b := affine{drawField(t, "x2"), drawField(t, "y2")}
		d := differences{drawField(t, "h"), drawField(t, "s")}
		n := rapid.IntRange(1, 4).Draw(t, "n")

		var f, g field
		mulADX(&f, &a.x, &b.y)
		if g.mulGo(&a.x, &b.y); f != g {
			t.Fatalf("mul: %x, in Go %x", f, g)
		}
		sqrsADX(&f, &a.x, n)
		if g.sqrsGo(&a.x, n); f != g {
			t.Fatalf("sqrs: %x, in Go %x", f, g)
		}
		f2, in := [2]field{}, [2]field{a.x, b.y}
		sqrsPairADX(&f2, &in, n)
		if g.sqrsGo(&in[0], n); f2[0] != g {
			t.Fatalf("sqrsPair: %x, in Go %x", f2[0], g)
		}
		if g.sqrsGo(&in[1], n); f2[1] != g {
			t.Fatalf("sqrsPair: %x, in Go %x", f2[1], g)
		}
		var p, q point
		tangentADX(&p, &a)
		if q.tangentGo(&a); p != q {
			t.Fatalf("tangent: %v, in Go %v", p, q)
		}
		chordADX(&p, &a, &d)
		if q.chordGo(&a, &d); p != q {
			t.Fatalf("chord: %v, in Go %v", p, q)
		}
		p, q = a, a
		chordADX(&p, &p, &d)
		if q.chordGo(&q, &d); p != q {
			t.Fatalf("chord in place: %v, in Go %v", p, q)
		}
		p, q = a, a
		tangentADX(&p, &p)
		if q.tangentGo(&q); p != q {
			t.Fatalf("tangent in place: %v, in Go %v", p, q)
		}
		var i, j differences
		betweenADX(&i, &a, &b, &d.h)
		if j.betweenGo(&a, &b, &d.h); i != j {
			t.Fatalf("between: %x, in Go %x", i, j)
		}
	})
}

// TestTwinLastCarry gives the assembly the products of TestMulLastCarry, and the squares.
func TestTwinLastCarry(t *testing.T) {
	if !useADX {
		t.Skip("this processor has no ADX")
	}
	for _, c := range lastCarries() {
		var f, g field
		mulADX(&f, &c[0], &c[1])
		if g.mulGo(&c[0], &c[1]); f != g {
			t.Errorf("mul: %x, in Go %x", f, g)
		}
	}
}

// without runs f without the assembly.
func without(f func()) func() {
	return func() {
		old := useADX
		useADX = false
		f()
		useADX = old
	}
}

// TestPureGo runs what decides verdicts once more, without the assembly.
func TestPureGo(t *testing.T) {
	without(func() {
		t.Run("BIP340", TestBIP340)
		t.Run("Wycheproof", TestWycheproof)
		t.Run("ECDSA", TestECDSAAgainstOthers)
		t.Run("Schnorr", TestSchnorrAgainstOthers)
		t.Run("Tweak", TestTweakAgainstOthers)
		t.Run("Batch", TestBatch)
		t.Run("Field", TestFieldArithmetic)
		t.Run("Multiply", TestMultiplyLarge)
	})()
}
