package chain

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestDivision compares long division with math/big, on limbs that make the guessed digit wrong as often as can be.
func TestDivision(t *testing.T) {
	limb := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom(
		[]uint64{0, 0, 1, 2, 1 << 63, 1<<63 - 1, ^uint64(0), ^uint64(0) - 1}))
	draw := func(t *rapid.T, label string) (w Work) {
		for i := range rapid.IntRange(1, 4).Draw(t, label+" limbs") {
			w[i] = limb.Draw(t, label)
		}
		return w
	}
	check := func(t interface{ Fatalf(string, ...any) }, w, d Work) {
		wide, narrow := w.Bytes32BE(), d.Bytes32BE()
		want := new(big.Int).Div(new(big.Int).SetBytes(wide[:]), new(big.Int).SetBytes(narrow[:]))
		got := w.div(d).Bytes32BE()
		if new(big.Int).SetBytes(got[:]).Cmp(want) != 0 {
			t.Fatalf("%v / %v is %x, want %x", w, d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		w, d := draw(t, "dividend"), draw(t, "divisor")
		if d.IsZero() {
			d = Work{1}
		}
		check(t, w, d)
	})
	// Every pair of numbers made of these limbs: divisors whose first digit is guessed too large by one and by two,
	// and those whose guess must be added back, are among them.
	limbs := []uint64{0, 1, 1 << 63, 1<<63 - 1, ^uint64(0), ^uint64(0) - 1}
	n := len(limbs)
	for i := range n * n * n * n {
		w := Work{limbs[i%n], limbs[i/n%n], limbs[i/n/n%n], limbs[i/n/n/n]}
		for j := 1; j < n*n*n*n; j += 7 { // 7 is coprime to 6^4: over the dividends every divisor has its turn
			k := (i + j) % (n * n * n * n)
			d := Work{limbs[k%n], limbs[k/n%n], limbs[k/n/n%n], limbs[k/n/n/n]}
			if !d.IsZero() {
				check(t, w, d)
			}
		}
	}
}
