package hashmap

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestPlaceEveryOffset compares window and tag with a naive reading of the key's bits, for every window offset, and
// flips each key bit: it may move the window or the tag, never both, and nothing beyond the uniform part may move any.
func TestPlaceEveryOffset(t *testing.T) {
	for _, uniform := range []int{minUniform, 85, 100, 160, 255, 256} {
		for offset := 0; offset+windowBits <= uniform; offset++ {
			p, err := newPlace(&Spec{Name: "t", UniformBits: uniform, Window: uint8(offset)})
			if err != nil {
				t.Fatal(err)
			}
			tagAt := offset + windowBits
			if tagAt+tagBits > uniform {
				tagAt = 0
			}
			key := mapKeyOf(uint64(offset))
			window, tag := p.of(&key)
			where := fmt.Sprintf("%d uniform bits, window at %d", uniform, offset)
			if window != getBits(&key, offset, windowBits) || uint64(tag) != getBits(&key, tagAt, tagBits) {
				t.Fatalf("%s: window %#x, tag %#x", where, window, tag)
			}
			for bit := range 256 {
				key[bit/8] ^= 1 << (bit % 8)
				w, g := p.of(&key)
				key[bit/8] ^= 1 << (bit % 8)
				inWindow := bit >= offset && bit < offset+windowBits
				inTag := bit >= tagAt && bit < tagAt+tagBits
				if (w != window) != inWindow || (g != tag) != inTag || inTag && (inWindow || bit >= uniform) {
					t.Fatalf("%s: key bit %d is in window: %v, in tag: %v", where, bit, w != window, g != tag)
				}
			}
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	for _, s := range []Spec{
		{UniformBits: minUniform - 1}, {UniformBits: 257}, {UniformBits: 160, Window: 97}, {UniformBits: 256, Window: 193},
	} {
		if _, err := newPlace(&s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestBucketOf compares with exact arithmetic and checks that the order of windows is the order of buckets.
func TestBucketOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buckets := rapid.Uint64Range(1, maxBuckets).Draw(t, "buckets")
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(buckets))
		if have := bucketOf(a, buckets); have != want.Rsh(want, 64).Uint64() || have >= buckets {
			t.Fatalf("bucket %d of %d, want %v", have, buckets, want)
		}
		if a <= b && bucketOf(a, buckets) > bucketOf(b, buckets) {
			t.Fatalf("windows %#x, %#x are out of order", a, b)
		}
	})
}

// TestDrawWindow: every offset can be drawn, none beyond the uniform part.
func TestDrawWindow(t *testing.T) {
	for _, uniform := range []int{minUniform, 160, 256} {
		seen := make(map[uint8]bool)
		for i := range uint64(4096) {
			seen[DrawWindow(uniform, i<<52)] = true
		}
		for offset := 0; offset+windowBits <= uniform; offset++ {
			if !seen[uint8(offset)] {
				t.Errorf("%d uniform bits: offset %d is never drawn", uniform, offset)
			}
			delete(seen, uint8(offset))
		}
		if len(seen) != 0 {
			t.Errorf("%d uniform bits: offsets %v are drawn", uniform, seen)
		}
	}
}

// TestMixAvalanche flips each bit of structured keys: each bit of the mix must change half of the time. With 4,096
// trials a fair bit stays within 6 standard deviations (of 1/128) always.
func TestMixAvalanche(t *testing.T) {
	const trials = 4096
	secret := [16]byte{1: 3, 9: 77}
	var changed [256][64]int
	for n := range uint64(trials) {
		var key mapKey
		setBits(&key, 0, 32, n) // counters: 0.. in the first bytes
		setBits(&key, 200, 16, n*n)
		h := Mix(&key, &secret)
		for bit := range 256 {
			key[bit/8] ^= 1 << (bit % 8)
			for d := h ^ Mix(&key, &secret); d != 0; d &= d - 1 {
				changed[bit][bits.TrailingZeros64(d)]++
			}
			key[bit/8] ^= 1 << (bit % 8)
		}
	}
	for bit := range changed {
		for out, n := range changed[bit] {
			if math.Abs(float64(n)/trials-0.5) > 6.0/128 {
				t.Errorf("key bit %d changes bit %d of the mix in %d of %d trials", bit, out, n, trials)
			}
		}
	}
}

// TestMixKeyed: the secret changes the mix, and words of zero are no fixed point.
func TestMixKeyed(t *testing.T) {
	seen := make(map[uint64]bool)
	for n := range 256 {
		var key mapKey
		var secret [16]byte
		secret[n%16] = byte(n)
		seen[Mix(&key, &secret)] = true
	}
	if len(seen) != 256 {
		t.Fatalf("%d mixes of 256 secrets", len(seen))
	}
	if Mix64(0, 0) == Mix64(1, 0) || Mix64(5, 1) == Mix64(5, 2) {
		t.Fatal("Mix64 does not mix")
	}
}

// TestMixSpread: counters, mixed, spread over buckets and tags as random numbers do (chi-square, 1,023 degrees of
// freedom, standard deviation 45).
func TestMixSpread(t *testing.T) {
	p, err := newPlace(&Spec{Name: "t", Mixed: true, Secret: [16]byte{5}})
	if err != nil {
		t.Fatal(err)
	}
	const rows, cells = 1 << 18, 1 << 10
	var buckets, tags [cells]float64
	for n := range uint64(rows) {
		var key mapKey
		setBits(&key, 64, 64, n)
		window, tag := p.of(&key)
		buckets[bucketOf(window, cells)]++
		tags[tag]++
	}
	for name, counts := range map[string][cells]float64{"buckets": buckets, "tags": tags} {
		sum := 0.0
		for _, n := range counts {
			sum += (n - rows/cells) * (n - rows/cells) / (rows / cells)
		}
		if math.Abs(sum-(cells-1)) > 6*45 {
			t.Errorf("%s: chi-square %.0f, want about %d", name, sum, cells-1)
		}
	}
}
