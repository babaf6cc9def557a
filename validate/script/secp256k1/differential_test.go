package secp256k1

import (
	"os"
	"strconv"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// oracle is another implementation.
type oracle struct {
	name    string
	ecdsa   func(key []byte, rs *[64]byte, hash *[32]byte) bool
	schnorr func(key *[32]byte, sig *[64]byte, hash *[32]byte) bool
	tweak   func(output, internal, tweak *[32]byte, odd bool) bool
}

// oracles has btcec, and libsecp256k1 under the tag of that name.
var oracles = []oracle{{"btcec", btcecECDSA, btcecSchnorr, btcecTweak}}

func btcecECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	var r, s btcec.ModNScalar
	pub, err := btcec.ParsePubKey(key)
	if r.SetByteSlice(rs[:32]) || s.SetByteSlice(rs[32:]) || err != nil {
		return false
	}
	return ecdsa.NewSignature(&r, &s).Verify(hash[:], pub)
}

func btcecSchnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	pub, err := schnorr.ParsePubKey(key[:])
	if err != nil {
		return false
	}
	s, err := schnorr.ParseSignature(sig[:])
	return err == nil && s.Verify(hash[:], pub)
}

func btcecTweak(output, internal, tweak *[32]byte, odd bool) bool {
	pub, err := schnorr.ParsePubKey(internal[:])
	var t btcec.ModNScalar
	if err != nil || t.SetBytes(tweak) != 0 {
		return false
	}
	var p, g, sum btcec.JacobianPoint
	pub.AsJacobian(&p)
	btcec.ScalarBaseMultNonConst(&t, &g)
	btcec.AddNonConst(&p, &g, &sum)
	if sum.Z.Normalize().IsZero() {
		return false
	}
	sum.ToAffine()
	return *sum.X.Bytes() == *output && sum.Y.IsOdd() == odd
}

// seeds are those of the cases that the differential tests run, as many as STELE_SECP_CASES says, or a thousand, from
// STELE_SECP_SEED on, or from 0.
func seeds(t *testing.T) (first, count int) {
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			t.Fatalf("%s=%q", name, text)
		}
		return n
	}
	return number("STELE_SECP_SEED", 0), number("STELE_SECP_CASES", 1000)
}

// tally compares verdicts and counts the true and false ones, so that a run of one colour is seen.
type tally struct {
	*testing.T
	verdicts [2]int
}

func (c *tally) check(seed int, question any, what string, want int, got bool, others func(o *oracle) bool) {
	if got {
		c.verdicts[1]++
	} else {
		c.verdicts[0]++
	}
	if want > 0 && !got || want < 0 && got {
		c.Errorf("seed %d, %s: %v: %x", seed, what, got, question)
	}
	for i := range oracles {
		if other := others(&oracles[i]); other != got {
			c.Errorf("seed %d, %s: %v, %s says %v: %x", seed, what, got, oracles[i].name, other, question)
		}
	}
}

func (c *tally) finish(n int) {
	c.Logf("%d cases, %d true", n, c.verdicts[1])
	if n >= 1000 && min(c.verdicts[0], c.verdicts[1]) < n/10 {
		c.Errorf("verdicts %v of %d cases: one-sided", c.verdicts, n)
	}
}

func TestECDSAAgainstOthers(t *testing.T) {
	first, n := seeds(t)
	c := tally{T: t}
	for seed := first; seed < first+n; seed++ {
		q := newMaker(uint64(seed)).ecdsa()
		got := VerifyECDSA(q.key, &q.rs, &q.hash)
		c.check(seed, q, q.what, q.want, got, func(o *oracle) bool { return o.ecdsa(q.key, &q.rs, &q.hash) })
	}
	c.finish(n)
}

func TestSchnorrAgainstOthers(t *testing.T) {
	first, n := seeds(t)
	c := tally{T: t}
	for seed := first; seed < first+n; seed++ {
		q := newMaker(uint64(seed)).schnorr()
		got := VerifySchnorr(&q.Key, &q.Sig, q.Msg[:])
		c.check(seed, q, q.what, q.want, got, func(o *oracle) bool { return o.schnorr(&q.Key, &q.Sig, &q.Msg) })
	}
	c.finish(n)
}

func TestTweakAgainstOthers(t *testing.T) {
	first, n := seeds(t)
	c := tally{T: t}
	for seed := first; seed < first+n; seed++ {
		q := newMaker(uint64(seed)).check()
		got := CheckTweak(&q.output, &q.internal, &q.tweak, q.odd)
		c.check(seed, q, q.what, q.want, got, func(o *oracle) bool {
			return o.tweak(&q.output, &q.internal, &q.tweak, q.odd)
		})
	}
	c.finish(n)
}

// TestAllocations: none, in any of the three.
func TestAllocations(t *testing.T) {
	m := newMaker(0)
	e, s, w := m.ecdsa(), m.schnorr(), m.check()
	for e.want != 1 || s.want != 1 || w.want != 1 {
		e, s, w = m.ecdsa(), m.schnorr(), m.check()
	}
	for name, f := range map[string]func() bool{
		"ecdsa":   func() bool { return VerifyECDSA(e.key, &e.rs, &e.hash) },
		"schnorr": func() bool { return VerifySchnorr(&s.Key, &s.Sig, s.Msg[:]) },
		"tweak":   func() bool { return CheckTweak(&w.output, &w.internal, &w.tweak, w.odd) },
	} {
		if !f() {
			t.Errorf("%s: refused", name)
		}
		if n := testing.AllocsPerRun(20, func() { f() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
