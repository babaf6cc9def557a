package script

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// chance answers at random, but always the same question the same way.
type chance struct {
	seed    uint64
	percent uint64 // of yes
}

func (chance) Name() string { return "chance" }

func (c chance) answer(kind Kind, parts ...[]byte) bool {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64([]byte{byte(kind)}, c.seed))
	for _, p := range parts {
		h.Write(p)
	}
	return (h.Sum64()>>20)%100 < c.percent
}

func (c chance) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	return c.answer(KindECDSA, key, rs[:], hash[:])
}

func (c chance) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	return c.answer(KindSchnorr, key[:], sig[:], hash[:])
}

func (c chance) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	return c.answer(KindTweak, output[:], internal[:], tweak[:], []byte{byte(toNumber(odd))})
}

// drawScript makes a script out of pieces that tend to run: pushes, checks and what may follow them.
func drawScript(r *rand.Rand, tap bool) []byte {
	var s script
	key := func() []byte {
		switch {
		case r.IntN(12) == 0:
			return bytesOf(2, r.IntN(40))
		case tap:
			return bytesOf(byte(1+r.IntN(4)), 32)
		}
		return keyOf(byte(r.IntN(4)))
	}
	sig := func() []byte {
		switch n := r.IntN(12); {
		case n == 0:
			return nil
		case n == 1:
			return bytesOf(0x30, r.IntN(70))
		case tap:
			return bytesOf(byte(1+r.IntN(4)), 64)
		}
		return sigOf(byte(1 + r.IntN(4)))
	}
	for range 1 + r.IntN(5) {
		switch r.IntN(8) {
		case 0, 1:
			s = build(s, sig(), key(), byte(opCheckSig))
		case 2:
			s = build(s, sig(), key(), byte(opCheckSigVerify))
		case 3:
			s = build(s, sig(), r.IntN(3), key(), byte(opCheckSigAdd))
		case 4:
			n := r.IntN(4)
			m := r.IntN(n + 1)
			s = build(s, 0)
			for range m {
				s = build(s, sig())
			}
			s = build(s, m)
			for range n {
				s = build(s, key())
			}
			s = build(s, n, byte(opCheckMultisig))
		case 5:
			s = build(s, 1, byte(opIf), sig(), key(), byte(opCheckSig), byte(opElse), 1, byte(opEndIf))
		default:
			ops := []byte{op1, opNot, opIfDup, opVerify, opBoolAnd, opBoolOr, opCodeSeparator, opDrop, opDepth, opDup, opAdd}
			s = build(s, ops[r.IntN(len(ops))])
		}
	}
	for range r.IntN(6) {
		s = build(s, byte(opBoolOr))
	}
	return s
}

// drawInput puts a script into one of the places where scripts run.
func drawInput(r *rand.Rand) *spending {
	s := &spending{version: 2, sequence: 1}
	place := r.IntN(5)
	code := drawScript(r, place == 4)
	switch place {
	case 0:
		s.output = code
	case 1:
		s.output, s.input = payToHash(code), build(code)
	case 2:
		s.output, s.witness = payToWitness(code), [][]byte{code}
	case 3:
		s.output, s.witness = build(1, bytesOf(5, 32)), [][]byte{bytesOf(6, 64)}
	case 4:
		s.output = build(1, bytesOf(5, 32))
		s.witness = [][]byte{code, control(leafTapscript, r.IntN(3)), append([]byte{annexTag}, make([]byte, 200)...)}
	}
	return s
}

