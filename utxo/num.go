package utxo

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Arithmetic modulo p = 2^3072 - 1103717, the largest safe prime below 2^3072
// (Core's crypto/muhash.h). As 2^3072 = 1103717 modulo p, what overflows 3072
// bits is multiplied by that and added again ("folded").
const (
	numBits  = 3072
	numBytes = numBits / 8
	numWords = numBits / bits.UintSize
	excess   = 1103717 // 2^3072 - p, 21 bits
)

// A num is a number below 2^3072, lowest word first. It may be p or more: only
// reduce makes it canonical, which the multiplications in between can do without.
type num [numWords]big.Word

// one is the empty product.
var one = num{1}

// prime is p.
var prime = func() *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), numBits)
	return p.Sub(p, big.NewInt(excess))
}()

// load reads little-endian bytes.
func (n *num) load(b *[numBytes]byte) {
	for i := range n {
		if bits.UintSize == 64 {
			n[i] = big.Word(binary.LittleEndian.Uint64(b[8*i:]))
		} else {
			n[i] = big.Word(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// store writes little-endian bytes.
func (n *num) store(b *[numBytes]byte) {
	for i, w := range n {
		if bits.UintSize == 64 {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(w))
		} else {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(w))
		}
	}
}

// A multiplier holds what a multiplication needs, so that it allocates
// nothing. The double-width product is math/big's, whose inner loops are
// assembly: 1.3 us on amd64 where rows of bits.Mul64 take 2.1 us and one level
// of Karatsuba on top of them 2.0 us. The reduction is ours: a fold is one pass
// over 48 words, where math/big would divide.
type multiplier struct{ product, x, y big.Int }

// mul sets z to z*x modulo p.
func (m *multiplier) mul(z, x *num) {
	m.product.Mul(m.x.SetBits(z[:]), m.y.SetBits(x[:]))
	z.fold(m.product.Bits())
}

// fold sets n to t modulo p; t has at most twice as many words as n and does
// not overlap it.
func (n *num) fold(t []big.Word) {
	low := copy(n[:], t)
	clear(n[low:])
	carry := n.addScaled(t[low:])
	// The carry is at most excess, so one more pass leaves at most one bit, and
	// then n is so small that adding excess cannot overflow again.
	for carry != 0 {
		carry = n.addScaled([]big.Word{carry})
	}
}

// addScaled adds t*excess to n and returns what overflows.
func (n *num) addScaled(t []big.Word) big.Word {
	var carry, c uint
	for i, w := range t {
		hi, lo := bits.Mul(uint(w), excess)
		lo, c = bits.Add(lo, carry, 0)
		hi += c
		lo, c = bits.Add(lo, uint(n[i]), 0)
		n[i] = big.Word(lo)
		carry = hi + c
	}
	for i := len(t); i < len(n) && carry != 0; i++ {
		var lo uint
		lo, carry = bits.Add(uint(n[i]), carry, 0)
		n[i] = big.Word(lo)
	}
	return big.Word(carry)
}

// reduce makes n canonical: below p.
func (n *num) reduce() {
	high := *n
	if high.addScaled([]big.Word{1}) != 0 { // n + excess reaches 2^3072: n reaches p
		*n = high
	}
}

// inverse sets n to 1/n modulo p, and 0 to 0 as Core does.
func (n *num) inverse() {
	inv := new(big.Int).ModInverse(new(big.Int).SetBits(n[:]), prime)
	var words []big.Word
	if inv != nil {
		words = inv.Bits()
	}
	clear(n[copy(n[:], words):])
}
