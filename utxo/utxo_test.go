package utxo

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// Core's unit tests (src/test/crypto_tests.cpp, test_framework/crypto/muhash.py)
// use 32-byte data of one small number.
func small(i byte) []byte { return append([]byte{i}, make([]byte, 31)...) }

func TestMuHashVectors(t *testing.T) {
	h := NewMuHash()
	check := func(what, want string) {
		t.Helper()
		if got := h.Sum().String(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("empty", "dd5ad2a105c2d29495f577245c357409002329b9f4d6182c0af3dc2f462555c8")

	h.insert([]byte("hello"))
	check("hello", "981bf4c996ee963cd067e765c15111a6c8d3d6f0257fda0af7371f77fca8c472")
	element := h.element.big().FillBytes(make([]byte, numBytes))
	if got := hex.EncodeToString(element[:16]); got != "1a3d6ed31c98e21c99ef030208244720" {
		t.Errorf("element of hello begins with %s", got)
	}

	h = NewMuHash()
	h.insert(small(0))
	h.insert(small(1))
	h.remove(small(2))
	check("0 * 1 / 2", "10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863")
	check("asked again", "10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863")

	// Core's overflow check: the largest 3072-bit number, which is more than p.
	// Its result is printed in internal order there.
	h = NewMuHash()
	for i := range h.num {
		h.num[i] = ^big.Word(0)
	}
	sum := h.Sum()
	if got := hex.EncodeToString(sum[:]); got != "3a31e6903aff0de9f62f9a9f7f8b861de76ce2cda09822b90014319ae5dc2271" {
		t.Errorf("2^3072-1: %s", got)
	}
}

func coins() *rapid.Generator[Coin] {
	return rapid.Custom(func(t *rapid.T) Coin {
		// Few txids, so that transactions have several coins.
		txid := chain.Hash{31: rapid.ByteRange(0, 3).Draw(t, "txid")}
		txid[0] = rapid.SampledFrom([]byte{0, 1, 255}).Draw(t, "first")
		return Coin{
			Txid:     &txid,
			Vout:     rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32()).Draw(t, "vout"),
			Height:   rapid.Uint32Range(0, 1<<31-1).Draw(t, "height"),
			Coinbase: rapid.Bool().Draw(t, "coinbase"),
			Value:    rapid.Int64Range(0, chain.MaxMoney).Draw(t, "value"),
			Script:   rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "script"),
		}
	})
}

func order(a, b Coin) int {
	return cmp.Or(bytes.Compare(a.Txid[:], b.Txid[:]), cmp.Compare(a.Vout, b.Vout))
}

func distinct(t *rapid.T, label string) []Coin {
	at := func(c Coin) outpoint { return outpoint{*c.Txid, c.Vout} }
	return rapid.SliceOfNDistinct(coins(), 0, 12, at).Draw(t, label)
}

func muhashOf(coins ...Coin) chain.Hash {
	h := NewMuHash()
	for i := range coins {
		h.Add(&coins[i])
	}
	return h.Sum()
}

func TestMuHashIsASetHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := distinct(t, "set")
		want := muhashOf(set...)
		other := rapid.Permutation(set).Draw(t, "permuted")
		if got := muhashOf(other...); got != want {
			t.Fatalf("permuted: %s, want %s", got, want)
		}
		// In two parts, with strangers that come and go, some of them removed
		// from the part that never had them.
		a, b := NewMuHash(), NewMuHash()
		parts := []*MuHash{a, b}
		pick := func(label string) *MuHash { return parts[rapid.IntRange(0, 1).Draw(t, label)] }
		for i := range other {
			pick("part").Add(&other[i])
		}
		for _, c := range distinct(t, "strangers") {
			pick("to").Add(&c)
			pick("from").Remove(&c)
			if rapid.Bool().Draw(t, "sum in between") {
				a.Sum()
			}
		}
		a.Combine(b)
		if got := a.Sum(); got != want {
			t.Fatalf("combined: %s, want %s", got, want)
		}
		if len(set) > 0 && muhashOf(set[1:]...) == want {
			t.Fatal("a coin less gives the same hash")
		}
	})
}