// TestDefer: whatever a verifier says, the deferred mode never contradicts the immediate one. Where it is certain that
// an input fails, the reason is the same; where it passes, and all checks hold, the input passes; and after a failure
// the batch is as it was.
func TestDefer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var d Batch
	passed, doubted, failed, assumed := 0, 0, 0, 0
	for i := range 15_000 {
		v := chance{r.Uint64(), []uint64{0, 50, 90, 100}[r.IntN(4)]}
		e := NewEngine(v)
		flags := Consensus
		if r.IntN(3) == 0 {
			flags = Consensus&^Flags(r.Uint32()) | Flags(r.Uint32())&Policy | P2SH
		}
		s := drawInput(r)
		s.ready(t)
		want := e.Verify(&s.tx, 0, flags)

		d.Reset()
		d.Input = 7
		d.Checks = append(d.Checks, Check{Input: 1, Kind: KindTweak})
		got, certain := e.Defer(&s.tx, 0, flags, &d)
		all := true
		for k := range d.Checks[1:] {
			c := &d.Checks[1+k]
			all = c.Run(v) && all
			if c.Input != 7 {
				t.Fatalf("%d: check %d is of input %d", i, k, c.Input)
			}
		}
		switch {
		case got == OK && !certain:
			t.Fatalf("%d: OK is always certain", i)
		case got != OK && len(d.Checks) != 1:
			t.Fatalf("%d: %d checks are left of a failure", i, len(d.Checks)-1)
		case got != OK && certain:
			failed++
			if got != want {
				t.Fatalf("%d: certainly %s, but %s", i, got.Name(), want.Name())
			}
		case got != OK:
			doubted++
		default:
			passed++
			assumed += len(d.Checks) - 1
			if all && want != OK {
				t.Fatalf("%d: all %d checks hold, but %s", i, len(d.Checks)-1, want.Name())
			}
		}
		if d.Checks[0].Input != 1 || d.Checks[0].Kind != KindTweak {
			t.Fatalf("%d: an older check was changed", i)
		}
	}
	if passed < 2000 || doubted < 1000 || failed < 1000 || assumed < 2000 {
		t.Errorf("%d passed with %d checks, %d doubted, %d failed: too few to mean much", passed, assumed, doubted, failed)
	}
}

// TestDeferredKinds: what is put off and what is asked at once.
func TestDeferredKinds(t *testing.T) {
	both := build(2, keyOf(1), keyOf(2), 2, byte(opCheckMultisig))
	one := build(1, keyOf(1), keyOf(2), 2, byte(opCheckMultisig))
	for _, c := range []struct {
		name   string
		output []byte
		input  []byte
		wit    [][]byte
		want   []Kind
	}{
		{"CHECKSIG", build(someKey, byte(opCheckSig)), build(someSig), nil, []Kind{KindECDSA}},
		{"2 of 2", both, build(0, sigOf(1), sigOf(2)), nil, []Kind{KindECDSA, KindECDSA}},
		{"1 of 2", one, build(0, sigOf(1)), nil, nil},
		{"key path", build(1, bytesOf(2, 32)), nil, [][]byte{schnorr64}, []Kind{KindSchnorr}},
		{"script path", build(1, bytesOf(2, 32)), nil, [][]byte{build(1), control(leafTapscript, 1)}, []Kind{KindTweak}},
		{"key that is none", build([]byte{5, 6}, byte(opCheckSig), byte(opNot)), build(someSig), nil, nil},
		{"signature that is none", build(someKey, byte(opCheckSig), byte(opNot)), build(0), nil, nil},
	} {
		s := (&spending{version: 2, output: c.output, input: c.input, witness: c.wit}).ready(t)
		d := Batch{Input: 3}
		err, certain := NewEngine(yes{}).Defer(&s.tx, 0, Consensus, &d)
		if err != OK || !certain || len(d.Checks) != len(c.want) {
			t.Errorf("%s: %s, %v, %d checks", c.name, err.Name(), certain, len(d.Checks))
			continue
		}
		for i, kind := range c.want {
			if d.Checks[i].Kind != kind {
				t.Errorf("%s: check %d is of kind %d", c.name, i, d.Checks[i].Kind)
			}
		}
	}
}

// TestUsualSpendsAllocateNothing: in both modes, once buffers have grown.
func TestUsualSpendsAllocateNothing(t *testing.T) {
	for _, s := range usualSpends(t) {
		e, d := NewEngine(yes{}), new(Batch)
		coins := s.tx.coins
		allocs := testing.AllocsPerRun(100, func() {
			s.tx.Reset(s.tx.block, 0, coins)
			if err := e.Verify(&s.tx, 0, Consensus); err != OK {
				t.Fatalf("%s: %s", s.name, err.Name())
			}
			d.Reset()
			if err, certain := e.Defer(&s.tx, 0, Consensus, d); err != OK || !certain {
				t.Fatalf("%s, deferred: %s", s.name, err.Name())
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", s.name, allocs)
		}
	}
}

// TestEnginesAreReused: an input is judged alike by a new engine and by one that has judged others, of any kind.
func TestEnginesAreReused(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	v := chance{5, 70}
	old := NewEngine(v)
	ok := 0
	for i := range 5000 {
		s := drawInput(r).ready(t)
		want := NewEngine(v).Verify(&s.tx, 0, Consensus)
		if got := old.Verify(&s.tx, 0, Consensus); got != want {
			t.Fatalf("%d: %s after others, %s alone", i, got.Name(), want.Name())
		}
		if want == OK {
			ok++
		}
	}
	if ok < 500 {
		t.Errorf("only %d inputs pass", ok)
	}
}
