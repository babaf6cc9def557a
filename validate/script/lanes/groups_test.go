package lanes

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// TestPermutations: where an item stands changes no verdict, and neither does what stands beside it.
func TestPermutations(t *testing.T) {
	m := newMaker(12)
	items := make([]Item, 40)
	for i := range items {
		items[i] = m.item()
	}
	verdict := make([]bool, len(items))
	for i := range items {
		verdict[i] = items[i].Ask()
	}
	for name, v := range verifiers() {
		for range cases(t, 400)/100 + 1 {
			order := m.Perm(len(items))[:1+m.IntN(len(items))]
			var turned []Item
			var want []int
			for at, i := range order {
				turned = append(turned, items[i])
				if !verdict[i] {
					want = append(want, at)
				}
			}
			if got := v.Verify(turned, nil); !slices.Equal(got, want) {
				t.Fatalf("%s: order %v: refused %v, want %v", name, order, got, want)
			}
		}
	}
}

// TestPartialGroups alters each item of groups of 1 to 17, and around the end of a round, in turn: that one is
// refused and no other.
func TestPartialGroups(t *testing.T) {
	m := newMaker(13)
	all := make([]Item, 2*round+1)
	for i := range all {
		switch i % 3 {
		case 0:
			all[i] = sign(m.number(), m.number(), m.number(), 2)
		case 1:
			all[i] = signSchnorr(m.number(), m.number(), m.bytes())
		default:
			all[i] = sign(m.number(), m.number(), m.number(), 4)
		}
	}
	for name, v := range verifiers() {
		for n := range 18 {
			if got := v.Verify(all[:n], nil); got != nil {
				t.Errorf("%s: %d items: refused %v", name, n, got)
			}
			for i := 0; i < n; i++ {
				if name == "twin" && i%5 != n%5 {
					continue
				}
				items := slices.Clone(all[:n])
				items[i].Hash[7] ^= 4
				if got := v.Verify(items, nil); !slices.Equal(got, []int{i}) {
					t.Errorf("%s: %d items, %d altered: refused %v", name, n, i, got)
				}
			}
		}
		if name == "twin" {
			continue
		}
		for _, n := range []int{round - 1, round, round + 1, round + 2, 2*round - 1, 2 * round, 2*round + 1} {
			items := slices.Clone(all[:n])
			var want []int
			for _, i := range []int{0, 7, 8, round - 2, round - 1, round, n - 1} {
				if i < n && !slices.Contains(want, i) {
					items[i].Hash[0] ^= 1
					want = append(want, i)
				}
			}
			if got := v.Verify(items, nil); !slices.Equal(got, want) {
				t.Errorf("%d items: refused %v, want %v", n, got, want)
			}
		}
	}
}

// form is an item and the verdict that the rules give.
type form struct {
	what string
	q    Item
	want bool
}

// forms lists what is not plain.
func forms() []form {
	m := newMaker(14)
	d := m.number()
	short, long := sign(d, m.number(), m.number(), 2), sign(d, m.number(), m.number(), 4)
	hybrid := sign(d, m.number(), m.number(), 6)
	with := func(q Item, f func(q *Item)) Item { f(&q); return q }
	full := bytes.Repeat([]byte{0xff}, 32)
	order := put(bigN)
	var offCurve [32]byte
	for x := int64(1); ; x++ {
		if _, ok := liftX(big.NewInt(x), false); !ok {
			offCurve = put(big.NewInt(x))
			break
		}
	}
	schnorr, tweaked := signSchnorr(d, m.number(), m.bytes()), tweak(d, m.number())
	return []form{
		{"short key", short, true},
		{"long key", long, true},
		{"hybrid key", hybrid, true},
		{"hybrid key, other parity", with(hybrid, func(q *Item) { q.Key[0] ^= 1 }), false},
		{"long key, other y", with(long, func(q *Item) { q.Key[64] ^= 2 }), false},
		{"long key, opposite y", with(long, func(q *Item) {
			y := put(new(big.Int).Sub(bigP, new(big.Int).SetBytes(q.Key[33:])))
			copy(q.Key[33:], y[:])
		}), false},
		{"short key, opposite y", with(short, func(q *Item) { q.Key[0] ^= 1 }), false},
		{"key of 64 bytes", with(long, func(q *Item) { q.Size = 64 }), false},
		{"key of no bytes", with(long, func(q *Item) { q.Size = 0 }), false},
		{"key of 66 bytes", with(long, func(q *Item) { q.Size = 66 }), false},
		{"prefix 05", with(long, func(q *Item) { q.Key[0] = 5 }), false},
		{"x not below p", with(short, func(q *Item) { copy(q.Key[1:], full) }), false},
		{"y not below p", with(long, func(q *Item) { copy(q.Key[33:], full) }), false},
		{"x off the curve", with(short, func(q *Item) { copy(q.Key[1:], offCurve[:]) }), false},
		{"r = 0", with(short, func(q *Item) { clear(q.Sig[:32]) }), false},
		{"s = 0", with(short, func(q *Item) { clear(q.Sig[32:]) }), false},
		{"r = n", with(short, func(q *Item) { copy(q.Sig[:], order[:]) }), false},
		{"s = n", with(short, func(q *Item) { copy(q.Sig[32:], order[:]) }), false},
		{"n - s", with(short, func(q *Item) {
			s := put(new(big.Int).Sub(bigN, new(big.Int).SetBytes(q.Sig[32:])))
			copy(q.Sig[32:], s[:])
		}), true},
		{"schnorr", schnorr, true},
		{"schnorr, x not below p", with(schnorr, func(q *Item) { copy(q.Key[:], full) }), false},
		{"schnorr, x off the curve", with(schnorr, func(q *Item) { copy(q.Key[:], offCurve[:]) }), false},
		{"schnorr, r not below p", with(schnorr, func(q *Item) { copy(q.Sig[:], full) }), false},
		{"schnorr, s = n", with(schnorr, func(q *Item) { copy(q.Sig[32:], order[:]) }), false},
		{"tweak", tweaked, true},
		{"tweak, other parity", with(tweaked, func(q *Item) { q.Odd = !q.Odd }), false},
		{"tweak = n", with(tweaked, func(q *Item) { q.Hash = order }), false},
		{"tweak, output not below p", with(tweaked, func(q *Item) { copy(q.Key[:], full) }), false},
		{"tweak, internal off the curve", with(tweaked, func(q *Item) { copy(q.Sig[:], offCurve[:]) }), false},
		{"no kind", with(short, func(q *Item) { q.Kind = 3 }), false},
	}
}

