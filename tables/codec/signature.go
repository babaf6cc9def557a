package codec

// An ECDSA signature stands in scripts and stacks as strict DER (BIP66) and a hash type:
//
//	30 | n | 02 | n | r n | 02 | n | s n | hash type
//
// r and s are big-endian, as short as their top bit allows: one leading zero where the first bit would be set, none
// else. So 32 bytes of each imply every length, and the slab keeps those 64; that the hash type is another than
// SIGHASH_ALL is told by the kind around it, and it follows. The longest signature takes 73 bytes. Ones below 65 are
// not packed: no packed form may be longer than what it stands for.
const (
	packedSize = 64
	minDER     = 65
	maxDER     = 73
	hashAll    = 1
)

// number returns the DER integer at the start of b, without its leading zero, and the bytes that it takes; ok is false
// for one that is not strict or does not fit 32 bytes.
func number(b []byte) (v []byte, size int, ok bool) {
	if len(b) < 3 || b[0] != 2 {
		return nil, 0, false
	}
	n := int(b[1])
	if n < 1 || n > 33 || len(b) < 2+n || b[2] >= 0x80 {
		return nil, 0, false
	}
	v = b[2 : 2+n]
	if n > 1 && v[0] == 0 {
		if v[1] < 0x80 {
			return nil, 0, false
		}
		v = v[1:]
	}
	return v, 2 + n, len(v) <= 32
}

// splitDER returns r and s of a signature that can be packed; ok is false for every other string.
func splitDER(sig []byte) (r, s []byte, ok bool) {
	if len(sig) < minDER || len(sig) > maxDER || sig[0] != 0x30 || int(sig[1]) != len(sig)-3 {
		return nil, nil, false
	}
	r, n, ok := number(sig[2 : len(sig)-1])
	if !ok {
		return nil, nil, false
	}
	s, m, ok := number(sig[2+n : len(sig)-1])
	return r, s, ok && 2+n+m == len(sig)-1
}

// packable reports whether an item is a signature that can be packed.
func packable(item []byte) bool {
	_, _, ok := splitDER(item)
	return ok
}

// appendPacked appends the 64 bytes of a signature that can be packed.
func appendPacked(dst, sig []byte) []byte {
	r, s, _ := splitDER(sig)
	var b [packedSize]byte
	copy(b[32-len(r):], r)
	copy(b[64-len(s):], s)
	return append(dst, b[:]...)
}

// numberSize returns how long the DER integer of 32 bytes is without type and length, and how many leading bytes of v
// it leaves out: -1 where it adds one.
func numberSize(v []byte) (size, skip int) {
	if v[0] != 0 {
		skip = -int(v[0] >> 7)
		return 32 - skip, skip
	}
	for skip < 31 && v[skip] == 0 {
		skip++
	}
	skip -= int(v[skip] >> 7)
	return 32 - skip, skip
}

// derSize returns the length of the signature that 64 packed bytes stand for, the hash type included.
func derSize(packed []byte) int {
	r, _ := numberSize(packed[:32])
	s, _ := numberSize(packed[32:64])
	return 7 + r + s
}

// appendDER appends a signature's length, as an item or a push, and the signature.
func appendDER(dst, packed []byte, hashType byte) []byte {
	r, skipR := numberSize(packed[:32])
	s, skipS := numberSize(packed[32:64])
	dst = append(dst, byte(7+r+s), 0x30, byte(4+r+s), 2, byte(r))
	if skipR < 0 {
		dst, skipR = append(dst, 0), 0
	}
	dst = append(dst, packed[skipR:32]...)
	dst = append(dst, 2, byte(s))
	if skipS < 0 {
		dst, skipS = append(dst, 0), 0
	}
	dst = append(dst, packed[32+skipS:64]...)
	return append(dst, hashType)
}
