package chain

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash160 is RIPEMD-160 of SHA-256, which names keys and scripts.
func Hash160(b []byte) [20]byte {
	first := sha256.Sum256(b)
	return RIPEMD160(first[:])
}

// RIPEMD160 is written out here, as the general implementation (golang.org/x/crypto) allocates its state and is slower.
func RIPEMD160(b []byte) (sum [20]byte) {
	const block, lengthAt = 64, 56
	h := [5]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}
	n := uint64(len(b))
	for ; len(b) >= block; b = b[block:] {
		ripemdBlock(&h, (*[block]byte)(b))
	}
	var last [block]byte
	last[copy(last[:], b)] = 0x80
	if len(b) >= lengthAt {
		ripemdBlock(&h, &last)
		last = [block]byte{}
	}
	binary.LittleEndian.PutUint64(last[lengthAt:], 8*n)
	ripemdBlock(&h, &last)
	for i, word := range h {
		binary.LittleEndian.PutUint32(sum[4*i:], word)
	}
	return sum
}

//go:generate go run ./gen

// ripemdLines are the registers of the two lines of RIPEMD-160, the left one's first.
type ripemdLines [10]uint32

// ripemdBlock takes one block of a message into the state.
func ripemdBlock(h *[5]uint32, block *[64]byte) {
	var x [16]uint32
	for i := range x {
		x[i] = binary.LittleEndian.Uint32(block[4*i:])
	}
	s := ripemdLines{h[0], h[1], h[2], h[3], h[4], h[0], h[1], h[2], h[3], h[4]}
	ripemdRound1(&s, &x)
	ripemdRound2(&s, &x)
	ripemdRound3(&s, &x)
	ripemdRound4(&s, &x)
	ripemdRound5(&s, &x)
	*h = [5]uint32{h[1] + s[2] + s[8], h[2] + s[3] + s[9], h[3] + s[4] + s[5], h[4] + s[0] + s[6], h[0] + s[1] + s[7]}
}
