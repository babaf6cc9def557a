package lanes

import (
	"crypto/sha256"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
)

var (
	bigN      = btcec.S256().N
	bigLambda = fromHex("5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72")
)

func fromHex(s string) *big.Int {
	x, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic(s)
	}
	return x
}

func put(x *big.Int) (b [32]byte) {
	x.FillBytes(b[:])
	return b
}

// affine is a point by big numbers, for the making of cases.
type affine struct{ x, y *big.Int }

// multipleG returns k*G for k other than 0 modulo n.
func multipleG(k *big.Int) affine {
	b := put(new(big.Int).Mod(k, bigN))
	var s btcec.ModNScalar
	s.SetBytes(&b)
	var p btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(&s, &p)
	p.ToAffine()
	x, y := p.X.Bytes(), p.Y.Bytes()
	return affine{new(big.Int).SetBytes(x[:]), new(big.Int).SetBytes(y[:])}
}

// maker makes items from a seed.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) *maker { return &maker{rand.New(rand.NewPCG(seed, 8))} }

func (m *maker) bytes() (b [32]byte) {
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

// number draws a scalar other than 0: at random, or close to an edge.
func (m *maker) number() *big.Int {
	x, small := new(big.Int), big.NewInt(int64(m.IntN(40)-20))
	switch m.IntN(8) {
	case 0:
		x.Set(small)
	case 1:
		x.Rsh(bigN, 1).Add(x, small)
	case 2:
		x.Mul(bigLambda, small)
	case 3:
		x.Lsh(big.NewInt(1), uint(m.IntN(256))).Add(x, small)
	default:
		b := m.bytes()
		x.SetBytes(b[:])
	}
	if x.Mod(x, bigN).Sign() == 0 {
		x.SetInt64(1)
	}
	return x
}

// setKey writes a key in one of its forms, most of the time the short one.
func (q *Item) setKey(p affine, form int) {
	x, y := put(p.x), put(p.y)
	q.Key = [65]byte{}
	copy(q.Key[1:], x[:])
	q.Key[0], q.Size = 2+y[31]&1, 33
	if form == 4 || form == 6 {
		copy(q.Key[33:], y[:])
		q.Key[0], q.Size = 4, 65
		if form == 6 {
			q.Key[0] = 6 + y[31]&1
		}
	}
}

// sign makes an ECDSA signature with key d and nonce k over z.
func sign(d, k, z *big.Int, form int) (q Item) {
	q.setKey(multipleG(d), form)
	r := multipleG(k).x
	r.Mod(r, bigN)
	s := new(big.Int).Mul(r, d)
	s.Add(s, z).Mul(s, new(big.Int).ModInverse(k, bigN)).Mod(s, bigN)
	rb, sb := put(r), put(s)
	copy(q.Sig[:], rb[:])
	copy(q.Sig[32:], sb[:])
	q.Hash = put(z)
	return q
}

// signSchnorr makes a signature of BIP340 with key d and nonce k.
func signSchnorr(d, k *big.Int, msg [32]byte) (q Item) {
	p, r := multipleG(d), multipleG(k)
	d, k = new(big.Int).Set(d), new(big.Int).Set(k)
	if p.y.Bit(0) == 1 {
		d.Sub(bigN, d)
	}
	if r.y.Bit(0) == 1 {
		k.Sub(bigN, k)
	}
	q.Kind, q.Hash = Schnorr, msg
	px, rx := put(p.x), put(r.x)
	copy(q.Key[:], px[:])
	copy(q.Sig[:], rx[:])
	h := sha256.New()
	tag := sha256.Sum256([]byte("BIP0340/challenge"))
	for _, b := range [][]byte{tag[:], tag[:], rx[:], px[:], msg[:]} {
		h.Write(b)
	}
	s := new(big.Int).SetBytes(h.Sum(nil))
	s.Mul(s, d).Add(s, k).Mod(s, bigN)
	sb := put(s)
	copy(q.Sig[32:], sb[:])
	return q
}

// tweak makes a key d tweaked with t; d + t must not be 0.
func tweak(d, t *big.Int) (q Item) {
	p := multipleG(d)
	d = new(big.Int).Set(d)
	if p.y.Bit(0) == 1 {
		d.Sub(bigN, d)
	}
	out := multipleG(d.Add(d, t))
	q.Kind, q.Odd = Tweak, out.y.Bit(0) == 1
	x, px, tb := put(out.x), put(p.x), put(t)
	copy(q.Key[:], x[:])
	copy(q.Sig[:], px[:])
	q.Hash = tb
	return q
}

// item makes a valid one, then, in two of five, alters it.
func (m *maker) item() (q Item) {
	d := m.number()
	switch m.IntN(5) {
	case 0, 1:
		q = sign(d, m.number(), m.number(), m.IntN(12))
	case 2, 3:
		q = signSchnorr(d, m.number(), m.bytes())
	default:
		t := m.number()
		for new(big.Int).Mod(new(big.Int).Add(d, t), bigN).Sign() == 0 || d.Cmp(t) == 0 {
			t = m.number()
		}
		q = tweak(d, t)
	}
	if m.IntN(5) < 2 {
		m.alter(&q)
	}
	return q
}

// alter changes a bit, or puts an edge in the place of a number, or takes n - s.
func (m *maker) alter(q *Item) {
	parts := [][]byte{q.Key[:33], q.Hash[:], q.Sig[:32], q.Sig[32:]}
	edges := []*big.Int{
		new(big.Int), big.NewInt(1), bigN, bigP, new(big.Int).Sub(bigP, bigN), new(big.Int).Sub(bigN, big.NewInt(1)),
		new(big.Int).Sub(bigP, big.NewInt(1)), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)),
	}
	switch m.IntN(8) {
	case 0:
		b := put(edges[m.IntN(len(edges))])
		copy(parts[m.IntN(4)], b[:])
	case 1:
		b := put(edges[m.IntN(len(edges))])
		copy(q.Key[1:], b[:])
	case 2, 3:
		s := new(big.Int).SetBytes(q.Sig[32:])
		b := put(s.Sub(bigN, s.Mod(s, bigN)))
		copy(q.Sig[32:], b[:])
	case 4:
		q.Odd = !q.Odd
		q.Key[0] ^= 1
	case 5:
		q.Size = uint8(m.IntN(256))
		q.Kind = Kind(m.IntN(4))
	default:
		part := parts[m.IntN(4)]
		part[m.IntN(len(part))] ^= 1 << m.IntN(8)
	}
}

