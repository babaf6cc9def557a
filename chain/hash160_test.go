package chain_test

import (
	"crypto/sha256"
	"testing"

	//lint:ignore SA1019 HASH160 is what Bitcoin hashes keys with: the oracle of our own
	"golang.org/x/crypto/ripemd160"
	"pgregory.net/rapid"

	"stele/chain"
)

// TestHash160 compares with the general implementation.
func TestHash160(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "message")
		sum := sha256.Sum256(b)
		h := ripemd160.New()
		h.Write(sum[:])
		if got := chain.Hash160(b); string(got[:]) != string(h.Sum(nil)) {
			t.Fatalf("%x", got)
		}
		h.Reset()
		h.Write(b)
		if got := chain.RIPEMD160(b); string(got[:]) != string(h.Sum(nil)) {
			t.Fatalf("%x", got)
		}
	})
}

// BenchmarkHash160 is a key hash, beside the general implementation's.
func BenchmarkHash160(b *testing.B) {
	key := make([]byte, 33)
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			h := chain.Hash160(key)
			key[5] = h[3]
		}
	})
	b.Run("general", func(b *testing.B) {
		h := ripemd160.New()
		var out [20]byte
		for b.Loop() {
			sum := sha256.Sum256(key)
			h.Reset()
			h.Write(sum[:])
			h.Sum(out[:0])
			key[5] = out[3]
		}
	})
}
