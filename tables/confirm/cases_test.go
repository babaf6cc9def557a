package confirm_test

import (
	"errors"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/validate"
)

// bothModes runs a test with a set and with the tables alone.
func bothModes(t *testing.T, f func(t *testing.T, set bool)) {
	t.Run("set", func(t *testing.T) { f(t, true) })
	t.Run("tables", func(t *testing.T) { f(t, false) })
}

// mature is a chain on which the first block's coinbase may be spent, that coinbase having made the given outputs.
func mature(p *chain.Params, outs ...chaintest.Output) (tip *node, coinbase chain.Hash) {
	first := chaintest.Coinbase(1, 1)
	first.Outs = outs
	g := genesisNode()
	tip = g.child(p, g.NextWith(first))
	coinbase = tip.Txids[0]
	for tip.Height < 100 {
		tip = tip.next(p, 1)
	}
	return tip, coinbase
}

func (n *node) next(p *chain.Params, salt uint32, txs ...*chaintest.Tx) *node {
	return n.child(p, n.Block.Next(salt, txs...))
}

func spend(outs int, ins ...outpoint) *chaintest.Tx {
	tx := &chaintest.Tx{Version: 2, Ins: ins}
	for i := range outs {
		tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(i), Script: []byte{0x51, byte(i)}})
	}
	return tx
}

func out(txid chain.Hash, vout uint32) outpoint { return outpoint{Txid: txid, Vout: vout} }

var plain = chaintest.Output{Value: 10e8, Script: []byte{0x51}}

// pass wants a block to be taken and put.
func (r *rig) pass(n *node) {
	r.Helper()
	r.take(n)
	if len(r.flight) != 1 {
		r.Fatalf("height %d: %+v", n.Height, r.judge(n))
	}
	r.put()
}

// refuse wants a verdict, of the naive ledger, too, and the store unchanged.
func (r *rig) refuse(n *node, reason string, tx, input int) {
	r.Helper()
	r.link(n)
	before := r.t.Live().Cut()
	if want := bad(reason, tx, input); n.verdict != want {
		r.Fatalf("the ledger says %+v, want %+v", n.verdict, want)
	}
	r.take(n)
	r.wantVerdict(n)
	if after := r.t.Live().Cut(); after != before {
		r.Fatalf("a refused block changed the store from %+v to %+v", before, after)
	}
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
	r.c.Use(r.set)
	if rep, err := r.t.Check(true, nil); err != nil || !rep.OK() {
		r.Fatal(rep.Problems, err)
	}
}

const missing = validate.ReasonMissingOrSpent

// TestPrevouts walks both sides of every way in which a prevout can be there.
func TestPrevouts(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := chain.Regtest()
		r := newRig(t, p, set)
		defer r.discard()
		b1, id1 := mature(p, plain, plain)
		r.extend(b1)
		coin := out(id1, 0)
		next := func(txs ...*chaintest.Tx) *node { return b1.next(p, 2, txs...) }
		r.refuse(next(spend(1, out(genesisNode().Txids[0], 0))), missing, 1, 0) // genesis is in no set
		r.refuse(next(spend(1, out(id1, 2))), missing, 1, 0)                    // no such index
		r.refuse(next(spend(1, out(chain.Hash{7}, 0))), missing, 1, 0)          // no such transaction
		r.refuse(next(spend(1, coin), spend(2, coin)), missing, 2, 0)           // twice in the block
		r.refuse(next(spend(1, coin, out(id1, 9))), missing, 1, 1)              // the second input

		parent := spend(3, coin)
		parent.Outs[1].Script = []byte{0x6a}
		parent.Outs[2].Script = make([]byte, 10_001)
		_, id := parent.Raw()
		child := spend(1, out(id, 0))
		r.refuse(next(child, parent), missing, 1, 0)                       // before its parent
		r.refuse(next(parent, spend(1, out(id, 1))), missing, 2, 0)        // OP_RETURN, in the block
		r.refuse(next(parent, spend(1, out(id, 2))), missing, 2, 0)        // over 10,000 bytes, in the block
		r.refuse(next(parent, child, spend(2, out(id, 0))), missing, 3, 0) // an output of the block, twice
		own := spend(1, out(next().Txids[0], 0))                           // an output of the block's own coinbase
		r.refuse(next(parent, own), validate.ReasonPremature, 2, 0)

		b2 := next(parent, child)
		r.pass(b2)
		r.refuse(b2.next(p, 3, spend(1, coin)), missing, 1, 0)       // spent
		r.refuse(b2.next(p, 3, spend(2, out(id, 0))), missing, 1, 0) // spent in its own block
		r.refuse(b2.next(p, 3, spend(1, out(id, 1))), missing, 1, 0) // OP_RETURN, archived
		r.refuse(b2.next(p, 3, spend(1, out(id, 2))), missing, 1, 0) // over 10,000 bytes, archived
		r.reopen()
		r.refuse(b2.next(p, 3, spend(1, out(id, 1))), missing, 1, 0)
		r.wantTip(b2)
	})
}

