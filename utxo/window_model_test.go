package utxo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// windowMachine plays windows of blocks on one set, and the same blocks one by one on another. What is right for one
// block is TestSetModel's matter.
type windowMachine struct {
	all, one       *Set
	allUndo, undos []*Undo // of all blocks that are in the sets
	live           map[Outpoint]bool
	height         uint32
	first          uint64
}

func newWindowMachine(t *rapid.T) *windowMachine {
	o := Options{Heap: true, Salt: rapid.Uint64().Draw(t, "salt"), Workers: 1, Reserve: 1 << 18}
	m := &windowMachine{one: New(o), live: map[Outpoint]bool{}}
	o.Workers = rapid.SampledFrom([]int{1, 4}).Draw(t, "workers")
	if rapid.IntRange(0, 9).Draw(t, "small") == 0 {
		o.Reserve = 3000 // a window may have no room where blocks one by one have
	}
	m.all = New(o)
	m.all.commit.parallel = 0
	return m
}

func (m *windowMachine) madeLive(txid chain.Hash) bool {
	for p := range m.live {
		if p.Txid == txid {
			return true
		}
	}
	return false
}

// block draws a block on top of what m.live says, in most cases a good one, and changes that.
func (m *windowMachine) block(t *rapid.T) *Block {
	odds := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(t, what) == n }
	b := &Block{Height: m.height, Overwrites: odds(9, "overwrites")}
	m.height++
	live := slices.SortedFunc(maps.Keys(m.live), compareOutpoints)
	if len(live) > 0 {
		pick := rapid.IntRange(0, len(live)-1)
		for _, i := range rapid.SliceOfNDistinct(pick, 0, min(len(live), 8), rapid.ID).Draw(t, "spends") {
			b.Spends = append(b.Spends, live[i])
		}
	}
	foreign := len(b.Spends)
	for _, txid := range rapid.SliceOfNDistinct(txidGen(), 0, 5, rapid.ID).Draw(t, "made") {
		if m.madeLive(txid) && !b.Overwrites && !odds(12, "duplicate") {
			continue
		}
		r := recordsOf(10, 80).Draw(t, "record")
		b.Made = append(b.Made, Made{Txid: txid, Coinbase: r.Coinbase, First: m.first, Outs: r.Outs})
		for _, o := range r.Outs {
			if p := (Outpoint{txid, o.Vout}); odds(3, "own") {
				b.Spends = append(b.Spends, p)
			} else {
				m.live[p] = true
			}
		}
		m.first += 1 << 32
	}
	if len(b.Spends) > 0 && odds(12, "twice") {
		b.Spends = append(b.Spends, rapid.SampledFrom(b.Spends).Draw(t, "spend"))
	}
	if odds(15, "missing") {
		p := Outpoint{txidGen().Draw(t, "txid"), rapid.Uint32Range(0, 300).Draw(t, "vout")}
		b.Spends = slices.Insert(b.Spends, rapid.IntRange(0, len(b.Spends)).Draw(t, "at"), p)
	}
	if foreign < len(b.Spends) && odds(2, "ordered") {
		for i := range b.Spends {
			b.Before = append(b.Before, m.first)
			if i >= foreign && odds(15, "child first") {
				b.Before[i] = rapid.Uint64Range(0, m.first>>32).Draw(t, "before") << 32
			}
		}
	}
	for _, p := range b.Spends {
		delete(m.live, p)
	}
	return b
}

func (m *windowMachine) Window(t *rapid.T) {
	var blocks []*Block
	var undos []*Undo
	for range rapid.IntRange(1, 7).Draw(t, "blocks") {
		blocks, undos = append(blocks, m.block(t)), append(undos, new(Undo))
	}
	if i := rapid.IntRange(0, len(blocks)-1).Draw(t, "early"); rapid.IntRange(1, 6).Draw(t, "too early") == 6 {
		for _, x := range blocks[i].Made { // a block spends what a later one makes
			b := blocks[rapid.IntRange(0, i).Draw(t, "in")]
			b.Spends, b.Before = append(b.Spends, Outpoint{x.Txid, x.Outs[0].Vout}), nil
		}
	}
	n, err := m.all.CommitAll(blocks, undos)
	if (err == nil) != (n == len(blocks)) {
		t.Fatalf("%d of %d blocks: %v", n, len(blocks), err)
	}
	var wrong error
	for i, b := range blocks {
		u := new(Undo)
		if errors.As(err, new(*FullError)) && i == n {
			break // the other set has more room
		}
		if wrong = m.one.Commit(b, u); wrong != nil {
			if i != n || fmt.Sprintf("%T %+v", wrong, wrong) != fmt.Sprintf("%T %+v", err, err) {
				t.Fatalf("block %d of the window: %v, and one by one %d: %v", n, err, i, wrong)
			}
			var a, b *MissingError
			if errors.As(err, &a) && errors.As(wrong, &b) && *a != *b {
				t.Fatalf("%+v, and one by one %+v", a, b)
			}
			break
		}
		if i >= n {
			t.Fatalf("block %d of the window fails: %v, but not alone", n, err)
		}
		sameUndo(t, undos[i], u)
		m.allUndo, m.undos = append(m.allUndo, undos[i]), append(m.undos, u)
	}
	m.level(t)
}

// Undo takes blocks back.
func (m *windowMachine) Undo(t *rapid.T) {
	for range rapid.IntRange(0, len(m.undos)).Draw(t, "undone") {
		last := len(m.undos) - 1
		if err := m.all.Undo(m.allUndo[last]); errors.As(err, new(*FullError)) {
			break // what comes back lies beside what goes
		} else if err != nil {
			t.Fatal(err)
		}
		if err := m.one.Undo(m.undos[last]); err != nil {
			t.Fatal(err)
		}
		m.allUndo, m.undos = m.allUndo[:last], m.undos[:last]
	}
	m.level(t)
}

// level compares the sets, and takes note of what they hold.
func (m *windowMachine) level(t *rapid.T) {
	all, one := dump(t, m.all), dump(t, m.one)
	if !maps.Equal(all, one) {
		t.Fatalf("%d outputs, and one by one %d", len(all), len(one))
	}
	if err := m.all.verify(); err != nil {
		t.Fatal(err)
	}
	clear(m.live)
	for p := range all {
		m.live[p] = true
	}
}

func sameUndo(t *rapid.T, a, b *Undo) {
	same := func(a, b Spent) bool {
		return a.Point == b.Point && a.Own == b.Own && coinOf(a.Coin, a.First) == coinOf(b.Coin, b.First)
	}
	byPoint := func(a, b Spent) int { return compareOutpoints(a.Point, b.Point) }
	slices.SortFunc(a.Overwritten, byPoint)
	slices.SortFunc(b.Overwritten, byPoint)
	if a.Height != b.Height || !slices.EqualFunc(a.Spent, b.Spent, same) ||
		!slices.EqualFunc(a.Overwritten, b.Overwritten, same) || !slices.Equal(a.made, b.made) {
		t.Fatalf("undo data %+v, and one by one %+v", a, b)
	}
}

// TestWindowModel: a window of blocks gives the set, the undo data and the error that its blocks give one by one, with
// whatever is wrong in whichever block; and its blocks can be taken back one by one.
func TestWindowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newWindowMachine(t)
		t.Repeat(map[string]func(*rapid.T){"window": m.Window, "undo": m.Undo})
	})
}
