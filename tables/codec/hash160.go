package codec

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// hash160 is RIPEMD-160 of SHA-256, which names keys and scripts. It is written out here for its one message length
// of 32 bytes, a single block: the general implementation (golang.org/x/crypto) allocates its state.
func hash160(b []byte) [20]byte {
	return ripemd32(sha256.Sum256(b))
}

// RIPEMD-160 (Dobbertin, Bosselaers, Preneel 1996) runs two lines of five rounds of sixteen steps over the block. A
// round takes the words of the block in an order of its own: the left line starts with the natural order and the
// right one with 9i+5, and each further round permutes the order before.
var (
	wordRound = [16]uint8{7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8}

	// wordShift is how far a step rotates, by round and word; the same for both lines.
	wordShift = [5][16]uint8{
		{11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8},
		{12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7},
		{13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9},
		{14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6},
		{15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5},
	}
)

// rmdStep is what one step of both lines reads: words and rotations.
type rmdStep struct{ left, leftShift, right, rightShift uint8 }

var rmdSteps = func() (all [5][16]rmdStep) {
	for i := range 16 {
		left, right := uint8(i), uint8((9*i+5)%16)
		for round := range 5 {
			all[round][i] = rmdStep{left, wordShift[round][left], right, wordShift[round][right]}
			left, right = wordRound[left], wordRound[right]
		}
	}
	return all
}()

// rmdTurn ends a step: t is the sum of its inputs.
func rmdTurn(t, e uint32, shift uint8) uint32 { return bits.RotateLeft32(t, int(shift)) + e }

// ripemd32 is RIPEMD-160 of a message of 32 bytes. The lines do not depend on each other and advance together:
// the registers are a to e and v, w, y, z, u.
func ripemd32(message [32]byte) (sum [20]byte) {
	const h0, h1, h2, h3, h4 = 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0
	var x [16]uint32
	for i := range 8 {
		x[i] = binary.LittleEndian.Uint32(message[4*i:])
	}
	x[8], x[14] = 0x80, 256 // the padding bit, and the length in bits
	var a, b, c, d, e uint32 = h0, h1, h2, h3, h4
	var v, w, y, z, u uint32 = h0, h1, h2, h3, h4
	for i := range rmdSteps[0] {
		s := &rmdSteps[0][i]
		a, b, c, d, e = e, rmdTurn(a+(b^c^d)+x[s.left&15], e, s.leftShift), b, bits.RotateLeft32(c, 10), d
		v, w, y, z, u = u, rmdTurn(v+(w^(y|^z))+x[s.right&15]+0x50a28be6, u, s.rightShift), w, bits.RotateLeft32(y, 10), z
	}
	for i := range rmdSteps[1] {
		s := &rmdSteps[1][i]
		a, b, c, d, e = e, rmdTurn(a+(b&c|^b&d)+x[s.left&15]+0x5a827999, e, s.leftShift), b, bits.RotateLeft32(c, 10), d
		v, w, y, z, u = u, rmdTurn(v+(w&z|y&^z)+x[s.right&15]+0x5c4dd124, u, s.rightShift), w, bits.RotateLeft32(y, 10), z
	}
	for i := range rmdSteps[2] {
		s := &rmdSteps[2][i]
		a, b, c, d, e = e, rmdTurn(a+((b|^c)^d)+x[s.left&15]+0x6ed9eba1, e, s.leftShift), b, bits.RotateLeft32(c, 10), d
		v, w, y, z, u = u, rmdTurn(v+((w|^y)^z)+x[s.right&15]+0x6d703ef3, u, s.rightShift), w, bits.RotateLeft32(y, 10), z
	}
	for i := range rmdSteps[3] {
		s := &rmdSteps[3][i]
		a, b, c, d, e = e, rmdTurn(a+(b&d|c&^d)+x[s.left&15]+0x8f1bbcdc, e, s.leftShift), b, bits.RotateLeft32(c, 10), d
		v, w, y, z, u = u, rmdTurn(v+(w&y|^w&z)+x[s.right&15]+0x7a6d76e9, u, s.rightShift), w, bits.RotateLeft32(y, 10), z
	}
	for i := range rmdSteps[4] {
		s := &rmdSteps[4][i]
		a, b, c, d, e = e, rmdTurn(a+(b^(c|^d))+x[s.left&15]+0xa953fd4e, e, s.leftShift), b, bits.RotateLeft32(c, 10), d
		v, w, y, z, u = u, rmdTurn(v+(w^y^z)+x[s.right&15], u, s.rightShift), w, bits.RotateLeft32(y, 10), z
	}
	for i, h := range [5]uint32{h1 + c + z, h2 + d + u, h3 + e + v, h4 + a + w, h0 + b + y} {
		binary.LittleEndian.PutUint32(sum[4*i:], h)
	}
	return sum
}
