package utxo

import (
	"crypto/sha256"

	"golang.org/x/crypto/chacha20"

	"stele/chain"
)

// MuHash is Core's muhash (MuHash3072): the product of the added coins' numbers
// over the product of the removed ones'. It must not be copied.
type MuHash struct {
	num, den num
	removed  bool // den is not one
	element  num
	m        multiplier
	buf      []byte
	stream   [numBytes]byte
}

// NewMuHash returns the hash of the empty set.
func NewMuHash() *MuHash {
	return &MuHash{num: one, den: one, buf: make([]byte, 0, coinFixed+maxScript+9)}
}

// Reset makes h the hash of the empty set again.
func (h *MuHash) Reset() { h.num, h.den, h.removed = one, one, false }

// Add takes a coin in, in any order. The error is always nil. Adding a coin
// that was removed before restores it.
func (h *MuHash) Add(c *Coin) error {
	h.buf = c.Append(h.buf[:0])
	h.insert(h.buf)
	return nil
}

// Remove takes a coin out. Whether it was in the set is for the caller to know.
func (h *MuHash) Remove(c *Coin) {
	h.buf = c.Append(h.buf[:0])
	h.remove(h.buf)
}

func (h *MuHash) insert(data []byte) {
	h.expand(data)
	h.m.mul(&h.num, &h.element)
}

func (h *MuHash) remove(data []byte) {
	h.expand(data)
	h.m.mul(&h.den, &h.element)
	h.removed = true
}

// expand sets element to the number of data: the first 384 bytes of the ChaCha20 key
// stream (RFC 8439) with key SHA256(data), nonce and counter zero, read as a
// little-endian number.
func (h *MuHash) expand(data []byte) {
	key := sha256.Sum256(data)
	var nonce [chacha20.NonceSize]byte
	c, err := chacha20.NewUnauthenticatedCipher(key[:], nonce[:])
	if err != nil {
		panic("chacha20 refuses a key of 32 bytes: " + err.Error())
	}
	clear(h.stream[:])
	c.XORKeyStream(h.stream[:], h.stream[:])
	h.element.load(&h.stream)
}

// Combine takes in what another MuHash was given. So parts of a set can be
// hashed by several goroutines.
func (h *MuHash) Combine(o *MuHash) {
	h.m.mul(&h.num, &o.num)
	if o.removed {
		h.m.mul(&h.den, &o.den)
		h.removed = true
	}
}

// Sum is the hash of what was added and not removed: the SHA256 of num/den in
// 384 little-endian bytes. Where coins were removed it costs one modular
// inversion.
func (h *MuHash) Sum() chain.Hash {
	state := h.State()
	return sha256.Sum256(state[:])
}

// State returns num/den in little-endian bytes, by which a hash that is carried from block to block can be kept and
// restored. It is never zero, unless zero was restored.
func (h *MuHash) State() (state [384]byte) {
	if h.removed {
		h.den.inverse()
		h.m.mul(&h.num, &h.den)
		h.den, h.removed = one, false
	}
	h.num.reduce()
	h.num.store(&state)
	return state
}

// Restore makes h the hash that had a state.
func (h *MuHash) Restore(state *[384]byte) {
	h.Reset()
	h.num.load(state)
}
