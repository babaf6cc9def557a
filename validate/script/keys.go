package script

// Lengths of public keys, by their first byte.
const (
	compressedSize   = 33 // 02, 03
	uncompressedSize = 65 // 04, and hybrid ones: 06, 07
)

// keyValid tells whether a key's length fits its first byte (Core: CPubKey::IsValid). Whether it is a point of the curve
// is not asked.
func keyValid(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	switch key[0] {
	case 2, 3:
		return len(key) == compressedSize
	case 4, 6, 7:
		return len(key) == uncompressedSize
	}
	return false
}

// compressed is what WITNESS_PUBKEYTYPE asks of a key (Core: IsCompressedPubKey).
func compressed(key []byte) bool {
	return len(key) == compressedSize && (key[0] == 2 || key[0] == 3)
}

// compressedOrUncompressed is what STRICTENC asks of a key: valid and not hybrid (Core: IsCompressedOrUncompressedPubKey).
func compressedOrUncompressed(key []byte) bool {
	return compressed(key) || len(key) == uncompressedSize && key[0] == 4
}
