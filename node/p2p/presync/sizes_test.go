package presync

import (
	"math"
	"testing"

	"stele/chain"
)

// gain is how many headers an attacker gets released on average, who shows the true chain in phase 1 and leaves it in
// phase 2 at the best place for him. He does not know at which heights bits are compared, so that is averaged over; the
// place counts by where in a message it lies. Every bit compared since halves what is left.
func gain(s sizes) (best float64) {
	period := int(s.period)
	var left [256]float64 // after so many comparisons
	for i := range left {
		left[i] = math.Pow(0.5, float64(i))
	}
	for honest := range perMessage { // headers of the true chain in the message where he leaves it
		sum := 0.0
		for offset := range period { // from the last comparison before he leaves, in headers
			held, forged := perMessage-honest, 0
			for compared := (held + offset) / period; ; compared = (forged + held + offset) / period {
				if out := held - s.buffer; out > 0 {
					part := float64(out) * left[compared]
					if sum += part; part < sum*1e-9 {
						break
					}
					held, forged = s.buffer, forged+out
				}
				held += perMessage
			}
		}
		best = max(best, sum/float64(period))
	}
	return best
}

// TestSizes: B is the smallest that keeps attackers below the limit that Core set: with 6 Gbit/s of headers, 81 bytes each,
// they add a fifth of a header every 600 seconds to what everybody stores. An attempt costs them as many headers as the
// chain has at the minimum work. What is known of each network's chain is of Core 31.
func TestSizes(t *testing.T) {
	for _, p := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet()} {
		s := sizesOf(p)
		const share = (0.2 / 600) / (6e9 / (81 * 8)) // of the headers that are sent
		limit := share * float64(p.AssumeValidHeight)
		if got := gain(s); got >= limit {
			t.Errorf("%s: %g headers an attempt, limit %g", p.Name, got, limit)
		}
		s.buffer--
		if got := gain(s); got < limit {
			t.Errorf("%s: a buffer of %d would do: %g headers an attempt, limit %g", p.Name, s.buffer, got, limit)
		}
	}
}
