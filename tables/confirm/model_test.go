package confirm_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/utxo"
)

// world is a tree of blocks, and two stores that confirm them in step, one with a set and one with the tables alone. A
// third set lags behind, and is rolled now and then.
type world struct {
	*rapid.T
	m        *maker
	children map[*node][]*node
	rigs     [2]*rig
	tip      *node   // of the tables
	flight   []*node // above it
	lag      *utxo.Set
	lagAt    *node
}

// TestAgainstLedger: whatever is taken, put, dropped, popped and taken again, in both modes every verdict, every coin,
// and what the tables and the set have unspent, is what a naive ledger says.
func TestAgainstLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := *chain.Regtest()
		w := &world{
			T: t, m: newMaker(&p, rapid.Uint64().Draw(t, "seed")),
			children: map[*node][]*node{}, tip: base(), lag: newSet(), lagAt: genesisOf(base()),
		}
		defer w.lag.Close()
		for i := range w.rigs {
			w.rigs[i] = newRig(t, &p, i == 0)
			defer w.rigs[i].discard()
			w.rigs[i].extend(base())
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": w.take, "take more": w.take, "put": w.put, "drop": w.drop, "pop": w.pop, "roll": w.roll, "look": w.look,
		})
	})
}

func genesisOf(n *node) *node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// extend confirms all blocks from the tip up to n.
func (r *rig) extend(n *node) {
	r.Helper()
	var path []*node
	tip, _ := r.t.Tip()
	for at := n; r.link(at) != tip; at = at.parent {
		path = append(path, at)
	}
	slices.Reverse(path)
	for len(path) > 0 {
		k := min(len(path), 16)
		r.take(path[:k]...)
		r.putAll()
		path = path[k:]
	}
}

func (w *world) top() *node {
	if n := len(w.flight); n > 0 {
		return w.flight[n-1]
	}
	return w.tip
}

// take takes a window of blocks, new ones or such that were seen before. Where one is bad, its verdict is asked for.
func (w *world) take(t *rapid.T) {
	var window []*node
	at, spoilt := w.top(), false
	for range rapid.IntRange(1, 5).Draw(t, "window") {
		known := w.children[at]
		if len(known) > 0 && rapid.IntRange(0, 2).Draw(t, "again") > 0 {
			at = known[rapid.IntRange(0, len(known)-1).Draw(t, "which")]
		} else {
			f := flawless
			if rapid.IntRange(0, 4).Draw(t, "bad") == 0 {
				f = 1 + flaw(w.m.IntN(int(flaws)-1)) // rapid would draw the first ones far more often
			}
			child := w.m.block(at, f)
			w.children[at] = append(known, child)
			at = child
		}
		window, spoilt = append(window, at), spoilt || !at.verdict.OK()
	}
	n := 0
	for _, r := range w.rigs {
		n = r.take(window...)
	}
	w.flight = append(w.flight, window[:n]...)
	if !spoilt || n == len(window) {
		return
	}
	w.drain(t)
	for _, r := range w.rigs {
		r.wantVerdict(window[n])
	}
}

// drain empties the flight, by dropping some and putting the others, and leaves its newest block the tip.
func (w *world) drain(t *rapid.T) {
	top := w.flight
	for _, r := range w.rigs {
		r.putAll()
	}
	if len(top) > 0 {
		w.tip = top[len(top)-1]
	}
	w.flight = nil
}

func (w *world) put(t *rapid.T) {
	for range rapid.IntRange(0, len(w.flight)).Draw(t, "puts") {
		for _, r := range w.rigs {
			r.put()
		}
		w.tip, w.flight = w.flight[0], w.flight[1:]
	}
}

func (w *world) drop(t *rapid.T) {
	for range rapid.IntRange(0, len(w.flight)).Draw(t, "drops") {
		for _, r := range w.rigs {
			r.drop()
		}
		w.flight = w.flight[:len(w.flight)-1]
	}
}

func (w *world) pop(t *rapid.T) {
	if len(w.flight) > 0 {
		return
	}
	for range rapid.IntRange(0, 6).Draw(t, "pops") {
		if w.tip.Height <= baseHeight-3 {
			return
		}
		for _, r := range w.rigs {
			r.pop()
		}
		w.tip = w.tip.parent
	}
}

func (w *world) roll(t *rapid.T) {
	w.rigs[0].roll(w.lag, w.lagAt)
	w.lagAt = w.tip
	wantSet(t, w.lag, w.tip)
}

func (w *world) look(t *rapid.T) {
	if len(w.flight) > 0 {
		return
	}
	for _, r := range w.rigs {
		r.wantTip(w.tip)
	}
}
