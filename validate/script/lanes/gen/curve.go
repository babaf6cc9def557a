package main

import "fmt"

// width is for how many groups of eight lanes a kernel works at once. Two hide each other's latency.
type width struct {
	groups int
	suffix string
}

const (
	numberSize = 320
	pointSize  = 3 * numberSize // x, y, z
	rungSize   = 6 * numberSize // x, y, h, of two groups each
	groupTable = 2 * 16 * 8 * 64
	imageTable = 16 * 8 * 64
)

// each runs f for every group.
func (k width) each(f func(g int)) {
	for g := range k.groups {
		f(g)
	}
}

// The point of group g, and number n of the scratch of group g.
func px(g int) number      { return number{pointSize * g, "R10"} }
func py(g int) number      { return number{pointSize*g + numberSize, "R10"} }
func pz(g int) number      { return number{pointSize*g + 2*numberSize, "R10"} }
func temp(n, g int) number { return number{numberSize * (2*n + g), "R11"} }

// double: with S = y^2, T = x*S and L = 3/2 x^2 the double is (L^2 - 2T, L(T - x') - S^2, y*z).
func (k width) double(w *writer) {
	w.entry("double"+k.suffix, "p *point, times int, s *scratch",
		"p doubled times times, times > 0. x of magnitude 6 at most, and 5 after; y of magnitude 1, z open.", 24)
	w.op("MOVQ", "p+0(FP)", "R10")
	w.op("MOVQ", "times+8(FP)", "R12")
	w.op("MOVQ", "s+16(FP)", "R11")
	const S, XX, L, T, U = 0, 1, 2, 3, 4
	w.WriteString("again:\n")
	k.each(func(g int) { w.call("sqrOpen", temp(S, g), py(g)) })
	k.each(func(g int) { w.call("sqr", temp(XX, g), px(g)) })
	k.each(func(g int) { w.call("mul", temp(T, g), px(g), temp(S, g)) })
	k.each(func(g int) { w.threeHalves(temp(L, g), temp(XX, g)) })
	k.each(func(g int) { w.call("mulOpen", pz(g), pz(g), py(g)) })
	k.each(func(g int) { w.call("sqrLess2", px(g), temp(L, g), temp(T, g), temp(T, g)) })
	k.each(func(g int) { w.linear(temp(U, g), temp(T, g), 6, false, px(g)) })
	k.each(func(g int) { w.call("mulSub", py(g), temp(L, g), temp(U, g), temp(S, g)) })
	w.op("DECQ", "R12")
	w.op("JNZ", "again")
	w.leave()
}

// choose is the truth table that takes from the second operand the bits that the first, a mask, has, and keeps the
// others.
const choose = 0xd8

// threeHalves sets to = 3a/2, open, of magnitude 2 for a of magnitude 1: half of 3a, or of 3a + p where that is odd.
func (w *writer) threeHalves(to, a number) {
	w.say("3a/2")
	w.broadcast(wordOne, 11)
	w.op("VMOVDQU64", a.limb(0), z(0))
	w.op("VPTESTMQ", z(0), z(11), "K1")
	for i := range 5 {
		if i > 0 {
			w.op("VMOVDQU64", a.limb(i), z(i))
		}
		w.op("VPADDQ", z(i), z(i), z(12))
		w.op("VPADDQ", z(12), z(i), z(i))
		w.op("VPADDQ.BCST", timesP(1, i), z(i), "K1", z(i))
	}
	w.ripple(0, false)
	w.broadcast(wordBit51, 14)
	for i := range 5 {
		w.op("VPSRLQ", "$1", z(i), z(12))
		if i < 4 { // bit 51 comes from the next limb
			w.op("VPSLLQ", "$51", z(i+1), z(13))
			w.op("VPTERNLOGQ", fmt.Sprintf("$%#x", choose), z(14), z(13), z(12))
		}
		w.op("VMOVDQU64", z(12), to.limb(i))
	}
}

// The scratch of additions.
const (
	tX = iota
	tY
	tZ
	tZZ
	tS
	tH
	tR
	tN
	tHH
	tHHH
	tV
	tT
)

