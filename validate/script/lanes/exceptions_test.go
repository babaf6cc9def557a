package lanes

import (
	"math/big"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
)

// An addition of a verification: what was summed before, and what is added, each as a*G + b*key.
type addition struct{ beforeG, beforeKey, g, key *big.Int }

// additions lists those of u1*G + u2*key, in the order of Verifier.multiply.
func additions(v *Verifier, u1, u2 *big.Int) (all []addition) {
	a, b := scalarOf(u1), scalarOf(u2)
	key, base := digitsOf(v, 0, 0, &a, &b)
	g, k := new(big.Int), new(big.Int).Set(key[0][keyWindows-1])
	add := func(byG, byKey *big.Int, image int) {
		one := addition{new(big.Int).Set(g), new(big.Int).Set(k), new(big.Int).Set(byG), new(big.Int).Set(byKey)}
		if image == 1 {
			one.g.Mul(one.g, bigLambda)
			one.key.Mul(one.key, bigLambda)
		}
		g.Add(g, one.g)
		k.Add(k, one.key)
		all = append(all, one)
	}
	nothing := new(big.Int)
	add(nothing, key[1][keyWindows-1], 1)
	for bit := (keyWindows-1)*keyWindow - 1; bit >= 0; bit-- {
		g.Lsh(g, 1)
		k.Lsh(k, 1)
		for image := range key {
			if bit%keyWindow == 0 {
				add(nothing, key[image][bit/keyWindow], image)
			}
			if bit%baseWindow == 0 {
				add(base[image][bit/baseWindow], nothing, image)
			}
		}
	}
	return all
}

// meeting returns the key with which the sum before an addition is what is added, or its opposite; nil if none is.
func (a *addition) meeting(opposite bool) *big.Int {
	g, key := new(big.Int).Set(a.g), new(big.Int).Set(a.key)
	if opposite {
		g.Neg(g)
		key.Neg(key)
	}
	key.Sub(a.beforeKey, key).Mod(key, bigN) // key*d = g
	g.Sub(g, a.beforeG).Mod(g, bigN)
	if g.Sign() == 0 || key.Sign() == 0 {
		return nil
	}
	return g.Mul(g, key.ModInverse(key, bigN)).Mod(g, bigN)
}

// chosen makes an ECDSA signature of key d in which a verifier finds the multipliers u1 and u2. It is valid, or, if
// refuse, has another r.
func chosen(u1, u2, d *big.Int, refuse bool) (q Item, ok bool) {
	k := new(big.Int).Mul(u2, d)
	if k.Add(k, u1).Mod(k, bigN).Sign() == 0 {
		k.SetInt64(1) // at infinity: any r must be refused
		refuse = true
	}
	if refuse {
		k.Add(k, big.NewInt(1))
	}
	r := multipleG(k).x
	s := new(big.Int).ModInverse(u2, bigN)
	s.Mul(s, r).Mod(s, bigN)
	z := new(big.Int).Mul(u1, s)
	if s.Sign() == 0 {
		return q, false
	}
	q.setKey(multipleG(d), 2)
	rb, sb := put(r.Mod(r, bigN)), put(s)
	copy(q.Sig[:], rb[:])
	copy(q.Sig[32:], sb[:])
	q.Hash = put(z.Mod(z, bigN))
	return q, !refuse
}

// TestMeetings makes, for every addition of a verification, signatures in which it finds equal or opposite points:
// all must be flagged, and answered right.
func TestMeetings(t *testing.T) {
	m, probe := newMaker(7), New()
	var items []Item
	var want []int
	for i := range additions(probe, m.number(), m.number()) {
		for _, opposite := range []bool{false, true} {
			for _, refuse := range []bool{false, true} {
				u1, u2 := m.number(), m.number()
				a := additions(probe, u1, u2)[i]
				d := a.meeting(opposite)
				if d == nil {
					continue
				}
				q, valid := chosen(u1, u2, d, refuse)
				if !valid {
					want = append(want, len(items))
				}
				items = append(items, q)
			}
		}
	}
	if len(items) < 260 {
		t.Fatalf("only %d meetings", len(items))
	}
	for name, v := range verifiers() {
		if got := v.Verify(items, nil); !slices.Equal(got, want) {
			t.Errorf("%s: refused %v, want %v", name, got, want)
		}
		if v.Flagged < uint64(len(items))*99/100 {
			t.Errorf("%s: %d of %d flagged", name, v.Flagged, len(items))
		}
	}
	if !slices.Equal(wrong(items), want) {
		t.Errorf("the scalar verifier refuses %v, want %v", wrong(items), want)
	}
}

