package node

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/node/p2p"
	"stele/tables"
	"stele/validate"
)

// liveWorld is a random tree of blocks, some of them flawed, and what a node should make of what it was given of them.
type liveWorld struct {
	tr     *trunk
	base   [][]byte
	raw    [][]byte
	at     []*chaintest.Block
	parent []int
	paid   []bool  // it, or a block below it, spends a coin of the trunk
	flaw   []*flaw // nil: it is sound
	body   []bool  // the node must have it, as far as it is sound
	hand   []bool  // made invalid by hand

	r   *rig
	n   *liveRig
	o   Options
	tip int
}

func newLiveWorld(t *rapid.T) *liveWorld {
	w := &liveWorld{r: memRig(t, chain.Regtest())}
	w.tr, w.base = newTrunk(2)
	w.o.TablesAlone, w.o.Threads = rapid.Bool().Draw(t, "tables alone"), rapid.IntRange(1, 4).Draw(t, "threads")
	w.o.heap, w.o.reserve = true, 4<<10
	w.o.BlockBytes = rapid.SampledFrom([]int64{1, 1_000, 1 << 20}).Draw(t, "room")
	w.o.limits.chunkBlocks, w.o.limits.chunks = rapid.IntRange(1, 4).Draw(t, "chunk"), rapid.IntRange(1, 8).Draw(t, "chunks")
	w.o.times.images = rapid.SampledFrom([]uint64{0, 1}).Draw(t, "images")
	w.add(w.tr.tip, w.tr.tip.Raw, -1, nil, false)
	w.body[0] = true
	w.n = w.r.live(w.o)
	w.n.give(t, w.base...)
	for range rapid.IntRange(1, 20).Draw(t, "blocks") {
		w.grow(t)
	}
	return w
}

func (w *liveWorld) add(b *chaintest.Block, raw []byte, parent int, f *flaw, paid bool) {
	w.at, w.raw, w.parent, w.flaw = append(w.at, b), append(w.raw, raw), append(w.parent, parent), append(w.flaw, f)
	w.paid, w.body, w.hand = append(w.paid, paid), append(w.body, false), append(w.hand, false)
}

func (w *liveWorld) grow(t *rapid.T) {
	parent := rapid.IntRange(max(0, len(w.at)-6), len(w.at)-1).Draw(t, "parent")
	on, pays := w.at[parent], !w.paid[parent] && rapid.Bool().Draw(t, "pays")
	if rapid.IntRange(0, 5).Draw(t, "flawed") == 0 {
		name := rapid.SampledFrom([]string{
			"two coinbases", "coinbase height", "missing", "maturity", "coinbase amount", "script",
		}).Draw(t, "flaw")
		f := &flaws[slices.IndexFunc(flaws, func(f flaw) bool { return f.name == name })]
		raw := f.make(&flawed{trunk: w.tr, on: on, coins: w.tr.ripe[1:]})
		var b chain.Block
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		at := &chaintest.Block{Hash: hashOf(raw), Height: on.Height + 1, Time: on.Time + 600, Txids: b.Txids(nil)}
		w.add(at, raw, parent, f, w.paid[parent])
		return
	}
	var txs []*chaintest.Tx
	if pays {
		txs = append(txs, pay(uint32(len(w.at)), 1, w.tr.ripe[0]))
	}
	b := w.tr.on(on, txs...)
	w.add(b, b.Raw, parent, nil, w.paid[parent] || pays)
}

// line lists i and what is below it.
func (w *liveWorld) line(i int) (all []int) {
	for ; i >= 0; i = w.parent[i] {
		all = append(all, i)
	}
	return all
}

func (w *liveWorld) any(i int, is func(j int) bool) bool { return slices.ContainsFunc(w.line(i), is) }

func (w *liveWorld) usable(i int) bool {
	return !w.any(i, func(j int) bool { return !w.body[j] || w.flaw[j] != nil || w.hand[j] })
}

// header gives the headers up to i; false where one of them is refused.
func (w *liveWorld) header(t *rapid.T, i int) bool {
	line := w.line(i)
	slices.Reverse(line)
	for _, j := range line {
		h, err := chain.ParseHeader(w.raw[j])
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.n.n.PutHeaders(context.Background(), []chain.Header{h}, true)
		switch {
		case err != nil || got.Unconnected:
			t.Fatal(err, got)
		case got.Invalid != "":
			if !w.any(j, func(k int) bool { return w.hand[k] || w.flaw[k] != nil }) {
				t.Fatalf("header %d is refused: %s", j, got.Invalid)
			}
			return false
		}
	}
	return true
}

const (
	honest p2p.PeerID = 1 + iota
	mutator
)

func (w *liveWorld) give(t *rapid.T) {
	picks := rapid.SliceOfN(rapid.IntRange(0, len(w.at)-1), 1, 10).Draw(t, "picks")
	for _, i := range picks {
		how := rapid.IntRange(0, 7).Draw(t, "how")
		if !w.header(t, i) || how == 0 {
			continue
		}
		if how == 1 || how == 2 {
			w.n.block(t, damagedBody(w.raw[i]), mutator)
		}
		if how == 1 {
			continue
		}
		w.n.block(t, w.raw[i], honest)
		w.body[i] = w.body[i] || !w.any(i, func(j int) bool { return w.hand[j] })
	}
}

