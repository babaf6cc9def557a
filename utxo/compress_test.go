package utxo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"pgregory.net/rapid"

	"stele/chain"
)

// Core's src/test/serialize_tests.cpp, varints_bitpatterns.
func TestVarintVectors(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "00", 0x7f: "7f", 0x80: "8000", 0x1234: "a334", 0xffff: "82fe7f", 0x123456: "c7e756",
		0x80123456: "86ffc7e756", 0xffffffff: "8efefefe7f", 0x7fffffffffffffff: "fefefefefefefefe7f",
		0xffffffffffffffff: "80fefefefefefefefe7f", 16511: "ff7f", 16512: "808000", 255: "807f", 256: "8100",
	} {
		b := appendVarint(nil, n)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if back, size, ok := varint(append(b, 0xff)); back != n || size != len(b) || !ok {
			t.Errorf("%s: %d in %d bytes, %v", want, back, size, ok)
		}
	}
	for _, bad := range []string{"", "80", "80fefefefefefefefeff00", "80fefefefefefefeff00"[:18], "ffffffffffffffffff7f",
		"80fefefefefefefeff7f00"[:4] + "fefefefefefefefe8000"} {
		b, err := hex.DecodeString(bad)
		if err != nil {
			t.Fatal(err)
		}
		if n, _, ok := varint(b); ok {
			t.Errorf("%s reads as %d", bad, n)
		}
	}
}

// Whatever the bytes, what reads is what is written: no number has two forms.
func TestVarintIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(0x80, 0xff), rapid.Byte()), 0, 12).Draw(t, "bytes")
		n, size, ok := varint(b)
		if ok && !bytes.Equal(appendVarint(nil, n), b[:size]) {
			t.Fatalf("%x reads as %d, which is %x", b[:size], n, appendVarint(nil, n))
		}
		n = rapid.Uint64().Draw(t, "number")
		if back, _, ok := varint(appendVarint(nil, n)); back != n || !ok {
			t.Fatalf("%d reads back as %d, %v", n, back, ok)
		}
	})
}

// Core's src/test/compress_tests.cpp.
func TestAmountVectors(t *testing.T) {
	for n, want := range map[uint64]uint64{
		0: 0, 1: 1, 1_000_000: 7, 100_000_000: 9, 50 * 100_000_000: 50, 21_000_000 * 100_000_000: 21_000_000,
	} {
		if got := compressAmount(n); got != want {
			t.Errorf("%d compresses to %d, want %d", n, got, want)
		}
	}
	for _, x := range []uint64{1<<64 - 1, compressAmount(uint64(chain.MaxMoney) + 1), compressAmount(1 << 62)} {
		if n, ok := decompressAmount(x); ok {
			t.Errorf("%d stands for %d", x, n)
		}
	}
}

func amounts() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		n := rapid.Int64Range(0, chain.MaxMoney).Draw(t, "amount")
		for range rapid.IntRange(0, 15).Draw(t, "zeros") {
			n = n / 10
		}
		for range rapid.IntRange(0, 15).Draw(t, "tens") {
			if n*10 <= chain.MaxMoney {
				n *= 10
			}
		}
		return n
	})
}

func TestAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := amounts().Draw(t, "amount")
		if back, ok := decompressAmount(compressAmount(uint64(n))); back != n || !ok {
			t.Fatalf("%d comes back as %d, %v", n, back, ok)
		}
		x := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1<<40)).Draw(t, "compressed")
		if n, ok := decompressAmount(x); ok && compressAmount(uint64(n)) != x {
			t.Fatalf("%d and %d both stand for %d", x, compressAmount(uint64(n)), n)
		}
	})
}

// keyOf makes a key of a seed, uncompressed.
func keyOf(seed uint64) []byte {
	var secret [32]byte
	binary.BigEndian.PutUint64(secret[24:], seed|1)
	key, _ := btcec.PrivKeyFromBytes(secret[:])
	return key.PubKey().SerializeUncompressed()
}

