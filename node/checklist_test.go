package node

import (
	"bytes"
	"slices"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/node/p2p"
	"stele/tables"
	"stele/validate"
)

// flaw is a rule that a block may break, and a block that does.
type flaw struct {
	name     string
	reason   string // Core's
	condemns bool   // the header, and not its body alone
	noBIP34  bool   // on a network without that rule
	make     func(w *flawed) []byte
}

// flawed is where a block with a flaw is to stand.
type flawed struct {
	*trunk
	on    *chaintest.Block
	coins []chaintest.Outpoint // ripe, of reward satoshi each, that nobody else spends; the last is P2SH of manySigOps
}

// raw makes a block of transactions as they are, the first of them the coinbase. The merkle root is the right one.
func (w *flawed) raw(txs ...*chaintest.Tx) []byte {
	var ids []chain.Hash
	body := chain.AppendCompactSize(nil, uint64(len(txs)))
	for _, tx := range txs {
		raw, txid := tx.Raw()
		ids, body = append(ids, txid), append(body, raw...)
	}
	root := chain.Hash{}
	if len(ids) > 0 {
		root, _ = chain.MerkleRoot(ids)
	}
	return w.with(root, body)
}

func (w *flawed) with(root chain.Hash, body []byte) []byte {
	h := chain.Header{
		Version: 0x20000000, Prev: w.on.Hash, Merkle: root, Time: w.on.Time + 600, Bits: chain.Regtest().PowLimitBits,
	}
	return append(chaintest.Mine(&h), body...)
}

func (w *flawed) coinbase() *chaintest.Tx {
	w.salts++
	cb := chaintest.Coinbase(w.on.Height+1, w.salts)
	cb.Outs[0].Value = reward
	return cb
}

// one is a block of a coinbase and a payment that was changed.
func one(change func(tx *chaintest.Tx)) func(w *flawed) []byte {
	return func(w *flawed) []byte {
		tx := pay(9, 1, w.coins[0])
		change(tx)
		return w.raw(w.coinbase(), tx)
	}
}

func claim(change func(cb *chaintest.Tx)) func(w *flawed) []byte {
	return func(w *flawed) []byte {
		cb := w.coinbase()
		change(cb)
		return w.raw(cb, pay(9, 1, w.coins[0]))
	}
}

// witnessed is a block that commits to a witness, changed after that.
func witnessed(change func(cb, tx *chaintest.Tx)) func(w *flawed) []byte {
	return func(w *flawed) []byte {
		tx := pay(9, 1, w.coins[0])
		raw, _ := pay(9, 1, w.coins[0]).Raw()
		root, _ := chain.MerkleRoot([]chain.Hash{{}, chain.DoubleSHA256(raw)})
		cb := w.coinbase()
		cb.Witness, cb.Item = true, make([]byte, 32)
		sum := chain.DoubleSHA256(append(root[:], cb.Item...))
		script := append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, sum[:]...)
		cb.Outs = append(cb.Outs, chaintest.Output{Script: script})
		change(cb, tx)
		return w.raw(cb, tx)
	}
}

const coin = 100_000_000

