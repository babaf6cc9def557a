package utxo

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// modelCoin is an output in the plain map that a set is compared with.
type modelCoin struct {
	value    int64
	script   string
	height   uint32
	coinbase bool
	first    uint64
}

type coinMap map[Outpoint]modelCoin

// live returns the outputs in an order that depends on nothing.
func (m coinMap) live() []Outpoint { return slices.SortedFunc(maps.Keys(m), compareOutpoints) }

func compareOutpoints(a, b Outpoint) int {
	x, y := Coin{Txid: &a.Txid, Vout: a.Vout}, Coin{Txid: &b.Txid, Vout: b.Vout}
	return order(x, y)
}

func (m coinMap) has(txid chain.Hash) bool {
	for p := range m {
		if p.Txid == txid {
			return true
		}
	}
	return false
}

// setMachine plays blocks on a set and on a map.
type setMachine struct {
	set    *Set
	model  coinMap
	before []coinMap // by block that can be undone
	undos  []*Undo
	height uint32
	first  uint64
}

func newSetMachine(t *rapid.T) *setMachine {
	s := New(Options{
		Heap: true, Salt: rapid.Uint64().Draw(t, "salt"), Workers: rapid.IntRange(1, 2).Draw(t, "workers"), Reserve: 1 << 18,
	})
	s.commit.parallel = 0
	return &setMachine{model: coinMap{}, set: s}
}

// txidGen draws from few txids, in few shards, all of which share their hash: lines are full of them.
func txidGen() *rapid.Generator[chain.Hash] {
	return rapid.Custom(func(t *rapid.T) chain.Hash {
		h := chain.Hash{31: rapid.ByteRange(0, 40).Draw(t, "id")}
		h[0] = rapid.SampledFrom([]byte{1, 1, 1, 0, 255}).Draw(t, "shard")
		return h
	})
}

// block draws a block that can be committed, and what it makes of the model.
func (m *setMachine) block(t *rapid.T) (*Block, coinMap) {
	b := &Block{Height: m.height, Overwrites: rapid.IntRange(0, 5).Draw(t, "overwrites") == 0}
	after := maps.Clone(m.model)
	live := m.model.live()
	any := rapid.IntRange(0, max(0, len(live)-1))
	spends := rapid.SliceOfNDistinct(any, 0, min(len(live), 25), rapid.ID).Draw(t, "spends")
	made := map[chain.Hash]bool{}
	for _, txid := range rapid.SliceOfNDistinct(txidGen(), 0, 9, rapid.ID).Draw(t, "made") {
		if m.model.has(txid) && !b.Overwrites {
			continue
		}
		made[txid] = true
		r := recordsOf(9, 300).Draw(t, "record")
		b.Made = append(b.Made, Made{Txid: txid, Coinbase: r.Coinbase, First: m.first, Outs: r.Outs})
		m.first += 100
		maps.DeleteFunc(after, func(p Outpoint, _ modelCoin) bool { return p.Txid == txid })
		for _, o := range r.Outs {
			after[Outpoint{txid, o.Vout}] = modelCoin{o.Value, string(o.Script), b.Height, r.Coinbase, m.first - 100}
		}
	}
	for _, i := range spends {
		if !made[live[i].Txid] {
			b.Spends = append(b.Spends, live[i])
		}
	}
	for _, x := range b.Made { // what the block spends itself
		for _, o := range x.Outs {
			if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
				b.Spends = append(b.Spends, Outpoint{x.Txid, o.Vout})
			}
		}
	}
	b.Spends = rapid.Permutation(b.Spends).Draw(t, "order")
	for _, p := range b.Spends {
		delete(after, p)
	}
	return b, after
}

func (m *setMachine) Commit(t *rapid.T) {
	b, after := m.block(t)
	u := new(Undo)
	if err := m.set.Commit(b, u); err != nil {
		t.Fatal(err)
	}
	made := coinMap{}
	for _, x := range b.Made {
		for _, o := range x.Outs {
			made[Outpoint{x.Txid, o.Vout}] = modelCoin{o.Value, string(o.Script), b.Height, x.Coinbase, x.First}
		}
	}
	for i, s := range u.Spent {
		want, own := made[b.Spends[i]]
		if !own {
			want = m.model[b.Spends[i]]
		}
		if s.Point != b.Spends[i] || s.Own != own || coinOf(s.Coin, s.First) != want {
			t.Fatalf("spend %d is %+v, want %+v", i, s, want)
		}
	}
	m.before, m.undos = append(m.before, m.model), append(m.undos, u)
	m.model = after
	m.height++
}

