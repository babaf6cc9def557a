package node

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/tables"
)

// How deep the deepest reorganisation of TestThereAndBack is; without -short it is no less than a thousand.
var deepest = flag.Int("deepest", 1_000, "blocks of the deepest reorganisation")

// trunk is a chain of made blocks with ripe coinbases, and transactions that lie on its branches.
type trunk struct {
	tip   *chaintest.Block
	ripe  []chaintest.Outpoint // coinbase outputs that any branch may spend
	salts uint32
}

// newTrunk makes one with n ripe coins.
func newTrunk(n int) (tr *trunk, blocks [][]byte) {
	tr = &trunk{tip: chaintest.Genesis()}
	for i := range n + 100 {
		blocks = append(blocks, tr.grow().Raw)
		if i < n {
			tr.ripe = append(tr.ripe, chaintest.Outpoint{Txid: tr.tip.Txids[0]})
		}
	}
	return tr, blocks
}

func (tr *trunk) grow(txs ...*chaintest.Tx) *chaintest.Block {
	tr.tip = tr.on(tr.tip, txs...)
	return tr.tip
}

// on makes a block that no other is equal to.
func (tr *trunk) on(parent *chaintest.Block, txs ...*chaintest.Tx) *chaintest.Block {
	tr.salts++
	cb := chaintest.Coinbase(parent.Height+1, tr.salts)
	cb.Outs[0].Value = reward // at any height
	return parent.NextWith(cb, txs...)
}

// pay spends outputs that anyone may spend, of reward satoshi at least, and makes two of a fifth of the first; tag
// makes its txid another one.
func pay(tag uint32, value int64, ins ...chaintest.Outpoint) *chaintest.Tx {
	script := binary.LittleEndian.AppendUint32([]byte{0x6a, 4}, tag)
	return &chaintest.Tx{Version: 1, Ins: ins, Script: []byte{0x51}, Outs: []chaintest.Output{
		{Value: value, Script: []byte{0x51}}, {Value: value, Script: []byte{0x51}}, {Script: script},
	}}
}

func outpoint(x *chaintest.Tx, vout uint32) chaintest.Outpoint {
	_, txid := x.Raw()
	return chaintest.Outpoint{Txid: txid, Vout: vout}
}

// branch makes n blocks. Its first ones hold the shared transaction, spend what it makes, and spend a coin of the
// trunk that other branches spend in a way of their own; each of the others spends what the block below it made.
func (tr *trunk) branch(
	from *chaintest.Block, n int, name uint32, shared *chaintest.Tx,
) (blocks [][]byte, end *chaintest.Block) {
	own := pay(name, reward/5, tr.ripe[1])
	last := pay(name+1, reward/20, outpoint(shared, 0), outpoint(own, 0))
	end = from
	for i := range n {
		var txs []*chaintest.Tx
		switch {
		case i == 0 && n == 1:
			txs = []*chaintest.Tx{shared, own, last}
		case i == 0:
			txs = []*chaintest.Tx{shared, own}
		case i == 1:
			txs = []*chaintest.Tx{last}
		default:
			last = pay(name+uint32(i), reward/20, outpoint(last, 0), outpoint(last, 1))
			txs = []*chaintest.Tx{last}
		}
		end = tr.on(end, txs...)
		blocks = append(blocks, end.Raw)
	}
	return blocks, end
}

// liveSet is what the set in use is now, and how many unspent outputs it counts.
func (l *liveRig) liveSet(t fataler, w *coinWatch) (x statedSet) {
	t.Helper()
	err := l.n.askQuiet(context.Background(), func() error { x = stateOf(t, w.set); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// agreed is the set of unspent outputs at a tip, of which the set in use, if there is one, and the tables say the same.
func (l *liveRig) agreed(t fataler, w *coinWatch, tip []byte) statedSet {
	t.Helper()
	l.settle(t)
	if all := l.refused(); len(all) > 0 {
		t.Fatalf("refused: %+v", all)
	}
	l.wantTip(t, tip)
	x := l.unspentSet(t)
	if w.set == nil && !l.n.o.TablesAlone {
		t.Fatal("there is no set")
	}
	if !l.n.o.TablesAlone {
		if got := l.liveSet(t, w); got != x {
			t.Fatalf("the set is %+v, the tables' %+v", got, x)
		}
	}
	return x
}

// A reorganisation of any depth, there and back, restores the set of unspent outputs, bit by bit: both hashes and all
// counts, of the set in use and of the tables, which agree with each other and with a replay on either branch. Both
// branches hold the same transaction, and spend the same coin of the trunk in transactions of their own.
func TestThereAndBack(t *testing.T) {
	depths := []int{1, 6, 100, *deepest}
	if testing.Short() {
		depths = depths[:3]
	}
	modes(t, func(t *testing.T, alone bool) {
		for _, depth := range depths {
			t.Run(fmt.Sprint(depth), func(t *testing.T) { thereAndBack(t, alone, depth) })
		}
	})
}

func thereAndBack(t *testing.T, alone bool, depth int) {
	p := chain.Regtest()
	tr, base := newTrunk(3)
	shared := pay(1, reward/5, tr.ripe[0])
	a, endA := tr.branch(tr.tip, depth, 1<<16, shared)
	b, _ := tr.branch(tr.tip, depth+1, 2<<16, shared)
	more := [][]byte{tr.on(endA).Raw}
	more = append(more, tr.on(tr.on(endA)).Raw) // another one of the same height
	over := tr.on(endA)
	over2 := tr.on(over)
	ledger := newLedger(p, append(append(append([][]byte{over.Raw, over2.Raw}, base...), a...), append(b, more...)...))

	r := memRig(t, p)
	o := Options{ImportOptions: ImportOptions{TablesAlone: alone, Threads: 2}}
	w := watchCoins(t, &o.ImportOptions)
	n := r.live(o)
	defer n.end()
	look := func(tip []byte) (x statedSet) {
		t.Helper()
		x = n.agreed(t, w, tip)
		if got, want := r.signature(t), ledger.signature(t, hashOf(tip)); got != want {
			t.Fatalf("the store says\n%.1000s\nand a replay\n%.1000s", got, want)
		}
		return x
	}
	n.give(t, base...)
	n.give(t, a...)
	onA := look(a[depth-1])
	n.give(t, b...)
	onB := look(b[depth])
	if onA == onB {
		t.Fatal("the branches are alike")
	}
	// Back, by hand and forth again: the same sets.
	for range 2 {
		first := hashOf(b[0])
		if err := n.n.Invalidate(context.Background(), &first); err != nil {
			t.Fatal(err)
		}
		if got := look(a[depth-1]); got != onA {
			t.Fatalf("back again the set is %+v, and was %+v", got, onA)
		}
		if err := n.n.Reconsider(context.Background(), &first); err != nil {
			t.Fatal(err)
		}
		if got := look(b[depth]); got != onB {
			t.Fatalf("there again the set is %+v, and was %+v", got, onB)
		}
	}
	// Back as the other branch grows: on it stands what stood there, and two blocks.
	n.give(t, over.Raw, over2.Raw)
	look(over2.Raw)
	rep := n.stop(t)
	if want := uint64(5*depth + 3); rep.Popped < want || len(rep.Rejected) > 0 {
		t.Fatalf("%d popped, want %d or more; rejected %v", rep.Popped, want, rep.Rejected)
	}
	r.reopen(t)
	if l, _ := r.t.Tip(); r.t.State(l) != tables.StateUnknown {
		t.Fatal("the tip is marked")
	}
	r.wantReplay(t, ledger)
	r.discard()
}
