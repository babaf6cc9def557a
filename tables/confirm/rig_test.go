package confirm_test

import (
	"bytes"
	"context"
	"slices"

	"stele/chain"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
	"stele/validate"
)

// fataler is what *testing.T, *testing.B and *rapid.T share.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// rig is a store with a confirmer, and what is in flight.
type rig struct {
	fataler
	disk   store.Disk
	p      *chain.Params
	t      *tables.Tables
	c      *confirm.Confirmer
	set    *utxo.Set // nil: the tables alone
	flight []*item
	pool   []*item
}

// item is a Work with the memory that a pipeline has for its block.
type item struct {
	w    confirm.Work
	n    *node
	raw  []byte
	d    chain.Block
	rows tables.Rows
}

// newRig is a store on a heap twin.
func newRig(t fataler, p *chain.Params, set bool) *rig {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(512 << 10)
	return rigOn(t, d, p, set)
}

func rigOn(t fataler, d store.Disk, p *chain.Params, set bool) *rig {
	t.Helper()
	r := &rig{fataler: t, disk: d, p: p}
	var err error
	if r.t, err = tables.Create(d, p, tables.Options{}); err != nil {
		t.Fatal(err)
	}
	r.c = confirm.New(r.t)
	if set {
		r.set = newSet()
		r.c.Use(r.set)
	}
	return r
}

func newSet() *utxo.Set { return utxo.New(utxo.Options{Salt: 1, Heap: true, Reserve: 256 << 10}) }

// discard gives the memory back.
func (r *rig) discard() {
	if r.set != nil {
		r.set.Close()
	}
	if d, ok := r.disk.(*store.MemDisk); ok {
		d.Discard()
	}
}

