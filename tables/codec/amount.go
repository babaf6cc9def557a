package codec

import (
	"encoding/binary"
	"math/bits"
)

// amountClasses is the number of amount classes. A class says how many bytes of an amount are kept and what they count.
const amountClasses = 24

// amountClass is one class: the amount is the little-endian number in width bytes, times unit, plus add.
type amountClass struct {
	width uint8
	unit  uint32
	add   uint32
}

// amounts is the table of classes. An amount has the class of fewest bytes that can hold it; of several, the first in
// this table. Class 0 is the wire's own eight bytes and holds every amount, the impossible ones too.
var amounts = [amountClasses]amountClass{
	0: {8, 1, 0},

	// Constants: nothing (data carriers), the dust limits of P2WPKH, P2TR and P2PKH outputs (Core: GetDustThreshold at
	// 3 sat a virtual byte), and round sums; 10,000 is what ord puts under an inscription.
	1: {0, 0, 0}, 2: {0, 0, 294}, 3: {0, 0, 330}, 4: {0, 0, 546},
	5: {0, 0, 10_000}, 6: {0, 0, 100_000}, 7: {0, 0, 1_000_000},

	// Satoshis.
	8: {1, 1, 0}, 9: {2, 1, 0}, 10: {3, 1, 0}, 11: {4, 1, 0}, 12: {5, 1, 0}, 13: {6, 1, 0},

	// Round sums.
	14: {1, 10, 0}, 15: {2, 10, 0}, 16: {3, 10, 0}, 17: {2, 100, 0}, 18: {1, 1_000, 0},
	19: {1, 10_000, 0}, 20: {2, 10_000, 0}, 21: {1, 100_000, 0}, 22: {1, 1_000_000, 0}, 23: {1, 100_000_000, 0},
}

// amountClassOf returns the class of an amount. Most amounts that are no constant do not end in a decimal zero and are
// done after one division.
func amountClassOf(v uint64) uint8 {
	switch v {
	case 0:
		return 1
	case 294:
		return 2
	case 330:
		return 3
	case 546:
		return 4
	case 10_000:
		return 5
	case 100_000:
		return 6
	case 1_000_000:
		return 7
	}
	plain := (bits.Len64(v) + 7) / 8
	if plain > 6 {
		return 0
	}
	if plain > 1 && v%10 == 0 {
		if c := roundClass(v, plain); c != 0 {
			return c
		}
	}
	return uint8(7 + plain)
}

// roundClass returns the class of an amount that ends in a decimal zero, where one of them takes fewer bytes than the
// satoshis, which take plain bytes; else zero.
func roundClass(v uint64, plain int) uint8 {
	const one, two, three = 1 << 8, 1 << 16, 1 << 24
	switch {
	case v < 10*one:
		return 14
	case v < 1_000*one && v%1_000 == 0:
		return 18
	case v < 10_000*one && v%10_000 == 0:
		return 19
	case v < 100_000*one && v%100_000 == 0:
		return 21
	case v < 1_000_000*one && v%1_000_000 == 0:
		return 22
	case v < 100_000_000*one && v%100_000_000 == 0:
		return 23
	case plain == 2:
		return 0
	case v < 10*two:
		return 15
	case v < 100*two && v%100 == 0:
		return 17
	case v < 10_000*two && v%10_000 == 0:
		return 20
	case plain > 3 && v < 10*three:
		return 16
	}
	return 0
}

// appendAmount appends the bytes that a class keeps of an amount.
func appendAmount(dst []byte, v uint64, class uint8) []byte {
	c := &amounts[class]
	if c.width == 0 {
		return dst
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v/uint64(c.unit))
	return append(dst, b[:c.width]...)
}

// amountMask keeps the low bytes of a number, by their count.
var amountMask = [9]uint64{
	0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1,
}

// amount reads an amount of a class whose bytes b begins with. The caller has seen that they are there.
func amount(b []byte, class uint8) uint64 {
	c := &amounts[class]
	var x uint64
	if len(b) >= 8 {
		x = binary.LittleEndian.Uint64(b) & amountMask[c.width&15]
	} else {
		for i := range int(c.width) {
			x |= uint64(b[i]) << (8 * i)
		}
	}
	return x*uint64(c.unit) + uint64(c.add)
}