// lookUp begins an addition: it fetches the points that pick names.
func (k width) lookUp(w *writer) {
	w.op("MOVQ", "table+8(FP)", "BX")
	w.op("MOVQ", "at+16(FP)", "R12")
	k.each(func(g int) {
		if g > 0 {
			w.op("ADDQ", "$32", "R12")
		}
		w.call("fetch", temp(tX, g), temp(tY, g))
	})
	w.op("MOVQ", "at+16(FP)", "R12")
	w.op("MOVQ", "p+0(FP)", "R10")
}

func (k width) addKey(w *writer) {
	w.entry("addKey"+k.suffix, "p *point, table *line, at *pick, s *scratch",
		"p plus the points of a table that at names.", 32)
	w.op("MOVQ", "s+24(FP)", "R11")
	k.lookUp(w)
	k.add(w, pz)
	w.leave()
}

func (k width) addBase(w *writer) {
	w.entry("addBase"+k.suffix, "p *point, table *line, at *pick, s *scratch, scale *number",
		"The same, where p is an image of the true point under scale, and the table's points are true ones.", 40)
	w.op("MOVQ", "s+24(FP)", "R11")
	k.lookUp(w)
	w.op("MOVQ", "scale+32(FP)", "R13")
	k.each(func(g int) { w.call("mulOpen", temp(tZ, g), pz(g), number{numberSize * g, "R13"}) })
	k.add(w, func(g int) number { return temp(tZ, g) })
	w.leave()
}

// add is mixed addition. With H = X*zz - x, S = Y*z*zz and R = S - y, V = x*H^2, the sum is (R^2 - H^3 - 2V, R(V -
// x') - y*H^3, z*H). Where Y is to be negative, as bit 31 of the places at R12 says, R is S + y, which is -R, and x'
// - V takes the place of V - x'. For equal or opposite points H, and so z from there on, is 0.
func (k width) add(w *writer, scaled func(g int) number) {
	k.each(func(g int) { w.call("sqrOpen", temp(tZZ, g), scaled(g)) })
	k.each(func(g int) { w.call("mulOpen", temp(tS, g), temp(tY, g), scaled(g)) })
	k.each(func(g int) { w.call("mulApart", temp(tH, g), temp(tX, g), temp(tZZ, g), px(g)) })
	k.each(func(g int) {
		w.signs(g)
		w.call("mulSlope", temp(tR, g), temp(tS, g), temp(tZZ, g), py(g))
	})
	k.each(func(g int) { w.call("sqrOpen", temp(tHH, g), temp(tH, g)) })
	k.each(func(g int) { w.call("mulOpen", pz(g), pz(g), temp(tH, g)) })
	k.each(func(g int) { w.call("mul", temp(tV, g), temp(tHH, g), px(g)) })
	k.each(func(g int) { w.call("mul", temp(tHHH, g), temp(tHH, g), temp(tH, g)) })
	k.each(func(g int) { w.negative(temp(tN, g), py(g)) })
	k.each(func(g int) { w.call("sqrLess3", px(g), temp(tR, g), temp(tHHH, g), temp(tV, g), temp(tV, g)) })
	k.each(func(g int) { w.signs(g); w.difference(temp(tT, g), temp(tV, g), px(g)) })
	k.each(func(g int) { w.call("mulAdd", py(g), temp(tR, g), temp(tT, g), temp(tHHH, g), temp(tN, g)) })
}

// signs sets K1 to the lanes whose Y is to be negative.
func (w *writer) signs(g int) {
	w.op("VMOVDQU32", fmt.Sprintf("%d(R12)", 32*g), "Y10")
	w.op("VPMOVD2M", "Y10", "K1")
}

// negative sets to = 2p - a, open.
func (w *writer) negative(to, a number) {
	w.say("2p - y")
	for i := range 5 {
		w.broadcast(5*2+i, i)
		w.op("VPSUBQ", a.limb(i), z(i), z(i))
	}
	w.ripple(0, false)
	w.storeAt(to)
}

