package secp256k1

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
)

// A test case is a question of one of the three entry points. want is what its making says; where that is unknown, 0. A
// case that is true by construction and refused by all would otherwise pass.
type (
	ecdsaCase struct {
		what string
		key  []byte
		rs   [64]byte
		hash [32]byte
		want int // 1 true, -1 false
	}
	schnorrCase struct {
		what string
		SchnorrCheck
		want int
	}
	tweakCase struct {
		what                    string
		output, internal, tweak [32]byte
		odd                     bool
		want                    int
	}
)

// maker makes cases from a seed: valid ones over ordinary and edge numbers, then one change of each in two of three.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) *maker { return &maker{rand.New(rand.NewPCG(seed, 7))} }

func (m *maker) bytes() (b [32]byte) {
	for i := 0; i < 32; i += 8 {
		binary.BigEndian.PutUint64(b[i:], m.Uint64())
	}
	return b
}

// number draws a scalar other than 0: at random, or small, or close to n, n/2, a multiple of lambda, a power of two.
func (m *maker) number() *big.Int {
	x := new(big.Int)
	small := big.NewInt(int64(m.IntN(40) - 20))
	switch m.IntN(8) {
	case 0:
		x.Set(small)
	case 1:
		x.Rsh(bigN, 1).Add(x, small)
	case 2:
		x.Exp(lambda.big(), big.NewInt(int64(m.IntN(3))), bigN)
		x.Mul(x, small)
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

func bigScalar(x *big.Int) scalar { return scalar(fromBig(new(big.Int).Mod(x, bigN))) }

func put(x *big.Int) (b [32]byte) {
	x.FillBytes(b[:])
	return b
}

// times returns k*G, for k other than 0.
func times(k *big.Int) affine {
	s := bigScalar(k)
	var p point
	p.multiplyBase(&s, base())
	var a affine
	a.toAffine(&p)
	return a
}

// encode writes a key in one of its four forms.
func (m *maker) encode(a *affine) []byte {
	var x, y [32]byte
	n := *a
	n.y.normalise()
	n.x.bytes(&x)
	n.y.bytes(&y)
	odd := y[31] & 1
	switch m.IntN(8) {
	case 0:
		return append(append([]byte{4}, x[:]...), y[:]...)
	case 1:
		return append(append([]byte{6 + odd}, x[:]...), y[:]...)
	}
	return append([]byte{2 + odd}, x[:]...)
}

// ecdsa makes a case. A valid signature comes from a key and a nonce, or the key from the signature: so r can be
// chosen.
func (m *maker) ecdsa() (c ecdsaCase) {
	switch m.IntN(60) {
	case 0:
		return m.offCurve()
	case 1:
		return m.cancelled()
	}
	c.want = 1
	var r, s, z, d *big.Int
	z = m.number()
	if m.IntN(10) == 0 {
		z.SetInt64(0)
	}
	if m.IntN(3) == 0 {
		c.what = "key from signature"
		r, s, c.key = m.recovered(z)
	} else {
		c.what = "signed"
		d = m.number()
		k := m.number()
		nonce := times(k)
		r = nonce.x.residue()
		r.Mod(r, bigN)
		s = new(big.Int).Mul(r, d)
		s.Add(s, z).Mul(s, k.ModInverse(k, bigN)).Mod(s, bigN)
		q := times(d)
		c.key = m.encode(&q)
		if s.Sign() == 0 {
			c.what, c.want = "s is zero", -1
		}
	}
	m.changeECDSA(&c, r, s, z, d)
	return c
}

// offCurve makes what a verifier accepts that does not look whether the key is on the curve: with a hash of 0 and r = s
// the sum is the key itself, wherever it is.
func (m *maker) offCurve() (c ecdsaCase) {
	x, y := m.bytes(), m.bytes()
	x[0], y[0] = x[0]&0x7f, y[0]&0x7f // below n
	c.key = append(append([]byte{4}, x[:]...), y[:]...)
	copy(c.rs[:], x[:])
	copy(c.rs[32:], x[:])
	c.what, c.want = "key off the curve", -1
	return c
}

// cancelled makes a sum of which the last addition, that of G, ends at infinity, with the r of what was there before.
func (m *maker) cancelled() (c ecdsaCase) {
	r, s := new(big.Int).Mod(generator.x.residue(), bigN), m.number()
	d := new(big.Int).ModInverse(r, bigN)
	d.Mul(d, s).Neg(d).Mod(d, bigN)
	q := times(d)
	c.key = m.encode(&q)
	rb, sb := put(r), put(s)
	copy(c.rs[:], rb[:])
	copy(c.rs[32:], sb[:])
	c.hash = sb
	c.what, c.want = "sum at infinity after G", -1
	return c
}

// recovered chooses the point R and with it r, also r + n < p, then s, and gives the key (s*R - z*G)/r.
func (m *maker) recovered(z *big.Int) (r, s *big.Int, key []byte) {
	for {
		s = m.number()
		x := new(big.Int).Add(bigN, big.NewInt(int64(m.IntN(1000)))) // some are not on the curve
		if m.IntN(2) == 0 {
			x.Mod(m.number(), bigP)
		}
		var nonce affine
		fx := field(fromBig(x))
		if r = new(big.Int).Mod(x, bigN); r.Sign() == 0 || !nonce.lift(&fx, m.IntN(2) == 0) {
			continue
		}
		w := new(big.Int).ModInverse(r, bigN)
		g, k := bigScalar(new(big.Int).Mul(new(big.Int).Neg(z), w)), bigScalar(new(big.Int).Mul(s, w))
		parts := k.split()
		var q point
		if q.multiply(&g, &nonce, &parts, base()); q.infinity {
			continue
		}
		var a affine
		a.toAffine(&q)
		return r, s, m.encode(&a)
	}
}

// changeECDSA writes the numbers, most of the time with a change. d is nil where the key's is unknown.
func (m *maker) changeECDSA(c *ecdsaCase, r, s, z, d *big.Int) {
	fits := func(x *big.Int) bool { return x.Cmp(two256) < 0 }
	is := func(what string, want int) { c.what, c.want = c.what+", "+what, min(want, c.want) }
	r, s = new(big.Int).Set(r), new(big.Int).Set(s)
	switch sum := new(big.Int); m.IntN(16) {
	case 0, 1, 2:
		if s.Sign() != 0 {
			s.Sub(bigN, s)
			is("n-s", 1)
		}
	case 3:
		if sum.Add(r, bigN); fits(sum) {
			r.Set(sum)
			is("r+n", -1)
		}
	case 4:
		if sum.Add(s, bigN); fits(sum) {
			s.Set(sum)
			is("s+n", -1)
		}
	case 5:
		r.Set([]*big.Int{new(big.Int), bigN, new(big.Int).Sub(two256, big.NewInt(1)), bigP}[m.IntN(4)])
		is("edge r", -1)
	case 6:
		s.Set([]*big.Int{new(big.Int), bigN, new(big.Int).Sub(two256, big.NewInt(1)), bigP}[m.IntN(4)])
		is("edge s", -1)
	case 7:
		if sum.Add(z, bigN); fits(sum) {
			z = sum
			is("hash+n", 1)
		}
	case 8:
		if d != nil {
			z = new(big.Int).Mul(r, d)
			z.Neg(z).Mod(z, bigN)
			is("sum at infinity", -1)
		}
	case 9:
		r.SetBit(r, m.IntN(255), r.Bit(0)^1)
		c.what, c.want = c.what+", r altered", min(0, c.want)
	case 10:
		s.SetBit(s, m.IntN(255), s.Bit(0)^1)
		c.what, c.want = c.what+", s altered", min(0, c.want)
	case 11:
		z = m.number()
		c.what, c.want = c.what+", hash altered", min(0, c.want)
	case 12, 13:
		c.key = m.damage(c.key)
		c.what, c.want = c.what+", key altered", min(0, c.want)
	}
	rb, sb := put(r), put(s)
	copy(c.rs[:], rb[:])
	copy(c.rs[32:], sb[:])
	c.hash = put(z)
}

// damage changes a key: its first byte, its length, a bit, or a coordinate by p.
func (m *maker) damage(key []byte) []byte {
	key = append([]byte(nil), key...)
	switch m.IntN(5) {
	case 0:
		key[0] = byte(m.IntN(9))
	case 1:
		key = key[:m.IntN(len(key))]
	case 2:
		key = append(key, 0)
	case 3:
		at := 1 + 32*m.IntN(len(key)/32)
		x := new(big.Int).SetBytes(key[at : at+32])
		if m.IntN(2) == 0 {
			x.SetInt64(int64(m.IntN(1000)))
		}
		if x.Add(x, bigP).Cmp(two256) < 0 {
			x.FillBytes(key[at : at+32])
		}
	default:
		key[1+m.IntN(len(key)-1)] ^= 1 << m.IntN(8)
	}
	return key
}

// schnorr makes a case over 32 bytes of message.
func (m *maker) schnorr() (c schnorrCase) {
	d, k := m.number(), m.number()
	p, r := times(d), times(k)
	if p.y.isOdd() {
		d.Sub(bigN, d)
	}
	c.what, c.want = "signed", 1
	infinite := m.IntN(24) == 0
	switch {
	case infinite:
		k.SetInt64(0)
		c.what, c.want = "sum at infinity", -1
	case r.y.isOdd() && m.IntN(6) == 0:
		c.what, c.want = "odd y", -1
	case r.y.isOdd():
		k.Sub(bigN, k)
	}
	p.x.bytes(&c.Key)
	c.Msg = m.bytes()
	rb := put(r.x.residue())
	var e scalar
	e.challenge(&rb, &c.Key, c.Msg[:])
	s := new(big.Int).Mul(e.big(), d)
	sb := put(s.Add(s, k).Mod(s, bigN))
	change := m.IntN(12)
	switch {
	case change == 0 && s.Cmp(new(big.Int).Sub(two256, bigN)) < 0:
		sb = put(s.Add(s, bigN))
		c.what, c.want = c.what+", s+n", -1
	case change == 1:
		sb = put([]*big.Int{new(big.Int), bigN, new(big.Int).Sub(two256, big.NewInt(1)), bigP}[m.IntN(4)])
		c.what, c.want = c.what+", edge s", min(c.want, 0)
	case change == 2:
		rb = put([]*big.Int{new(big.Int), bigN, new(big.Int).Sub(two256, big.NewInt(1)), bigP}[m.IntN(4)])
		c.what, c.want = c.what+", edge r", min(c.want, 0)
	case change <= 5:
		b := [][]byte{rb[:], sb[:], c.Key[:], c.Msg[:]}[m.IntN(4)]
		b[m.IntN(32)] ^= 1 << m.IntN(8)
		c.what, c.want = c.what+", altered", -1
	case change == 6:
		c.Key = put(new(big.Int).Add(bigP, big.NewInt(int64(m.IntN(1000)))))
		c.what, c.want = c.what+", key of p or more", -1
	}
	copy(c.Sig[:], rb[:])
	copy(c.Sig[32:], sb[:])
	return c
}

// check makes a case of a tweak.
func (m *maker) check() (c tweakCase) {
	d, t := m.number(), m.number()
	p := times(d)
	if p.y.isOdd() {
		d.Sub(bigN, d)
	}
	c.what, c.want = "tweaked", 1
	switch m.IntN(8) {
	case 0:
		t.Set(d)
		c.what = "doubled"
	case 1:
		t.SetInt64(0)
		c.what = "zero tweak"
	case 2:
		t.Sub(bigN, d)
	}
	p.x.bytes(&c.internal)
	sum := new(big.Int).Add(d, t)
	if sum.Mod(sum, bigN).Sign() != 0 {
		q := times(sum)
		q.x.bytes(&c.output)
		c.odd = q.y.isOdd()
	} else {
		c.output, c.odd = c.internal, true // which is t*G
		c.what, c.want = "sum at infinity", -1
	}
	switch change := m.IntN(10); {
	case change == 0 && c.want > 0:
		c.odd = !c.odd
		c.what, c.want = c.what+", parity", -1
	case change == 1 && t.Cmp(new(big.Int).Sub(two256, bigN)) < 0:
		t.Add(t, bigN)
		c.what, c.want = c.what+", tweak+n", -1
	case change == 2:
		t.SetBit(t, m.IntN(255), t.Bit(0)^1)
		c.what, c.want = c.what+", tweak altered", 0 // may well be right: the oracles tell
	case change == 3:
		b := [][]byte{c.output[:], c.internal[:]}[m.IntN(2)]
		b[m.IntN(32)] ^= 1 << m.IntN(8)
		c.what, c.want = c.what+", altered", -1
	case change == 4:
		b := []*[32]byte{&c.output, &c.internal}[m.IntN(2)]
		*b = put(new(big.Int).Add(bigP, big.NewInt(int64(m.IntN(1000)))))
		c.what, c.want = c.what+", x of p or more", -1
	}
	c.tweak = put(t)
	return c
}
