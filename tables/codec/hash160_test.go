package codec

import (
	"crypto/sha256"
	"testing"

	//lint:ignore SA1019 HASH160 is what Bitcoin hashes keys with: the oracle of our own
	"golang.org/x/crypto/ripemd160"
	"pgregory.net/rapid"
)

// TestHash160 compares with the general implementation.
func TestHash160(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "message")
		sum := sha256.Sum256(b)
		h := ripemd160.New()
		h.Write(sum[:])
		if got := hash160(b); string(got[:]) != string(h.Sum(nil)) {
			t.Fatalf("%x", got)
		}
	})
}

// BenchmarkHash160 is the price of a nested program that is not stored, beside the general implementation's.
func BenchmarkSHA(b *testing.B) {
	key := make([]byte, 33)
	for b.Loop() {
		h := sha256.Sum256(key)
		key[5] = h[3]
	}
}

func BenchmarkHash160(b *testing.B) {
	key := make([]byte, 33)
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			h := hash160(key)
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
