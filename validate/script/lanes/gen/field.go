package main

import (
	"bytes"
	"fmt"
	"math/big"
)

// The constants, by words of eight bytes: multiples of p, limb by limb; single words; what is added to the columns of
// a product before a square is taken off; then the cube root of one, beta, in all lanes.
const (
	multiples   = 8
	wordFold    = 5 * multiples
	wordFold4   = wordFold + 1
	wordLimb    = wordFold + 2
	wordTop     = wordFold + 3
	wordOne     = wordFold + 4
	wordTop1    = wordFold + 5
	wordBit51   = wordFold + 6
	wordColumns = wordFold + 7
	wordBeta    = 64
	words       = wordBeta + 40
)

func constant(word int) string { return fmt.Sprintf("%d(R9)", 8*word) }

// timesP is limb i of k*p.
func timesP(k, i int) string { return constant(5*k + i) }

var (
	p       = hex("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f")
	beta    = hex("7ae96a2b657c07106e64479eac3434e99cf0497512f58995c1396c28719501ee")
	betaMem = number{8 * wordBeta, "R9"}
)

func hex(s string) *big.Int {
	x, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic("bad number " + s)
	}
	return x
}

// limbs cuts x in five; the last has what is above 208 bits.
func limbs(x *big.Int) (l [5]uint64) {
	x = new(big.Int).Set(x)
	low := new(big.Int)
	for i := range 4 {
		l[i] = low.And(x, big.NewInt(1<<52-1)).Uint64()
		x.Rsh(x, 52)
	}
	l[4] = x.Uint64()
	return l
}

// columns is a multiple of p in ten columns, each no less than that column of a square of magnitude 1: nine times
// 2^52 at most, and 2^46 for the last.
func columns() (c [10]uint64) {
	sum := new(big.Int)
	for i := range c {
		c[i] = 1 << 56
		if i == 9 {
			c[i] = 1 << 46
		}
		x := new(big.Int).SetUint64(c[i])
		sum.Add(sum, x.Lsh(x, uint(52*i)))
	}
	for i, l := range limbs(sum.Mod(sum, p)) {
		c[i] -= l
	}
	return c
}

func (w *writer) constants() {
	var table [words]uint64
	for k := range multiples {
		l := limbs(new(big.Int).Mul(p, big.NewInt(int64(k))))
		copy(table[5*k:], l[:])
	}
	table[wordFold], table[wordFold4] = 16*(1<<32+977), 1<<32+977
	table[wordLimb], table[wordTop], table[wordOne], table[wordTop1] = 1<<52-1, 1<<48-1, 1, 1<<48
	table[wordBit51] = 1 << 51
	c := columns()
	copy(table[wordColumns:], c[:])
	for i, l := range limbs(beta) {
		for lane := range 8 {
			table[wordBeta+8*i+lane] = l
		}
	}
	w.WriteByte('\n')
	for i, v := range table {
		fmt.Fprintf(w, "DATA constants<>+%d(SB)/8, $%#016x\n", 8*i, v)
	}
	fmt.Fprintf(w, "GLOBL constants<>(SB), RODATA|NOPTR, $%d\n", 8*words)
}

// A product is summed in ten columns of 52 bits each, in Z0 to Z9: the low half of limb i times limb j goes to column
// i+j, the high half to the next one. Those of the columns 1 to 8 are summed apart, in Z10 to Z17, and joined, since
// long chains of additions to one register are slow; a square has shorter ones. a is in Z18 to Z22, b in Z23 to Z27.
//
// The upper columns come first: so their carries, and their way back to the lower ones, which is one chain of
// dependent steps, run beside the products of the lower columns.
const (
	zHigh = 10
	zA    = 18
	zB    = 23
)

// limbProducts emits the multiply-adds of limbs i and j with i + j = sum, low halves, high halves or both.
func (w *writer) limbProducts(sum int, low, high bool) {
	to := zHigh + sum
	if sum == 8 { // one product, alone in column 9
		to = 9
	}
	for i := max(0, sum-4); i <= min(sum, 4); i++ {
		if high {
			w.op("VPMADD52HUQ", z(zA+i), z(zB+sum-i), z(to))
		}
		if low {
			w.op("VPMADD52LUQ", z(zA+i), z(zB+sum-i), z(sum))
		}
	}
}

