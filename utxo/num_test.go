package utxo

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func (n *num) big() *big.Int {
	var words [numWords]big.Word
	copy(words[:], n[:])
	return new(big.Int).SetBits(words[:])
}

func fromBig(t *rapid.T, x *big.Int) num {
	if x.Sign() < 0 || x.BitLen() > numBits {
		t.Fatalf("%v is no operand", x)
	}
	var n num
	copy(n[:], x.Bits())
	return n
}

// operand draws any number below 2^3072, often one at a limit: of a word, of
// the modulus, of the width, or with runs of equal words.
func operand(t *rapid.T, label string) num {
	top := new(big.Int).Lsh(big.NewInt(1), numBits)
	near := func(x *big.Int) num {
		x = new(big.Int).Add(x, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, label+" off")))
		if x.Sign() < 0 || x.Cmp(top) >= 0 {
			x.Sub(top, big.NewInt(1))
		}
		return fromBig(t, x)
	}
	switch rapid.IntRange(0, 4).Draw(t, label+" kind") {
	case 0:
		return near(prime)
	case 1:
		return near(new(big.Int).Lsh(big.NewInt(1), uint(rapid.IntRange(0, numBits).Draw(t, label+" bit"))))
	case 2:
		var n num
		for i := range n {
			n[i] = rapid.SampledFrom([]big.Word{0, 1, excess, ^big.Word(excess) + 1, ^big.Word(0)}).Draw(t, label+" word")
		}
		return n
	case 3:
		n := rapid.SliceOfN(rapid.Uint64(), numBits/64, numBits/64).Draw(t, label+" random")
		var b [numBytes]byte
		for i, x := range n {
			binary.LittleEndian.PutUint64(b[8*i:], x)
		}
		var z num
		z.load(&b)
		return z
	}
	return num{big.Word(rapid.Uint32().Draw(t, label+" small"))}
}

func TestMul(t *testing.T) {
	var m multiplier
	rapid.Check(t, func(t *rapid.T) {
		a, b := operand(t, "a"), operand(t, "b")
		want := new(big.Int).Mul(a.big(), b.big())
		want.Mod(want, prime)
		got := a
		m.mul(&got, &b)
		if new(big.Int).Mod(got.big(), prime).Cmp(want) != 0 {
			t.Fatalf("%x * %x\n got %x\nwant %x", a.big(), b.big(), got.big(), want)
		}
		got.reduce()
		if got.big().Cmp(want) != 0 {
			t.Fatalf("%x * %x reduced\n got %x\nwant %x", a.big(), b.big(), got.big(), want)
		}
	})
}

// The largest double-width inputs, and those whose first fold overflows by
// one bit, do not come out of products of two numbers every day.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high := operand(t, "low"), operand(t, "high")
		wide := new(big.Int).Lsh(high.big(), numBits)
		wide.Add(wide, low.big())
		var n num
		n.fold(wide.Bits())
		want := new(big.Int).Mod(wide, prime)
		if got := new(big.Int).Mod(n.big(), prime); got.Cmp(want) != 0 {
			t.Fatalf("%x\n got %x\nwant %x", wide, got, want)
		}
	})
}

func TestInverse(t *testing.T) {
	var m multiplier
	var zero num
	zero.inverse()
	if zero != (num{}) {
		t.Fatalf("1/0 = %x", zero.big())
	}
	rapid.Check(t, func(t *rapid.T) {
		a := operand(t, "a")
		if new(big.Int).Mod(a.big(), prime).Sign() == 0 {
			return
		}
		inv := a
		inv.inverse()
		m.mul(&inv, &a)
		inv.reduce()
		if inv != one {
			t.Fatalf("a * 1/a = %x for a = %x", inv.big(), a.big())
		}
	})
}

func TestLoadStore(t *testing.T) {
	var in, out [numBytes]byte
	for i := range in {
		in[i] = byte(i*7 + 1)
	}
	var n num
	n.load(&in)
	n.store(&out)
	back := n.big().FillBytes(make([]byte, numBytes))
	for i := range in {
		if out[i] != in[i] || back[numBytes-1-i] != in[i] {
			t.Fatalf("byte %d: %02x stored as %02x, %02x in the number", i, in[i], out[i], back[numBytes-1-i])
		}
	}
}

func sample(seed byte) num {
	h := NewMuHash()
	h.expand([]byte{seed})
	return h.element
}

// BenchmarkMul is one multiplication modulo p, the price of a coin beside its
// key stream.
func BenchmarkMul(b *testing.B) {
	var m multiplier
	z, x := sample(1), sample(2)
	b.ReportAllocs()
	for b.Loop() {
		m.mul(&z, &x)
	}
}

// BenchmarkMulBig reduces with math/big as well.
func BenchmarkMulBig(b *testing.B) {
	zn, xn := sample(1), sample(2)
	z, x, wide := zn.big(), xn.big(), new(big.Int)
	b.ReportAllocs()
	for b.Loop() {
		wide.Mul(z, x)
		z.Mod(wide, prime)
	}
}

// BenchmarkMulRows forms the product in rows of bits.Mul, four columns at a
// time, instead of by math/big.
func BenchmarkMulRows(b *testing.B) {
	z, x := sample(1), sample(2)
	b.ReportAllocs()
	for b.Loop() {
		var wide [2 * numWords]big.Word
		for i, y := range z {
			wide[i+numWords] = addRow(wide[i:i+numWords], &x, uint(y))
		}
		z.fold(wide[:])
	}
}

func addRow(row []big.Word, x *num, y uint) big.Word {
	var carry uint
	for j := 0; j < numWords; j += 4 {
		x, w := (*[4]big.Word)(x[j:]), (*[4]big.Word)(row[j:])
		h0, l0 := bits.Mul(uint(x[0]), y)
		h1, l1 := bits.Mul(uint(x[1]), y)
		h2, l2 := bits.Mul(uint(x[2]), y)
		h3, l3 := bits.Mul(uint(x[3]), y)
		var c uint
		l0, c = bits.Add(l0, carry, 0)
		l1, c = bits.Add(l1, h0, c)
		l2, c = bits.Add(l2, h1, c)
		l3, c = bits.Add(l3, h2, c)
		h3 += c
		l0, c = bits.Add(uint(w[0]), l0, 0)
		l1, c = bits.Add(uint(w[1]), l1, c)
		l2, c = bits.Add(uint(w[2]), l2, c)
		l3, c = bits.Add(uint(w[3]), l3, c)
		carry = h3 + c
		w[0], w[1], w[2], w[3] = big.Word(l0), big.Word(l1), big.Word(l2), big.Word(l3)
	}
	return big.Word(carry)
}
