package secp256k1

import (
	"crypto/sha256"
	"encoding/binary"
)

// SchnorrCheck is a signature of BIP340 over 32 bytes, and the x-only key.
type SchnorrCheck struct {
	Key [32]byte
	Sig [64]byte
	Msg [32]byte
}

const (
	// batchLeast is from how many checks on a batch beats single ones; see BenchmarkBatch.
	batchLeast = 8

	// batchMost is how many checks are summed at once. It bounds the memory of a Scratch to about 3 MB.
	batchMost = 512
)

// Scratch is the memory of VerifySchnorrBatch, for one goroutine at a time. The zero value is ready; once it has grown,
// nothing is allocated.
type Scratch struct {
	terms []term
	pippenger
}

// VerifySchnorrBatch tells whether all checks are valid, by the batch verification of BIP340: with numbers a that
// nobody can foresee, the sum of a*(s*G - R - e*P) over all checks must be at infinity. A batch with an invalid check
// passes with a probability of 2^-128. The numbers come from a hash of the whole batch, so that the answer depends on
// nothing else. Which check is invalid single verification must tell. No check at all is true.
func VerifySchnorrBatch(checks []SchnorrCheck, scratch *Scratch) bool {
	for len(checks) > batchMost {
		if !verifyBatch(checks[:batchMost], scratch) {
			return false
		}
		checks = checks[batchMost:]
	}
	if len(checks) >= batchLeast {
		return verifyBatch(checks, scratch)
	}
	for i := range checks {
		if c := &checks[i]; !VerifySchnorr(&c.Key, &c.Sig, c.Msg[:]) {
			return false
		}
	}
	return true
}

func verifyBatch(checks []SchnorrCheck, scratch *Scratch) bool {
	factors := newFactors(checks)
	scratch.terms = scratch.terms[:0]
	var g scalar
	for i := range checks {
		c := &checks[i]
		r, key := (*[32]byte)(c.Sig[:32]), &c.Key
		var s, e scalar
		var x [2]field
		var points [2]affine
		if !s.setBytes((*[32]byte)(c.Sig[32:])) || !x[0].setBytes(r) || !x[1].setBytes(key) || !liftPair(&points, &x) {
			return false
		}
		nonce, p := &points[0], &points[1]
		a := factors.next()
		s.mul(&s, &a)
		g.add(&g, &s)
		e.challenge(r, key, c.Msg[:])
		e.mul(&e, &a)
		e.neg(&e)
		parts := e.split()
		image := affine{y: p.y}
		image.x.mul(&p.x, &fieldBeta)
		scratch.terms = append(scratch.terms, term{*nonce, half{low: a[0], high: a[1], negative: true}},
			term{*p, parts[0]}, term{image, parts[1]})
	}
	var sum, of point
	scratch.sum(&sum, scratch.terms)
	of.multiplyBase(&g, base())
	sum.add(&sum, &of)
	return sum.infinity
}

// factors are the numbers a of a batch, of 128 bits: 1, then the halves of the hashes of the seed and a counter. The
// seed is the hash of all checks.
type factors struct {
	block  [40]byte // seed 32, counter 8
	hash   [32]byte
	served uint64
}

func newFactors(checks []SchnorrCheck) (f factors) {
	h := sha256.New()
	for i := range checks {
		c := &checks[i]
		h.Write(c.Key[:])
		h.Write(c.Sig[:])
		h.Write(c.Msg[:])
	}
	h.Sum(f.block[:0])
	return f
}

func (f *factors) next() scalar {
	n := f.served
	f.served++
	if n == 0 {
		return scalar{1}
	}
	if n&1 == 1 {
		binary.BigEndian.PutUint64(f.block[32:], n)
		f.hash = sha256.Sum256(f.block[:])
	}
	b := f.hash[16*(n&1):]
	return scalar{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b)}
}