// scripts draws scripts of every kind, and ones that are not quite of a kind.
func scripts() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		key := keyOf(rapid.Uint64Range(0, 20).Draw(t, "key"))
		hash := chain.Hash160(key)
		var s []byte
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			s = slices.Concat([]byte{0x76, 0xa9, 20}, hash[:], []byte{0x88, 0xac})
		case 1:
			s = slices.Concat([]byte{0xa9, 20}, hash[:], []byte{0x87})
		case 2:
			s = slices.Concat([]byte{33, 2 | key[64]&1}, key[1:33], []byte{0xac})
		case 3:
			s = slices.Concat([]byte{65}, key, []byte{0xac})
		case 4:
			s = slices.Concat([]byte{0, 20}, hash[:])
		case 5:
			s = slices.Concat([]byte{0x51, 32}, key[1:33])
		case 6:
			s = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "script")
		}
		if len(s) > 0 && rapid.IntRange(0, 3).Draw(t, "bent") == 0 {
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		return s
	})
}

func readScript(b []byte, points bool) ([]byte, bool) {
	kind, size, ok := varint(b)
	n, fits := scriptBytes(kind)
	if !ok || !fits || len(b) != size+n {
		return nil, false
	}
	return decompressScript(nil, kind, b[size:], points)
}

// A script comes back, is shortest in its kind, and any other spelling of it is refused.
func TestScripts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scripts().Draw(t, "script")
		for _, points := range []bool{false, true} {
			b := appendScript(nil, s, points)
			if back, ok := readScript(b, points); !ok || !bytes.Equal(back, s) {
				t.Fatalf("%x is spelt %x and reads as %x, %v", s, b, back, ok)
			}
			plain := append(appendVarint(nil, uint64(len(s))+kindCount), s...)
			if _, ok := readScript(plain, points); ok != bytes.Equal(plain, b) {
				t.Fatalf("%x: the plain spelling is taken: %v, it is %x", s, ok, b)
			}
		}
	})
	// Any bytes: what reads is spelt so.
	rapid.Check(t, func(t *rapid.T) {
		b := append([]byte{rapid.ByteRange(0, 45).Draw(t, "kind")}, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "rest")...)
		if s, ok := readScript(b, true); ok && !bytes.Equal(appendScript(nil, s, true), b) {
			t.Fatalf("%x reads as %x, which is %x", b, s, appendScript(nil, s, true))
		}
	})
}

// TestCurve compares with btcec over keys, near misses, and the limits of the field.
func TestCurve(t *testing.T) {
	limits := []*big.Int{big.NewInt(0), big.NewInt(1), fieldPrime, new(big.Int).Sub(fieldPrime, big.NewInt(1)),
		new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))}
	rapid.Check(t, func(t *rapid.T) {
		key := keyOf(rapid.Uint64().Draw(t, "key"))
		if rapid.Bool().Draw(t, "bent") {
			key[rapid.IntRange(1, 64).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if rapid.IntRange(0, 3).Draw(t, "limit") == 0 {
			rapid.SampledFrom(limits).Draw(t, "x").FillBytes(key[1:33])
		}
		_, err := btcec.ParsePubKey(key)
		if got := onCurve((*[64]byte)(key[1:])); got != (err == nil) {
			t.Fatalf("%x is a point: %v, btcec says %v", key, got, err)
		}
		odd := rapid.Bool().Draw(t, "odd")
		first := byte(2)
		if odd {
			first = 3
		}
		point, err := btcec.ParsePubKey(append([]byte{first}, key[1:33]...))
		y, ok := lift((*[32]byte)(key[1:33]), odd)
		if ok != (err == nil) || ok && !bytes.Equal(y[:], point.SerializeUncompressed()[33:]) {
			t.Fatalf("x %x lifts to %x, %v; btcec says %v", key[1:33], y, ok, err)
		}
	})
}