func TestSerialized3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := distinct(t, "set")
		slices.SortFunc(set, order)
		h := NewSerialized3()
		var all []byte
		for i := range set {
			if err := h.Add(&set[i]); err != nil {
				t.Fatal(err)
			}
			all = set[i].Append(all)
			if rapid.Bool().Draw(t, "sum in between") && h.Sum() != chain.DoubleSHA256(all) {
				t.Fatalf("wrong after %d coins", i+1)
			}
			// Neither the coin itself nor one before it may follow.
			back := set[rapid.IntRange(0, i).Draw(t, "back")]
			if err := h.Add(&back); !errors.As(err, new(*OutOfOrder)) {
				t.Fatalf("out of order: error %v", err)
			}
		}
		if got, want := h.Sum(), chain.DoubleSHA256(all); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestCoinBytes(t *testing.T) {
	txid := chain.Hash{1, 2, 31: 32}
	c := Coin{Txid: &txid, Vout: 0x01020304, Height: 0x0a0b0c0d, Coinbase: true, Value: 0x1122334455667788}
	c.Script = bytes.Repeat([]byte{0xac}, 253)
	got := hex.EncodeToString(c.Append(nil))
	want := "0102" + hex.EncodeToString(make([]byte, 29)) + "20" +
		"04030201" + "1b181614" + "8877665544332211" + "fdfd00" + hex.EncodeToString(c.Script)
	if got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}

func TestStatsCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := distinct(t, "set")
		slices.SortFunc(set, order)
		var whole, left, right Stats
		for i := range set {
			whole.Count(&set[i])
			part := &left
			if set[i].Txid[0] > 0 { // keeps transactions together
				part = &right
			}
			part.Count(&set[i])
		}
		left.Combine(&right)
		left.last, whole.last = chain.Hash{}, chain.Hash{}
		if left != whole {
			t.Fatalf("%+v, want %+v", left, whole)
		}
	})
}

func TestHashersDoNotAllocate(t *testing.T) {
	script := make([]byte, 300)
	txid := chain.Hash{}
	c := Coin{Txid: &txid, Script: script}
	ordered, mu := NewSerialized3(), NewMuHash()
	var stats Stats
	for name, f := range map[string]func(){
		"serialized3":   func() { ordered.Add(&c) },
		"muhash add":    func() { mu.Add(&c) },
		"muhash remove": func() { mu.Remove(&c) },
		"stats":         func() { stats.Count(&c) },
	} {
		if n := testing.AllocsPerRun(200, func() { c.Vout++; f() }); n != 0 {
			t.Errorf("%s: %v allocations a coin", name, n)
		}
	}
}

func benchmarkCoins(b *testing.B, add func(*Coin)) {
	c := Coin{Txid: new(chain.Hash), Script: make([]byte, 22)}
	b.ReportAllocs()
	for b.Loop() {
		c.Vout++
		add(&c)
	}
}

func BenchmarkMuHashAdd(b *testing.B) {
	h := NewMuHash()
	benchmarkCoins(b, func(c *Coin) { h.Add(c) })
}

func BenchmarkMuHashExpand(b *testing.B) {
	h := NewMuHash()
	benchmarkCoins(b, func(c *Coin) { h.buf = c.Append(h.buf[:0]); h.expand(h.buf) })
}

func BenchmarkSerialized3Add(b *testing.B) {
	h := NewSerialized3()
	benchmarkCoins(b, func(c *Coin) { h.Add(c) })
}

func BenchmarkMuHashSum(b *testing.B) {
	h := NewMuHash()
	c := Coin{Txid: new(chain.Hash)}
	for b.Loop() {
		h.Remove(&c)
		h.Sum()
	}
}