// flaws are the rules of package validate that a block can break whose parent is sound, but for those of headers
// (TestHeaderRejections), bad-txns-oversize, bad-txns-inputvalues-outofrange, bad-txns-fee-outofrange and
// bad-txns-accumulated-fee-outofrange, which other rules stand before.
var flaws = []flaw{
	{name: "merkle root", reason: validate.ReasonMerkleRoot, make: func(w *flawed) []byte {
		return damagedBody(w.raw(w.coinbase()))
	}},
	{name: "repeated transaction", reason: validate.ReasonDuplicateTx, make: func(w *flawed) []byte {
		cb, a, b := w.coinbase(), pay(9, 1, w.coins[0]), pay(10, 1, w.coins[1])
		return w.raw(cb, a, b, b)
	}},
	{name: "no transaction", reason: validate.ReasonBlockLength, make: func(w *flawed) []byte { return w.raw() }},
	{name: "no coinbase", reason: validate.ReasonCoinbaseMissing, make: func(w *flawed) []byte {
		return w.raw(pay(9, 1, w.coins[0]))
	}},
	{name: "two coinbases", reason: validate.ReasonCoinbaseMultiple, make: func(w *flawed) []byte {
		return w.raw(w.coinbase(), w.coinbase())
	}},
	{name: "no inputs", reason: validate.ReasonNoInputs, make: func(w *flawed) []byte {
		cb, _ := w.coinbase().Raw()
		none := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0} // neither inputs nor outputs
		root, _ := chain.MerkleRoot([]chain.Hash{chain.DoubleSHA256(cb), chain.DoubleSHA256(none)})
		return w.with(root, slices.Concat([]byte{2}, cb, none))
	}},
	{name: "no outputs", reason: validate.ReasonNoOutputs, make: one(func(tx *chaintest.Tx) { tx.Outs = nil })},
	{name: "negative value", reason: validate.ReasonValueNegative,
		make: one(func(tx *chaintest.Tx) { tx.Outs[1].Value = -1 })},
	{name: "large value", reason: validate.ReasonValueTooLarge, make: one(func(tx *chaintest.Tx) {
		tx.Outs[1].Value = 21_000_000*coin + 1
	})},
	{name: "large sum", reason: validate.ReasonTotalTooLarge, make: one(func(tx *chaintest.Tx) {
		tx.Outs[1].Value = 21_000_000 * coin
	})},
	{name: "input twice", reason: validate.ReasonDuplicateInputs, make: one(func(tx *chaintest.Tx) {
		tx.Ins = append(tx.Ins, tx.Ins[0])
	})},
	{name: "coinbase script", reason: validate.ReasonCoinbaseLength, make: claim(func(cb *chaintest.Tx) {
		cb.Script = append(cb.Script, make([]byte, 100)...)
	})},
	{name: "null prevout", reason: validate.ReasonNullPrevout, make: one(func(tx *chaintest.Tx) {
		tx.Ins = append(tx.Ins, chaintest.Outpoint{Vout: 0xffffffff})
	})},
	{name: "signature operations", reason: validate.ReasonSigOps, make: one(func(tx *chaintest.Tx) {
		tx.Outs[1].Script = bytes.Repeat([]byte{0xac}, 20_001)
	})},
	{name: "lock time", reason: validate.ReasonNonFinal, condemns: true, make: one(func(tx *chaintest.Tx) {
		tx.LockTime, tx.Sequences = 1_000_000, []uint32{0}
	})},
	{name: "coinbase height", reason: validate.ReasonCoinbaseHeight, condemns: true, make: func(w *flawed) []byte {
		return w.raw(chaintest.Coinbase(w.on.Height+2, 1))
	}},
	{name: "nonce size", reason: validate.ReasonNonceSize,
		make: witnessed(func(cb, _ *chaintest.Tx) { cb.Item = cb.Item[1:] })},
	{name: "commitment", reason: validate.ReasonWitnessMismatch,
		make: witnessed(func(_, tx *chaintest.Tx) { tx.Witness = true })},
	{name: "unexpected witness", reason: validate.ReasonUnexpectedWitness,
		make: one(func(tx *chaintest.Tx) { tx.Witness = true })},
	{name: "weight", reason: validate.ReasonWeight, condemns: true, make: func(w *flawed) []byte {
		tx := pay(9, 1, w.coins[0])
		tx.Witness, tx.Item = true, make([]byte, 3_999_400)
		return w.on.NextWith(w.coinbase(), tx).Raw
	}},
	{name: "BIP30", reason: validate.ReasonBIP30, condemns: true, noBIP34: true, make: func(w *flawed) []byte {
		cb := chaintest.Coinbase(50, 50) // that of height 50
		cb.Outs[0].Value = reward
		return w.raw(cb)
	}},
	{name: "missing", reason: validate.ReasonMissingOrSpent, condemns: true, make: one(func(tx *chaintest.Tx) {
		tx.Ins[0].Vout = 1
	})},
	{name: "spent below", reason: validate.ReasonMissingOrSpent, condemns: true, make: func(w *flawed) []byte {
		return w.raw(w.coinbase(), pay(9, 1, w.ripe[2]))
	}},
	{name: "spent in the block", reason: validate.ReasonMissingOrSpent, condemns: true, make: func(w *flawed) []byte {
		return w.raw(w.coinbase(), pay(9, 1, w.coins[0]), pay(10, 1, w.coins[0]))
	}},
	{name: "child before its parent", reason: validate.ReasonMissingOrSpent, condemns: true, make: func(w *flawed) []byte {
		parent := pay(9, 2, w.coins[0])
		return w.raw(w.coinbase(), pay(10, 1, outpoint(parent, 0)), parent)
	}},
	{name: "maturity", reason: validate.ReasonPremature, condemns: true, make: func(w *flawed) []byte {
		return w.raw(w.coinbase(), pay(9, 1, chaintest.Outpoint{Txid: w.on.Txids[0]}))
	}},
	{name: "own coinbase", reason: validate.ReasonPremature, condemns: true, make: func(w *flawed) []byte {
		cb := w.coinbase()
		return w.raw(cb, pay(9, 1, outpoint(cb, 0)))
	}},
	{name: "pays too much", reason: validate.ReasonInBelowOut, condemns: true, make: one(func(tx *chaintest.Tx) {
		tx.Outs[0].Value = reward
	})},
	{name: "relative lock", reason: validate.ReasonNonFinal, condemns: true, make: one(func(tx *chaintest.Tx) {
		tx.Version, tx.Sequences = 2, []uint32{0xffff}
	})},
	{name: "cost of signature operations", reason: validate.ReasonSigOps, condemns: true, make: func(w *flawed) []byte {
		tx := pay(9, 1, w.coins[len(w.coins)-3:]...)
		tx.Script = append([]byte{0x4d, byte(len(manySigOps)), byte(len(manySigOps) >> 8)}, manySigOps...)
		return w.raw(w.coinbase(), tx)
	}},
	{name: "coinbase amount", reason: validate.ReasonCoinbaseAmount, condemns: true, make: claim(func(cb *chaintest.Tx) {
		cb.Outs[0].Value = 50*coin + reward - 2 + 1
	})},
	{name: "script", reason: "block-script-verify-flag-failed (OP_RETURN was encountered)", condemns: true,
		make: one(func(tx *chaintest.Tx) { tx.Script = []byte{0x6a} })},
}

