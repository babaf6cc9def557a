package tables_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/archivetest"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
)

// machine drives a store and a naive model of it side by side: blocks are made, confirmed, popped and pushed again; the
// store is checkpointed, closed and opened, and left without closing. The model keeps whole blocks and replays them.
type machine struct {
	disk   *store.MemDisk
	t      *tables.Tables
	best   []*chaintest.Block // the chain, genesis first
	others []*chaintest.Block // archived blocks that were popped
	salt   uint32
	held   []heldView
}

// heldView is a view that a reader took, with the chain that it saw then.
type heldView struct {
	v    *tables.View
	best []*chaintest.Block
}

// coins is the naive set of unspent outputs of a chain, and who spent what.
type coins struct {
	unspent map[chaintest.Outpoint]uint32 // height
	spender map[chaintest.Outpoint]chain.Hash
}

func replay(best []*chaintest.Block) coins {
	c := coins{unspent: map[chaintest.Outpoint]uint32{}, spender: map[chaintest.Outpoint]chain.Hash{}}
	for _, b := range best {
		if b.Height == 0 {
			continue
		}
		var d chain.Block
		if err := d.Decode(b.Raw); err != nil {
			panic(err)
		}
		for i, tx := range d.Txs {
			for n := tx.FirstIn; i > 0 && n < tx.FirstIn+tx.Ins; n++ {
				txid, vout := d.Outpoint(int(n))
				o := chaintest.Outpoint{Txid: *txid, Vout: vout}
				delete(c.unspent, o)
				c.spender[o] = b.Txids[i]
			}
			for n := range tx.Outs {
				if script := d.Bytes(d.Outs[tx.FirstOut+n].Script); len(script) == 0 || script[0] != 0x6a {
					o := chaintest.Outpoint{Txid: b.Txids[i], Vout: n}
					c.unspent[o] = b.Height
					delete(c.spender, o)
				}
			}
		}
	}
	return c
}

func (m *machine) tip() *chaintest.Block { return m.best[len(m.best)-1] }

// confirm puts a block into the store and wants it to pass.
func (m *machine) confirm(t *rapid.T, b *chaintest.Block) {
	var d chain.Block
	if err := d.Decode(b.Raw); err != nil {
		t.Fatal(err)
	}
	parent, ok := m.t.FindHeader(&b.Parent.Hash)
	if !ok {
		t.Fatalf("parent of block %d is not in the store", b.Height)
	}
	l, err := m.t.PutHeader(&d.Header, &b.Hash, parent, naiveMTP(b))
	if err != nil {
		t.Fatal(err)
	}
	var r tables.Rows
	ids := d.Txids(nil)
	if err := r.Encode(&d, ids); err != nil {
		t.Fatal(err)
	}
	if err := archivetest.MustPush(m.t, l, &d, ids, &r); err != nil {
		t.Fatalf("block %d: %v", b.Height, err)
	}
	m.best = append(m.best, b)
}

// naiveMTP is the median of the times of a block and the ten before it (BIP113).
func naiveMTP(b *chaintest.Block) uint32 {
	var times []uint32
	for ; b != nil && len(times) < 11; b = b.Parent {
		times = append(times, b.Time)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// Extend confirms a new block on the tip, with transactions that spend random unspent outputs, in the block itself too.
func (m *machine) Extend(t *rapid.T) {
	m.salt++
	c := replay(m.best)
	var free []chaintest.Outpoint
	for o := range c.unspent {
		free = append(free, o)
	}
	slices.SortFunc(free, func(a, b chaintest.Outpoint) int {
		return cmp.Or(bytes.Compare(a.Txid[:], b.Txid[:]), cmp.Compare(a.Vout, b.Vout))
	})
	var txs []*chaintest.Tx
	for range rapid.IntRange(0, 6).Draw(t, "txs") {
		tx := &chaintest.Tx{Version: 2, LockTime: m.salt, Witness: rapid.Bool().Draw(t, "witness")}
		for n := rapid.IntRange(1, 3).Draw(t, "ins"); n > 0 && len(free) > 0; n-- {
			i := rapid.IntRange(0, len(free)-1).Draw(t, "spend")
			tx.Ins = append(tx.Ins, free[i])
			free = slices.Delete(free, i, i+1)
		}
		if len(tx.Ins) == 0 {
			break
		}
		for n := range rapid.IntRange(1, 90).Draw(t, "outs") {
			script := []byte{0x51, byte(n)}
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				script = []byte{0x6a, byte(n)}
			}
			tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(n), Script: script})
		}
		_, txid := tx.Raw()
		for n, o := range tx.Outs {
			if o.Script[0] != 0x6a {
				free = append(free, chaintest.Outpoint{Txid: txid, Vout: uint32(n)})
			}
		}
		txs = append(txs, tx)
	}
	m.confirm(t, m.tip().Next(m.salt, txs...))
}

// Pop takes the tip off.
func (m *machine) Pop(t *rapid.T) {
	if len(m.best) < 2 {
		t.Skip("only genesis is left")
	}
	if err := m.t.Pop(); err != nil {
		t.Fatal(err)
	}
	m.others = append(m.others, m.tip())
	m.best = m.best[:len(m.best)-1]
}

// PushAgain puts a block back that was popped from this tip.
func (m *machine) PushAgain(t *rapid.T) {
	for i, b := range m.others {
		if b.Parent == m.tip() {
			m.others = slices.Delete(m.others, i, i+1)
			m.confirm(t, b)
			return
		}
	}
	t.Skip("no popped block stands on the tip")
}