// TestTweakMeetings does so for tweaks, which ask for y as well: groups with a z of 0 must leave the others' inverses
// alone.
func TestTweakMeetings(t *testing.T) {
	m, probe := newMaker(8), New()
	var items []Item
	met := 0
	for i := range additions(probe, m.number(), big.NewInt(1)) {
		for tries := 0; tries < 6; tries++ {
			u := m.number()
			a := additions(probe, u, big.NewInt(1))[i]
			d := a.meeting(tries&1 == 1)
			if d == nil || multipleG(d).y.Bit(0) == 1 || new(big.Int).Add(d, u).Cmp(bigN) == 0 {
				continue
			}
			q := tweak(d, u)
			items = append(items, q, signSchnorr(m.number(), m.number(), m.bytes()))
			q.Odd = !q.Odd
			random := m.bytes()
			plain := tweak(new(big.Int).SetBytes(random[1:16]), new(big.Int).SetBytes(random[16:])) // some ask for an odd y
			items = append(items, q, plain)
			met += 2
		}
	}
	for name, v := range verifiers() {
		check(t, name, v, items)
		if v.Flagged < uint64(met)*99/100 || v.InLanes < uint64(len(items)-met)*9/10 {
			t.Errorf("%s: %d flagged of %d, %d in lanes", name, v.Flagged, met, v.InLanes)
		}
	}
	if bad := wrong(items); len(bad) != met/2 {
		t.Errorf("%d of %d refused", len(bad), len(items))
	}
}

// TestInfinity makes signatures whose sum is at infinity, of all kinds.
func TestInfinity(t *testing.T) {
	m := newMaker(9)
	var items []Item
	for range 40 {
		u1, u2 := m.number(), m.number()
		d := new(big.Int).ModInverse(u2, bigN)
		d.Mul(d, u1).Neg(d).Mod(d, bigN)
		q, _ := chosen(u1, u2, d, false)
		items = append(items, q)

		q = signSchnorr(m.number(), bigN, m.bytes()) // the nonce 0, with the x of btcec's "infinity"
		items = append(items, q)

		d = m.number()
		if multipleG(d).y.Bit(0) == 1 {
			d.Sub(bigN, d)
		}
		q = tweak(d, new(big.Int).Add(d, big.NewInt(1)))
		q.Hash = put(new(big.Int).Sub(bigN, d))
		items = append(items, q)
	}
	for name, v := range verifiers() {
		if got := v.Verify(items, nil); len(got) != len(items) {
			t.Errorf("%s: refused only %v", name, got)
		}
	}
}

// TestSpecialKeys signs with keys and nonces that are small multiples of one, of lambda and of each other.
func TestSpecialKeys(t *testing.T) {
	m := newMaker(10)
	var numbers []*big.Int
	for i := int64(1); i <= 16; i++ {
		x, y := big.NewInt(i), new(big.Int).Mul(bigLambda, big.NewInt(i))
		numbers = append(numbers, x, new(big.Int).Sub(bigN, x), y.Mod(y, bigN), new(big.Int).Sub(bigN, y))
	}
	var items []Item
	for _, d := range numbers {
		for range 3 {
			k := numbers[m.IntN(len(numbers))]
			q := sign(d, k, m.number(), 2)
			items = append(items, q, signSchnorr(d, k, m.bytes()))
			q.Hash[31] ^= 1
			items = append(items, q)
		}
	}
	for name, v := range verifiers() {
		check(t, name, v, items)
	}
	if bad := wrong(items); len(bad) != len(items)/3 {
		t.Errorf("%d of %d refused", len(bad), len(items))
	}
}

// withX makes a valid signature whose sum has the x that is given, if there is such a point: the key is (s*R -
// z*G)/r.
func withX(m *maker, x *big.Int) (q Item, ok bool) {
	p, ok := liftX(x, m.IntN(2) == 0)
	r := new(big.Int).Mod(x, bigN)
	if !ok || r.Sign() == 0 {
		return q, false
	}
	s, z := m.number(), m.number()
	w := new(big.Int).ModInverse(r, bigN)
	var sum, byG, nonce btcec.JacobianPoint
	point := func(b *[32]byte) *btcec.ModNScalar {
		var k btcec.ModNScalar
		k.SetBytes(b)
		return &k
	}
	px, py := put(p.x), put(p.y)
	nonce.X.SetBytes(&px)
	nonce.Y.SetBytes(&py)
	nonce.Z.SetInt(1)
	ofR, ofG := new(big.Int).Mul(s, w), new(big.Int).Mul(z, w)
	rb, gb := put(ofR.Mod(ofR, bigN)), put(ofG.Neg(ofG).Mod(ofG, bigN))
	btcec.ScalarMultNonConst(point(&rb), &nonce, &sum)
	btcec.ScalarBaseMultNonConst(point(&gb), &byG)
	btcec.AddNonConst(&sum, &byG, &sum)
	sum.ToAffine()
	kx, ky := sum.X.Bytes(), sum.Y.Bytes()
	q.setKey(affine{new(big.Int).SetBytes(kx[:]), new(big.Int).SetBytes(ky[:])}, 2)
	b, c := put(r), put(s)
	copy(q.Sig[:], b[:])
	copy(q.Sig[32:], c[:])
	q.Hash = put(z)
	return q, true
}