func (w *writer) load(n number, first int) {
	for i := 4; i >= 0; i-- {
		w.op("VMOVDQU64", n.limb(i), z(first+i))
	}
}

// upper adds the products of a and b that end in columns 5 to 9, lower the others.
func (w *writer) upper() {
	for sum := 8; sum > 4; sum-- {
		w.limbProducts(sum, true, true)
	}
	w.limbProducts(4, false, true)
}

func (w *writer) lower() {
	w.limbProducts(4, true, false)
	for sum := 3; sum >= 0; sum-- {
		w.limbProducts(sum, true, true)
	}
}

func (w *writer) clear(regs ...int) {
	for _, r := range regs {
		w.op("VPXORQ", z(r), z(r), z(r))
	}
}

func span(from, to int) (r []int) {
	for ; from <= to; from++ {
		r = append(r, from)
	}
	return r
}

// join adds high halves to the columns from one to another.
func (w *writer) join(from, to int) {
	for i := from; i <= to; i++ {
		w.op("VPADDQ", z(zHigh+i-1), z(i), z(i))
	}
}

// square sums the columns of the square of a, all in Z0 to Z9: the mixed products once, doubled, then the squares. 30
// multiply-adds.
func (w *writer) square(a string) {
	w.clear(span(0, 9)...)
	w.load(number{0, a}, zA)
	for sum := 7; sum > 0; sum-- {
		for i := max(0, sum-4); 2*i < sum; i++ {
			w.op("VPMADD52HUQ", z(zA+i), z(zA+sum-i), z(sum+1))
			w.op("VPMADD52LUQ", z(zA+i), z(zA+sum-i), z(sum))
		}
	}
	for i := 8; i > 0; i-- {
		w.op("VPADDQ", z(i), z(i), z(i))
	}
	for i := 4; i >= 0; i-- {
		w.op("VPMADD52HUQ", z(zA+i), z(zA+i), z(2*i+1))
		w.op("VPMADD52LUQ", z(zA+i), z(zA+i), z(2*i))
	}
}

// carryUpper leaves the columns 5 to 8 with what is to be carried taken to the next; their own upper bits stay, as
// multiply-adds do not read them. Columns are below 2^58, the last one below 2^52.
func (w *writer) carryUpper() {
	for i := 5; i < 9; i++ {
		t := zHigh + 6 + i&1 // joined already
		w.op("VPSRLQ", "$52", z(i), z(t))
		w.op("VPADDQ", z(t), z(i+1), z(i+1))
	}
}

// fold takes columns, the upper ones carried, to five limbs below 2^59, of a number of magnitude 1, in Z0 to Z4: the
// columns from 5 on come back times 2^260, then what is above 2^256. 12 multiply-adds.
func (w *writer) fold() {
	w.clear(25)
	w.op("VPMADD52HUQ", z(zFold), z(9), z(25)) // below 2^37, of 2^260
	for i := 3; i >= 0; i-- {
		w.op("VPMADD52HUQ", z(zFold), z(5+i), z(i+1))
		w.op("VPMADD52LUQ", z(zFold), z(6+i), z(i+1))
	}
	w.op("VPMADD52LUQ", z(zFold), z(5), z(0))
	w.op("VPSRLQ", "$48", z(4), z(23))
	w.op("VPSLLQ", "$4", z(25), z(25))
	w.op("VPADDQ", z(23), z(25), z(25)) // below 2^42, of 2^256
	w.op("VPANDQ", z(zTop), z(4), z(4))
	w.op("VPMADD52LUQ", z(zFold4), z(25), z(0))
	w.op("VPMADD52HUQ", z(zFold4), z(25), z(1))
}

func (w *writer) storeAt(n number) {
	for i := range 5 {
		w.op("VMOVDQU64", z(i), n.limb(i))
	}
}

// multiply folds SI * DX.
func (w *writer) multiply() {
	w.load(number{0, "SI"}, zA)
	w.load(number{0, "DX"}, zB)
	w.clear(span(0, 9)...)
	w.columnsToFold()
}

// columnsToFold adds the product of Z18 to Z22 and Z23 to Z27 to the columns, and folds them.
func (w *writer) columnsToFold() {
	w.clear(span(zHigh, zHigh+7)...)
	w.upper()
	w.join(5, 8)
	w.beside(w.carryUpper, w.lower)
	w.join(1, 4)
	w.fold()
}

func (w *writer) multiplySelf() {
	w.square("SI")
	w.carryUpper()
	w.fold()
}

