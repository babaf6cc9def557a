package lanes

import (
	"crypto/sha256"
)

// setWords sets a lane to a number of four words.
func (n *number) setWords(l int, w *[4]uint64) {
	v := unpack(w)
	n.setLane(l, &v)
}

// idle gives a lane without a question something that disturbs nobody: G + G's multiple.
func (a *groups) idle(i int) {
	g, l := i/lanes, i%lanes
	a.x[g].setWords(l, (*[4]uint64)(generator[:4]))
	a.r[g].setLane(l, &one)
	a.g[i], a.k[i] = unity, unity
	bit := uint8(1) << l
	a.odd[g], a.hasY[g], a.parity[g], a.want[g] = a.odd[g]&^bit, a.hasY[g]&^bit, a.parity[g]&^bit, a.want[g]&^bit
}

// prepare reads an item into lane i and tells whether it is plain. What is not, the scalar verifier is asked: numbers
// out of range or zero, keys of a form that is rare, and an r that a second x could have.
func (a *groups) prepare(q *Item, i int) state {
	switch q.Kind {
	case ECDSA:
		return a.prepareECDSA(q, i)
	case Schnorr:
		return a.prepareSchnorr(q, i)
	case Tweak:
		return a.prepareTweak(q, i)
	}
	return ask
}

func (a *groups) prepareECDSA(q *Item, i int) state {
	g, l := i/lanes, i%lanes
	r, s := scalar(words(q.Sig[:])), scalar(words(q.Sig[32:]))
	n := (*[4]uint64)(&order)
	if below((*[4]uint64)(&r), (*[4]uint64)(&orderToP)) || !below((*[4]uint64)(&r), n) || s.isZero() ||
		!below((*[4]uint64)(&s), n) {
		return ask
	}
	x := words(q.Key[1:])
	if !below(&x, &fieldP) {
		return ask
	}
	switch {
	case q.Size == 33 && q.Key[0]&^1 == 2:
		a.odd[g] |= q.Key[0] & 1 << l
	case q.Size == 65 && q.Key[0] == 4:
		y := words(q.Key[33:])
		a.given[g].setWords(l, &y)
		a.hasY[g] |= 1 << l
		a.odd[g] |= uint8(y[0]&1) << l
	default:
		return ask
	}
	a.x[g].setWords(l, &x)
	a.r[g].setWords(l, (*[4]uint64)(&r))
	a.s[i], a.k[i], a.g[i] = s, r, reduced(words(q.Hash[:]))
	return plain
}

func (a *groups) prepareSchnorr(q *Item, i int) state {
	g, l := i/lanes, i%lanes
	r, s, x := words(q.Sig[:]), scalar(words(q.Sig[32:])), words(q.Key[:])
	if !below(&r, &fieldP) || !below((*[4]uint64)(&s), (*[4]uint64)(&order)) || !below(&x, &fieldP) {
		return ask
	}
	a.x[g].setWords(l, &x)
	a.r[g].setWords(l, &r)
	a.parity[g] |= 1 << l
	e := challenge(q)
	a.k[i].neg(&e)
	a.g[i] = s
	return plain
}

func (a *groups) prepareTweak(q *Item, i int) state {
	g, l := i/lanes, i%lanes
	r, t, x := words(q.Key[:]), scalar(words(q.Hash[:])), words(q.Sig[:])
	if !below(&r, &fieldP) || !below((*[4]uint64)(&t), (*[4]uint64)(&order)) || !below(&x, &fieldP) {
		return ask
	}
	a.x[g].setWords(l, &x)
	a.r[g].setWords(l, &r)
	a.parity[g] |= 1 << l
	if q.Odd {
		a.want[g] |= 1 << l
	}
	a.g[i], a.k[i] = t, unity
	return plain
}

// challengeTag is what tagged hashes begin with: the tag's hash, twice.
var challengeTag = sha256.Sum256([]byte("BIP0340/challenge"))

// challenge returns the tagged hash of r, key and message (BIP340), modulo n.
func challenge(q *Item) scalar {
	var b [160]byte
	copy(b[:], challengeTag[:])
	copy(b[32:], challengeTag[:])
	copy(b[64:], q.Sig[:32])
	copy(b[96:], q.Key[:32])
	copy(b[128:], q.Hash[:])
	hash := sha256.Sum256(b[:])
	return reduced(words(hash[:]))
}

// multipliers turns z and r of the plain ECDSA items into z/s and r/s, with one inversion.
func (a *groups) multipliers(items []Item) {
	product, any := unity, false
	for i := range items {
		if items[i].Kind == ECDSA && a.state[i] == plain {
			a.before[i] = product
			product.mul(&product, &a.s[i])
			any = true
		}
	}
	if !any {
		return
	}
	product.inverse(&product)
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == ECDSA && a.state[i] == plain {
			var w scalar
			w.mul(&product, &a.before[i])
			product.mul(&product, &a.s[i])
			a.g[i].mul(&a.g[i], &w)
			a.k[i].mul(&a.k[i], &w)
		}
	}
}

// compareGiven takes those lanes for not lifted whose y was given and is not the root.
func (a *groups) compareGiven(n int) {
	for g := range n {
		for l := range lanes {
			if a.hasY[g]>>l&1 == 1 && a.given[g].lane(l) != a.y[g].lane(l) {
				a.lifted[g] &^= 1 << l
			}
		}
	}
}