// difference sets to = 6p + a - b, or 2p + b - a where K1 has the lane's bit, open.
func (w *writer) difference(to, a, b number) {
	w.say("6p + a - b; 2p + b - a")
	for i := range 5 {
		w.op("VMOVDQU64", a.limb(i), z(10))
		w.op("VPSUBQ", b.limb(i), z(10), z(10))
		w.op("VPADDQ.BCST", timesP(6, i), z(10), z(i))
		w.broadcast(5*2+i, 11)
		w.op("VPSUBQ", z(10), z(11), "K1", z(i))
	}
	w.ripple(0, false)
	w.storeAt(to)
}

// climb makes the next odd multiple: rung + step, which have one z, and takes the step to the z of the sum (Meloni's
// addition). With h = X - x, R = Y - y, W = X*h^2, w = x*h^2: the sum is (R^2 - W - w, R(W - x') - Y(W - w)), the
// step becomes (W, Y(W - w)), and z is multiplied with h.
func (k width) climb(w *writer) {
	w.entry("climb"+k.suffix, "from, to, step *rung, s *scratch",
		"to = from + step; x of magnitude 5, y of 3, h open; step of magnitude 1 after, its x of 5 before.", 32)
	w.op("MOVQ", "from+0(FP)", "R10")
	w.op("MOVQ", "to+8(FP)", "R12")
	w.op("MOVQ", "step+16(FP)", "R13")
	w.op("MOVQ", "s+24(FP)", "R11")
	at := func(base string, n int) func(int) number {
		return func(g int) number { return number{numberSize * (2*n + g), base} }
	}
	x, y := at("R10", 0), at("R10", 1)
	sx, sy, h := at("R12", 0), at("R12", 1), at("R12", 2)
	X, Y := at("R13", 0), at("R13", 1)
	const C, W, R, D, T = 0, 1, 2, 3, 4
	k.each(func(g int) { w.linear(h(g), X(g), 6, false, x(g)) })
	k.each(func(g int) { w.linear(temp(R, g), Y(g), 4, false, y(g)) })
	k.each(func(g int) { w.call("sqrOpen", temp(C, g), h(g)) })
	k.each(func(g int) { w.call("mul", X(g), X(g), temp(C, g)) })
	k.each(func(g int) { w.call("mul", temp(W, g), x(g), temp(C, g)) })
	k.each(func(g int) { w.call("sqrLess2", sx(g), temp(R, g), X(g), temp(W, g)) })
	k.each(func(g int) { w.linear(temp(D, g), X(g), 2, false, temp(W, g)) })
	k.each(func(g int) { w.linear(temp(T, g), X(g), 6, false, sx(g)) })
	k.each(func(g int) { w.call("mul", Y(g), Y(g), temp(D, g)) })
	k.each(func(g int) { w.call("mulLess", sy(g), temp(R, g), temp(T, g), Y(g)) })
	w.leave()
}

// line takes a rung to the z of the last one and writes it and its image under the endomorphism into the table.
func (k width) line(w *writer) {
	w.entry("line"+k.suffix, "from *rung, z *number, table *line, s *scratch",
		"table[0:8] = (x*z^2, y*z^3), below 2^256, and 16 lines on the same with beta*x; then z = z*h.", 32)
	w.op("MOVQ", "from+0(FP)", "R10")
	w.op("MOVQ", "z+8(FP)", "R13")
	w.op("MOVQ", "table+16(FP)", "BX")
	w.op("MOVQ", "s+24(FP)", "R11")
	at := func(base string, n int) func(int) number {
		return func(g int) number { return number{numberSize * (2*n + g), base} }
	}
	x, y, h, scale := at("R10", 0), at("R10", 1), at("R10", 2), at("R13", 0)
	const ZZ, ZZZ, X, Y, B = 0, 1, 2, 3, 4
	k.each(func(g int) { w.call("sqrOpen", temp(ZZ, g), scale(g)) })
	k.each(func(g int) { w.call("mulOpen", temp(ZZZ, g), temp(ZZ, g), scale(g)) })
	k.each(func(g int) { w.call("mul", temp(X, g), x(g), temp(ZZ, g)) })
	k.each(func(g int) { w.call("mul", scale(g), scale(g), h(g)) })
	k.each(func(g int) { w.call("mul", temp(Y, g), y(g), temp(ZZZ, g)) })
	k.each(func(g int) { w.call("mul", temp(B, g), temp(X, g), betaMem) })
	k.each(func(g int) {
		w.op("LEAQ", fmt.Sprintf("%d(BX)", groupTable*g), "DI")
		w.op("LEAQ", temp(X, g).limb(0), "SI")
		w.op("LEAQ", temp(Y, g).limb(0), "DX")
		w.op("CALL", "put<>(SB)")
		w.op("LEAQ", fmt.Sprintf("%d(BX)", groupTable*g+imageTable), "DI")
		w.op("LEAQ", temp(B, g).limb(0), "SI")
		w.op("CALL", "put<>(SB)")
	})
	w.leave()
}