// finish carries, stores and returns.
func (w *writer) finish(mask bool) {
	w.ripple(0, mask)
	w.storeAt(number{0, "DI"})
	w.op("RET")
}

// takeOff adds k*p and takes numbers off the limbs.
func (w *writer) takeOff(k int, bases ...string) {
	for i := range 5 {
		w.op("VPADDQ.BCST", timesP(k, i), z(i), z(i))
		for _, b := range bases {
			w.op("VPSUBQ", number{0, b}.limb(i), z(i), z(i))
		}
	}
}

func (w *writer) products() {
	for _, v := range []struct {
		suffix, result string
		mask           bool
	}{{"", ".", true}, {"Open", ", open.", false}} {
		w.subroutine("mul"+v.suffix, "DI = SI * DX"+v.result+" 62 multiply-adds.")
		w.multiply()
		w.finish(v.mask)
		w.subroutine("sqr"+v.suffix, "DI = SI^2"+v.result+" 42 multiply-adds.")
		w.multiplySelf()
		w.finish(v.mask)
	}
	w.subroutine("sqrLess2", "DI = SI^2 + 4p - DX - CX.")
	w.multiplySelf()
	w.takeOff(4, "DX", "CX")
	w.finish(true)

	w.subroutine("sqrLess3", "DI = SI^2 + 4p - DX - CX - R8.")
	w.multiplySelf()
	w.takeOff(4, "DX", "CX", "R8")
	w.finish(true)

	w.subroutine("mulLess", "DI = SI * DX + 2p - CX.")
	w.multiply()
	w.takeOff(2, "CX")
	w.finish(true)

	w.subroutine("mulApart", "DI = SI * DX + 6p - CX, open.")
	w.multiply()
	w.takeOff(6, "CX")
	w.finish(false)

	w.subroutine("mulSlope", "DI = SI * DX + CX where K1 has the lane's bit, SI * DX + 4p - CX elsewhere, open.")
	w.multiply()
	for i := range 5 {
		w.broadcast(5*4+i, 10)
		w.op("VPSUBQ", number{0, "CX"}.limb(i), z(10), z(10))
		w.op("VMOVDQU64", number{0, "CX"}.limb(i), "K1", z(10))
		w.op("VPADDQ", z(10), z(i), z(i))
	}
	w.finish(false)

	w.subroutine("mulAdd", "DI = SI * DX + CX * R8, folded once. 112 multiply-adds.")
	w.load(number{0, "SI"}, zA)
	w.load(number{0, "DX"}, zB)
	w.clear(span(0, 9)...)
	w.clear(span(zHigh, zHigh+7)...)
	w.upper()
	w.lower()
	w.join(1, 8)
	w.load(number{0, "CX"}, zA)
	w.load(number{0, "R8"}, zB)
	w.columnsToFold()
	w.finish(true)

	w.subroutine("mulSub", "DI = SI * DX - CX^2, folded once; CX of magnitude 1, or open. 92 multiply-adds.")
	w.square("CX")
	for i := range 10 {
		w.broadcast(wordColumns+i, 24)
		w.op("VPSUBQ", z(i), z(24), z(i))
	}
	w.load(number{0, "SI"}, zA)
	w.load(number{0, "DX"}, zB)
	w.columnsToFold()
	w.finish(true)
}

// beside mixes two pieces of code that do not depend on each other.
func (w *writer) beside(few, many func()) {
	lines := func(f func()) [][]byte {
		var part writer
		*w, part = part, *w
		f()
		*w, part = part, *w
		return bytes.SplitAfter(bytes.TrimSuffix(part.Bytes(), []byte("\n")), []byte("\n"))
	}
	a, b := lines(few), lines(many)
	for i, line := range b {
		if at := i * len(a) / len(b); i == 0 || at != (i-1)*len(a)/len(b) {
			w.Write(bytes.TrimSuffix(a[at], []byte("\n")))
			w.WriteByte('\n')
		}
		w.Write(bytes.TrimSuffix(line, []byte("\n")))
		w.WriteByte('\n')
	}
}

// ripple carries from limb to limb, of numbers in five registers from b on, where limbs may be negative but the
// number is not. Without mask it leaves an open number.
func (w *writer) ripple(b int, mask bool) {
	for i := b; i < b+4; i++ {
		w.op("VPSRAQ", "$52", z(i), z(25))
		if mask {
			w.op("VPANDQ", z(zLimb), z(i), z(i))
		}
		w.op("VPADDQ", z(25), z(i+1), z(i+1))
	}
}

