package node

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/node/p2p"
	"stele/tables"
	"stele/validate"
)

// swapped returns a block with two of its transactions in each other's place, and a header for it.
func swapped(t *testing.T, raw []byte, i, j int) []byte {
	t.Helper()
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	order := make([]int, len(b.Txs))
	for n := range order {
		order[n] = n
	}
	order[i], order[j] = j, i
	txids := b.Txids(nil)
	ids, body := []chain.Hash(nil), chain.AppendCompactSize(nil, uint64(len(order)))
	for _, n := range order {
		ids, body = append(ids, txids[n]), b.AppendTx(body, n, true)
	}
	h, err := chain.ParseHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	h.Merkle, _ = chain.MerkleRoot(ids)
	return append(chaintest.Mine(&h), body...)
}

// Trap 36: an output can be spent by later transactions of its block only, and by each of two blocks in flight;
// prevouts that are looked up in parallel compare places. A block of a chain of 600 transactions is refused with any
// two neighbours swapped, and is accepted as it is.
func TestTrapOrderInTheBlock(t *testing.T) {
	modesThreads(t, func(t *testing.T, mode ImportOptions) {
		p := chain.Regtest()
		tr, blocks := newTrunk(3)
		chained := func(coin chaintest.Outpoint) (txs []*chaintest.Tx) {
			last := pay(1, reward/5, coin)
			txs = append(txs, last)
			for i := range uint32(600) {
				next := pay(2+i, reward/5, outpoint(last, 0), outpoint(last, 1))
				txs, last = append(txs, next), next
			}
			return txs
		}
		on := tr.tip
		good := tr.on(on, chained(tr.ripe[0])...)
		r := memRig(t, p)
		defer r.discard()
		load := func(blocks ...[]byte) *ImportReport {
			o, s := mode, streamOptions(file(p, blocks...))
			o.Paths, o.Stdin = s.Paths, s.Stdin
			return r.run(t, o)
		}
		load(blocks...)
		for _, i := range []int{1, 2, 63, 255, 256, 300, 599} {
			bad := swapped(t, good.Raw, i, i+1)
			wantReasons(t, load(bad), validate.ReasonMissingOrSpent)
			r.wantTip(t, on.Raw)
		}
		// Two blocks in flight, of which the second spends what the first made, and its parent's coin once more.
		child := tr.on(good, chained(tr.ripe[1])...)
		twice := tr.on(child, pay(700, 1, tr.ripe[1]))
		wantReasons(t, load(good.Raw, child.Raw, twice.Raw), validate.ReasonMissingOrSpent)
		r.wantTip(t, child.Raw)
	})
}

// mutations of a real block of mainnet or of a made one that has its header, and why each is refused.
type mutation struct {
	name, reason string
	raw          []byte
}

// made mutations: transactions repeated (CVE-2012-2459), a witness flipped, one stripped, a nonce without its item.
func mutationsOf(t *testing.T, raw []byte) []mutation {
	t.Helper()
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	with := func(change func(i int) (again bool, witness bool), patch func([]byte)) []byte {
		all, n := []byte(nil), 0
		for i := range b.Txs {
			again, witness := change(i)
			from := len(all)
			all = b.AppendTx(all, i, witness)
			if n++; again {
				all, n = append(all, all[from:]...), n+1
			}
		}
		all = append(chain.AppendCompactSize(bytes.Clone(raw[:80]), uint64(n)), all...)
		if patch != nil {
			patch(all)
		}
		return all
	}
	last := len(b.Txs) - 1
	flip := func(all []byte) { all[len(all)-5] ^= 1 } // the last byte of the last witness
	return []mutation{
		{"repeated", validate.ReasonDuplicateTx, with(func(i int) (bool, bool) { return i == last, true }, nil)},
		{"flipped", validate.ReasonWitnessMismatch, with(func(int) (bool, bool) { return false, true }, flip)},
		{"stripped", validate.ReasonWitnessMismatch, with(func(i int) (bool, bool) { return false, i == 0 }, nil)},
		{"no nonce", validate.ReasonNonceSize, with(func(i int) (bool, bool) { return false, i != 0 }, nil)},
	}
}

