package hashmap

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Widths of what a line keeps of a key, in bits. Key bits are counted as a little-endian machine loads them: bit i is
// bit i%8 of byte i/8.
const (
	windowBits = 64
	tagBits    = 10
	// minUniform leaves room for a window anywhere and a tag beside it: where the tag does not fit behind the window,
	// the window begins at bit 10 or later, and the tag fits before it.
	minUniform = windowBits + 2*tagBits
)

// place says which bits of a key are its window and its tag.
//
//	0         tag        window               window+64    +74      uniform      256
//	|..........|..........|====== window ======|== tag ==|..............|..not uniform..|
//	|== tag ==|...........................|====== window ======|....|...............|    where it would not fit behind
//
// The window is scaled to the number of buckets; the tag is kept in the line. They share no bit, so that a tag tells
// apart keys of one bucket as well as any others. The window's offset is a secret of the store: who does not know it
// cannot make keys that meet in one bucket. A mixed key has neither: both come from Mix, the tag from its low bits,
// which no bucket number of 29 bits reaches.
type place struct {
	windowByte, windowShift uint8
	tagByte, tagShift       uint8
	mixed                   bool
	secret                  [16]byte
}

// newPlace checks the spec's bit places and turns them into loads that stay inside the key.
func newPlace(s *Spec) (place, error) {
	if s.Mixed {
		return place{mixed: true, secret: s.Secret}, nil
	}
	if s.UniformBits < minUniform || s.UniformBits > 256 {
		return place{}, fmt.Errorf("%s: %d uniform key bits, want %d to 256", s.Name, s.UniformBits, minUniform)
	}
	window := int(s.Window)
	if window+windowBits > s.UniformBits {
		return place{}, fmt.Errorf("%s: window at bit %d leaves the %d uniform bits", s.Name, window, s.UniformBits)
	}
	tag := window + windowBits
	if tag+tagBits > s.UniformBits {
		tag = 0
	}
	// The window is loaded as eight bytes and one more, the tag as four: both inside the 32 bytes.
	wb, tb := min(window/8, 32-9), min(tag/8, 32-4)
	return place{
		windowByte: uint8(wb), windowShift: uint8(window - 8*wb),
		tagByte: uint8(tb), tagShift: uint8(tag - 8*tb),
	}, nil
}

// of returns the window and the tag of a key.
func (p *place) of(key *[32]byte) (window uint64, tag uint32) {
	if p.mixed {
		h := Mix(key, &p.secret)
		return h, uint32(h) & (1<<tagBits - 1)
	}
	w := key[p.windowByte:]
	window = binary.LittleEndian.Uint64(w)>>p.windowShift | uint64(w[8])<<(64-p.windowShift)
	tag = binary.LittleEndian.Uint32(key[p.tagByte:]) >> p.tagShift & (1<<tagBits - 1)
	return window, tag
}

// bucketOf scales a window to the number of buckets. It is monotonic: rows sorted by window are sorted by bucket, for
// every number of buckets.
func bucketOf(window, buckets uint64) uint64 {
	hi, _ := bits.Mul64(window, buckets)
	return hi
}

// DrawWindow turns a random number into a window offset for keys with that many uniform bits. Draw it once, when the
// store is made, and keep it in the manifest: the lines on disk depend on it.
func DrawWindow(uniformBits int, random uint64) uint8 {
	return uint8(bucketOf(random, uint64(uniformBits-windowBits+1)))
}

// Odd constants of Mix: fraction bits of the golden ratio and of the square roots of 3, 5 and 7.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xbb67ae8584caa73b
	mixC = 0x3c6ef372fe94f82b
	mixD = 0xa54ff53a5f1d36f1
)

// Mix is the mixing function for keys that are not uniform: a keyed 64-bit hash of the key whose every bit depends on
// all bits of the key and the secret. It is not cryptographic; that rows compare whole keys is what makes it safe, and
// the secret keeps its collisions from being made on purpose.
func Mix(key *[32]byte, secret *[16]byte) uint64 {
	s0, s1 := binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])
	k0, k1 := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	k2, k3 := binary.LittleEndian.Uint64(key[16:]), binary.LittleEndian.Uint64(key[24:])
	lo := fold(k0^s0^mixA, k1^s1^mixB)
	hi := fold(k2^bits.RotateLeft64(s0, 32)^mixC, k3^bits.RotateLeft64(s1, 32)^mixD)
	return Mix64(lo^bits.RotateLeft64(hi, 23), s0^bits.RotateLeft64(s1, 17))
}

// Mix64 is the finaliser of Mix for keys that are one word: a bijection for every secret.
func Mix64(x, secret uint64) uint64 {
	x ^= secret
	x = (x ^ x>>32) * mixA
	x = (x ^ x>>29) * mixB
	return x ^ x>>32
}

// fold multiplies to 128 bits and adds the halves without carry.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