// wrong returns the indexes of items that the scalar verifier refuses.
func wrong(items []Item) []int { return scalarOnly(items, nil) }

// verifiers are one with the kernels, if there are any, and one with the twins.
func verifiers() map[string]*Verifier {
	twin := New()
	twin.kernels, twin.twins = false, true
	all := map[string]*Verifier{"twin": twin}
	if present {
		all["kernels"] = New()
	}
	return all
}

// check compares verdicts with the scalar verifier's.
func check(t *testing.T, name string, v *Verifier, items []Item) {
	t.Helper()
	got, want := v.Verify(items, []int{-1}), append([]int{-1}, wrong(items)...)
	if len(got) != len(want) {
		t.Fatalf("%s: refused %v, want %v", name, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: refused %v, want %v", name, got, want)
		}
	}
}

// TestMade runs made items of all kinds, mixed, in groups of 1 to 20, and once of 300.
func TestMade(t *testing.T) {
	n := cases(t, 600)
	m := newMaker(1)
	for name, v := range verifiers() {
		total := n
		if name == "twin" {
			total = min(n, 200)
		}
		valid, done := 0, 0
		for done < total {
			items := make([]Item, 1+m.IntN(20))
			if done == 0 && name != "twin" {
				items = make([]Item, 300)
			}
			for i := range items {
				items[i] = m.item()
			}
			valid += len(items) - len(wrong(items))
			done += len(items)
			check(t, name, v, items)
		}
		t.Logf("%s: %d items, %d valid; in lanes %d, asked %d, flagged %d", name, done, valid, v.InLanes, v.Asked, v.Flagged)
		if valid < done/3 || valid > done*9/10 || v.InLanes < uint64(done)/2 {
			t.Errorf("%s: %d valid of %d, %d in lanes", name, valid, done, v.InLanes)
		}
	}
}