// Traps 37 and 38: nothing that a mutated body does is remembered of its header: the true block connects after it, in
// the same run, after a restart, and where the mutated body came again and again.
func TestTrapMutationsAreForgotten(t *testing.T) {
	p := chain.Regtest()
	tr, blocks := newTrunk(3)
	on := tr.tip
	txs := []*chaintest.Tx{pay(1, 1, tr.ripe[0]), pay(2, 1, tr.ripe[1])}
	for _, tx := range txs {
		tx.Outs[0].Script = []byte{0x52, 2, 1, 1} // a program of a version to come: anyone may spend it
		tx.Outs[0].Value = reward / 5
	}
	first := tr.on(on, txs...)
	second := pay(3, 1, outpoint(txs[0], 0))
	second.Script, second.Witness = []byte{}, true
	third := pay(4, 1, outpoint(txs[1], 0))
	third.Script, third.Witness = []byte{}, true
	block := tr.on(first, second, third)
	after := tr.on(block)
	for _, x := range mutationsOf(t, block.Raw) {
		t.Run(x.name, func(t *testing.T) {
			modes(t, func(t *testing.T, alone bool) {
				r := memRig(t, p)
				defer r.discard()
				o := Options{ImportOptions: ImportOptions{TablesAlone: alone, Threads: 2, heap: true, reserve: 64 << 10}}
				n := r.live(o)
				defer func() { n.end() }()
				n.give(t, slices.Concat(blocks, [][]byte{first.Raw})...)
				for round := range 4 {
					if !n.header(t, block.Raw) || !n.header(t, after.Raw) {
						t.Fatal("the header is not taken")
					}
					n.block(t, after.Raw, 1)
					n.block(t, x.raw, 2)
					n.settle(t)
					again := slices.ContainsFunc(n.events, func(e p2p.Event) bool {
						return e.Kind == p2p.WantAgain && e.Hash == block.Hash
					})
					all := n.refused()
					if len(all) != 1 || all[0].Reason != x.reason || !all[0].Mutated || all[0].From != 2 || !again {
						t.Fatalf("round %d: refused %+v, wanted again %v", round, all, again)
					}
					r.wantTip(t, first.Raw)
					if r.t.State(r.link(t, block.Raw)) != tables.StateUnknown {
						t.Fatal("the header is marked")
					}
					if round%2 == 1 {
						n.stop(t)
						r.reopen(t)
						n = r.live(o)
					}
				}
				n.give(t, block.Raw, after.Raw)
				n.settle(t)
				if all := n.refused(); len(all) > 0 {
					t.Fatalf("refused: %+v", all)
				}
				r.wantTip(t, after.Raw)
				if rep := n.stop(t); len(rep.Rejected) > 0 {
					t.Fatalf("%+v", rep.Rejected)
				}
			})
		})
	}
}

// repeated is a chain whose blocks one and two repeat coinbases that are unspent, as they may.
type repeated struct {
	*trunk
	p             *chain.Params
	below         [][]byte
	on            *chaintest.Block
	one, two, top *chaintest.Block
	n             *liveRig
	w             *coinWatch
}

// repeat makes a block with the coinbase that the trunk has at a height.
func (x *repeated) repeat(on *chaintest.Block, height uint32) *chaintest.Block {
	cb := chaintest.Coinbase(height, height)
	cb.Outs[0].Value = reward
	return on.NextWith(cb)
}

func newRepeated() *repeated {
	p := *chain.Regtest()
	p.BIP34 = 1 << 31
	x := &repeated{p: &p}
	x.trunk, x.below = newTrunk(1)
	x.on = x.tip
	x.one = x.repeat(x.on, 90)
	x.two = x.repeat(x.trunk.on(x.one), 91)
	x.top = x.trunk.on(x.two)
	for _, b := range []*chaintest.Block{x.one, x.two} {
		p.BIP30Exceptions = append(p.BIP30Exceptions, chain.HeightHash{Height: b.Height, Hash: b.Hash})
	}
	return x
}

// look asserts how many outputs are unspent at a tip, and which of the equal coinbases their txids lead to.
func (x *repeated) look(t *testing.T, tip []byte, outputs uint64) statedSet {
	t.Helper()
	got := x.n.agreed(t, x.w, tip)
	if got.outputs != outputs {
		t.Fatalf("%d outputs, want %d", got.outputs, outputs)
	}
	v := x.n.t.View()
	for i, b := range []*chaintest.Block{x.one, x.two} {
		l, ok := v.FindStrong(&b.Txids[0])
		want := uint32(90 + i)
		if h, _ := v.FindHeader(&b.Hash); v.Confirmed(h) {
			want = b.Height
		}
		if !ok || v.Header(v.Tx(l).Header).Height() != want {
			t.Fatalf("coinbase %d is not the one of height %d", 90+i, want)
		}
	}
	return got
}

func (x *repeated) invalidate(t *testing.T, b *chaintest.Block) {
	t.Helper()
	if err := x.n.n.Invalidate(context.Background(), &b.Hash); err != nil {
		t.Fatal(err)
	}
}