// transpose turns Z0 to Z7, eight rows of eight words, with Z8 to Z15 as scratch: pairs of words, then of pairs, then
// of fours.
func (w *writer) transpose() {
	for i := 0; i < 8; i += 2 {
		w.op("VPUNPCKLQDQ", z(i+1), z(i), z(8+i))
		w.op("VPUNPCKHQDQ", z(i+1), z(i), z(9+i))
	}
	for b := 0; b < 8; b += 4 {
		for i := range 2 {
			w.op("VSHUFI64X2", "$0x88", z(8+b+2+i), z(8+b+i), z(b+i))
			w.op("VSHUFI64X2", "$0xdd", z(8+b+2+i), z(8+b+i), z(b+2+i))
		}
	}
	for i := range 4 {
		w.op("VSHUFI64X2", "$0x88", z(4+i), z(i), z(8+i))
		w.op("VSHUFI64X2", "$0xdd", z(4+i), z(i), z(12+i))
	}
}

func (w *writer) packing() {
	w.subroutine("fetch", "DI and SI = x and y, open, of the lines whose eight places are at R12, in the table at BX.")
	for l := range 8 {
		w.op("MOVL", fmt.Sprintf("%d(R12)", 4*l), "AX")
		w.op("SHLL", "$6", "AX") // the sign goes
		w.op("VMOVDQU64", "(BX)(AX*1)", z(l))
	}
	w.transpose()
	for half, to := range []number{{0, "DI"}, {0, "SI"}} {
		b := 8 + 4*half
		w.op("VMOVDQU64", z(b), to.limb(0))
		for i := 1; i < 4; i++ {
			w.op("VPSRLQ", fmt.Sprintf("$%d", 64-12*i), z(b+i-1), z(0))
			w.op("VPSLLQ", fmt.Sprintf("$%d", 12*i), z(b+i), z(1))
			w.op("VPORQ", z(0), z(1), z(0))
			w.op("VMOVDQU64", z(0), to.limb(i))
		}
		w.op("VPSRLQ", "$16", z(b+3), z(0))
		w.op("VMOVDQU64", z(0), to.limb(4))
	}
	w.op("RET")

	w.subroutine("put", "the eight lines at DI = x and y, SI and DX, of magnitude 1, below 2^256.")
	for half, from := range []number{{0, "DX"}, {0, "SI"}} { // y first: its words are moved up before x comes
		for i := range 5 {
			w.op("VMOVDQU64", from.limb(i), z(16+i))
		}
		w.weaken(16)
		b := 4 - 4*half
		for i := range 4 {
			w.op("VPSLLQ", fmt.Sprintf("$%d", 52-12*i), z(17+i), z(b+i))
			if i > 0 {
				w.op("VPSRLQ", fmt.Sprintf("$%d", 12*i), z(16+i), z(16+i))
			}
			w.op("VPORQ", z(16+i), z(b+i), z(b+i))
		}
	}
	w.transpose()
	for l := range 8 {
		w.op("VMOVDQU64", z(8+l), fmt.Sprintf("%d(DI)", 64*l))
	}
	w.op("RET")
}
