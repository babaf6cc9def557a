package blockfile

import (
	"encoding/binary"
	"math/bits"
)

// A mask is the key in xor.dat as a little-endian word: byte p mod 8 of it
// applies to the byte at offset p of a file. Zero means a plain file.
type mask uint64

// at is the mask turned so that its lowest byte applies to offset off.
func (m mask) at(off int64) uint64 {
	return bits.RotateLeft64(uint64(m), -8*int(off&7))
}

// apply XORs p, which stands at offset off of the file, in place.
func (m mask) apply(p []byte, off int64) {
	if m == 0 {
		return
	}
	word := m.at(off)
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
	}
	for i := range p {
		p[i] ^= byte(word >> (8 * i))
	}
}

// padding counts the leading bytes of p that are zero, or were zero before the
// mask was applied. p is unmasked and stands at offset off.
func (m mask) padding(p []byte, off int64) int {
	word := m.at(off)
	n := 0
	for ; n+8 <= len(p); n += 8 {
		if w := binary.LittleEndian.Uint64(p[n:]); w != 0 && w != word {
			break
		}
	}
	for ; n < len(p); n++ {
		if p[n] != 0 && p[n] != byte(word>>(8*(n&7))) {
			break
		}
	}
	return n
}

// unwritten reports whether every byte of p was zero before the mask was
// applied. In a plain file nothing is unwritten in this sense.
func (m mask) unwritten(p []byte, off int64) bool {
	word := m.at(off)
	for i, b := range p {
		if b != byte(word>>(8*(i&7))) {
			return false
		}
	}
	return m != 0
}
