package lanes

import (
	"math/big"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
)

func (a *scalar) big() *big.Int {
	x := new(big.Int)
	for i := 3; i >= 0; i-- {
		x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(a[i]))
	}
	return x
}

func scalarOf(x *big.Int) scalar {
	b := put(new(big.Int).Mod(x, bigN))
	return scalar(words(b[:]))
}

// value is the part as a signed number.
func (r *part) value() *big.Int {
	s := scalar{r[0], r[1], r[2]}
	x := s.big()
	if r[2]>>63 == 1 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), 192))
	}
	return x
}

// digitOf is the odd number that a pick's place and sign stand for.
func digitOf(v uint32, first int) *big.Int {
	d := 2*int64(int(v&placeMask)-first) + 1
	if v>>31 == 1 {
		d = -d
	}
	return big.NewInt(d)
}

// digitsOf returns the digits of both multipliers by image and window, from picks as the verifier writes them, for a
// lane.
func digitsOf(v *Verifier, g, l int, ofG, ofKey *scalar) (key, base [2][]*big.Int) {
	v.setPicks(g, l, ofG, ofKey)
	for image := range key {
		for w := range v.keyPicks[image] {
			p := v.keyPicks[image][w][lanes*g+l]
			at := keyLine(g, image, 0, l)
			place := (int(p&placeMask) - at) / lanes
			key[image] = append(key[image], digitOf(uint32(place)|p&^placeMask, 0))
		}
		for w := range v.basePicks[image] {
			base[image] = append(base[image], digitOf(v.basePicks[image][w][lanes*g+l], baseOdds*image))
		}
	}
	return key, base
}

// TestScalars compares products, inverses, halves and digits with big integers.
func TestScalars(t *testing.T) {
	m, v := newMaker(4), New()
	bound := new(big.Int).Lsh(big.NewInt(1), 129)
	join := func(digits []*big.Int, w uint) *big.Int {
		sum := new(big.Int)
		for i := len(digits) - 1; i >= 0; i-- {
			if digits[i].CmpAbs(new(big.Int).Lsh(big.NewInt(1), w)) >= 0 || digits[i].Bit(0) == 0 {
				t.Fatalf("digit %v of a window of %d", digits[i], w)
			}
			sum.Lsh(sum, w).Add(sum, digits[i])
		}
		return sum
	}
	for range cases(t, 2000) {
		x, y := m.number(), m.number()
		a, b := scalarOf(x), scalarOf(y)
		var r scalar
		r.mul(&a, &b)
		if want := new(big.Int).Mul(x, y); r.big().Cmp(want.Mod(want, bigN)) != 0 {
			t.Fatalf("%x * %x = %x", x, y, r.big())
		}
		if r.inverse(&a); r.big().Cmp(new(big.Int).ModInverse(x, bigN)) != 0 {
			t.Fatalf("1/%x = %x", x, r.big())
		}
		if r.neg(&a); r.big().Cmp(new(big.Int).Sub(bigN, x)) != 0 {
			t.Fatalf("-%x = %x", x, r.big())
		}
		parts := a.split()
		k0, k1 := parts[0].value(), parts[1].value()
		sum := new(big.Int).Mul(k1, bigLambda)
		if sum.Add(sum, k0).Mod(sum, bigN).Cmp(x) != 0 || k0.Bit(0)&k1.Bit(0) == 0 ||
			k0.CmpAbs(bound) >= 0 || k1.CmpAbs(bound) >= 0 {
			t.Fatalf("%x is not %x + %x*lambda", x, k0, k1)
		}
		key, base := digitsOf(v, m.IntN(2), m.IntN(lanes), &b, &a)
		kb := b.split()
		for image, part := range parts {
			if join(key[image], keyWindow).Cmp(part.value()) != 0 {
				t.Fatalf("digits %v of %x", key[image], part.value())
			}
			if join(base[image], baseWindow).Cmp(kb[image].value()) != 0 {
				t.Fatalf("digits %v of %x", base[image], kb[image].value())
			}
		}
	}
	zero := scalar{}
	if zero.neg(&zero); !zero.isZero() {
		t.Error("-0 is not 0")
	}
	zero = scalar{}
	parts := zero.split()
	sum := new(big.Int).Mul(parts[1].value(), bigLambda)
	if sum.Add(sum, parts[0].value()).Mod(sum, bigN).Sign() != 0 {
		t.Error("the halves of 0 are not those of 0")
	}
}

// TestBaseTable compares the table of G with btcec's multiples: the first and last ones and some between, and their
// images.
func TestBaseTable(t *testing.T) {
	table, m := base(), newMaker(5)
	for i := range 200 {
		e := i
		if i >= 50 {
			e = baseOdds - 1 - (i - 50)
		}
		if i >= 100 {
			e = m.IntN(baseOdds)
		}
		k := big.NewInt(int64(2*e + 1))
		for image, multiple := range []*big.Int{k, new(big.Int).Mul(k, bigLambda)} {
			p := multipleG(multiple)
			x, y := put(p.x), put(p.y)
			w := table[image*baseOdds+e]
			if gx, gy := words(x[:]), words(y[:]); gx != [4]uint64(w[:4]) || gy != [4]uint64(w[4:]) {
				t.Fatalf("entry %d of image %d is not %v*G", e, image, k)
			}
		}
	}
}

// TestKeyTable compares the table of a key with btcec's multiples, brought to the table's image.
func TestKeyTable(t *testing.T) {
	m := newMaker(6)
	for name, v := range verifiers() {
		for groups := 1; groups <= 2; groups++ {
			var x, y [2]number
			var keys [2][lanes]*big.Int
			for g := range groups {
				for l := range lanes {
					keys[g][l] = m.number()
					p := multipleG(keys[g][l])
					px, py := put(p.x), put(p.y)
					xw, yw := words(px[:]), words(py[:])
					x[g].setWords(l, &xw)
					y[g].setWords(l, &yw)
				}
			}
			v.table(x[:groups], y[:groups], &v.scale)
			for range 100 {
				g, l, e, image := m.IntN(groups), m.IntN(lanes), m.IntN(keyOdds), m.IntN(2)
				k := new(big.Int).Mul(keys[g][l], big.NewInt(int64(2*e+1)))
				if image == 1 {
					k.Mul(k, bigLambda)
				}
				p := multipleG(k)
				z := v.scale[g].lane(l)
				zz := new(big.Int).Mul(z.value(), z.value())
				wx := new(big.Int).Mul(p.x, zz)
				wy := new(big.Int).Mul(p.y, zz.Mul(zz, z.value()))
				line := v.keys[keyLine(g, image, e, l)]
				gx, gy := unpack((*[4]uint64)(line[:4])), unpack((*[4]uint64)(line[4:]))
				if wx.Sub(wx, gx.value()).Mod(wx, bigP).Sign() != 0 || wy.Sub(wy, gy.value()).Mod(wy, bigP).Sign() != 0 {
					t.Fatalf("%s: multiple %d of image %d, lane %d of group %d", name, 2*e+1, image, l, g)
				}
			}
		}
	}
}

// liftX returns the point of an x, if there is one.
func liftX(x *big.Int, odd bool) (affine, bool) {
	var fx, fy btcec.FieldVal
	b := put(x)
	fx.SetBytes(&b)
	if !btcec.DecompressY(&fx, odd, &fy) {
		return affine{}, false
	}
	fy.Normalize()
	return affine{x, new(big.Int).SetBytes(fy.Bytes()[:])}, true
}