// byHand makes a block invalid, or takes that back.
func (w *liveWorld) byHand(t *rapid.T) {
	i := rapid.IntRange(1, len(w.at)-1).Draw(t, "block")
	ask, back := w.n.n.Invalidate, rapid.Bool().Draw(t, "reconsider")
	if back {
		ask = w.n.n.Reconsider
	}
	switch err := ask(context.Background(), &w.at[i].Hash); {
	case errors.Is(err, ErrUnknownBlock):
		return
	case err != nil:
		t.Fatal(err)
	case !back:
		w.hand[i] = true
		return
	}
	for j := range w.at {
		if slices.Contains(w.line(i), j) || slices.Contains(w.line(j), i) {
			w.hand[j] = false
		}
	}
	// What was in memory may have been given up meanwhile.
	for j := range w.at {
		if w.body[j] && w.flaw[j] == nil && w.header(t, j) {
			w.n.block(t, w.raw[j], honest)
		}
	}
}

// restart forgets what is in memory.
func (w *liveWorld) restart(t *rapid.T) {
	w.n.take()
	w.blame(t)
	w.n.stop(t)
	w.r.reopen(t)
	for i := range w.at {
		l, ok := w.r.t.FindHeader(&w.at[i].Hash)
		w.body[i] = false
		if ok {
			_, archived := w.r.t.Archived(l)
			_, pending := w.r.t.Pending(&w.at[i].Hash)
			w.body[i] = archived || pending
		}
	}
	w.n = w.r.live(w.o)
}

// check asserts that the chain is the best of what was given. Of equal ones any is right, but that the tip does not
// move to one of no more work; who sent what was refused is told with the reason, and memory holds nothing in vain.
func (w *liveWorld) check(t *rapid.T) {
	w.n.settle(t)
	w.blame(t)
	best := 0
	for i := range w.at {
		if w.usable(i) && w.at[i].Height > w.at[best].Height {
			best = i
		}
	}
	if w.usable(w.tip) && w.at[w.tip].Height == w.at[best].Height {
		best = w.tip
	}
	l, _ := w.r.t.View().Tip()
	hash := w.r.t.Header(l).Hash()
	got := slices.IndexFunc(w.at, func(b *chaintest.Block) bool { return b.Hash == hash })
	if got < 0 || !w.usable(got) || w.at[got].Height != w.at[best].Height || best == w.tip && got != best {
		t.Fatalf("the tip is block %d (%v), want %d; it was %d", got, hash, best, w.tip)
	}
	w.tip = got
	for i := range w.at {
		l, ok := w.r.t.FindHeader(&w.at[i].Hash)
		if ok && w.r.t.State(l) == tables.StateInvalid && (w.flaw[i] == nil || !w.flaw[i].condemns) {
			t.Fatalf("block %d is condemned", i)
		}
	}
	w.memory(t)
}

func (w *liveWorld) memory(t *rapid.T) {
	err := w.n.n.ask(context.Background(), func() {
		m, sum := w.n.n.w, int64(0)
		for n, one := range m.held {
			b := &m.bodies.all[n]
			sum += int64(len(one.raw))
			if _, archived := m.t.Archived(b.l); archived || b.place.File != inMemory || m.t.State(b.l) == tables.StateInvalid {
				t.Fatalf("body %d is held in vain: %+v", n, *b)
			}
		}
		if sum != m.heldBytes || sum > m.node.room/2 || m.node.free.Load() != m.node.room-sum {
			t.Fatalf("%d bytes are held, counted as %d of %d", sum, m.heldBytes, m.node.room)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// blame looks at whom the node blames, and for what.
func (w *liveWorld) blame(t *rapid.T) {
	for _, e := range w.n.refused() {
		i := slices.IndexFunc(w.at, func(b *chaintest.Block) bool { return b.Hash == e.Hash })
		if i < 0 {
			t.Fatalf("who sent %+v?", e)
		}
		f := w.flaw[i]
		switch {
		case e.Reason == validate.ReasonDuplicateInvalid:
			if !w.any(i, func(j int) bool { return w.flaw[j] != nil || w.hand[j] }) {
				// It may have been so when the block came.
				continue
			}
		case e.From == mutator && e.Mutated && (e.Reason == validate.ReasonMerkleRoot || f != nil && e.Reason == f.reason):
		case e.From == honest && f != nil && e.Reason == f.reason && e.Mutated == !f.condemns:
		default:
			t.Fatalf("block %d, flaw %+v: %+v", i, f, e)
		}
	}
}

// A running node against a naive choice of most work: headers and blocks in any order, damaged bodies before and
// beside the true ones, blocks with a flaw of each phase, blocks made invalid by hand and taken back, and restarts.
func TestNodeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLiveWorld(t)
		defer func() { w.n.end(); w.r.discard() }()
		t.Repeat(map[string]func(*rapid.T){
			"grow":    w.grow,
			"give":    w.give,
			"more":    w.give,
			"by hand": w.byHand,
			"restart": w.restart,
			"":        w.check,
		})
	})
}
