package chain

import (
	"math/rand/v2"

	wire "stele/chain"
)

// coin is an unspent output, in 56 bytes.
type coin struct {
	txid  wire.Hash
	vout  uint32
	born  uint32 // height of its block; 0: it was spent
	value int64
	key   uint16 // of the keyring: a key, or a leaf
	kind  Kind
}

// ripe tells whether a coin can be spent at a height.
func (c *coin) ripe(height uint32) bool {
	return c.born != 0 && (c.kind != WitnessDelay || height-c.born >= delay)
}

// pool holds the unspent outputs in the order in which they came, which is by height: a coinbase comes when it matures.
// What is spent leaves a hole. When a third of the places are holes the pool is packed, so a draw needs few attempts.
type pool struct {
	mix   *mix
	coins []coin
	first []uint32 // by height: the place of the first coin that came then
	live  int
}

// begin opens a height.
func (p *pool) begin(height uint32) {
	for uint32(len(p.first)) <= height {
		p.first = append(p.first, uint32(len(p.coins)))
	}
}

func (p *pool) add(c coin) {
	p.coins = append(p.coins, c)
	p.live++
}

const (
	ageAttempts   = 48 // ages drawn before any coin will do
	placeAttempts = 20 // places drawn of one age
)

// take takes out the coin at a place.
func (p *pool) take(at int) coin {
	c := p.coins[at]
	p.coins[at].born = 0
	if p.live--; len(p.coins) > 64 && 3*p.live < 2*len(p.coins) {
		p.pack()
	}
	return c
}

// choose draws an age, and a coin of it. An age of which the chain has no coins left is drawn again; for one that is
// far beyond what the chain has, any of the older half of the coins will do.
func (p *pool) choose(r *rand.Rand, height uint32) (at int, ok bool) {
	far := false
	for range ageAttempts {
		a := drawAge(p.mix.ages, r)
		if far = far || a > int(min(height, oldAge)); far {
			a = anyAge
		}
		from, to := 0, len(p.coins)
		if a != anyAge {
			from, to = p.cameAt(height - uint32(a))
		} else if far {
			to = (to + 1) / 2
		}
		for n := 0; n < placeAttempts && from < to; n++ {
			if at := from + r.IntN(to-from); p.coins[at].ripe(height) && !p.passOver(r, at) {
				return at, true
			}
		}
	}
	for at := len(p.coins) - 1; at >= 0; at-- {
		if p.coins[at].ripe(height) {
			return at, true
		}
	}
	return 0, false
}

// passOver decides whether a coin is left for another one: more often if it is of no value, and if no other of its
// transaction is beside it.
func (p *pool) passOver(r *rand.Rand, at int) bool {
	c := &p.coins[at]
	return c.value < smallAmount && r.IntN(1000) < p.mix.keepSmall ||
		p.mix.keepLone > 0 && !p.besides(at) && r.IntN(1000) < p.mix.keepLone
}

// besides tells whether the coin in front or behind is of the same transaction.
func (p *pool) besides(at int) bool {
	txid := &p.coins[at].txid
	for _, n := range [2]int{at - 1, at + 1} {
		if n >= 0 && n < len(p.coins) && p.coins[n].born != 0 && p.coins[n].txid == *txid {
			return true
		}
	}
	return false
}

// cameAt returns the places of what came at a height.
func (p *pool) cameAt(height uint32) (from, to int) {
	to = len(p.coins)
	if height+1 < uint32(len(p.first)) {
		to = int(p.first[height+1])
	}
	return int(p.first[height]), to
}

func (p *pool) pack() {
	kept := p.coins[:0]
	for height := range p.first {
		from, to := p.cameAt(uint32(height))
		p.first[height] = uint32(len(kept))
		for i := from; i < to; i++ {
			if p.coins[i].born != 0 {
				kept = append(kept, p.coins[i])
			}
		}
	}
	p.coins = kept
}

// count returns how many coins there are, and of how many transactions: coins of one came together.
func (p *pool) count() (coins, records uint64) {
	var last *wire.Hash
	for i := range p.coins {
		c := &p.coins[i]
		if c.born == 0 {
			continue
		}
		coins++
		if last == nil || *last != c.txid {
			records++
		}
		last = &c.txid
	}
	return coins, records
}
