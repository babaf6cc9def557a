package chain

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// Work is a 256-bit unsigned integer: an amount of chain work, or a proof-of-work target. Limbs are little-endian,
// w[0] the least significant. Arithmetic wraps modulo 2^256 as Core's arith_uint256 does. Nothing here allocates but
// String.
type Work [4]uint64

// Add is w + x.
func (w Work) Add(x Work) Work {
	var carry uint64
	for i := range w {
		w[i], carry = bits.Add64(w[i], x[i], carry)
	}
	return w
}

// Sub is w - x.
func (w Work) Sub(x Work) Work {
	var borrow uint64
	for i := range w {
		w[i], borrow = bits.Sub64(w[i], x[i], borrow)
	}
	return w
}

// Cmp is -1, 0 or 1 as w is below, equal to or above x.
func (w Work) Cmp(x Work) int {
	for i := len(w) - 1; i >= 0; i-- {
		switch {
		case w[i] < x[i]:
			return -1
		case w[i] > x[i]:
			return 1
		}
	}
	return 0
}

// IsZero tells whether w is zero.
func (w Work) IsZero() bool { return w == Work{} }

// BitLen is the number of bits up to the highest that is set; 0 for zero.
func (w Work) BitLen() int {
	for i := len(w) - 1; i >= 0; i-- {
		if w[i] != 0 {
			return 64*i + bits.Len64(w[i])
		}
	}
	return 0
}

// Lsh is w << n.
func (w Work) Lsh(n uint) Work {
	var r Work
	limbs, n := int(n/64), n%64
	for i := len(w) - 1; i >= limbs; i-- {
		r[i] = w[i-limbs] << n
		if i > limbs {
			r[i] |= w[i-limbs-1] >> (64 - n) // Go shifts by 64 to zero
		}
	}
	return r
}

// Rsh is w >> n.
func (w Work) Rsh(n uint) Work {
	var r Work
	limbs, n := int(n/64), n%64
	for i := 0; i+limbs < len(w); i++ {
		r[i] = w[i+limbs] >> n
		if i+limbs+1 < len(w) {
			r[i] |= w[i+limbs+1] << (64 - n)
		}
	}
	return r
}

// MulUint32 is w * x, the first half of a retarget.
func (w Work) MulUint32(x uint32) Work {
	var carry uint64
	for i := range w {
		high, low := bits.Mul64(w[i], uint64(x))
		var c uint64
		w[i], c = bits.Add64(low, carry, 0)
		carry = high + c
	}
	return w
}

// DivUint32 is w / x rounded down, the second half of a retarget. x must not be zero.
func (w Work) DivUint32(x uint32) Work {
	var rest uint64
	for i := len(w) - 1; i >= 0; i-- {
		w[i], rest = bits.Div64(rest, w[i], uint64(x))
	}
	return w
}

// div is w / d rounded down, by long division in limbs (Knuth, The Art of Computer Programming 4.3.1, algorithm D).
// d must not be zero.
func (w Work) div(d Work) Work {
	n := (d.BitLen() + 63) / 64 // limbs of the divisor
	if n == 1 {
		var rest uint64
		for i := len(w) - 1; i >= 0; i-- {
			w[i], rest = bits.Div64(rest, w[i], d[0])
		}
		return w
	}
	// Both are shifted so that the divisor's highest bit is set; then a digit guessed from two limbs by one is at
	// most 2 too large. The dividend gains a limb.
	shift := uint(64*n - d.BitLen())
	d = d.Lsh(shift)
	shifted := w.Lsh(shift)
	u := [5]uint64{shifted[0], shifted[1], shifted[2], shifted[3], w[3] >> (64 - shift)}
	var q Work
	for j := len(w) - n; j >= 0; j-- {
		digit := guessDigit(u[j+n], u[j+n-1], u[j+n-2], d[n-1], d[n-2])
		if subtractTimes(u[j:j+n+1], d[:n], digit) {
			digit-- // still one too large, rarely
			addBack(u[j:j+n+1], d[:n])
		}
		q[j] = digit
	}
	return q
}

// guessDigit divides u2:u1:u0 by d1:d0 approximately: the digit is right or one too large.
func guessDigit(u2, u1, u0, d1, d0 uint64) uint64 {
	digit, rest, over := ^uint64(0), u1, uint64(0)
	if u2 < d1 {
		digit, rest = bits.Div64(u2, u1, d1)
	} else if rest, over = bits.Add64(u1, d1, 0); over != 0 { // u2 == d1: digit 2^64-1 leaves u1 + d1
		return digit
	}
	for {
		high, low := bits.Mul64(digit, d0)
		if high < rest || high == rest && low <= u0 {
			return digit
		}
		digit--
		if rest, over = bits.Add64(rest, d1, 0); over != 0 {
			return digit
		}
	}
}

// subtractTimes is u -= d*digit; it tells whether that went below zero. u is one limb longer than d.
func subtractTimes(u, d []uint64, digit uint64) bool {
	var carry, borrow uint64
	for i := range d {
		high, low := bits.Mul64(d[i], digit)
		var c uint64
		low, c = bits.Add64(low, carry, 0)
		carry = high + c
		u[i], borrow = bits.Sub64(u[i], low, borrow)
	}
	u[len(d)], borrow = bits.Sub64(u[len(d)], carry, borrow)
	return borrow != 0
}

func addBack(u, d []uint64) {
	var carry uint64
	for i := range d {
		u[i], carry = bits.Add64(u[i], d[i], carry)
	}
	u[len(d)] += carry
}

// Bytes32LE is w as 32 bytes, least significant first: the order of a Hash and of our files.
func (w Work) Bytes32LE() (b [32]byte) {
	for i := range w {
		binary.LittleEndian.PutUint64(b[8*i:], w[i])
	}
	return b
}

// Bytes32BE is w as 32 bytes, most significant first: the order in which it is shown.
func (w Work) Bytes32BE() (b [32]byte) {
	for i := range w {
		binary.BigEndian.PutUint64(b[24-8*i:], w[i])
	}
	return b
}

// WorkFromLE reads what Bytes32LE wrote: the first 32 bytes of b, which must have them.
func WorkFromLE(b []byte) (w Work) {
	_ = b[31]
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return w
}

// WorkFromBE reads what Bytes32BE wrote: the first 32 bytes of b, which must have them.
func WorkFromBE(b []byte) (w Work) {
	_ = b[31]
	for i := range w {
		w[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	return w
}

// WorkFromUint64 is x as a Work.
func WorkFromUint64(x uint64) Work { return Work{x} }

// String is 64 hex digits, the form of Core's chainwork fields.
func (w Work) String() string {
	b := w.Bytes32BE()
	return hex.EncodeToString(b[:])
}

// ParseWork reads 1 to 64 hex digits, most significant first.
func ParseWork(s string) (Work, error) {
	var b [32]byte
	if len(s) == 0 || len(s) > 64 {
		return Work{}, fmt.Errorf("work: %d characters where 1 to 64 hex digits are due", len(s))
	}
	if len(s)%2 == 1 {
		s = "0" + s
	}
	if _, err := hex.Decode(b[32-len(s)/2:], []byte(s)); err != nil {
		return Work{}, fmt.Errorf("work: not hexadecimal: %q", s)
	}
	return WorkFromBE(b[:]), nil
}

// mustWork is ParseWork for the constants of this package.
func mustWork(s string) Work {
	w, err := ParseWork(s)
	if err != nil {
		panic(err)
	}
	return w
}
