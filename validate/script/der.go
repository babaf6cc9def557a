package script

import (
	"bytes"
	"encoding/binary"
)

const (
	derSequence = 0x30
	derInteger  = 0x02
	derLong     = 0x80 // in a length byte: the rest counts bytes of the length proper

	scalarSize = 32
)

// curveOrder and halfOrder are the order of secp256k1's group and half of it, rounded down, big-endian (SEC 2).
var (
	curveOrder = [scalarSize]byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
		0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
	}
	halfOrder = [scalarSize]byte{
		0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
	}
)

// parseDERLax reads a signature, without its hash type byte, as consensus did before BIP66 and still does after the
// strict check (Core: ecdsa_signature_parse_der_lax, then normalisation). Lengths may be long and padded, that of the
// sequence is passed over, and bytes may follow. rs gets r and s, big-endian; of s and its negative the smaller one.
// Where one of them is not below the order, rs is all zero, which verifies nothing. False: no signature at all.
func parseDERLax(sig []byte, rs *[64]byte) bool {
	if !readDERLax(sig, rs) {
		return false
	}
	if s := (*[scalarSize]byte)(rs[scalarSize:]); bytes.Compare(s[:], halfOrder[:]) > 0 {
		negate(s)
	}
	return true
}

// readDERLax is parseDERLax before s is normalised.
func readDERLax(sig []byte, rs *[64]byte) bool {
	*rs = [64]byte{}
	if len(sig) < 2 || sig[0] != derSequence {
		return false
	}
	rest := sig[2:]
	if sig[1]&derLong != 0 {
		n := int(sig[1] &^ derLong)
		if n > len(rest) {
			return false
		}
		rest = rest[n:]
	}
	r, rest, ok := laxInteger(rest)
	if !ok {
		return false
	}
	s, _, ok := laxInteger(rest)
	if !ok {
		return false
	}
	if !putScalar((*[scalarSize]byte)(rs[:scalarSize]), r) || !putScalar((*[scalarSize]byte)(rs[scalarSize:]), s) {
		*rs = [64]byte{}
	}
	return true
}

// laxInteger reads an integer's tag and length, and gives its digits and what follows. A long length may have any number
// of leading zeros and up to three bytes after them.
func laxInteger(b []byte) (digits, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != derInteger {
		return nil, nil, false
	}
	size := int(b[1])
	b = b[2:]
	if size&derLong != 0 {
		width := size &^ derLong
		if width > len(b) {
			return nil, nil, false
		}
		var length []byte
		length, b = bytes.TrimLeft(b[:width], "\x00"), b[width:]
		if len(length) > 3 {
			return nil, nil, false
		}
		size = 0
		for _, digit := range length {
			size = size<<8 | int(digit)
		}
	}
	if size > len(b) {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}

// putScalar writes an integer of any length into 32 bytes. False: it is not below the order. Its sign bit is a digit.
func putScalar(to *[scalarSize]byte, digits []byte) bool {
	digits = bytes.TrimLeft(digits, "\x00")
	if len(digits) > scalarSize {
		return false
	}
	copy(to[scalarSize-len(digits):], digits)
	return bytes.Compare(to[:], curveOrder[:]) < 0
}

// negate makes s the order less s; s is below the order and not zero.
func negate(s *[scalarSize]byte) {
	borrow := uint64(0)
	for i := scalarSize - 4; i >= 0; i -= 4 {
		d := uint64(binary.BigEndian.Uint32(curveOrder[i:])) - uint64(binary.BigEndian.Uint32(s[i:])) - borrow
		binary.BigEndian.PutUint32(s[i:], uint32(d))
		borrow = d >> 63
	}
}

// isStrictDER tells whether a signature with its hash type byte has the one form that BIP66 leaves (Core:
// IsValidSignatureEncoding). r and s may still be zero or too large.
//
//	| 30 | length of all but these two and the type | 02 | length | r | 02 | length | s | type |
func isStrictDER(sig []byte) bool {
	const shortest, longest = 9, 73
	if len(sig) < shortest || len(sig) > longest || sig[0] != derSequence || int(sig[1]) != len(sig)-3 {
		return false
	}
	body := sig[2 : len(sig)-1]
	n, ok := strictInteger(body)
	if !ok {
		return false
	}
	m, ok := strictInteger(body[n:])
	return ok && n+m == len(body)
}

// strictInteger gives the length of the integer that b begins with, tag and length byte included. It must be positive
// and have no zero byte in front that its sign does not ask for.
func strictInteger(b []byte) (size int, ok bool) {
	if len(b) < 3 || b[0] != derInteger || b[1] == 0 || len(b) < 2+int(b[1]) || b[2]&0x80 != 0 {
		return 0, false
	}
	if b[1] > 1 && b[2] == 0 && b[3]&0x80 == 0 {
		return 0, false
	}
	return 2 + int(b[1]), true
}

// isLowS tells whether s of a signature with its hash type byte is at most half the order (Core: CPubKey::CheckLowS).
// One that is not below the order counts as zero, as it does when it is verified.
func isLowS(sig []byte) bool {
	var rs [64]byte
	return len(sig) > 0 && readDERLax(sig[:len(sig)-1], &rs) && bytes.Compare(rs[scalarSize:], halfOrder[:]) <= 0
}

// validHashType tells whether a signature's last byte is ALL, NONE or SINGLE, with ANYONECANPAY or without (Core:
// IsDefinedHashtypeSignature). A rule of STRICTENC only.
func validHashType(sig []byte) bool {
	if len(sig) == 0 {
		return false
	}
	base := sig[len(sig)-1] &^ anyoneCanPay
	return base >= sigHashAll && base <= sigHashSingle
}
