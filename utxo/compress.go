package utxo

import (
	"bytes"
	"cmp"

	"stele/chain"
)

// This file holds Core's compressed spelling of numbers, amounts and scripts (src/serialize.h, src/compressor.cpp), which
// its snapshots are made of. Every value has one spelling here; other spellings that Core's reader would take are refused.

// appendVarint appends n as Core's VARINT: seven bits a byte, highest first, the top bit set where more follow. Each
// continuation stands for one more than its bits say, so that no number has two forms. 1 to 10 bytes.
func appendVarint(dst []byte, n uint64) []byte {
	if n < 0x80 {
		return append(dst, byte(n))
	}
	var b [10]byte
	i := len(b) - 1
	b[i] = byte(n & 0x7f)
	for n >= 0x80 {
		n = n>>7 - 1
		i--
		b[i] = 0x80 | byte(n&0x7f)
	}
	return append(dst, b[i:]...)
}

// varint reads the VARINT that b begins with and the bytes that it takes. It is not ok where b ends too early or the
// number needs more than 64 bits.
func varint(b []byte) (n uint64, size int, ok bool) {
	for i, x := range b {
		if n > 1<<57-1 {
			return 0, 0, false
		}
		n = n<<7 | uint64(x&0x7f)
		if x < 0x80 {
			return n, i + 1, true
		}
		if n == 1<<64-1 {
			return 0, 0, false
		}
		n++
	}
	return 0, 0, false
}

// compressAmount makes amounts with trailing decimal zeros small. With n = m x 10^e, e at most 9:
//
//	0                       0
//	e < 9, m = 10k + d      1 + 10 x (9k + d - 1) + e      d is 1 to 9
//	e = 9                   1 + 10 x (m - 1) + 9
//
// It is one to one on all numbers; amounts up to chain.MaxMoney fit 64 bits.
func compressAmount(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	e := uint64(0)
	for e < 9 && n%10 == 0 {
		n /= 10
		e++
	}
	if e == 9 {
		return 1 + 10*(n-1) + 9
	}
	return 1 + 10*(9*(n/10)+n%10-1) + e
}

// powers are those of ten that an amount can end in.
var powers = [10]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// decompressAmount undoes compressAmount. It is not ok for what stands for more than chain.MaxMoney.
func decompressAmount(x uint64) (n int64, ok bool) {
	if x == 0 {
		return 0, true
	}
	x--
	e := x % 10
	x /= 10
	m := x + 1
	if e < 9 {
		m = x/9*10 + x%9 + 1
	}
	if m > uint64(chain.MaxMoney)/powers[e] {
		return 0, false
	}
	return int64(m * powers[e]), true
}

// Kinds of compressed scripts. A script of none of them is its length and kindCount in one VARINT, and its bytes.
const (
	kindPubKeyHash = 0 // 20 bytes follow
	kindScriptHash = 1 // 20 bytes
	kindKeyEven    = 2 // 2 and 3 are the first byte of the compressed key that is paid, whose other 32 follow
	kindLongEven   = 4 // 4 and 5: an uncompressed key with an even and an odd y; its x, 32 bytes
	kindCount      = 6
)

// templates of kinds are what stands before and behind their bytes.
var templates = [kindLongEven]struct {
	before, behind string
	bytes          int
}{
	{"\x76\xa9\x14", "\x88\xac", 20}, // DUP HASH160 20 ... EQUALVERIFY CHECKSIG
	{"\xa9\x14", "\x87", 20},         // HASH160 20 ... EQUAL
	{"\x21\x02", "\xac", 32},         // 33 02 ... CHECKSIG
	{"\x21\x03", "\xac", 32},
}

// longKeyScript is the length of a script that pays an uncompressed key: 65, 04, x and y, CHECKSIG.
const longKeyScript = 1 + 65 + 1

// appendScript appends a script's compressed spelling. Uncompressed keys get their kinds if points is set, and if they
// are points of the curve; that costs some arithmetic here and a square root in the reader.
func appendScript(dst, script []byte, points bool) []byte {
	if kind := kindOf(script); kind >= 0 {
		t := &templates[kind]
		return append(append(dst, byte(kind)), script[len(t.before):len(t.before)+t.bytes]...)
	}
	if points && paysLongKey(script) && onCurve((*[64]byte)(script[2:])) {
		return append(append(dst, kindLongEven|script[65]&1), script[2:34]...)
	}
	return append(appendVarint(dst, uint64(len(script))+kindCount), script...)
}

// kindOf returns the kind with a template that a script is of, or -1.
func kindOf(script []byte) int {
	kind := -1
	switch len(script) {
	case 25:
		kind = kindPubKeyHash
	case 23:
		kind = kindScriptHash
	case 35:
		kind = int(script[1]) // 2 or 3, else no key
		if kind&^1 != kindKeyEven {
			return -1
		}
	default:
		return -1
	}
	t := &templates[kind]
	if string(script[:len(t.before)]) != t.before || string(script[len(t.before)+t.bytes:]) != t.behind {
		return -1
	}
	return kind
}

func paysLongKey(script []byte) bool {
	return len(script) == longKeyScript && script[0] == 65 && script[1] == 4 && script[66] == 0xac
}

// scriptBytes returns how many bytes follow a kind's VARINT. It is not ok for a script that cannot be spent by its length.
func scriptBytes(kind uint64) (n int, ok bool) {
	switch {
	case kind < kindKeyEven:
		return 20, true
	case kind < kindCount:
		return 32, true
	}
	return int(kind - kindCount), kind-kindCount <= maxScript
}

// decompressScript appends the script of a kind and its bytes. It is not ok where appendScript would have spelt that
// script otherwise, and for an x of no point.
func decompressScript(dst []byte, kind uint64, b []byte, points bool) ([]byte, bool) {
	switch {
	case kind < kindLongEven:
		t := &templates[kind]
		return append(append(append(dst, t.before...), b...), t.behind...), true
	case kind < kindCount:
		y, ok := lift((*[32]byte)(b), kind&1 == 1)
		if !points || !ok {
			return dst, false
		}
		dst = append(append(append(dst, 65, 4), b...), y[:]...)
		return append(dst, 0xac), true
	case kindOf(b) >= 0, points && paysLongKey(b) && onCurve((*[64]byte)(b[2:])):
		return dst, false
	}
	return append(dst, b...), true
}

// varintOrder is the order in which Core's database gives the coins of a transaction: by the bytes of vout's VARINT. That
// is the order of numbers up to 16511; 16512 (80 80 00) comes before 256 (81 00).
func varintOrder(a, b uint32) int {
	if max(a, b) < numeric {
		return cmp.Compare(a, b)
	}
	var x, y [10]byte
	return bytes.Compare(appendVarint(x[:0], uint64(a)), appendVarint(y[:0], uint64(b)))
}

// numeric is the first vout whose place among others is not that of its number.
const numeric = 16512
