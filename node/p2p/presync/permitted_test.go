package presync

import (
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/validate"
)

// TestPermittedMainnet: all changes of the first 100,000 headers are permitted; no other heights than the first of a
// period may change, and there no target below a quarter or above four times.
func TestPermittedMainnet(t *testing.T) {
	hs := mainnet(t)
	p := chain.Main()
	bits := uint32(p.PowLimitBits)
	for i := range hs {
		height := uint32(i + 1)
		if !Permitted(p, height, bits, hs[i].Bits) {
			t.Fatalf("%d: from %08x to %08x", height, bits, hs[i].Bits)
		}
		if hs[i].Bits != bits && Permitted(p, height+1, bits, hs[i].Bits) {
			t.Fatalf("%d: a change inside the period passes", height+1)
		}
		bits = hs[i].Bits
	}
	for _, c := range []struct {
		bits uint32
		ok   bool
	}{ // from 1c100000; times 4 is 1c400000, by 4 is 1c040000
		{0x1c400000, true}, {0x1c400001, false}, {0x1c040000, true}, {0x1c03ffff, false}, {0x1c100000, true},
		{0x1d00ffff, false}, {0x1b7fffff, false},
	} {
		if got := Permitted(p, 2016, 0x1c100000, c.bits); got != c.ok {
			t.Errorf("%08x: %v", c.bits, got)
		}
	}
}

// TestPermittedLimit: no target above the network's, though it is less than four times the old one.
func TestPermittedLimit(t *testing.T) {
	p := chain.Main()
	for bits, ok := range map[uint32]bool{0x1d00ffff: true, 0x1d010000: false, 0x1d01fffe: false, 0x1c40ffff: true} {
		if got := Permitted(p, 2016, 0x1d00ffff, bits); got != ok {
			t.Errorf("%08x: %v", bits, got)
		}
	}
}

type span struct {
	first uint32
	bits  uint32
}

func (s span) At(uint32) (time, bits uint32) { return s.first, s.bits }

// TestPermittedRetarget: whatever the times of a period, the bits that the rule gives are permitted.
func TestPermittedRetarget(t *testing.T) {
	p := chain.Main()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint32Range(4, 0x1c).Draw(t, "size")
		bits := size<<24 | rapid.Uint32Range(0x8000, 0x7fffff).Draw(t, "mantissa")
		parent := validate.Parent{Height: 2015, Time: rapid.Uint32().Draw(t, "last"), Bits: bits}
		next := validate.NextBits(p, parent, span{rapid.Uint32().Draw(t, "first"), bits}, 0)
		if !Permitted(p, 2016, bits, next) {
			t.Fatalf("%08x after %08x", next, bits)
		}
	})
}

// TestPermittedMinDifficulty: testnets and regtest may change at any height (Core: the same).
func TestPermittedMinDifficulty(t *testing.T) {
	for _, p := range []*chain.Params{chain.Testnet3(), chain.Testnet4(), chain.Regtest()} {
		if !Permitted(p, 5, 0x1a111111, p.PowLimitBits) {
			t.Errorf("%s", p.Name)
		}
	}
	if Permitted(chain.Signet(), 5, 0x1d111111, chain.Signet().PowLimitBits) {
		t.Error("signet")
	}
}