// manySigOps counts as 20 operations a byte where it is a redeem script.
var manySigOps = bytes.Repeat([]byte{0xae}, 500)

// A block with any one flaw, in the middle of a window, with sound blocks below it and others on it: Core's reason is
// on record, the chain ends below it, all that stands on it is left alone, and a shorter branch that comes later is
// followed. So it is in an import and in a node, which knows whom to blame, with a set and without, whatever the
// number of threads.
func TestChecklist(t *testing.T) {
	modesThreads(t, func(t *testing.T, mode ImportOptions) {
		for i := range flaws {
			if f := &flaws[i]; !testing.Short() || i%2 == mode.Threads%2 {
				t.Run(f.name, func(t *testing.T) { f.test(t, mode) })
			}
		}
	})
}

// flawRig is the chain around a flawed block.
type flawRig struct {
	p                            *chain.Params
	below, above, bad, alternate [][]byte // bad: the one
}

func (f *flaw) rig() *flawRig {
	p := *chain.Regtest()
	if f.noBIP34 {
		p.BIP34 = 1 << 31
	}
	tr, below := newTrunk(6)
	prepared := pay(1, 1, tr.ripe[0]) // coins whose scripts are of a kind of their own
	for range 3 {
		prepared.Outs = append(prepared.Outs, chaintest.Output{Value: 100, Script: p2sh(manySigOps)})
	}
	below = append(below, tr.grow(prepared).Raw)
	last := pay(2, reward/5, tr.ripe[1], tr.ripe[2])
	for i := range 8 { // with something to do for every phase
		below = append(below, tr.grow(last).Raw)
		last = pay(uint32(3+i), reward/5, outpoint(last, 0), outpoint(last, 1))
	}
	w := &flawed{trunk: tr, on: tr.tip, coins: append([]chaintest.Outpoint(nil), tr.ripe[3:]...)}
	for vout := range uint32(3) {
		w.coins = append(w.coins, outpoint(prepared, 3+vout))
	}
	x := &flawRig{p: &p, below: below, bad: [][]byte{f.make(w)}}
	h, err := chain.ParseHeader(x.bad[0])
	if err != nil {
		panic(err)
	}
	at := &chaintest.Block{Hash: h.Hash(), Height: w.on.Height + 1, Time: h.Time}
	for range 12 {
		at = tr.on(at)
		x.above = append(x.above, at.Raw)
	}
	x.alternate = append(x.alternate, tr.grow(last).Raw, tr.grow().Raw)
	return x
}

