package script

import (
	"bytes"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// bigNumber reads an element by the definition: magnitude little-endian, the last byte's high bit is the sign.
func bigNumber(b []byte) *big.Int {
	magnitude := make([]byte, len(b))
	for i, c := range b {
		magnitude[len(b)-1-i] = c
	}
	if len(b) == 0 {
		return new(big.Int)
	}
	negative := magnitude[0]&0x80 != 0
	magnitude[0] &= 0x7f
	n := new(big.Int).SetBytes(magnitude)
	if negative {
		n.Neg(n)
	}
	return n
}

// shortest tells whether no element of fewer bytes, and not the other zero, has the same value.
func shortest(b []byte) bool {
	n := bigNumber(b)
	switch {
	case len(b) == 0:
		return true
	case n.Sign() == 0:
		return false
	}
	// What n-1 bytes can hold: magnitudes below 2^(8(n-1)-1).
	if len(b) == 1 {
		return true
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*(len(b)-1)-1))
	return n.CmpAbs(limit) >= 0
}

func checkNumber(t interface {
	Helper()
	Errorf(string, ...any)
}, b []byte) {
	t.Helper()
	for _, size := range []int{numberSize, lockTimeSize} {
		for _, minimal := range []bool{false, true} {
			got, ok := parseNumber(b, size, minimal)
			want := len(b) <= size && (!minimal || shortest(b))
			if ok != want {
				t.Errorf("%x of at most %d bytes, minimal %v: ok %v", b, size, minimal, ok)
			}
			if ok && big.NewInt(got).Cmp(bigNumber(b)) != 0 {
				t.Errorf("%x is %v, not %d", b, bigNumber(b), got)
			}
		}
	}
	if truth(b) != (bigNumber(b).Sign() != 0) {
		t.Errorf("%x: truth %v", b, truth(b))
	}
}

func TestNumbersOfTwoBytes(t *testing.T) {
	checkNumber(t, nil)
	for i := range 1 << 8 {
		checkNumber(t, []byte{byte(i)})
	}
	for i := range 1 << 16 {
		checkNumber(t, []byte{byte(i), byte(i >> 8)})
	}
}

func TestNumbers(t *testing.T) {
	// Bytes at which something begins or ends are made often.
	edge := rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0x81, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		checkNumber(t, rapid.SliceOfN(rapid.OneOf(edge, rapid.Byte()), 0, 7).Draw(t, "element"))
	})
}

// TestNumberForms: appendNumber is the inverse of the definition, and shortest, for every number that an opcode can
// make: operands of four bytes give sums of at most five, counts are small.
func TestNumberForms(t *testing.T) {
	check := func(t interface {
		Helper()
		Errorf(string, ...any)
	}, n int64) {
		t.Helper()
		b := appendNumber([]byte{0xee}, n)
		if b[0] != 0xee || bigNumber(b[1:]).Cmp(big.NewInt(n)) != 0 || !shortest(b[1:]) {
			t.Errorf("%d is %x", n, b[1:])
		}
		if !bytes.Equal(b[1:], numberBytes(n)) {
			t.Errorf("%d is %x, not %x", n, b[1:], numberBytes(n))
		}
	}
	for shift := range 63 {
		for _, d := range []int64{-1, 0, 1} {
			check(t, 1<<shift+d)
			check(t, -(1<<shift + d))
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Int64().Draw(t, "n")) })
}

func TestSmallNumbers(t *testing.T) {
	for n := -1; n <= 16; n++ {
		if b := smallNumber(n); !bytes.Equal(b, numberBytes(int64(n))) || cap(b) > len(b) {
			t.Errorf("%d: %x with room for %d", n, b, cap(b))
		}
	}
}

// TestTruth goes through all elements of one to three bytes: only zeros are false, with a sign in the last byte or not.
func TestTruth(t *testing.T) {
	for _, size := range []int{1, 2, 3} {
		falses := 0
		b := make([]byte, size)
		for i := range 1 << (8 * size) {
			for k := range b {
				b[k] = byte(i >> (8 * k))
			}
			if !truth(b) {
				falses++
				if i != 0 && i != 0x80<<(8*(size-1)) {
					t.Errorf("%x is false", b)
				}
			}
		}
		if falses != 2 {
			t.Errorf("%d of %d bytes are false, not 2", falses, size)
		}
	}
	if truth(nil) || truth(make([]byte, 520)) || !truth(append([]byte{0x80}, make([]byte, 519)...)) {
		t.Error("truth of nothing, of 520 zeros, or of a sign that is not in the last byte")
	}
}
