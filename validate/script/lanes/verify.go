package lanes

import (
	"sync"
	"sync/atomic"

	"stele/validate/script/secp256k1"
)

// Kind is what an Item asks.
type Kind uint8

const (
	ECDSA   Kind = iota // see secp256k1.VerifyECDSA
	Schnorr             // see secp256k1.VerifySchnorr, for a message of 32 bytes
	Tweak               // see secp256k1.CheckTweak
)

// Item is one question. 168 bytes, no pointers. Other kinds are false.
type Item struct {
	Input uint32 // the caller's; not read
	Kind  Kind
	Odd   bool     // Tweak: the parity that is asked for
	Size  uint8    // of an ECDSA key: 65 at most; the others have 32
	Key   [65]byte // or a tweak's output
	Hash  [32]byte // ECDSA: the hash; Schnorr: the message; or the tweak
	Sig   [64]byte // r and s, big-endian, or the internal key in the first half
}

// fewest is from how many items on lanes beat the scalar verifier: eight lanes take what it takes for two.
const fewest = 2

// disabled turns the kernels off.
var disabled atomic.Bool

// Present tells whether this processor has the instructions, and the program the kernels.
func Present() bool { return present }

// Enabled tells whether Verify works in lanes: Present, and not turned off.
func Enabled() bool { return present && !disabled.Load() }

// Enable turns the lanes on, as they are from the start, or off, for all verifiers and at any time.
func Enable(on bool) { disabled.Store(!on) }

// Verifier is the memory of one goroutine's verification, about 160 KB. New makes it. What the kernels touch most is
// in front, in cache lines of its own as long as the whole begins on one.
type Verifier struct {
	keys      keyTable // of the pair of groups in work
	sum       [2]point
	rungs     [keyOdds]rung
	step      rung
	scale     [2]number
	keyPicks  [2][keyWindows]pick // by image
	basePicks [2][baseWindows]pick
	powers    powers
	cube      [chunk]number
	machine
	all groups

	// twins lets tests run the twins where there are no kernels, or in their place.
	twins bool

	// Counts of items since New, for tests and reports: those answered in lanes, and those asked of the scalar verifier,
	// because they were few or not plain (Asked), or met an exception or had no point (Flagged).
	InLanes, Asked, Flagged uint64
}

// groups is what the groups of a round know of their items, number by number, or item by item.
type groups struct {
	x, y, given, r          [most]number // key; its y as given; the x of the sum that is asked for
	sumX, sumY, sumZ        [most]number
	t, u, products          [most]number
	g, k, s, before         [round]scalar // the sum is g*G + k*key; s and before are ECDSA's
	state                   [round]state
	odd, hasY, parity, want [most]uint8 // by lane: of the key; given is set; the sum's y matters, and is odd
	lifted                  [most]uint8
}

// state is how an item is answered.
type state uint8

const (
	ask   state = iota // by the scalar verifier
	plain              // by its lane
)

// New makes a Verifier. The first one makes the table of G, in a few milliseconds.
func New() *Verifier {
	v := &Verifier{}
	v.kernels = present
	base()
	return v
}

var pool = sync.Pool{New: func() any { return New() }}

// Verify is Verifier.Verify with a verifier that it keeps for the next call, from any goroutine.
func Verify(items []Item, bad []int) []int {
	if !Enabled() {
		return scalarOnly(items, bad)
	}
	v := pool.Get().(*Verifier)
	bad = v.Verify(items, bad)
	pool.Put(v)
	return bad
}

func scalarOnly(items []Item, bad []int) []int {
	for i := range items {
		if !items[i].Ask() {
			bad = append(bad, i)
		}
	}
	return bad
}

// Verify appends to bad the indexes of those items, in ascending order, whose answer is no. Every answer is that of
// the scalar verifier. It allocates nothing but what bad grows.
func (v *Verifier) Verify(items []Item, bad []int) []int {
	for at := 0; at < len(items); at += round {
		part := items[at:min(at+round, len(items))]
		if len(part) < fewest || !v.twins && !Enabled() {
			for i := range part {
				v.Asked++
				if !part[i].Ask() {
					bad = append(bad, at+i)
				}
			}
			continue
		}
		bad = v.round(part, at, bad)
	}
	return bad
}

// Ask asks the scalar verifier.
func (q *Item) Ask() bool {
	switch q.Kind {
	case ECDSA:
		return int(q.Size) <= len(q.Key) && secp256k1.VerifyECDSA(q.Key[:q.Size], &q.Sig, &q.Hash)
	case Schnorr:
		return secp256k1.VerifySchnorr((*[32]byte)(q.Key[:]), &q.Sig, q.Hash[:])
	case Tweak:
		return secp256k1.CheckTweak((*[32]byte)(q.Key[:]), (*[32]byte)(q.Sig[:]), &q.Hash, q.Odd)
	}
	return false
}

// round verifies up to 128 items, whose indexes begin at first.
func (v *Verifier) round(items []Item, first int, bad []int) []int {
	a := &v.all
	n := (len(items) + lanes - 1) / lanes
	for g := range n {
		a.odd[g], a.hasY[g], a.parity[g], a.want[g] = 0, 0, 0, 0
	}
	for i := range n * lanes {
		a.state[i] = ask
		if i < len(items) {
			a.state[i] = a.prepare(&items[i], i)
		}
		if a.state[i] == ask {
			a.idle(i)
		}
	}
	a.multipliers(items)
	v.lift(a.y[:n], a.x[:n], a.odd[:n], a.lifted[:n])
	a.compareGiven(n)
	for g := 0; g < n; g += 2 {
		v.multiply(g, min(g+2, n))
	}
	equal, infinite := v.compare(n)
	var even [most]uint8
	v.evenSums(&even, &infinite, n)
	for i := range items {
		g, bit := i/lanes, uint8(1)<<(i%lanes)
		var answer bool
		switch {
		case a.state[i] == ask:
			v.Asked++
			answer = items[i].Ask()
		case a.lifted[g]&^infinite[g]&bit == 0:
			v.Flagged++
			answer = items[i].Ask()
		default:
			v.InLanes++
			answer = equal[g]&even[g]&bit != 0
		}
		if !answer {
			bad = append(bad, first+i)
		}
	}
	return bad
}