// TestBlocksInFlight: a block sees what those above the tip made and spent, and no longer what was dropped.
func TestBlocksInFlight(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := chain.Regtest()
		r := newRig(t, p, set)
		defer r.discard()
		b1, id1 := mature(p, plain)
		r.extend(b1)
		made := spend(2, out(id1, 0))
		_, id := made.Raw()
		b2 := b1.next(p, 2, made)
		b3 := b2.next(p, 3, spend(1, out(id, 0)))
		r.take(b2, b3)
		r.take(b3.next(p, 4, spend(1, out(id1, 0)))) // spent by the first in flight
		r.take(b3.next(p, 5, spend(1, out(id, 0))))  // by the second
		if len(r.flight) != 2 {
			t.Fatalf("%d blocks in flight, want 2", len(r.flight))
		}
		r.drop()
		b3x := b2.next(p, 6, spend(1, out(id, 0), out(id, 1)))
		r.take(b3x)
		r.drop()
		r.drop()
		if r.take(b1.next(p, 7, spend(1, out(id, 0)))) != 0 {
			t.Error("a block spends an output of one that was dropped")
		}
		x := r.item(b3)
		if n, err := r.c.Take([]*confirm.Work{&x.w}); n != 0 || err == nil {
			t.Errorf("took a block without its parent: %d, %v", n, err)
		}
		r.wantTip(b1)
	})
}

// TestReorganise takes a spend to another branch and back: an output is unspent where no block of the chain spends it.
func TestReorganise(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := chain.Regtest()
		r := newRig(t, p, set)
		defer r.discard()
		b1, id1 := mature(p, plain)
		r.extend(b1)
		a, b := spend(1, out(id1, 0)), spend(2, out(id1, 0))
		left, right, none := b1.next(p, 2, a), b1.next(p, 3, b), b1.next(p, 4)
		spender := func() (chain.Hash, bool) {
			v := r.t.Live()
			l, _ := v.FindTx(&id1)
			s, ok := v.Spender(v.Tx(l).FirstOut)
			if !ok {
				return chain.Hash{}, false
			}
			return *v.Txid(s.Tx), true
		}
		for range 3 {
			for _, branch := range []*node{left, right, none} {
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
				r.wantTip(branch)
				r.pop()
				if _, ok := spender(); ok {
					t.Fatal("spent although no block of the chain spends it")
				}
			}
		}
		v := r.t.Live()
		l, _ := v.FindTx(&id1)
		if all := v.Spenders(nil, v.Tx(l).FirstOut); len(all) != 2 {
			t.Errorf("%d spenders were ever archived, want 2", len(all))
		}
	})
}

// TestBIP30Refused: a txid with unspent outputs may not come again; once they are all spent it may.
func TestBIP30Refused(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := chain.Regtest()
		r := newRig(t, p, set)
		defer r.discard()
		coinbase := chaintest.Coinbase(1, 1)
		coinbase.Outs = []chaintest.Output{plain, plain}
		b1, id1 := mature(p, coinbase.Outs...)
		r.extend(b1)
		r.refuse(b1.child(p, b1.NextWith(coinbase)), validate.ReasonBIP30, 0, -1)
		b2 := b1.next(p, 2, spend(1, out(id1, 0)))
		r.pass(b2)
		r.refuse(b2.child(p, b2.NextWith(coinbase)), validate.ReasonBIP30, 0, -1)
		b3 := b2.next(p, 3, spend(1, out(id1, 1)))
		b4 := b3.child(p, b3.NextWith(coinbase))
		r.take(b3, b4)
		r.take(b4.child(p, b4.NextWith(coinbase))) // the coins are in flight
		r.putAll()
		r.wantTip(b4)
		r.reopen()
	})
}

