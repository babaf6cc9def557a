package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// HashSize is the width of a Hash in bytes.
const HashSize = 32

// Hash is a txid, wtxid, block hash or merkle node: 32 bytes in internal order, the order in which they are hashed
// and travel on the wire. What people read (explorers, RPC) is the same bytes from last to first; only String,
// ParseHash and the text codecs know that order.
type Hash [HashSize]byte

// DoubleSHA256 is SHA256(SHA256(b)), Bitcoin's hash of transactions, headers and merkle nodes. It does not allocate.
func DoubleSHA256(b []byte) Hash {
	once := sha256.Sum256(b)
	return sha256.Sum256(once[:])
}

// String is the hash in display order: 64 lower case hex digits, last byte first.
func (h Hash) String() string {
	var text [2 * HashSize]byte
	h.display(&text)
	return string(text[:])
}

// display writes the 64 digits of String.
func (h *Hash) display(text *[2 * HashSize]byte) {
	const digits = "0123456789abcdef"
	for i, b := range h {
		at := 2 * (HashSize - 1 - i)
		text[at], text[at+1] = digits[b>>4], digits[b&15]
	}
}

// IsZero tells whether every byte is zero: the txid of a coinbase's null outpoint, the parent of a genesis block.
func (h *Hash) IsZero() bool { return *h == Hash{} }

// ParseHash reads exactly 64 hex digits in display order, of either case.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*HashSize {
		return Hash{}, fmt.Errorf("hash: %d characters where 64 hex digits are due", len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("hash: not hexadecimal: %q", s)
	}
	for i, j := 0, HashSize-1; i < j; i, j = i+1, j-1 {
		h[i], h[j] = h[j], h[i]
	}
	return h, nil
}

// mustHash is ParseHash for the constants of this package.
func mustHash(s string) Hash {
	h, err := ParseHash(s)
	if err != nil {
		panic(err)
	}
	return h
}

// MarshalText is String, so that a Hash in JSON or TOML reads as people write it.
func (h Hash) MarshalText() ([]byte, error) {
	var text [2 * HashSize]byte
	h.display(&text)
	return text[:], nil
}

// UnmarshalText is ParseHash.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err == nil {
		*h = parsed
	}
	return err
}