// Refused commits blocks of which one thing is wrong.
func (m *setMachine) Refused(t *rapid.T) {
	b, _ := m.block(t)
	var want Outpoint
	switch live := m.model.live(); rapid.IntRange(0, 2).Draw(t, "fault") {
	case 0: // a prevout that is nowhere
		want = Outpoint{txidGen().Draw(t, "missing"), rapid.Uint32Range(1<<20, 1<<21).Draw(t, "vout")}
		b.Spends = slices.Insert(b.Spends, rapid.IntRange(0, len(b.Spends)).Draw(t, "at"), want)
	case 1: // one that is spent twice
		if len(b.Spends) == 0 {
			return
		}
		want = rapid.SampledFrom(b.Spends).Draw(t, "twice")
		b.Spends = append(b.Spends, want)
	default: // a transaction that is there
		if len(live) == 0 {
			return
		}
		b.Overwrites = false
		txid := rapid.SampledFrom(live).Draw(t, "duplicate").Txid
		if slices.ContainsFunc(b.Made, func(x Made) bool { return m.model.has(x.Txid) && x.Txid != txid }) {
			return
		}
		b.Made = append(slices.DeleteFunc(b.Made, func(x Made) bool { return x.Txid == txid }),
			Made{Txid: txid, Outs: []Entry{{Vout: 7}}})
		var dup *DuplicateError
		if err := m.set.Commit(b, new(Undo)); !errors.As(err, &dup) || dup.Txid != txid {
			t.Fatalf("duplicate %v: %v", txid, err)
		}
		return
	}
	var missing *MissingError
	err := m.set.Commit(b, new(Undo))
	if !errors.As(err, &missing) || missing.Point != want || b.Spends[missing.Spend] != want {
		t.Fatalf("missing %v: %v", want, err)
	}
}

func (m *setMachine) Undo(t *rapid.T) {
	if len(m.undos) == 0 {
		t.Skip("nothing to undo")
	}
	last := len(m.undos) - 1
	if err := m.set.Undo(m.undos[last]); err != nil {
		t.Fatal(err)
	}
	left := func(x madeTrace) bool { return x.outs > 0 }
	if slices.ContainsFunc(m.undos[last].made, left) || len(m.undos[last].Overwritten) > 0 {
		if err := m.set.Undo(m.undos[last]); err == nil {
			t.Fatal("a block was undone twice")
		}
	}
	m.model, m.before, m.undos = m.before[last], m.before[:last], m.undos[:last]
	m.height--
}

func (m *setMachine) Lookup(t *rapid.T) {
	var points []Outpoint
	for range rapid.IntRange(0, 40).Draw(t, "points") {
		p := Outpoint{txidGen().Draw(t, "txid"), rapid.Uint32Range(0, 300).Draw(t, "vout")}
		if live := m.model.live(); len(live) > 0 && rapid.Bool().Draw(t, "live") {
			p = rapid.SampledFrom(live).Draw(t, "point")
		}
		points = append(points, p)
	}
	found := make([]Found, len(points))
	m.set.Lookup(points, found, nil)
	for i, p := range points {
		want, ok := m.model[p]
		c, link, scripts, have := m.set.Get(&p.Txid, p.Vout, []byte("front"))
		if have != ok || found[i].OK != ok {
			t.Fatalf("%v is found: %v and %v, want %v", p, have, found[i].OK, ok)
		}
		if !ok {
			continue
		}
		if coinOf(c, link-uint64(p.Vout)) != want || string(scripts) != "front"+want.script {
			t.Fatalf("%v is %+v, want %+v", p, c, want)
		}
		if f := found[i]; coinOf(f.Coin, f.Link-uint64(p.Vout)) != want {
			t.Fatalf("%v is %+v in a group, want %+v", p, f, want)
		}
	}
}

func coinOf(c chain.Coin, first uint64) modelCoin {
	return modelCoin{c.Value, string(c.Script), c.Height, c.Coinbase, first}
}

// dump reads a whole set.
func dump(t interface{ Fatal(...any) }, s *Set) coinMap {
	all := coinMap{}
	for i := range shards {
		err := s.Shard(i, func(r *Record) error {
			for _, o := range r.Outs {
				all[Outpoint{r.Txid, o.Vout}] = modelCoin{o.Value, string(o.Script), r.Height, r.Coinbase, r.First}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (m *setMachine) Check(t *rapid.T) {
	if err := m.set.verify(); err != nil {
		t.Fatal(err)
	}
	if have := dump(t, m.set); !maps.Equal(have, m.model) {
		t.Fatalf("%d outputs, want %d", len(have), len(m.model))
	}
	r := m.set.Report()
	if m.set.Len() != uint64(len(m.model)) || r.Outputs != uint64(len(m.model)) || r.Accounted < r.Payload+r.Index {
		t.Fatalf("%d outputs are reported, want %d: %+v", m.set.Len(), len(m.model), r)
	}
}

// TestSetModel: any blocks and undos give the set that a plain map has, and what is wrong changes nothing.
func TestSetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newSetMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.Commit, "undo": m.Undo, "refused": m.Refused, "lookup": m.Lookup, "": m.Check,
		})
	})
}