// TestBIP30Repeats is the case of mainnet's blocks 91,842 and 91,880: the later coinbase overwrites the coin of the
// earlier one, and taking it off the chain restores that, whatever was closed and opened in between.
func TestBIP30Repeats(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := *chain.Regtest()
		r := newRig(t, &p, set)
		defer r.discard()
		coinbase := chaintest.Coinbase(1, 1)
		coinbase.Outs = []chaintest.Output{plain, {Script: []byte{0x6a}}, plain, plain}
		b1, id1 := mature(&p, coinbase.Outs...)
		b2 := b1.next(&p, 2, spend(1, out(id1, 2)))
		block := b2.NextWith(coinbase)
		p.BIP30Exceptions = []chain.HeightHash{{Height: block.Height, Hash: block.Hash}}
		b3 := b2.child(&p, block)
		b4 := b3.next(&p, 4)
		r.extend(b2)
		for range 3 {
			r.take(b3, b4)
			r.drop()
			r.drop()
			r.wantTip(b2)
			r.take(b3, b4)
			r.putAll()
			r.wantTip(b4)
			if l, ok := r.t.Live().FindTx(&id1); !ok || r.t.Live().Header(r.t.Live().Tx(l).Header).Height() != b3.Height {
				t.Fatal("the txid leads to the older row")
			}
			if s, ok := r.t.Live().Spender(0 + 1); ok { // the older coin: number 1, after genesis
				t.Fatalf("the overwritten coin has a spender, row %d", s.Tx)
			}
			r.refuse(b4.next(&p, 5, spend(1, out(id1, 0))), validate.ReasonPremature, 1, 0)
			r.reopen()
			r.pop()
			r.pop()
			r.wantTip(b2)
			r.reopen()
		}
		// A block of the same height and another hash is not excepted.
		r.refuse(b2.child(&p, b1.next(&p, 7).NextWith(coinbase)), validate.ReasonBIP30, 0, -1)
	})
}

// TestBIP34Ancestor: on the branch whose block at the height of BIP34 is the known one, BIP30 asks for nothing; on
// another it does.
func TestBIP34Ancestor(t *testing.T) {
	bothModes(t, func(t *testing.T, set bool) {
		p := *chain.Regtest()
		p.BIP34 = 3
		r := newRig(t, &p, set)
		defer r.discard()
		b2 := genesisNode().next(&p, 1).next(&p, 1)
		known, other := b2.next(&p, 1), b2.next(&p, 2)
		p.BIP34Hash = known.Hash
		asks := func(n *node) bool {
			x := r.item(n)
			defer r.free(x)
			res, err := r.c.Resolve(&x.w)
			if err != nil {
				t.Fatal(err)
			}
			return res.Repeats != nil
		}
		r.extend(b2)
		if !asks(known) {
			t.Error("the block at that height itself is not asked")
		}
		for range 2 {
			r.pass(known)
			if asks(known.next(&p, 1)) {
				t.Error("BIP30 on the known branch")
			}
			r.reopen()
			if asks(known.next(&p, 1)) {
				t.Error("BIP30 on the known branch, after opening it again")
			}
			r.pop()
			r.take(other)
			r.drop()
			r.take(other)
			r.put()
			if !asks(other.next(&p, 1)) {
				t.Error("no BIP30 on another branch")
			}
			r.pop()
		}
	})
}

// TestDiskFull refuses every allocation in turn while a block is put: nothing is appended, the block stays in flight, and
// with room it is put.
func TestDiskFull(t *testing.T) {
	p := chain.Regtest()
	b1, id1 := mature(p, plain)
	var txs []*chaintest.Tx
	for at := out(id1, 0); len(txs) < 1700; {
		tx := spend(3, at)
		tx.Outs[1].Script, tx.Script = make([]byte, 200), make([]byte, 60)
		_, id := tx.Raw()
		at = out(id, 0)
		txs = append(txs, tx)
	}
	b2 := b1.next(p, 2, txs...)
	b3 := b2.next(p, 3, spend(1, out(b2.Txids[len(b2.Txids)-1], 2)))
	bothModes(t, func(t *testing.T, set bool) {
		refused := 0
		for k := 0; ; k++ {
			d := store.NewMemDisk()
			d.SetReserveCap(1 << 20)
			r := rigOn(t, d, p, set)
			r.extend(b1)
			r.take(b2, b3)
			n := 0
			d.SetHook(func(op store.Op, name string) error {
				if op == store.OpAllocate {
					if n++; n == k+1 {
						return &store.DiskFull{Name: name, Need: 1}
					}
				}
				return nil
			})
			before := r.t.Live().Cut()
			x := r.flight[0]
			err := r.c.Put(&x.w, &x.rows)
			d.SetHook(nil)
			if err == nil {
				r.discard()
				break
			}
			refused++
			if full := (*store.DiskFull)(nil); !errors.As(err, &full) {
				t.Fatal(err)
			}
			if after := r.t.Live().Cut(); after != before {
				t.Fatalf("a full disk at allocation %d left the store at %+v, want %+v", k, after, before)
			}
			if k%2 == 0 {
				r.drop()
				r.drop()
				r.wantTip(b1)
				r.take(b2, b3)
			}
			r.putAll()
			r.wantTip(b3)
			r.discard()
		}
		if refused < 3 {
			t.Fatalf("a block of %d bytes asked for room %d times only", len(b2.Raw), refused)
		}
	})
}
