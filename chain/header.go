package chain

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the length of a block header on the wire.
const HeaderSize = 80

// Header is a block header in its parts:
//
//	 0        4              36               68     72     76      80
//	+--------+--------------+----------------+------+------+-------+
//	| version| previous hash| merkle root    | time | bits | nonce |
//	+--------+--------------+----------------+------+------+-------+
//
// All integers are little-endian. Version is signed: the version rules of BIP34, 66 and 65 compare it as such.
type Header struct {
	Version           int32
	Prev, Merkle      Hash
	Time, Bits, Nonce uint32
}

// ParseHeader reads the first 80 bytes of b; fewer are an error.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("header: %d bytes where 80 are due", len(b))
	}
	var h Header
	h.parse((*[HeaderSize]byte)(b))
	return h, nil
}

func (h *Header) parse(b *[HeaderSize]byte) {
	h.Version = int32(binary.LittleEndian.Uint32(b[0:]))
	h.Prev = Hash(b[4:36])
	h.Merkle = Hash(b[36:68])
	h.Time = binary.LittleEndian.Uint32(b[68:])
	h.Bits = binary.LittleEndian.Uint32(b[72:])
	h.Nonce = binary.LittleEndian.Uint32(b[76:])
}

// Append appends the header's 80 bytes.
func (h *Header) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Version))
	dst = append(dst, h.Prev[:]...)
	dst = append(dst, h.Merkle[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, h.Time)
	dst = binary.LittleEndian.AppendUint32(dst, h.Bits)
	return binary.LittleEndian.AppendUint32(dst, h.Nonce)
}

// Hash is the block hash. It does not allocate.
func (h *Header) Hash() Hash {
	var b [HeaderSize]byte
	return DoubleSHA256(h.Append(b[:0]))
}
