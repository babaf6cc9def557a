package utxo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

func oldGen() *rapid.Generator[OldRecord] {
	return rapid.Custom(func(t *rapid.T) OldRecord {
		var r OldRecord
		copy(r.Txid[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "txid"))
		n := rapid.IntRange(1, 20).Draw(t, "outputs")
		r.Inline = rapid.IntRange(0, min(n, 8)).Draw(t, "inline")
		for range n {
			r.Outs = append(r.Outs, OldOutput{
				Vout:     rapid.OneOf(rapid.Uint32Range(0, 300), rapid.Uint32()).Draw(t, "vout"),
				Value:    uint64(valueGen().Draw(t, "value")),
				Height:   rapid.OneOf(rapid.Uint32Range(0, 900_000), rapid.Uint32()).Draw(t, "height"),
				Coinbase: rapid.Bool().Draw(t, "coinbase"),
				Script:   scriptGen(10_000).Draw(t, "script"),
			})
		}
		return r
	})
}

// TestOldBytes compares v4 and v5 with bytes that were put together from their drawings by hand.
func TestOldBytes(t *testing.T) {
	txid := chain.Hash{0x77}
	id := "77" + strings.Repeat("00", 31)
	outs := []OldOutput{
		{Vout: 1, Value: 5_000_000_000, Height: 500_000, Coinbase: true, Script: []byte{0x51}},
		{Vout: 0x0102, Value: math.MaxUint64, Height: 3, Script: []byte{0x52, 0x53}},
	}
	r := NewOldRecord(&txid, outs)
	v4, err := AppendV4(nil, r)
	want := id + "02000000" + "02" +
		"01000000" + "00f2052a01000000" + "20a10700" + "01" + "0100" + "51" +
		"02010000" + "ffffffffffffffff" + "03000000" + "00" + "0200" + "5253"
	if err != nil || hex.EncodeToString(v4) != want {
		t.Errorf("v4 %x (%v), want %s", v4, err, want)
	}
	// 50 coins compress to 1 + 10 × 4 + 9 = 50; the code 1,000,001 is c1 84 3d.
	v5, err := AppendV5(nil, r)
	want = id + "02000000" + "02" + "12" + "01000201" + "05" + "15" +
		"32" + "c1843d" + "51" + strings.Repeat("ff", 9) + "01" + "ffffffffffffffff" + "06" + "5253"
	if err != nil || hex.EncodeToString(v5) != want {
		t.Errorf("v5 %x (%v), want %s", v5, err, want)
	}
}

// TestCompressAmount: Core's examples (compress_tests.cpp), every power of ten, and the inverse accepts nothing else.
func TestCompressAmount(t *testing.T) {
	for v, want := range map[uint64]uint64{
		0: 0x0, 1: 0x1, 1_000_000: 0x7, 100_000_000: 0x9, 5_000_000_000: 0x32, 2_100_000_000_000_000: 0x1406f40,
	} {
		if have := compressAmount(v); have != want {
			t.Errorf("%d compresses to %x, want %x", v, have, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := uint64(valueGen().Draw(t, "value")) % (v5Money + 1)
		if have, ok := decompressAmount(compressAmount(v)); !ok || uint64(have) != v {
			t.Fatalf("%d comes back as %d (%v)", v, have, ok)
		}
		x := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1<<40)).Draw(t, "compressed")
		if n, ok := decompressAmount(x); ok && (uint64(n) > v5Money || compressAmount(uint64(n)) != x) {
			t.Fatalf("%d stands for %d, which is %d", x, v, compressAmount(v))
		}
	})
}

// TestOld: v4 and v5 give back what they were given, and agree about what a record has.
func TestOld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := oldGen().Draw(t, "record")
		v4, err4 := AppendV4(nil, &r)
		v5, err5 := AppendV5(nil, &r)
		if err4 != nil || err5 != nil {
			t.Fatal(err4, err5)
		}
		var a, b OldRecord
		if err := DecodeV4(v4, &a); err != nil {
			t.Fatal(err)
		}
		if err := DecodeV5(v5, &b); err != nil {
			t.Fatal(err)
		}
		for _, have := range []OldRecord{a, b} {
			if have.Txid != r.Txid || have.Inline != r.Inline || !slices.EqualFunc(have.Outs, r.Outs, sameOld) {
				t.Fatalf("%+v, want %+v", have, r)
			}
		}
		vout := rapid.OneOf(rapid.Just(r.Outs[len(r.Outs)-1].Vout), rapid.Uint32()).Draw(t, "vout")
		var x, y OldOutput
		if found := FindV4(v4, vout, &x); found != FindV5(v5, vout, &y) || found && !sameOld(x, y) {
			t.Fatalf("output %d: %+v and %+v", vout, x, y)
		}
		cut := rapid.IntRange(0, len(v5)-1).Draw(t, "cut")
		if DecodeV5(v5[:cut], &b) == nil || DecodeV4(v4[:min(cut, len(v4)-1)], &a) == nil {
			t.Fatalf("accepted when cut to %d", cut)
		}
	})
}