// linear sets to = plus + k*p - the sum of minus, which must not be negative.
func (w *writer) linear(to number, plus number, k int, mask bool, minus ...number) {
	w.say("%d*p + a - b, %d of b", k, len(minus))
	for i := range 5 {
		w.op("VMOVDQU64", plus.limb(i), z(i))
		w.op("VPADDQ.BCST", timesP(k, i), z(i), z(i))
		for _, m := range minus {
			w.op("VPSUBQ", m.limb(i), z(i), z(i))
		}
	}
	w.ripple(0, mask)
	w.storeAt(to)
}

// weaken takes a number of magnitude up to 15 in five registers from b on below 2^256 or, above magnitude 1, to
// magnitude 1.
func (w *writer) weaken(b int) {
	w.op("VPSRLQ", "$48", z(b+4), z(25))
	w.op("VPANDQ", z(zTop), z(b+4), z(b+4))
	w.op("VPMADD52LUQ", z(zFold4), z(25), z(b)) // below 2^37: there is no high half
	w.ripple(b, true)
}

func (w *writer) fieldEntries() {
	w.entry("mulLanes", "r, a, b *number, groups int", "r[i] = a[i] * b[i] for i < groups, groups > 0.", 32)
	w.op("MOVQ", "r+0(FP)", "DI")
	w.op("MOVQ", "a+8(FP)", "SI")
	w.op("MOVQ", "b+16(FP)", "DX")
	w.op("MOVQ", "groups+24(FP)", "R12")
	w.WriteString("group:\n")
	w.op("CALL", "mul<>(SB)")
	for _, r := range []string{"DI", "SI", "DX"} {
		w.op("ADDQ", "$320", r)
	}
	w.op("DECQ", "R12")
	w.op("JNZ", "group")
	w.leave()

	w.entry("sqrLanes", "r, a *number, groups, n int", "r[i] = a[i]^(2^n) for i < groups, groups > 0, n > 0.", 32)
	w.op("MOVQ", "a+8(FP)", "SI")
	w.op("MOVQ", "n+24(FP)", "R13")
	w.WriteString("again:\n")
	w.op("MOVQ", "r+0(FP)", "DI")
	w.op("MOVQ", "groups+16(FP)", "R12")
	w.WriteString("group:\n")
	w.op("CALL", "sqr<>(SB)")
	w.op("ADDQ", "$320", "DI")
	w.op("ADDQ", "$320", "SI")
	w.op("DECQ", "R12")
	w.op("JNZ", "group")
	w.op("MOVQ", "r+0(FP)", "SI")
	w.op("DECQ", "R13")
	w.op("JNZ", "again")
	w.leave()
	w.normalise()
}

// normalise: two rounds bring the number below 2^256 for sure; then p goes off where that leaves no less than 0,
// which is where 2^32 + 977 more reach 2^256.
func (w *writer) normalise() {
	w.entry("normaliseLanes", "r, a *number, groups int",
		"r[i] = a[i] below p for i < groups, groups > 0; a of magnitude 15 at most.", 24)
	w.op("MOVQ", "r+0(FP)", "DI")
	w.op("MOVQ", "a+8(FP)", "SI")
	w.op("MOVQ", "groups+16(FP)", "R12")
	w.broadcast(wordTop1, 26)
	w.WriteString("group:\n")
	for i := range 5 {
		w.op("VMOVDQU64", number{0, "SI"}.limb(i), z(i))
	}
	w.weaken(0)
	w.weaken(0)
	for i := range 5 {
		w.op("VMOVDQA64", z(i), z(5+i))
	}
	w.op("VPADDQ", z(zFold4), z(5), z(5))
	w.ripple(5, true)
	w.op("VPCMPUQ", "$5", z(26), z(9), "K1")
	w.op("VPANDQ", z(zTop), z(9), z(9))
	for i := range 5 {
		w.op("VMOVDQA64", z(5+i), "K1", z(i))
	}
	w.storeAt(number{0, "DI"})
	w.op("ADDQ", "$320", "DI")
	w.op("ADDQ", "$320", "SI")
	w.op("DECQ", "R12")
	w.op("JNZ", "group")
	w.leave()
}
