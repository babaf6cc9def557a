package chain

import (
	"math"
)

// Amounts in satoshis.
const (
	worthSplitting = 1_000_000 // a coinbase that is worth a fan-out
	ownFee         = 20_000    // what a transaction's first input should have at least,
	ownOutput      = 2_000     // and for each of its outputs
	smallAmount    = 1_000     // less is mostly left lying
)

// dusts are amounts that stand for something else than money: dust limits, and what inscriptions and tokens carry.
var dusts = [...]int64{330, 546, 294, 546, 330, 600, 1_000, 10_000}

// split sets the amounts of the outputs of which g.paid has the kinds; output change takes what is left. The sum is the
// total, exactly.
func (g *Source) split(total int64, change int) {
	left := int64(len(g.paid))
	for i := range g.paid {
		p := &g.paid[i]
		p.value = 0
		if i != change && p.kind != Data {
			p.value = g.payment(total, left)
		}
		total -= p.value
		left--
	}
	g.paid[change].value += total
}

// payment draws one of some payments that are to be made out of a total: less than half of it, its part times a factor
// whose logarithm is normal, so that amounts spread over several orders of magnitude. Every other one is rounded, as
// what people agree on is and change is not.
func (g *Source) payment(total, left int64) int64 {
	if g.rng.IntN(1000) < g.mix.dust {
		if v := dusts[g.rng.IntN(len(dusts))]; v < total/4 {
			return v
		}
	}
	v := int64(float64(total/max(2, left)) * math.Exp(g.rng.NormFloat64()-0.5))
	v = min(v, total/2)
	if g.rng.IntN(2) == 0 {
		v = rounded(v, 10<<g.rng.IntN(7))
	}
	return v
}

// rounded keeps the digits of a value that make up less than a bound.
func rounded(v, bound int64) int64 {
	unit := int64(1)
	for v/unit >= bound {
		unit *= 10
	}
	return v - v%unit
}

// splitEvenly is for fan-outs.
func (g *Source) splitEvenly(total int64) {
	n := int64(len(g.paid))
	for i := range g.paid {
		g.paid[i].value = total / n
	}
	g.paid[0].value += total % n
}
