package chain_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

var two256 = new(big.Int).Lsh(big.NewInt(1), 256)

func toBig(w chain.Work) *big.Int {
	b := w.Bytes32BE()
	return new(big.Int).SetBytes(b[:])
}

// fromBig is x modulo 2^256.
func fromBig(x *big.Int) chain.Work {
	var b [32]byte
	new(big.Int).Mod(x, two256).FillBytes(b[:])
	return chain.WorkFromBE(b[:])
}

// drawWork draws limbs that are often all zeros or ones, where carries and long division have their rare cases.
func drawWork(t *rapid.T, label string) chain.Work {
	limb := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom(
		[]uint64{0, 0, 1, 1 << 63, 1<<63 - 1, ^uint64(0), ^uint64(0) - 1}))
	return chain.Work{limb.Draw(t, label), limb.Draw(t, label), limb.Draw(t, label), limb.Draw(t, label)}
}

func TestWorkArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, x := drawWork(t, "w"), drawWork(t, "x")
		small, shift := rapid.Uint32Min(1).Draw(t, "small"), rapid.UintRange(0, 300).Draw(t, "shift")
		bw, bx, bs := toBig(w), toBig(x), new(big.Int).SetUint64(uint64(small))
		for name, c := range map[string]struct {
			got  chain.Work
			want *big.Int
		}{
			"add":   {w.Add(x), new(big.Int).Add(bw, bx)},
			"sub":   {w.Sub(x), new(big.Int).Sub(bw, bx)},
			"left":  {w.Lsh(shift), new(big.Int).Lsh(bw, shift)},
			"right": {w.Rsh(shift), new(big.Int).Rsh(bw, shift)},
			"mul":   {w.MulUint32(small), new(big.Int).Mul(bw, bs)},
			"div":   {w.DivUint32(small), new(big.Int).Div(bw, bs)},
		} {
			if want := fromBig(c.want); c.got != want {
				t.Fatalf("%s: %v, %v by %d, %d: %v, want %v", name, w, x, small, shift, c.got, want)
			}
		}
		if w.Cmp(x) != bw.Cmp(bx) || w.IsZero() != (bw.Sign() == 0) || w.BitLen() != bw.BitLen() {
			t.Fatalf("%v against %v: Cmp %d, IsZero %v, BitLen %d", w, x, w.Cmp(x), w.IsZero(), w.BitLen())
		}
	})
}

func TestWorkCodecs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWork(t, "w")
		le, be := w.Bytes32LE(), w.Bytes32BE()
		for i := range le {
			if le[i] != be[31-i] || le[i] != byte(w[i/8]>>(i%8*8)) {
				t.Fatalf("%x and %x for limbs %x", le, be, w)
			}
		}
		parsed, err := chain.ParseWork(w.String())
		if chain.WorkFromLE(le[:]) != w || chain.WorkFromBE(be[:]) != w || err != nil || parsed != w {
			t.Fatalf("%v comes back as %v, %v, %v (%v)",
				w, chain.WorkFromLE(le[:]), chain.WorkFromBE(be[:]), parsed, err)
		}
		if len(w.String()) != 64 || strings.TrimLeft(w.String(), "0") != strings.TrimLeft(toBig(w).Text(16), "0") {
			t.Fatalf("prints %v, want %x", w, toBig(w))
		}
	})
	for _, bad := range []string{"", "0x1", "g", strings.Repeat("0", 65)} {
		if _, err := chain.ParseWork(bad); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
	if w, err := chain.ParseWork("123"); err != nil || w != (chain.Work{0x123}) {
		t.Errorf("three digits: %v, %v", w, err)
	}
}

// bigWork is the definition of a block's work.
func bigWork(target *big.Int) *big.Int {
	return new(big.Int).Div(two256, new(big.Int).Add(target, big.NewInt(1)))
}

func TestBlockWorkProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Uint32Range(0, 36), rapid.Uint32Range(0, 255)).Draw(t, "size")
		bits := size<<24 | rapid.OneOf(rapid.Uint32Range(0, 0xff_ffff), rapid.SampledFrom(
			[]uint32{0, 1, 0xff, 0x100, 0xffff, 0x10000, 0x7fffff, 0x800000, 0x800001})).Draw(t, "mantissa")
		target, negative, overflow := chain.CompactToTarget(bits)
		got := chain.BlockWork(bits)
		if negative || overflow || target.IsZero() {
			if !got.IsZero() {
				t.Fatalf("%08x has work %v, want none", bits, got)
			}
			return
		}
		if want := fromBig(bigWork(toBig(target))); got != want {
			t.Fatalf("%08x has work %v, want %v", bits, got, want)
		}
	})
}

func TestArithmeticAllocatesNothing(t *testing.T) {
	hash := chain.Hash{1}
	var sum chain.Work
	allocs := testing.AllocsPerRun(100, func() {
		target, _, _ := chain.CompactToTarget(0x1701e51c)
		if chain.HashMeetsTarget(&hash, target) {
			sum = sum.Add(chain.BlockWork(chain.TargetToCompact(target.MulUint32(1209600).DivUint32(1209600))))
		}
	})
	if allocs != 0 || sum.IsZero() {
		t.Errorf("%v allocations, sum %v", allocs, sum)
	}
}