// TestSecondCandidate signs with nonces whose x is not below n, or is an r that n could be added to.
func TestSecondCandidate(t *testing.T) {
	m := newMaker(11)
	var items []Item
	for i := int64(0); len(items) < 60; i++ {
		for _, x := range []*big.Int{
			new(big.Int).Add(bigN, big.NewInt(i)), big.NewInt(i + 1),
			new(big.Int).Sub(new(big.Int).Sub(bigP, bigN), big.NewInt(i-10)), new(big.Int).Sub(bigP, big.NewInt(i+1)),
			new(big.Int).Sub(bigN, big.NewInt(i+1)),
		} {
			if q, ok := withX(m, x); ok {
				items = append(items, q)
			}
		}
	}
	for name, v := range verifiers() {
		if got := v.Verify(items, nil); got != nil {
			t.Errorf("%s: refused %v", name, got)
		}
		check(t, name, v, items)
	}
}

// TestKeysAboveP writes the x of a key as x + p, which fits for small ones: what is valid with x is not with that.
func TestKeysAboveP(t *testing.T) {
	m := newMaker(17)
	var items []Item
	for i := int64(1); len(items) < 40; i++ {
		p, ok := liftX(big.NewInt(i), false)
		if !ok {
			continue
		}
		var sum, key, byG btcec.JacobianPoint
		var k btcec.ModNScalar
		x, y, u := put(p.x), put(p.y), m.bytes()
		key.X.SetBytes(&x)
		key.Y.SetBytes(&y)
		key.Z.SetInt(1)
		k.SetBytes(&u)
		btcec.ScalarBaseMultNonConst(&k, &byG)
		btcec.AddNonConst(&key, &byG, &sum) // the multipliers are u and 1
		sum.ToAffine()
		r := new(big.Int).SetBytes(sum.X.Bytes()[:])
		r.Mod(r, bigN)
		z := new(big.Int).SetBytes(u[:])
		above := put(new(big.Int).Add(p.x, bigP))
		var q Item
		q.setKey(p, 2)
		rb := put(r)
		copy(q.Sig[:], rb[:])
		copy(q.Sig[32:], rb[:])
		q.Hash = put(z.Mul(z, r).Mod(z, bigN))
		items = append(items, q)
		copy(q.Key[1:], above[:])
		items = append(items, q)

		w := Item{Kind: Tweak, Odd: sum.Y.IsOdd(), Hash: u}
		copy(w.Key[:], sum.X.Bytes()[:])
		copy(w.Sig[:], x[:])
		items = append(items, w)
		copy(w.Sig[:], above[:])
		items = append(items, w)
	}
	for name, v := range verifiers() {
		bad := v.Verify(items, nil)
		if len(bad) != len(items)/2 {
			t.Errorf("%s: refused %v", name, bad)
		}
		for _, i := range bad {
			if i&1 == 0 {
				t.Errorf("%s: %d refused", name, i)
			}
		}
	}
}

// TestLift compares roots with btcec's, and finds those that are none.
func TestLift(t *testing.T) {
	m := newMaker(18)
	for name, v := range verifiers() {
		var x, y [6]number
		var odd, ok [6]uint8
		var all [6 * lanes]*big.Int
		for i := range all {
			b := m.bytes()
			all[i] = new(big.Int).SetBytes(b[:])
			if i%5 == 0 {
				all[i].SetInt64(int64(i))
			}
			all[i].Mod(all[i], bigP)
			b = put(all[i])
			w := words(b[:])
			x[i/lanes].setWords(i%lanes, &w)
			odd[i/lanes] |= uint8(m.IntN(2)) << (i % lanes)
		}
		v.lift(y[:], x[:], odd[:], ok[:])
		for i := range all {
			g, l := i/lanes, i%lanes
			p, isPoint := liftX(all[i], odd[g]>>l&1 == 1)
			root := y[g].lane(l)
			if isPoint != (ok[g]>>l&1 == 1) || isPoint && root.value().Cmp(p.y) != 0 {
				t.Errorf("%s: x %x, odd %d: %x, %v", name, all[i], odd[g]>>l&1, root.value(), !isPoint)
			}
		}
	}
}
