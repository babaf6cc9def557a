package confirm_test

import (
	"errors"
	"slices"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/validate"
)

// rig is a store on a heap twin with a confirmer.
type rig struct {
	*testing.T
	disk *store.MemDisk
	p    *chain.Params
	t    *tables.Tables
	c    *confirm.Confirmer
}

func newRig(tb *testing.T, p *chain.Params) *rig {
	r := &rig{T: tb, disk: store.NewMemDisk(), p: p}
	r.disk.SetReserveCap(1 << 20)
	var err error
	if r.t, err = tables.Create(r.disk, p, tables.Options{}); err != nil {
		tb.Fatal(err)
	}
	r.c = confirm.New(r.t)
	return r
}

// offer puts a block's header and asks for the block to be confirmed.
func (r *rig) offer(b *chaintest.Block) validate.Verdict {
	r.Helper()
	var d chain.Block
	if err := d.Decode(b.Raw); err != nil {
		r.Fatal(err)
	}
	parent, ok := r.t.FindHeader(&b.Parent.Hash)
	if !ok {
		r.Fatal("the parent is not known")
	}
	l, err := r.t.PutHeader(&d.Header, &b.Hash, parent, mtp(b))
	if err != nil {
		r.Fatal(err)
	}
	var rows tables.Rows
	ids := d.Txids(nil)
	if err := rows.Encode(&d, ids); err != nil {
		r.Fatal(err)
	}
	v, err := r.c.Push(l, &d, ids, &rows)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func mtp(b *chaintest.Block) uint32 {
	var times []uint32
	for ; b != nil && len(times) < 11; b = b.Parent {
		times = append(times, b.Time)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func (r *rig) pass(b *chaintest.Block) {
	r.Helper()
	if v := r.offer(b); !v.OK() {
		r.Fatalf("block %d: %v", b.Height, v)
	}
}

// refuse wants a verdict, and the store unchanged.
func (r *rig) refuse(b *chaintest.Block, reason string, tx, input int) {
	r.Helper()
	before := r.t.Live().Cut()
	before.Headers++
	v := r.offer(b)
	if v.Reason != reason || v.Tx != tx || v.Input != input || !v.Condemns {
		r.Errorf("verdict %+v, want %s at transaction %d, input %d", v, reason, tx, input)
	}
	if after := r.t.Live().Cut(); after != before {
		r.Errorf("a refused block changed the store from %+v to %+v", before, after)
	}
}

// coins returns the height of each unspent output.
func (r *rig) coins() map[chaintest.Outpoint]uint32 {
	r.Helper()
	m := map[chaintest.Outpoint]uint32{}
	err := r.t.Live().EachUnspent(func(u *tables.Unspent) error {
		m[chaintest.Outpoint{Txid: *u.Txid, Vout: u.Vout}] = u.Height
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// reopen closes the store, opens it again, and checks it deeply.
func (r *rig) reopen() {
	r.Helper()
	if err := r.t.Close(); err != nil {
		r.Fatal(err)
	}
	var err error
	if r.t, err = tables.Open(r.disk, r.p, tables.Options{}); err != nil {
		r.Fatal(err)
	}
	r.c = confirm.New(r.t)
	if rep, err := r.t.Check(true, nil); err != nil || !rep.OK() {
		r.Fatal(rep.Problems, err)
	}
}

func spend(outs int, ins ...chaintest.Outpoint) *chaintest.Tx {
	tx := &chaintest.Tx{Version: 2, Ins: ins}
	for i := range outs {
		tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(i), Script: []byte{0x51, byte(i)}})
	}
	return tx
}

func out(txid chain.Hash, vout uint32) chaintest.Outpoint {
	return chaintest.Outpoint{Txid: txid, Vout: vout}
}

const missing = validate.ReasonMissingOrSpent

// TestPrevouts walks both sides of every way in which a prevout can be there.
func TestPrevouts(t *testing.T) {
	r := newRig(t, chain.Regtest())
	g := chaintest.Genesis()
	r.refuse(g.Next(9, spend(1, out(g.Txids[0], 0))), missing, 1, 0) // genesis is in no set
	b1 := g.Next(1)
	r.pass(b1)
	coin := out(b1.Txids[0], 0)
	r.refuse(b1.Next(2, spend(1, out(b1.Txids[0], 1))), missing, 1, 0)       // no such index
	r.refuse(b1.Next(3, spend(1, out(chain.Hash{7}, 0))), missing, 1, 0)     // no such transaction
	r.refuse(b1.Next(4, spend(1, coin), spend(2, coin)), missing, 2, 0)      // twice in the block
	r.refuse(b1.Next(5, spend(1, coin, out(b1.Txids[0], 9))), missing, 1, 1) // the second input
	own := b1.Next(6)                                                        // an output of the block's own coinbase
	r.refuse(b1.Next(6, spend(1, coin), spend(1, out(own.Txids[0], 1))), missing, 2, 0)

	parent := spend(3, coin)
	parent.Outs[1].Script = []byte{0x6a}
	parent.Outs[2].Script = make([]byte, 10_001)
	_, id := parent.Raw()
	child := spend(1, out(id, 0))
	r.refuse(b1.Next(7, child, parent), missing, 1, 0)                        // before its parent (trap: order in a block)
	r.refuse(b1.Next(8, parent, spend(1, out(id, 1))), missing, 2, 0)         // OP_RETURN, in the block
	r.refuse(b1.Next(9, parent, spend(1, out(id, 2))), missing, 2, 0)         // over 10,000 bytes, in the block
	r.refuse(b1.Next(10, parent, child, spend(2, out(id, 0))), missing, 3, 0) // an output of the block, twice
	b2 := b1.Next(11, parent, child)
	r.pass(b2)
	r.refuse(b2.Next(12, spend(1, coin)), missing, 1, 0)       // spent
	r.refuse(b2.Next(13, spend(2, out(id, 0))), missing, 1, 0) // spent in its own block
	r.refuse(b2.Next(14, spend(1, out(id, 1))), missing, 1, 0) // OP_RETURN, archived
	r.refuse(b2.Next(15, spend(1, out(id, 2))), missing, 1, 0) // over 10,000 bytes, archived
	r.reopen()
	r.refuse(b2.Next(16, spend(1, out(id, 1))), missing, 1, 0)
	if coins := r.coins(); len(coins) != 2 {
		t.Errorf("%d unspent outputs, want the second block's coinbase and the child's: %v", len(coins), coins)
	}
}

// TestReorganise takes a spend to another branch and back: an output is unspent where no block of the chain spends it.
func TestReorganise(t *testing.T) {
	r := newRig(t, chain.Regtest())
	b1 := chaintest.Genesis().Next(1)
	coin := out(b1.Txids[0], 0)
	a, b := spend(1, coin), spend(2, coin)
	left, right, none := b1.Next(2, a), b1.Next(3, b), b1.Next(4)
	r.pass(b1)
	spender := func() (chain.Hash, bool) {
		v := r.t.Live()
		l, _ := v.FindTx(&b1.Txids[0])
		s, ok := v.Spender(v.Tx(l).FirstOut)
		if !ok {
			return chain.Hash{}, false
		}
		return *v.Txid(s.Tx), true
	}
	for range 3 {
		for _, branch := range []*chaintest.Block{left, right, none} {
			r.pass(branch)
			want, spent := chain.Hash{}, branch != none
			if spent {
				want = branch.Txids[1]
			}
			for range 2 {
				if got, ok := spender(); got != want || ok != spent {
					t.Fatalf("spender %v %v, want %v %v", got, ok, want, spent)
				}
				r.reopen()
			}
			if err := r.t.Pop(); err != nil {
				t.Fatal(err)
			}
			if _, ok := spender(); ok {
				t.Fatal("spent although no block of the chain spends it")
			}
		}
	}
	v := r.t.Live()
	l, _ := v.FindTx(&b1.Txids[0])
	if all := v.Spenders(nil, v.Tx(l).FirstOut); len(all) != 2 {
		t.Errorf("%d spenders were ever archived, want 2", len(all))
	}
}

// repeated returns regtest's parameters with the given block excepted from BIP30, as two of mainnet's are.
func repeated(b *chaintest.Block) *chain.Params {
	p := *chain.Regtest()
	p.BIP30Exceptions = []chain.HeightHash{{Height: b.Height, Hash: b.Hash}}
	return &p
}

// TestBIP30Refused: a txid with unspent outputs may not come again; once they are all spent it may.
func TestBIP30Refused(t *testing.T) {
	r := newRig(t, chain.Regtest())
	coinbase := chaintest.Coinbase(1, 1)
	b1 := chaintest.Genesis().NextWith(coinbase)
	r.pass(b1)
	r.refuse(b1.NextWith(coinbase), validate.ReasonBIP30, 0, -1)
	b2 := b1.Next(2, spend(1, out(b1.Txids[0], 0)))
	r.pass(b2)
	b3 := b2.NextWith(coinbase)
	r.pass(b3)
	if coins := r.coins(); coins[out(b1.Txids[0], 0)] != 3 {
		t.Errorf("the repeated coinbase counts from another height: %v", coins)
	}
	r.reopen()
}

// TestBIP30Repeats is the case of mainnet's blocks 91,842 and 91,880: the later coinbase overwrites the coin of the
// earlier one, and taking it off the chain restores that, whatever was closed and opened in between.
func TestBIP30Repeats(t *testing.T) {
	coinbase := chaintest.Coinbase(1, 1)
	b1 := chaintest.Genesis().NextWith(coinbase)
	b2 := b1.Next(2)
	b3 := b2.NextWith(coinbase)
	b4 := b3.Next(4, spend(1, out(b3.Txids[0], 0)))
	coin := out(b1.Txids[0], 0)

	r := newRig(t, repeated(b3))
	for _, b := range []*chaintest.Block{b1, b2, b3} {
		r.pass(b)
	}
	for round := range 3 {
		if coins := r.coins(); len(coins) != 2 || coins[coin] != 3 {
			t.Fatalf("round %d: with the repeat, coins %v", round, coins)
		}
		v := r.t.Live()
		l, ok := v.FindTx(&b3.Txids[0])
		if tx := v.Tx(l); !ok || v.Header(tx.Header).Height() != 3 {
			t.Fatalf("round %d: the txid leads to the older row", round)
		}
		if s, ok := v.Spender(0 + 1); ok { // the older coin: number 1, after genesis
			t.Fatalf("round %d: the overwritten coin has a spender, row %d", round, s.Tx)
		}
		r.pass(b4)
		if err := r.t.Pop(); err != nil {
			t.Fatal(err)
		}
		r.reopen()
		if err := r.t.Pop(); err != nil {
			t.Fatal(err)
		}
		if coins := r.coins(); len(coins) != 2 || coins[coin] != 1 {
			t.Fatalf("round %d: without the repeat, coins %v", round, coins)
		}
		r.reopen()
		r.pass(b3)
	}
	// A block of the same height and another hash is not excepted.
	other := newRig(t, repeated(b3))
	other.pass(b1)
	b2x := b1.Next(7)
	other.pass(b2x)
	other.refuse(b2x.NextWith(coinbase), validate.ReasonBIP30, 0, -1)
}

// TestDiskFull refuses every allocation in turn while a block is pushed: nothing is appended, and with room it passes.
func TestDiskFull(t *testing.T) {
	b1 := chaintest.Genesis().Next(1)
	var txs []*chaintest.Tx
	for at := out(b1.Txids[0], 0); len(txs) < 1700; {
		tx := spend(3, at)
		tx.Outs[1].Script, tx.Script = make([]byte, 200), make([]byte, 60)
		_, id := tx.Raw()
		at = out(id, 0)
		txs = append(txs, tx)
	}
	b2 := b1.Next(2, txs...)
	refused := 0
	for k := 0; ; k++ {
		r := newRig(t, chain.Regtest())
		r.pass(b1)
		n := 0
		r.disk.SetHook(func(op store.Op, name string) error {
			if op == store.OpAllocate {
				if n++; n == k+1 {
					return &store.DiskFull{Name: name, Need: 1}
				}
			}
			return nil
		})
		before := r.t.Live().Cut()
		if !r.full(b2) {
			if refused < 3 {
				t.Fatalf("a block of %d bytes asked for room %d times only", len(b2.Raw), refused)
			}
			return
		}
		refused++
		after := r.t.Live().Cut()
		after.Headers = before.Headers
		if after != before {
			t.Fatalf("a full disk at allocation %d left the store at %+v, want %+v", k, after, before)
		}
		r.disk.SetHook(nil)
		r.pass(b2)
		r.reopen()
	}
}

// full offers a block and reports whether the disk was full.
func (r *rig) full(b *chaintest.Block) bool {
	var d chain.Block
	if err := d.Decode(b.Raw); err != nil {
		r.Fatal(err)
	}
	parent, _ := r.t.FindHeader(&b.Parent.Hash)
	l, err := r.t.PutHeader(&d.Header, &b.Hash, parent, mtp(b))
	if err == nil {
		var rows tables.Rows
		ids := d.Txids(nil)
		if err := rows.Encode(&d, ids); err != nil {
			r.Fatal(err)
		}
		_, err = r.c.Push(l, &d, ids, &rows)
	}
	var disk *store.DiskFull
	if err != nil && !asDiskFull(err, &disk) {
		r.Fatal(err)
	}
	return err != nil
}

func asDiskFull(err error, full **store.DiskFull) bool { return errors.As(err, full) }
