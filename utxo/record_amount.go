package utxo

import (
	"encoding/binary"
	"math/bits"
)

// classes is the number of amount classes: 31 times 8 templates leave the tags f8-ff for the forms of records.
const classes = 31

// class says how an amount is kept: as a number of width bytes, which counts units, or not at all.
//
//	value = (the eight bytes at the amount, masked) × unit + constant
//
// So an amount is read by one load and one multiplication, without a branch. An amount has the class of fewest bytes,
// of several the first in the table; the constants are the only classes without bytes, and none is twice in the table.
type class struct {
	mask, unit, constant uint64
	width                uintptr
}

var classTable = func() (all [32]class) {
	at := 0
	add := func(unit uint64, most int) {
		for width := 1; width <= most; width++ {
			all[at] = class{mask: 1<<(8*width) - 1, unit: unit, width: uintptr(width)}
			at++
		}
	}
	add(1, 7)
	add(thousand, 4)
	add(hundredThousand, 3)
	add(coin, 3)
	for _, c := range constants {
		all[at].constant = c
		at++
	}
	if at != classes {
		panic("amount classes do not fill their table")
	}
	return all
}()

const (
	thousand        = 1_000
	hundredThousand = 100_000
	coin            = 100_000_000

	classThousands  = 7 // first class that counts thousands
	classHundreds   = classThousands + 4
	classCoins      = classHundreds + 3
	classConstants  = classCoins + 3
	thousandsMost   = 4 // widths of these classes
	hundredsMost    = 3
	coinsMost       = 3
	constantsNumber = classes - classConstants
)

// constants are amounts that take no bytes: the dust limits of P2PKH, P2TR and P2WPKH outputs, the older one of P2PKH,
// and round sums that are frequent among outputs that nobody spends.
var constants = [constantsNumber]uint64{
	0, 546, 330, 294, 600, 1_000, 10_000, 100_000, 1_000_000, 5_430, 2_000, 3_000, 5_000, 20_000,
}

// classOf returns the class of an amount below 2^56. Amounts that are no constant and do not end in three decimal zeros
// are done after one division.
func classOf(v uint64) byte {
	if v <= 1_000_000 {
		if c := constantClass(v); c != 0 {
			return c
		}
	}
	best, width := byte(max(widthOf(v), 1)-1), max(widthOf(v), 1)
	if width == 1 || v%thousand != 0 {
		return best
	}
	v /= thousand
	if w := widthOf(v); w < width && w <= thousandsMost {
		best, width = byte(classThousands+w-1), w
	}
	if v%(hundredThousand/thousand) != 0 {
		return best
	}
	v /= hundredThousand / thousand
	if w := widthOf(v); w < width && w <= hundredsMost {
		best, width = byte(classHundreds+w-1), w
	}
	if v%(coin/hundredThousand) != 0 {
		return best
	}
	if w := widthOf(v / (coin / hundredThousand)); w < width && w <= coinsMost {
		best = byte(classCoins + w - 1)
	}
	return best
}

// constantClass returns the class of a constant, or zero, which is no constant's.
func constantClass(v uint64) byte {
	switch v {
	case 0:
		return classConstants
	case 546:
		return classConstants + 1
	case 330:
		return classConstants + 2
	case 294:
		return classConstants + 3
	case 600:
		return classConstants + 4
	case 1_000:
		return classConstants + 5
	case 10_000:
		return classConstants + 6
	case 100_000:
		return classConstants + 7
	case 1_000_000:
		return classConstants + 8
	case 5_430:
		return classConstants + 9
	case 2_000:
		return classConstants + 10
	case 3_000:
		return classConstants + 11
	case 5_000:
		return classConstants + 12
	case 20_000:
		return classConstants + 13
	}
	return 0
}

// widthOf returns how many bytes a number needs.
func widthOf(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// appendAmount appends the bytes that a class keeps of an amount.
func appendAmount(dst []byte, c byte, v uint64) []byte {
	k := &classTable[c&31]
	if k.width == 0 {
		return dst
	}
	if k.unit != 1 {
		v /= k.unit
	}
	n := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, v)
	return dst[:n+int(k.width)]
}
