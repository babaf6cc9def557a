package script

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// scripted answers by the first byte of a check's hash.
type scripted struct{ asked int }

func (*scripted) Name() string { return "scripted" }
func (s *scripted) ECDSA(_ []byte, _ *[64]byte, hash *[32]byte) bool {
	s.asked++
	return hash[0] == 0
}
func (s *scripted) Schnorr(_ *[32]byte, _ *[64]byte, hash *[32]byte) bool {
	return s.ECDSA(nil, nil, hash)
}
func (s *scripted) Tweak(_, _, tweak *[32]byte, _ bool) bool { return s.ECDSA(nil, nil, tweak) }

// grouped is scripted as a GroupVerifier.
type grouped struct{ scripted }

func (g *grouped) Group(checks []Check, bad []int) []int {
	for i := range checks {
		if checks[i].Hash[0] != 0 {
			bad = append(bad, i)
		}
	}
	return bad
}

// TestBatchVerify: inputs with a false check are reported, each once and in order, one by one and in groups.
func TestBatchVerify(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Batch
		var want []uint32
		for input := range uint32(rapid.IntRange(0, 20).Draw(t, "inputs")) {
			fails := false
			for range rapid.IntRange(0, 4).Draw(t, "checks") {
				c := Check{Input: input * 3, Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Size: 33}
				c.Hash[0] = rapid.SampledFrom([]byte{0, 0, 0, 1}).Draw(t, "fails")
				fails = fails || c.Hash[0] != 0
				d.Checks = append(d.Checks, c)
			}
			if fails {
				want = append(want, input*3)
			}
		}
		for _, v := range []Verifier{new(scripted), new(grouped)} {
			var got []uint32
			d.Verify(v, func(input uint32) { got = append(got, input) })
			if !slices.Equal(got, want) {
				t.Fatalf("%T: %v, want %v", v, got, want)
			}
		}
	})
}

// TestBatchVerifiers: a batch of true and false signatures, longer than what goes through one call, under each verifier
// of this build.
func TestBatchVerifiers(t *testing.T) {
	var d Batch
	var want []uint32
	for i := range uint32(150) {
		x := sign(t, byte(i%5))
		c := Check{Input: i, Kind: KindECDSA, Hash: x.hash, Sig: x.rs}
		c.Size = uint8(copy(c.Key[:], x.key.PubKey().SerializeUncompressed()))
		if i%7 == 3 {
			c.Hash[31] ^= 1
			want = append(want, i)
		}
		d.Checks = append(d.Checks, c)
	}
	for _, v := range verifiers {
		var got []uint32
		d.Verify(v, func(input uint32) { got = append(got, input) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", v.Name(), got, want)
		}
	}
	d.Checks = d.Checks[:3]
	for _, v := range verifiers {
		n := testing.AllocsPerRun(5, func() { d.Verify(v, func(uint32) { t.Error("a true signature fails") }) })
		if _, foreign := v.(Btcec); n != 0 && !foreign {
			t.Errorf("%s: %v allocations", v.Name(), n)
		}
	}
}