// TestOldEdits compares Add and Remove with two lists, of inline and other outputs.
func TestOldEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r OldRecord
		var inline, rest []uint32
		for vout := range uint32(rapid.IntRange(1, 40).Draw(t, "steps")) {
			all := slices.Concat(inline, rest)
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "add") > 0 {
				r.Add(OldOutput{Vout: vout})
				if len(inline) < 8 {
					inline = append(inline, vout)
				} else {
					rest = append(rest, vout)
				}
			} else {
				gone := rapid.SampledFrom(all).Draw(t, "remove")
				if o, ok := r.Remove(gone); !ok || o.Vout != gone {
					t.Fatalf("output %d cannot be removed", gone)
				}
				inline, rest = swapOut(inline, gone), swapOut(rest, gone)
			}
			var have []uint32
			for _, o := range r.Outs {
				have = append(have, o.Vout)
			}
			if want := slices.Concat(inline, rest); !slices.Equal(have, want) || r.Inline != len(inline) {
				t.Fatalf("order %v with %d inline, want %v with %d", have, r.Inline, want, len(inline))
			}
			if _, ok := r.Remove(99); ok {
				t.Fatal("an output that is not there was removed")
			}
		}
	})
}

// swapOut removes an element, whose place the last one takes.
func swapOut(list []uint32, x uint32) []uint32 {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}
	list[i] = list[len(list)-1]
	return list[:len(list)-1]
}

// TestOldRefused: spellings and records that are none.
func TestOldRefused(t *testing.T) {
	txid := chain.Hash{}
	good := NewOldRecord(&txid, []OldOutput{{Vout: 1, Value: 5, Height: 7, Script: []byte{1}}})
	v4, _ := AppendV4(nil, good)
	v5, _ := AppendV5(nil, good)
	alter := func(b []byte, at int, to ...byte) []byte { b = slices.Clone(b); copy(b[at:], to); return b }
	for what, b := range map[string][]byte{
		"no outputs":        alter(v4, 32, 0),
		"more than it has":  alter(v4, 32, 2),
		"inline beyond all": alter(v4, 36, 2),
		"coinbase 2":        alter(v4, 37+16, 2),
		"a script beyond":   alter(v4, 37+17, 9),
		"a byte more":       append(slices.Clone(v4), 0),
	} {
		if err := DecodeV4(b, new(OldRecord)); !errors.As(err, new(*RecordError)) {
			t.Errorf("v4, %s: %v", what, err)
		}
	}
	wide := append(slices.Clone(v5[:38]), 1, 0, 3, 0x05, 0x0e, 1)
	wide[37] = 0x12
	tail := func(payload ...byte) []byte {
		b := append(slices.Clone(v5[:38]), 1, byte(len(payload)))
		return append(b, payload...)
	}
	five := byte(compressAmount(5))
	small := append(bytes.Repeat([]byte{0xff}, 9), 1, 5, 0, 0, 0, 0, 0, 0, 0, 0x0e)
	for what, b := range map[string][]byte{
		"width zero":              alter(v5, 37, 0x10),
		"width five":              alter(v5, 37, 0x15),
		"a vout in two bytes":     wide,
		"an amount not minimal":   tail(five|0x80, 0, 0x0e),
		"a height not minimal":    tail(five, 0x8e, 0),
		"no height":               tail(five),
		"an amount that is money": tail(small...),
		"a height of 33 bits":     tail(five, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
		"more than all coins":     tail(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x0e),
		"a byte more":             append(slices.Clone(v5), 0),
		"a payload beyond":        alter(v5, 39, 99),
	} {
		if err := DecodeV5(b, new(OldRecord)); !errors.As(err, new(*RecordError)) {
			t.Errorf("v5, %s: %v", what, err)
		}
	}
	long := NewOldRecord(&txid, []OldOutput{{Script: make([]byte, math.MaxUint16+1)}})
	for what, appendOld := range map[string]func([]byte, *OldRecord) ([]byte, error){"v4": AppendV4, "v5": AppendV5} {
		if _, err := appendOld(nil, long); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s, a script of 64 KiB: %v", what, err)
		}
		if _, err := appendOld(nil, &OldRecord{}); !errors.Is(err, ErrNoOutputs) {
			t.Errorf("%s, no outputs: %v", what, err)
		}
	}
}

// FuzzOld: v4 and v5 accept only what they write.
func FuzzOld(f *testing.F) {
	for i := range 8 {
		r := oldGen().Example(i)
		v4, _ := AppendV4(nil, &r)
		v5, _ := AppendV5(nil, &r)
		f.Add(v4)
		f.Add(v5)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r OldRecord
		if DecodeV4(b, &r) == nil {
			if again, err := AppendV4(nil, &r); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("v4 %x becomes %x (%v)", b, again, err)
			}
		}
		if DecodeV5(b, &r) == nil {
			if again, err := AppendV5(nil, &r); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("v5 %x becomes %x (%v)", b, again, err)
			}
		}
	})
}
