package chain

import (
	"math"
	"math/rand/v2"
)

// Mix names what a chain's transactions are like.
type Mix uint8

const (
	// Plain is all P2WPKH, young coins and short tails: the fastest to make, 452 bytes a transaction.
	Plain Mix = iota
	// Mainnet is today's mix; the package's page has its figures.
	Mainnet
)

// mix is the parameters of a Mix. All shares are of a thousand.
type mix struct {
	inputs, outputs shares // how many a transaction has
	ages            []age  // of what is spent
	kinds           [Data]int
	data            int  // of the outputs that are no change, how many are Data
	dust            int  // of the payments, how many are one of the least amounts
	versions        bool // some transactions of version 1, some final sequences
	rates           shares
	stock           int // coins for each transaction of a block, before coinbases are no longer split

	// Coins that are drawn and then left for another one: those of a small amount, and those that are the last of
	// their transaction's.
	keepSmall, keepLone int
}

var mixes = [...]*mix{Plain: &plainMix, Mainnet: &mainnetMix}

// Both have 2.40 inputs and 2.70 outputs in the mean. Most transactions pay one party and themselves; the tails are
// consolidations and payouts.
var plainMix = mix{
	inputs:  shares{{1, 1, 600}, {2, 2, 200}, {3, 3, 80}, {4, 8, 80}, {9, 25, 40}},
	outputs: shares{{1, 1, 180}, {2, 2, 650}, {3, 3, 70}, {4, 10, 80}, {11, 34, 20}},
	ages:    []age{{0, 0, 100}, {1, 6, 500}, {7, 30, 370}, {anyAge, anyAge, 30}},
	kinds:   [Data]int{WitnessKey: 1000},
	rates:   shares{{1, 8, 1000}},
	stock:   10,
}

var mainnetMix = mix{
	inputs:  shares{{1, 1, 705}, {2, 2, 160}, {3, 3, 40}, {4, 8, 58}, {9, 25, 31}, {26, 100, 6}},
	outputs: shares{{1, 1, 195}, {2, 2, 700}, {3, 3, 40}, {4, 10, 48}, {11, 40, 14}, {41, 150, 3}},
	ages:    []age{{0, 0, 100}, {1, 6, 300}, {7, 144, 400}, {145, 4320, 100}, {anyAge, anyAge, 100}},
	kinds: [Data]int{
		WitnessKey: 435, TaprootKey: 185, TaprootLeaf: 85, KeyHash: 110, NestedKey: 85, WitnessMulti: 30,
		ScriptMulti: 30, NestedMulti: 20, WitnessDelay: 12, BareKey: 5, BareMulti: 3,
	},
	data: 120, dust: 120, versions: true,
	rates: shares{{1, 1, 400}, {2, 8, 450}, {9, 60, 150}}, stock: 50, keepSmall: 750, keepLone: 450,
}

// shares draws small numbers: a value in lo..hi with the weight of its line.
type shares []struct{ lo, hi, share int }

func (s shares) draw(r *rand.Rand) int {
	n := r.IntN(1000)
	for i := range s {
		if n -= s[i].share; n < 0 {
			return s[i].lo + r.IntN(s[i].hi-s[i].lo+1)
		}
	}
	return s[len(s)-1].hi
}

// mean is what draw returns in the mean.
func (s shares) mean() (m float64) {
	for _, x := range s {
		m += float64(x.share) * float64(x.lo+x.hi) / 2000
	}
	return m
}

// age is a span of ages in blocks, within which ages are even on a logarithmic scale.
type age struct{ lo, hi, share int }

// anyAge stands for all that is unspent, evenly.
const anyAge = -1

func drawAge(ages []age, r *rand.Rand) int {
	n := r.IntN(1000)
	for _, a := range ages {
		if n -= a.share; n < 0 {
			if a.lo <= 0 {
				return a.lo
			}
			return int(float64(a.lo) * math.Exp(r.Float64()*math.Log(float64(a.hi+1)/float64(a.lo))))
		}
	}
	return anyAge
}

// someKind draws the kind of an output that can be spent.
func (m *mix) someKind(r *rand.Rand) Kind {
	n := r.IntN(1000)
	for k, share := range m.kinds {
		if n -= share; n < 0 {
			return Kind(k)
		}
	}
	return WitnessKey
}