func p2sh(script []byte) []byte {
	sum := chain.Hash160(script)
	return slices.Concat([]byte{0xa9, 20}, sum[:], []byte{0x87})
}

func (f *flaw) test(t *testing.T, mode ImportOptions) {
	x := f.rig()
	mode.limits.chunkBlocks, mode.limits.chunks = 2, 12
	r := memRig(t, x.p)
	defer r.discard()
	o, s := mode, streamOptions(file(x.p, slices.Concat(x.below, x.bad, x.above)...))
	o.Paths, o.Stdin = s.Paths, s.Stdin
	rep := r.run(t, o)
	wantReasons(t, rep, f.reason)
	r.wantTip(t, x.below[len(x.below)-1])
	if f.condemns && rep.Descendants != 12 || !f.condemns && rep.Parked != 12 {
		t.Fatalf("%d descendants, %d parked", rep.Descendants, rep.Parked)
	}
	if got := r.t.State(r.link(t, x.bad[0])) == tables.StateInvalid; got != f.condemns {
		t.Fatalf("condemned: %v", got)
	}
	r.reopen(t)
	o, s = mode, streamOptions(file(x.p, x.alternate...))
	o.Paths, o.Stdin = s.Paths, s.Stdin
	wantReasons(t, r.run(t, o))
	r.wantTip(t, x.alternate[1])
	f.testLive(t, mode, x)
}

func (f *flaw) testLive(t *testing.T, mode ImportOptions, x *flawRig) {
	r := memRig(t, x.p)
	defer r.discard()
	n := r.live(Options{ImportOptions: mode})
	defer n.end()
	for i, b := range slices.Concat(x.below, x.bad, x.above) {
		if !n.header(t, b) && i < len(x.below) {
			t.Fatal("a header is not taken")
		}
	}
	for _, b := range x.below {
		n.block(t, b, 1)
	}
	n.block(t, x.bad[0], 7)
	for _, b := range x.above {
		n.block(t, b, 1)
	}
	n.settle(t)
	r.wantTip(t, x.below[len(x.below)-1])
	again := slices.ContainsFunc(n.events, func(e p2p.Event) bool {
		return e.Kind == p2p.WantAgain && e.Hash == hashOf(x.bad[0])
	})
	all := n.refused()
	if len(all) == 0 || again == f.condemns {
		t.Fatalf("wanted again: %v, refused: %+v", again, all)
	}
	if e := all[0]; e.Hash != hashOf(x.bad[0]) || e.From != 7 || e.Mutated == f.condemns || e.Reason != f.reason {
		t.Fatalf("refused: %+v", e)
	}
	for _, e := range all[1:] { // those on it, where it was condemned before they came
		if e.Reason != validate.ReasonDuplicateInvalid || !f.condemns {
			t.Fatalf("refused, too: %+v", e)
		}
	}
	n.give(t, x.alternate...)
	n.settle(t)
	r.wantTip(t, x.alternate[1])
	if held, bodies := n.heldBytes(t); f.condemns && bodies > 0 || (held > 0) != (bodies > 0) {
		t.Fatalf("%d bodies are held", bodies)
	}
	if rep := n.stop(t); len(rep.Rejected) != 1 {
		t.Fatalf("%+v", rep.Rejected)
	}
}
