package utxo

import "math/big"

// Points of secp256k1, y^2 = x^3 + 7 modulo fieldPrime, for the few hundred thousandths of the coins that pay to an
// uncompressed key. math/big is fast enough for them: a microsecond or two a test, some tens a root.

// fieldPrime is 2^256 - 2^32 - 977; rootOf is the power that gives the root of a square, (fieldPrime + 1) / 4.
var (
	fieldPrime = func() *big.Int {
		p := new(big.Int).Lsh(big.NewInt(1), 256)
		return p.Sub(p, big.NewInt(1<<32+977))
	}()
	rootOf = func() *big.Int {
		e := new(big.Int).Add(fieldPrime, big.NewInt(1))
		return e.Rsh(e, 2)
	}()
	curveB = big.NewInt(7)
)

// right is x^3 + 7; not ok for an x that is no number of the field.
func right(x *big.Int) (c *big.Int, ok bool) {
	if x.Cmp(fieldPrime) >= 0 {
		return nil, false
	}
	c = new(big.Int).Mul(x, x)
	c.Mul(c.Mod(c, fieldPrime), x)
	return c.Mod(c.Add(c, curveB), fieldPrime), true
}

// onCurve tells whether x and y, each 32 bytes, highest first, are a point.
func onCurve(xy *[64]byte) bool {
	x, y := new(big.Int).SetBytes(xy[:32]), new(big.Int).SetBytes(xy[32:])
	want, ok := right(x)
	if !ok || y.Cmp(fieldPrime) >= 0 {
		return false
	}
	y.Mul(y, y)
	return y.Mod(y, fieldPrime).Cmp(want) == 0
}

// lift gives the y that makes a point with x and is odd or even as asked; not ok where there is none.
func lift(x *[32]byte, odd bool) (y [32]byte, ok bool) {
	square, ok := right(new(big.Int).SetBytes(x[:]))
	if !ok {
		return y, false
	}
	root := new(big.Int).Exp(square, rootOf, fieldPrime)
	again := new(big.Int).Mul(root, root)
	if again.Mod(again, fieldPrime).Cmp(square) != 0 {
		return y, false
	}
	if (root.Bit(0) == 1) != odd { // no point has y = 0: -7 is no cube
		root.Sub(fieldPrime, root)
	}
	root.FillBytes(y[:])
	return y, true
}