// link returns the header row of a block, made where there is none.
func (r *rig) link(n *node) tables.HeaderLink {
	r.Helper()
	if l, ok := r.t.FindHeader(&n.Hash); ok {
		return l
	}
	parent := r.link(n.parent)
	h, err := chain.ParseHeader(n.Raw)
	if err != nil {
		r.Fatal(err)
	}
	l, err := r.t.PutHeader(&h, &n.Hash, parent, n.mtp)
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// item readies a block for Take.
func (r *rig) item(n *node) *item {
	r.Helper()
	x := new(item)
	if k := len(r.pool); k > 0 {
		x, r.pool = r.pool[k-1], r.pool[:k-1]
	}
	x.n, x.raw = n, append(x.raw[:0], n.Raw...)
	if err := x.d.Decode(x.raw); err != nil {
		r.Fatal(err)
	}
	x.w.Txids = x.d.Txids(x.w.Txids[:0])
	x.w.Link, x.w.Block, x.w.MTP, x.w.Archived = r.link(n), &x.d, n.mtp, false
	x.w.Place = validate.NewPlace(r.p, &x.d.Header, &n.Hash, validate.Parent{Height: n.Height - 1, MTP: n.parent.mtp})
	if b, ok := r.t.Live().Block(x.w.Link); ok {
		x.w.Archived, x.w.FirstOut = true, b.FirstOut
		if r.set == nil {
			x.w.Block, x.w.Txids = nil, nil
		}
	} else if err := x.rows.Encode(&x.d, x.w.Txids); err != nil {
		r.Fatal(err)
	}
	if r.set != nil && n.Height%2 == 0 { // whether it is prepared makes no difference
		x.w.Prepare()
	}
	return x
}

// free takes an item back. What its block was is overwritten: nobody may look at it any more.
func (r *rig) free(x *item) {
	for i := range x.raw {
		x.raw[i] = 0xa5
	}
	if x.w.Txids != nil {
		clear(x.w.Txids)
	}
	r.pool = append(r.pool, x)
}

// take takes a window and wants the leading blocks taken that break no rule.
func (r *rig) take(nodes ...*node) (n int) {
	r.Helper()
	var ws []*confirm.Work
	var items []*item
	want := 0
	for i, n := range nodes {
		x := r.item(n)
		items, ws = append(items, x), append(ws, &x.w)
		if want == i && n.verdict.OK() {
			want++
		}
	}
	n, err := r.c.Take(ws)
	if err != nil {
		r.Fatal(err)
	}
	if n != want {
		r.Fatalf("took %d of %d blocks, want %d, at height %d: %+v", n, len(ws), want,
			nodes[min(want, len(nodes)-1)].Height, nodes[min(want, len(nodes)-1)].verdict)
	}
	for i, x := range items {
		if i < n {
			r.flight = append(r.flight, x)
			r.wantCoins(x)
		} else {
			r.free(x)
		}
	}
	return n
}

// wantCoins holds the coins of a block in flight against the naive ledger's.
func (r *rig) wantCoins(x *item) {
	r.Helper()
	if x.w.Archived {
		if len(x.w.Coins) != 0 {
			r.Fatalf("height %d: coins of an archived block", x.n.Height)
		}
		return
	}
	if len(x.w.Coins) != len(x.n.spent) {
		r.Fatalf("height %d: %d coins, want %d", x.n.Height, len(x.w.Coins), len(x.n.spent))
	}
	for i, c := range x.w.Coins {
		if !x.n.spent[i].is(&c) {
			r.Fatalf("height %d, input %d: coin %+v, want %+v (set %v)", x.n.Height, i, c, x.n.spent[i], r.set != nil)
		}
	}
}

// put puts the oldest block in flight, as one record of the log.
func (r *rig) put() {
	r.Helper()
	x := r.flight[0]
	r.wantCoins(x)
	before := r.t.Live().Cut().Log
	rows := &x.rows
	if x.w.Archived {
		rows = nil
	}
	if err := r.c.Put(&x.w, rows); err != nil {
		r.Fatal(err)
	}
	if after := r.t.Live().Cut().Log; after != before+1 {
		r.Fatalf("a block took %d records of the log", after-before)
	}
	if l, _ := r.t.Tip(); l != x.w.Link {
		r.Fatal("a block that was put is not the tip")
	}
	r.flight = r.flight[1:]
	r.free(x)
}

func (r *rig) putAll() {
	r.Helper()
	for len(r.flight) > 0 {
		r.put()
	}
}

// drop drops the newest block in flight.
func (r *rig) drop() {
	r.Helper()
	x := r.flight[len(r.flight)-1]
	before := r.t.Live().Cut()
	if err := r.c.Drop(&x.w); err != nil {
		r.Fatal(err)
	}
	if r.t.Live().Cut() != before {
		r.Fatal("dropping a block changed the tables")
	}
	r.flight = r.flight[:len(r.flight)-1]
	r.free(x)
}

func (r *rig) pop() {
	r.Helper()
	if err := r.c.Pop(); err != nil {
		r.Fatal(err)
	}
}

// judge asks for the verdict on a block whose parent is the tip, nothing being in flight.
func (r *rig) judge(n *node) validate.Verdict {
	r.Helper()
	x := r.item(n)
	defer r.free(x)
	res, err := r.c.Resolve(&x.w)
	if err != nil {
		r.Fatal(err)
	}
	v := validate.Judge(&x.w.Place, &x.d, x.w.Txids, &validate.Case{
		Coins: res.Coins, Missing: func(in int) bool { return in == res.Missing }, Repeats: res.Repeats, MTPAt: r.c.MTPAt,
	})
	if res.Err != nil && res.Err() != nil {
		r.Fatal(res.Err())
	}
	return v
}

// wantVerdict holds the judge against the naive ledger.
func (r *rig) wantVerdict(n *node) {
	r.Helper()
	if v := r.judge(n); v.Reason != n.verdict.Reason || v.Tx != n.verdict.Tx || v.Input != n.verdict.Input ||
		v.OK() == v.Condemns {
		r.Fatalf("height %d: verdict %+v, want %+v", n.Height, v, n.verdict)
	}
}

// wantTip wants the tables, and the set, to be what the naive ledger is after a block. Nothing is in flight.
func (r *rig) wantTip(n *node) {
	r.Helper()
	if l, height := r.t.Tip(); l != r.link(n) || height != n.Height {
		r.Fatalf("tip at height %d, want %d", height, n.Height)
	}
	for at, height := n, n.Height; at != nil; at, height = at.parent, height-1 {
		if got := r.c.MTPAt(height); got != at.mtp {
			r.Fatalf("MTP %d at height %d, want %d", got, height, at.mtp)
		}
	}
	count := 0
	err := r.t.Live().EachUnspent(func(u *tables.Unspent) error {
		count++
		c := chain.Coin{Value: u.Value, Script: u.Script, Height: u.Height, Coinbase: u.Coinbase}
		if want, ok := n.coins[outpoint{Txid: *u.Txid, Vout: u.Vout}]; !ok || !want.is(&c) {
			r.Fatalf("height %d: the tables have %v:%d as %+v, want %+v, %v", n.Height, u.Txid, u.Vout, c, want, ok)
		}
		if r.set == nil {
			return nil
		}
		got, link, _, ok := r.set.Get(u.Txid, u.Vout, nil)
		if !ok || link != uint64(u.Output) || got.Height != u.Height {
			r.Fatalf("height %d: the set has %v:%d as output %d at height %d, %v; the tables as %d at %d", n.Height,
				u.Txid, u.Vout, link, got.Height, ok, u.Output, u.Height)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	if count != len(n.coins) {
		r.Fatalf("height %d: %d unspent outputs, want %d", n.Height, count, len(n.coins))
	}
	if r.set != nil {
		wantSet(r, r.set, n)
	}
}

// wantSet holds the hash of a set against that of the naive ledger's coins.
func wantSet(t fataler, s utxo.Source, n *node) {
	t.Helper()
	_, got, err := utxo.Serialized3Of(s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := n.hash(t); got != want {
		t.Fatalf("height %d: the set's hash is %v, want %v", n.Height, got, want)
	}
}

// roll brings a set from one block to the tip of the readers' view.
func (r *rig) roll(s *utxo.Set, from *node) {
	r.Helper()
	if err := r.t.Publish(); err != nil {
		r.Fatal(err)
	}
	last, all := uint32(0), uint32(0)
	err := confirm.Roll(context.Background(), r.t.View(), s, r.link(from), func(done, total uint32) {
		if done <= last || done > total || all != 0 && total != all {
			r.Fatalf("rolled %d of %d after %d of %d", done, total, last, all)
		}
		last, all = done, total
	})
	if err != nil {
		r.Fatal(err)
	}
	if last != all {
		r.Fatalf("rolled %d blocks of %d", last, all)
	}
}

// medianTime is the MTP of the last of some headers' times.
func medianTime(times []uint32) uint32 {
	last := slices.Clone(times[max(0, len(times)-11):])
	slices.Sort(last)
	return last[len(last)/2]
}

func (c coin) is(x *chain.Coin) bool {
	return c.value == x.Value && c.height == x.Height && c.coinbase == x.Coinbase && bytes.Equal([]byte(c.script), x.Script)
}
