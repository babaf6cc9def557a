package chain

import "encoding/binary"

// CompactSize, the length prefix of the wire (Core: ReadCompactSize, serialize.h):
//
//	value n                  bytes
//	n <= 0xfc                | n |
//	n <= 0xffff              | fd | n as 2 bytes, little-endian |
//	n <= 0xffffffff          | fe | n as 4 bytes, little-endian |
//	above                    | ff | n as 8 bytes, little-endian |
//
// Only the shortest form of a number is canonical; every other one is refused, in transactions, blocks and messages.
const (
	compact2 = 0xfd
	compact4 = 0xfe
	compact8 = 0xff
)

// MaxSize is the largest count or length that Core takes from a CompactSize while it deserialises (MAX_SIZE): 32 MiB.
const MaxSize = 0x0200_0000

// AppendCompactSize appends the canonical form of n, 1 to 9 bytes.
func AppendCompactSize(dst []byte, n uint64) []byte {
	switch {
	case n < compact2:
		return append(dst, byte(n))
	case n <= 0xffff:
		return append(dst, compact2, byte(n), byte(n>>8))
	case n <= 0xffff_ffff:
		return binary.LittleEndian.AppendUint32(append(dst, compact4), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, compact8), n)
}

// CompactSizeLen is the number of bytes that AppendCompactSize adds for n: 1, 3, 5 or 9.
func CompactSizeLen(n uint64) int {
	switch {
	case n < compact2:
		return 1
	case n <= 0xffff:
		return 3
	case n <= 0xffff_ffff:
		return 5
	}
	return 9
}

// CompactSize reads the number that b begins with and the bytes that it takes. It is not ok where b ends too early or
// the form is not canonical. No upper bound is applied: what the number counts is the caller's to check against bytes
// present.
func CompactSize(b []byte) (n uint64, size int, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	size = compactForm(b[0])
	if len(b) < size {
		return 0, 0, false
	}
	switch size {
	case 1:
		n = uint64(b[0])
	case 3:
		n = uint64(binary.LittleEndian.Uint16(b[1:]))
	case 5:
		n = uint64(binary.LittleEndian.Uint32(b[1:]))
	case 9:
		n = binary.LittleEndian.Uint64(b[1:])
	}
	if CompactSizeLen(n) != size {
		return 0, 0, false
	}
	return n, size, true
}

// Failures of the decoder, told apart from a position by their sign.
const (
	sizeCut          = -1 // the bytes end too early
	sizeNotCanonical = -2
	sizeTooLarge     = -3 // above MaxSize
)

// readSize reads the CompactSize at raw[p:] and gives the position after it, or one of the failures above. Values are
// at most MaxSize, so a position plus a value never overflows.
func readSize(raw []byte, p int) (n, next int) {
	if p < len(raw) && raw[p] < compact2 {
		return int(raw[p]), p + 1
	}
	return readLongSize(raw, p)
}

// readLongSize is readSize for all that is not one byte.
func readLongSize(raw []byte, p int) (n, next int) {
	if p >= len(raw) {
		return 0, sizeCut
	}
	v, size, ok := CompactSize(raw[p:])
	switch {
	case !ok && len(raw)-p < compactForm(raw[p]):
		return 0, sizeCut
	case !ok:
		return 0, sizeNotCanonical
	case v > MaxSize:
		return 0, sizeTooLarge
	}
	return int(v), p + size
}

// compactForm is the length of the form that a first byte announces: 1, 3, 5 or 9.
func compactForm(first byte) int {
	if first < compact2 {
		return 1
	}
	return 1 + 2<<(first-compact2)
}
