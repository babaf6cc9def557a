package chain

import (
	"math/rand/v2"

	wire "stele/chain"
)

// coin is an unspent output.
type coin struct {
	txid  wire.Hash
	vout  uint32
	born  uint32 // height of its block; 0: it was spent
	value int64
	key   uint16 // of Source.keys
}

// Four inputs of five are drawn by age; with this mean, in blocks' worth of outputs, about one input of ten spends an
// output of its own block.
const (
	youngShare = 0.8
	youngMean  = 6
	attempts   = 64
)

// pool holds the unspent outputs, oldest first. What is spent leaves a hole. When a third of the places are holes the
// pool is packed; so a draw needs few attempts, and order, which is age, stays.
type pool struct {
	coins []coin
	live  int
	mean  float64 // age at which young coins are drawn, in places from the end
}

func (p *pool) add(c coin) {
	p.coins = append(p.coins, c)
	p.live++
}

// draw takes a coin out. There must be one.
func (p *pool) draw(r *rand.Rand) coin {
	at := p.choose(r)
	c := p.coins[at]
	p.coins[at].born = 0
	if p.live--; len(p.coins) > 64 && 3*p.live < 2*len(p.coins) {
		p.pack()
	}
	return c
}

func (p *pool) choose(r *rand.Rand) int {
	n := len(p.coins)
	young := r.Float64() < youngShare
	for range attempts {
		at := 0
		if young {
			age := r.ExpFloat64() * p.mean
			if age >= float64(n) {
				continue
			}
			at = n - 1 - int(age)
		} else {
			at = r.IntN(n)
		}
		if p.coins[at].born != 0 {
			return at
		}
	}
	at := n - 1
	for p.coins[at].born == 0 {
		at--
	}
	return at
}

func (p *pool) pack() {
	kept := p.coins[:0]
	for i := range p.coins {
		if p.coins[i].born != 0 {
			kept = append(kept, p.coins[i])
		}
	}
	p.coins = kept
}
