package secp256k1

import (
	"math/big"
	"sync"
	"testing"
)

// model is a point by the schoolbook: affine coordinates, divisions, big numbers. x is nil at infinity. It is the
// oracle of the group's formulas, on y^2 = x^3 + b for any b.
type model struct{ x, y *big.Int }

func (a model) infinite() bool { return a.x == nil }

func (a model) equal(b model) bool {
	if a.infinite() || b.infinite() {
		return a.infinite() && b.infinite()
	}
	return a.x.Cmp(b.x) == 0 && a.y.Cmp(b.y) == 0
}

func (a model) add(b model) model {
	if a.infinite() {
		return b
	}
	if b.infinite() {
		return a
	}
	slope, below := new(big.Int), new(big.Int)
	if a.x.Cmp(b.x) != 0 {
		slope.Sub(b.y, a.y)
		below.Sub(b.x, a.x)
	} else {
		if a.y.Cmp(b.y) != 0 || a.y.Sign() == 0 {
			return model{}
		}
		slope.Mul(big.NewInt(3), slope.Mul(a.x, a.x))
		below.Lsh(a.y, 1)
	}
	slope.Mul(slope, below.ModInverse(below.Mod(below, bigP), bigP))
	x := new(big.Int).Mul(slope, slope)
	x.Sub(x, a.x).Sub(x, b.x).Mod(x, bigP)
	y := new(big.Int).Sub(a.x, x)
	y.Mul(y, slope).Sub(y, a.y).Mod(y, bigP)
	return model{x, y}
}

func (a model) multiply(k *big.Int) model {
	var r model
	for i := k.BitLen() - 1; i >= 0; i-- {
		r = r.add(r)
		if k.Bit(i) == 1 {
			r = r.add(a)
		}
	}
	return r
}

func (a model) affine() affine { return affine{fromBig(a.x), fromBig(a.y)} }

// at is the same point with another z.
func (a model) at(z *field) point {
	if a.infinite() {
		return point{infinity: true}
	}
	p := a.affine()
	p.scale(z)
	return point{x: p.x, y: p.y, z: *z}
}

func (a *point) model() model {
	if a.infinity {
		return model{}
	}
	var r affine
	r.toAffine(a)
	return model{r.x.big(), r.y.big()}
}

func (a *affine) model() model { return model{a.x.residue(), a.y.residue()} }

// group is a small group of points of y^2 = x^3 + b: multiples[i] = i * generator. The formulas for points are those
// of the true group, as they do not know b. What never happens there happens in every second addition here.
type group struct {
	order     int
	multiples []model
	lambda    int // (beta*x, y) is this multiple of (x, y)
	base      *baseTables
	index     map[string]int
}

// smallGroups are groups of the orders 13 and 199, found as multiples of any point by the rest of its curve's order.
var smallGroups = sync.OnceValue(func() []*group {
	return []*group{newGroup(13, 2, 4, 4), newGroup(199, 4, 7, 5)}
})

// newGroup takes the largest windows in which no two odd multiples, nor 0 and 2, meet.
func newGroup(order, b int, window, keyWindow uint) *group {
	n := curveOrder(b)
	rest, remainder := new(big.Int).DivMod(n, big.NewInt(int64(order)), new(big.Int))
	if remainder.Sign() != 0 {
		panic("no group of that order")
	}
	g := &group{order: order, index: map[string]int{}}
	var gen model
	for x := int64(1); gen.infinite() && x < 1000; x++ {
		if p, ok := anyPoint(x, b); ok {
			gen = p.multiply(rest)
		}
	}
	var p model
	for i := range order {
		if p.infinite() != (i == 0) {
			panic("not of that order")
		}
		g.multiples = append(g.multiples, p)
		g.index[p.String()] = i
		p = p.add(gen)
	}
	image := model{new(big.Int).Mul(gen.x, fieldBeta.big()), gen.y}
	image.x.Mod(image.x, bigP)
	g.lambda = g.index[image.String()]
	a := gen.affine()
	g.base = newBaseTables(&a, window, keyWindow)
	return g
}

func (a model) String() string {
	if a.infinite() {
		return "infinity"
	}
	return a.x.Text(16) + "," + a.y.Text(16)
}

func anyPoint(x int64, b int) (model, bool) {
	y := big.NewInt(x*x*x + int64(b))
	if y.ModSqrt(y, bigP) == nil {
		return model{}, false
	}
	return model{big.NewInt(x), y}, true
}

// curveOrder is the number of points of y^2 = x^3 + b. There are six such curves but for isomorphism, with p + 1 - t
// points; where 4p = t^2 + 3v^2, the other t are -t, (t+3v)/2, (t-3v)/2 and their opposites. Of the curve with b = 7
// n is known.
func curveOrder(b int) *big.Int {
	p1 := new(big.Int).Add(bigP, big.NewInt(1))
	t := new(big.Int).Sub(p1, bigN)
	v := new(big.Int).Lsh(bigP, 2)
	v.Sub(v, new(big.Int).Mul(t, t)).Div(v, big.NewInt(3)).Sqrt(v)
	v.Mul(v, big.NewInt(3))
	plus, minus := new(big.Int).Add(t, v), new(big.Int).Sub(t, v)
	var found *big.Int
	for _, trace := range []*big.Int{t, plus.Rsh(plus, 1), minus.Rsh(minus, 1)} {
		for _, n := range []*big.Int{new(big.Int).Sub(p1, trace), new(big.Int).Add(p1, trace)} {
			fits := true
			for x := int64(1); x < 8; x++ {
				if p, ok := anyPoint(x, b); ok && !p.multiply(n).infinite() {
					fits = false
				}
			}
			if fits {
				found = n
			}
		}
	}
	return found
}

func TestSmallGroups(t *testing.T) {
	for _, g := range smallGroups() {
		if l := g.lambda; (l*l+l+1)%g.order != 0 {
			t.Errorf("order %d: lambda %d is no cube root of 1", g.order, l)
		}
		for i, p := range g.multiples {
			if q := p.add(g.multiples[1]); !q.equal(g.multiples[(i+1)%g.order]) {
				t.Errorf("order %d: %d + 1 = %v", g.order, i, q)
			}
		}
	}
	if g := (&generator).model(); !generator.onCurve() || !g.multiply(bigN).infinite() {
		t.Error("the generator is not of order n")
	}
}