// Traps 42, 43 and 44: two blocks may repeat coinbases that are unspent, by height and hash. The later coin takes the place
// of the earlier one; taking the later block off brings that back, with a set and without; and a repetition elsewhere is
// refused.
func TestTrapRepeatedCoinbases(t *testing.T) {
	modes(t, func(t *testing.T, alone bool) {
		x := newRepeated()
		r := memRig(t, x.p)
		defer r.discard()
		o := Options{ImportOptions: ImportOptions{TablesAlone: alone, Threads: 2}}
		x.w = watchCoins(t, &o.ImportOptions)
		x.n = r.live(o)
		defer func() { x.n.end() }()
		x.n.give(t, x.below...)
		below := x.look(t, x.on.Raw, 101)
		x.n.give(t, x.one.Raw, x.two.Parent.Raw, x.two.Raw, x.top.Raw)
		above := x.look(t, x.top.Raw, 103)
		for range 2 {
			x.invalidate(t, x.two)
			x.look(t, x.two.Parent.Raw, 102)
			x.invalidate(t, x.one)
			if got := x.look(t, x.on.Raw, 101); got != below {
				t.Fatalf("%+v, and was %+v", got, below)
			}
			if err := x.n.n.Reconsider(context.Background(), &x.two.Hash); err != nil {
				t.Fatal(err)
			}
			if got := x.look(t, x.top.Raw, 103); got != above {
				t.Fatalf("%+v, and was %+v", got, above)
			}
			x.n.stop(t)
			r.reopen(t)
			x.n = r.live(o)
		}
		side := []*chaintest.Block{x.trunk.on(x.on)} // another branch has neither
		for range 5 {
			side = append(side, x.trunk.on(side[len(side)-1]))
		}
		for _, b := range side {
			x.n.give(t, b.Raw)
		}
		x.look(t, side[5].Raw, 107)
		x.invalidate(t, side[0])
		if got := x.look(t, x.top.Raw, 103); got != above {
			t.Fatalf("%+v, and was %+v", got, above)
		}
		forbidden := x.repeat(x.trunk.on(x.trunk.on(x.on)), 92)
		x.n.give(t, forbidden.Parent.Parent.Raw, forbidden.Parent.Raw, forbidden.Raw)
		for range 2 {
			forbidden = x.trunk.on(forbidden)
			x.n.give(t, forbidden.Raw)
		}
		x.n.settle(t)
		if all := x.n.refused(); len(all) == 0 || all[0].Reason != validate.ReasonBIP30 {
			t.Fatalf("%+v", all)
		}
	})
}

// Trap 46: a header of the future is refused for now, and its chain connects when its time has come, in the same run
// and after a restart.
func TestTrapFutureHeader(t *testing.T) {
	p := chain.Regtest()
	tr, blocks := newTrunk(1)
	b := tr.on(tr.tip)
	for _, restart := range []bool{false, true} {
		r := memRig(t, p)
		var early = true
		o := Options{ImportOptions: ImportOptions{heap: true, reserve: 64 << 10}}
		o.Now = func() time.Time {
			if early {
				return time.Unix(int64(b.Time)-7201, 0)
			}
			return time.Unix(int64(b.Time)-7200, 0)
		}
		n := r.live(o)
		n.give(t, blocks...)
		h, err := chain.ParseHeader(b.Raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.n.PutHeaders(context.Background(), []chain.Header{h}, true)
		if err != nil || got.Invalid != validate.ReasonTimeTooNew {
			t.Fatal(err, got)
		}
		n.block(t, b.Raw, 1)
		n.settle(t)
		r.wantTip(t, tr.tip.Raw)
		if restart {
			n.stop(t)
			r.reopen(t)
			early = false
			n = r.live(o)
		} else if err := n.n.ask(context.Background(), func() { early = false }); err != nil {
			t.Fatal(err)
		}
		n.give(t, b.Raw)
		n.settle(t)
		r.wantTip(t, b.Raw)
		n.stop(t)
		r.discard()
	}
}

// Trap 55: a coinbase may be spent a hundred blocks above it and no sooner, also where both are in flight.
func TestTrapMaturity(t *testing.T) {
	modesThreads(t, func(t *testing.T, mode ImportOptions) {
		p := chain.Regtest()
		tr, blocks := newTrunk(1)
		for depth, reason := range map[int]string{99: validate.ReasonPremature, 100: ""} {
			at := tr.tip
			first := tr.on(at)
			all := append(slices.Clone(blocks), first.Raw)
			for at = first; at.Height+1 < first.Height+uint32(depth); {
				at = tr.on(at)
				all = append(all, at.Raw)
			}
			last := tr.on(at, pay(1, 1, chaintest.Outpoint{Txid: first.Txids[0]}))
			r := memRig(t, p)
			o, s := mode, streamOptions(file(p, append(all, last.Raw)...))
			o.Paths, o.Stdin = s.Paths, s.Stdin
			rep := r.run(t, o)
			if reason == "" {
				wantReasons(t, rep)
				r.wantTip(t, last.Raw)
			} else {
				wantReasons(t, rep, reason)
				r.wantTip(t, at.Raw)
			}
			r.discard()
		}
	})
}