// Double offers a block that spends an output twice, or one that is spent: it must not pass, and change nothing.
func (m *machine) Double(t *rapid.T) {
	c := replay(m.best)
	m.salt++
	var spent, unspent []chaintest.Outpoint
	for o := range c.spender {
		spent = append(spent, o)
	}
	for o := range c.unspent {
		unspent = append(unspent, o)
	}
	if len(spent) == 0 || len(unspent) == 0 {
		t.Skip("nothing was spent")
	}
	ins := []chaintest.Outpoint{spent[0]}
	if rapid.Bool().Draw(t, "twice in the block") {
		ins = []chaintest.Outpoint{unspent[0]}
	}
	out := []chaintest.Output{{Value: 1, Script: []byte{0x51}}}
	b := m.tip().Next(m.salt,
		&chaintest.Tx{Version: 2, Ins: ins, Outs: out}, &chaintest.Tx{Version: 2, Ins: ins, Outs: out, LockTime: 7})
	var d chain.Block
	if err := d.Decode(b.Raw); err != nil {
		t.Fatal(err)
	}
	parent, _ := m.t.FindHeader(&b.Parent.Hash)
	l, err := m.t.PutHeader(&d.Header, &b.Hash, parent, naiveMTP(b))
	if err != nil {
		t.Fatal(err)
	}
	var r tables.Rows
	ids := d.Txids(nil)
	if err := r.Encode(&d, ids); err != nil {
		t.Fatal(err)
	}
	if ok, err := archivetest.Push(m.t, l, &d, ids, &r); err != nil || ok {
		t.Fatalf("a double spend got %v, %v", ok, err)
	}
}

// Publish lets readers see the chain of now, and keeps their view.
func (m *machine) Publish(t *rapid.T) {
	if err := m.t.Publish(); err != nil {
		t.Fatal(err)
	}
	m.held = append(m.held, heldView{v: m.t.View(), best: slices.Clone(m.best)})
	if len(m.held) > 4 {
		m.held = m.held[1:]
	}
}

// Checkpoint merges the indexes.
func (m *machine) Checkpoint(t *rapid.T) {
	if err := m.t.Checkpoint(); err != nil {
		t.Fatal(err)
	}
}

// Reopen closes the store and opens it again.
func (m *machine) Reopen(t *rapid.T) {
	if err := m.t.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

// Kill opens the store as a killed process leaves it: all that was published is there, without a checkpoint; what came
// after it was in the process's memory only.
func (m *machine) Kill(t *rapid.T) {
	if rapid.Bool().Draw(t, "more") {
		m.Extend(t)
	}
	if err := m.t.Publish(); err != nil {
		t.Fatal(err)
	}
	best, others := slices.Clone(m.best), slices.Clone(m.others)
	m.Extend(t)
	m.disk = m.disk.Clone()
	m.best, m.others = best, others
	m.open(t)
}

func (m *machine) open(t *rapid.T) {
	var err error
	if m.t, err = tables.Open(m.disk, chain.Regtest(), tables.Options{}); err != nil {
		t.Fatal(err)
	}
	m.held = nil
}

// Check compares everything that the store can be asked with the model, after every step.
func (m *machine) Check(t *rapid.T) {
	compare(t, m.t.Live(), m.best)
	for _, h := range m.held {
		compare(t, h.v, h.best)
	}
}

func compare(t *rapid.T, v *tables.View, best []*chaintest.Block) {
	if l, height := v.Tip(); int(height) != len(best)-1 || v.Header(l).Hash() != best[height].Hash {
		t.Fatalf("tip is at %d, want %d", height, len(best)-1)
	}
	c := replay(best)
	found := 0
	err := v.EachUnspent(func(u *tables.Unspent) error {
		found++
		if height, ok := c.unspent[chaintest.Outpoint{Txid: *u.Txid, Vout: u.Vout}]; !ok || height != u.Height {
			t.Fatalf("%v:%d at %d is not unspent in the model (%v)", u.Txid, u.Vout, u.Height, ok)
		}
		return nil
	})
	if err != nil || found != len(c.unspent) {
		t.Fatalf("%d unspent outputs, want %d (%v)", found, len(c.unspent), err)
	}
	for o, txid := range c.spender {
		l, ok := v.FindTx(&o.Txid)
		if !ok || !v.Tx(l).Strong {
			t.Fatalf("transaction %v is not found strong", o.Txid)
		}
		s, ok := v.Spender(v.Tx(l).FirstOut + tables.OutputLink(o.Vout))
		if !ok || *v.Txid(s.Tx) != txid {
			t.Fatalf("spender of %v:%d is not found", o.Txid, o.Vout)
		}
		prevout, ok := v.Prevout(v.Tx(s.Tx).FirstIn + tables.InputLink(s.Index))
		if owner, index := v.OutputTx(prevout); !ok || owner != l || index != o.Vout {
			t.Fatalf("prevout of the spender of %v:%d is another output", o.Txid, o.Vout)
		}
	}
	for _, b := range best {
		l, ok := v.FindHeader(&b.Hash)
		raw, archived, err := v.AppendBlock(nil, l)
		if !ok || !archived || err != nil || !bytes.Equal(raw, b.Raw) {
			t.Fatalf("block %d is not rebuilt (%v %v %v)", b.Height, ok, archived, err)
		}
		if at, ok := v.HeaderAt(b.Height); !ok || at != l || !v.Confirmed(l) {
			t.Fatalf("height %d is another block's", b.Height)
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		rt.Repeat(rapid.StateMachineActions(m))
		if r, err := m.t.Check(true, nil); err != nil || !r.OK() {
			rt.Fatalf("check: %v %v", r.Problems, err)
		}
	})
}