// TestForms runs them all together.
func TestForms(t *testing.T) {
	var items []Item
	var want []int
	for i, c := range forms() {
		items = append(items, c.q)
		if !c.want {
			want = append(want, i)
		}
		asked := false
		for _, why := range []string{"not below p", "= n", "= 0", "hybrid", "prefix", "bytes", "no kind"} {
			asked = asked || strings.Contains(c.what, why)
		}
		if got := new(groups).prepare(&c.q, 3); got == ask != asked && c.what != "y not below p" {
			t.Errorf("%s: asked of the scalar verifier is %v", c.what, got == ask)
		}
		if c.q.Ask() != c.want {
			t.Errorf("%s: the scalar verifier says %v", c.what, !c.want)
		}
	}
	for name, v := range verifiers() {
		if got := v.Verify(items, nil); !slices.Equal(got, want) {
			t.Errorf("%s: refused %v, want %v", name, got, want)
		}
	}
}

// TestSwitch: turned off, the scalar verifier answers all, and the same.
func TestSwitch(t *testing.T) {
	defer Enable(true)
	m := newMaker(15)
	items := make([]Item, 20)
	for i := range items {
		items[i] = m.item()
	}
	want := wrong(items)
	for _, on := range []bool{true, false} {
		Enable(on)
		if Enabled() != (on && present) || Present() != present {
			t.Errorf("turned on is %v: Enabled %v, Present %v", on, Enabled(), Present())
		}
		if got := Verify(items, nil); !slices.Equal(got, want) {
			t.Errorf("turned on is %v: refused %v, want %v", on, got, want)
		}
		v := New()
		if got := v.Verify(items, nil); !slices.Equal(got, want) {
			t.Errorf("turned on is %v: refused %v, want %v", on, got, want)
		}
		if !on && v.InLanes+v.Flagged != 0 {
			t.Errorf("turned off: %d in lanes", v.InLanes)
		}
	}
}

// TestAllocations: none.
func TestAllocations(t *testing.T) {
	items := make([]Item, 150)
	m := newMaker(16)
	for i := range items {
		items[i] = m.item()
	}
	v, bad := New(), make([]int, 0, len(items))
	if !present {
		items = items[:9]
	}
	if n := testing.AllocsPerRun(3, func() { v.Verify(items, bad) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

const fuzzItem = 2 + 65 + 32 + 64 // kind and parity, size, key, hash, signature

func (q *Item) encode() []byte {
	b := []byte{byte(q.Kind) << 1, q.Size}
	if q.Odd {
		b[0] |= 1
	}
	return slices.Concat(b, q.Key[:], q.Hash[:], q.Sig[:])
}

func decodeItems(data []byte) (items []Item) {
	for ; len(data) >= fuzzItem && len(items) < 20; data = data[fuzzItem:] {
		q := Item{Kind: Kind(data[0]>>1) & 3, Odd: data[0]&1 == 1, Size: data[1]}
		copy(q.Key[:], data[2:])
		copy(q.Hash[:], data[67:])
		copy(q.Sig[:], data[99:])
		items = append(items, q)
	}
	return items
}

// FuzzGroups feeds groups of up to 20 items to the lanes and to the scalar verifier. Its seeds are made items, so
// that a mutation starts from valid ones; order, a word, moves one item to another place.
func FuzzGroups(f *testing.F) {
	for seed := range uint64(40) {
		m := newMaker(seed)
		var data []byte
		for range 1 + m.IntN(12) {
			q := m.item()
			data = append(data, q.encode()...)
		}
		f.Add(data, uint16(m.Uint32()))
	}
	v := verifiers()["twin"]
	if present {
		v = New()
	}
	f.Fuzz(func(t *testing.T, data []byte, order uint16) {
		items := decodeItems(data)
		if n := len(items); n > 1 {
			i, j := int(order&0xff)%n, int(order>>8)%n
			items[i], items[j] = items[j], items[i]
		}
		if got, want := v.Verify(items, nil), wrong(items); !slices.Equal(got, want) {
			t.Errorf("refused %v, want %v", got, want)
		}
	})
}
