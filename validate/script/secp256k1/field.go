package secp256k1

import (
	"encoding/binary"
	"math/bits"
)

// field is an integer modulo p = 2^256 - 2^32 - 977, as four limbs, least significant first.
//
//	| v[0] bits 0-63 | v[1] bits 64-127 | v[2] bits 128-191 | v[3] bits 192-255 |
//
// Reduction is lazy. A field is loose: any number below 2^256, so the residues below 2^256 - p have two forms. Every
// function takes loose arguments and gives loose results, unless it says normal, which is below p and unique.
// Arguments may be the result's own memory.
type field [4]uint64

// fold is 2^256 - p: what is carried out of the fourth limb comes back times this.
const fold = 1<<32 + 977

var (
	fieldP   = field{-fold & (1<<64 - 1), 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	fieldOne = field{1}

	// fieldBeta is a cube root of one: (beta*x, y) is the point lambda*(x, y). See split.
	fieldBeta = field{0xc1396c28719501ee, 0x9cf0497512f58995, 0x6e64479eac3434e9, 0x7ae96a2b657c0710}
)

// setBytes reads 32 bytes, big-endian, and tells whether they were below p. If so the field is normal.
func (r *field) setBytes(b *[32]byte) bool {
	r[3] = binary.BigEndian.Uint64(b[0:])
	r[2] = binary.BigEndian.Uint64(b[8:])
	r[1] = binary.BigEndian.Uint64(b[16:])
	r[0] = binary.BigEndian.Uint64(b[24:])
	return !r.overflows()
}

// bytes writes 32 bytes, big-endian. a must be normal.
func (a *field) bytes(b *[32]byte) {
	if checked {
		require(!a.overflows(), "a field that is not normal")
	}
	binary.BigEndian.PutUint64(b[0:], a[3])
	binary.BigEndian.PutUint64(b[8:], a[2])
	binary.BigEndian.PutUint64(b[16:], a[1])
	binary.BigEndian.PutUint64(b[24:], a[0])
}

// overflows tells whether a is not normal.
func (a *field) overflows() bool {
	return a[3]&a[2]&a[1] == 1<<64-1 && a[0] >= fieldP[0]
}

// normalise makes a normal.
func (a *field) normalise() {
	if a.overflows() { // then the upper limbs are all ones, and a - p = a + fold - 2^256 is what the lowest keeps
		*a = field{a[0] + fold}
	}
}

// isZero tells whether a is 0 or p.
func (a *field) isZero() bool {
	return a[0]|a[1]|a[2]|a[3] == 0 || a[0] == fieldP[0] && a[1]&a[2]&a[3] == 1<<64-1
}

// isOdd tells whether a, which must be normal, is odd.
func (a *field) isOdd() bool {
	if checked {
		require(!a.overflows(), "a field that is not normal")
	}
	return a[0]&1 == 1
}

// equal tells whether a and b are the same modulo p.
func (a *field) equal(b *field) bool {
	var d field
	d.sub(a, b)
	return d.isZero()
}

// add sets r = a + b.
func (r *field) add(a, b *field) {
	r0, c := bits.Add64(a[0], b[0], 0)
	r1, c := bits.Add64(a[1], b[1], c)
	r2, c := bits.Add64(a[2], b[2], c)
	r3, c := bits.Add64(a[3], b[3], c)
	r0, c = bits.Add64(r0, fold&-c, 0)
	r1, c = bits.Add64(r1, 0, c)
	r2, c = bits.Add64(r2, 0, c)
	r3, c = bits.Add64(r3, 0, c)
	if checked {
		require(c == 0 || r0 < fold, "add: third carry")
	}
	r[0], r[1], r[2], r[3] = r0+fold&-c, r1, r2, r3 // a second carry leaves less than fold, so this one stays in the limb
}

// sub sets r = a - b.
func (r *field) sub(a, b *field) {
	r0, c := bits.Sub64(a[0], b[0], 0)
	r1, c := bits.Sub64(a[1], b[1], c)
	r2, c := bits.Sub64(a[2], b[2], c)
	r3, c := bits.Sub64(a[3], b[3], c)
	r0, c = bits.Sub64(r0, fold&-c, 0)
	r1, c = bits.Sub64(r1, 0, c)
	r2, c = bits.Sub64(r2, 0, c)
	r3, c = bits.Sub64(r3, 0, c)
	if checked {
		require(c == 0 || r0 >= fold, "sub: third borrow")
	}
	r[0], r[1], r[2], r[3] = r0-fold&-c, r1, r2, r3 // a second borrow leaves more than 2^256 - fold
}

// neg sets r = -a.
func (r *field) neg(a *field) { r.sub(&field{}, a) }

// double sets r = 2a.
func (r *field) double(a *field) { r.add(a, a) }

// threeHalves sets r = 3a/2. It takes 3a, or 3a + p where that is odd, which is below 2^258, and halves it.
func (r *field) threeHalves(a *field) {
	t1, t2, t3, t4 := a[1]<<1|a[0]>>63, a[2]<<1|a[1]>>63, a[3]<<1|a[2]>>63, a[3]>>63
	t0, c := bits.Add64(a[0]<<1, a[0], 0)
	t1, c = bits.Add64(t1, a[1], c)
	t2, c = bits.Add64(t2, a[2], c)
	t3, c = bits.Add64(t3, a[3], c)
	t4, _ = bits.Add64(t4, 0, c)

	odd := -(t0 & 1)
	t0, c = bits.Add64(t0, odd&fieldP[0], 0)
	t1, c = bits.Add64(t1, odd, c)
	t2, c = bits.Add64(t2, odd, c)
	t3, c = bits.Add64(t3, odd, c)
	t4, _ = bits.Add64(t4, 0, c)
	if checked {
		require(t4 <= 3 && t0&1 == 0, "threeHalves: above 2^258, or odd")
	}

	t0, t1, t2, t3, t4 = t0>>1|t1<<63, t1>>1|t2<<63, t2>>1|t3<<63, t3>>1|t4<<63, t4>>1
	t0, c = bits.Add64(t0, fold&-t4, 0)
	t1, c = bits.Add64(t1, 0, c)
	t2, c = bits.Add64(t2, 0, c)
	t3, c = bits.Add64(t3, 0, c)
	if checked {
		require(c == 0 || t0 < fold, "threeHalves: third carry")
	}
	r[0], r[1], r[2], r[3] = t0+fold&-c, t1, t2, t3
}
