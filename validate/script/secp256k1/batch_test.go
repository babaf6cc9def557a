package secp256k1

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestSumSmall sums multiples in the small groups, where buckets cancel, double and hold infinity all the time, for all
// windows.
func TestSumSmall(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var s pippenger
	for _, g := range smallGroups() {
		for _, n := range []int{0, 1, 2, 3, 39, 40, 90, 220, 500, 1000} {
			for range 5 {
				terms := make([]term, n)
				want := 0
				for i := range terms {
					key, k := 1+rnd.IntN(g.order-1), rnd.IntN(g.order)
					terms[i] = term{g.multiples[key].affine(), g.enlarge(rnd, k)}
					want += key * k
				}
				var r point
				s.sum(&r, terms)
				if !r.model().equal(g.multiples[want%g.order]) {
					t.Fatalf("order %d, %d terms: %v, want %d times the generator", g.order, n, r.model(), want%g.order)
				}
			}
		}
	}
}

// TestSumEdges sums few terms of the true group whose numbers have extreme digits, in all windows.
func TestSumEdges(t *testing.T) {
	g := (&generator).model()
	var s pippenger
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 5, 45, 95, 230, 510, 1010}).Draw(t, "terms")
		terms := make([]term, n)
		sum := new(big.Int)
		for i := range min(n, 4) {
			l := limbs().Draw(t, "k")
			of := rapid.Int64Range(1, 3).Draw(t, "of")
			k := half{low: l[0], high: l[1], negative: rapid.Bool().Draw(t, "negative")}
			terms[i] = term{g.multiply(big.NewInt(of)).affine(), k}
			sum.Add(sum, new(big.Int).Mul(k.big(), big.NewInt(of)))
		}
		for i := min(n, 4); i < n; i++ { // the rest adds nothing
			terms[i].point = generator
		}
		var r point
		s.sum(&r, terms)
		if want := g.multiply(sum.Mod(sum, bigN)); !r.model().equal(want) {
			t.Fatalf("%v, want %v", r.model(), want)
		}
	})
}

// validChecks makes n valid ones, some of them over edge numbers, some twice.
func validChecks(m *maker, n int) (checks []SchnorrCheck) {
	for len(checks) < n {
		if c := m.schnorr(); c.want == 1 {
			checks = append(checks, c.SchnorrCheck)
		} else if len(checks) > 0 && m.IntN(10) == 0 {
			checks = append(checks, checks[m.IntN(len(checks))])
		}
	}
	return checks
}

// TestBatch wants valid batches accepted, and refused with any one check that single verification refuses.
func TestBatch(t *testing.T) {
	m := newMaker(1)
	var s Scratch
	sizes := []int{0, 1, 2, batchLeast - 1, batchLeast, batchLeast + 1, 40, 256, batchMost, batchMost + 1,
		2*batchMost + 30}
	for _, n := range sizes {
		checks := validChecks(m, n)
		if !VerifySchnorrBatch(checks, &s) {
			t.Fatalf("%d valid checks refused", n)
		}
		m.Shuffle(n, func(i, j int) { checks[i], checks[j] = checks[j], checks[i] })
		if !VerifySchnorrBatch(checks, &s) {
			t.Fatalf("%d valid checks refused in another order", n)
		}
		for tries := 0; n > 0 && tries < 20; {
			c := m.schnorr()
			if c.want == 1 || VerifySchnorr(&c.Key, &c.Sig, c.Msg[:]) {
				continue
			}
			tries++
			at := m.IntN(n)
			checks[at], c.SchnorrCheck = c.SchnorrCheck, checks[at]
			if VerifySchnorrBatch(checks, &s) {
				t.Fatalf("%d checks accepted, of which one is wrong: %s: %x", n, c.what, checks[at])
			}
			checks[at] = c.SchnorrCheck
		}
	}
}

// TestBatchOpposites makes pairs of wrong signatures whose errors cancel without factors: s+1 and s-1.
func TestBatchOpposites(t *testing.T) {
	m := newMaker(2)
	var s Scratch
	for _, n := range []int{batchLeast, 64} {
		checks := validChecks(m, n)
		for i, by := range []int64{1, -1} {
			sig := checks[i].Sig[32:]
			x := new(big.Int).SetBytes(sig)
			x.Add(x, big.NewInt(by)).Mod(x, bigN).FillBytes(sig)
		}
		if VerifySchnorrBatch(checks, &s) {
			t.Errorf("%d checks accepted", n)
		}
	}
}

// TestFactors: the first is 1, the others differ, and any change of the batch changes them.
func TestFactors(t *testing.T) {
	checks := validChecks(newMaker(3), 3)
	seen := map[scalar]bool{}
	draw := func() {
		f := newFactors(checks)
		if f.next() != (scalar{1}) {
			t.Error("the first is not 1")
		}
		for range 6 {
			a := f.next()
			if seen[a] || a[2]|a[3] != 0 || a[0] == 0 || a[1] == 0 {
				t.Errorf("factor %x", a)
			}
			seen[a] = true
		}
	}
	draw()
	checks[2].Msg[31] ^= 1
	draw()
	checks[0].Sig[0] ^= 1
	draw()
	checks[1].Key[5] ^= 1
	draw()
	checks[0], checks[1] = checks[1], checks[0]
	draw()
}

func TestBatchAllocations(t *testing.T) {
	if checked {
		t.Skip("the checks of pairs allocate")
	}
	var s Scratch
	checks := validChecks(newMaker(4), 100)
	VerifySchnorrBatch(checks, &s)
	if n := testing.AllocsPerRun(5, func() { VerifySchnorrBatch(checks, &s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
