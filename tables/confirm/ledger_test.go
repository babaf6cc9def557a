package confirm_test

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/utxo"
	"stele/validate"
)

// The naive ledger: what every block leaves unspent is a map of its own.

type outpoint = chaintest.Outpoint

type coin struct {
	value    int64
	script   string
	height   uint32
	coinbase bool
}

// node is a block and what the naive ledger says of it.
type node struct {
	*chaintest.Block
	parent   *node
	mtp      uint32
	verdict  validate.Verdict // by the rules of this package; of a child of a bad block, OK
	coins    map[outpoint]coin
	coinbase *chaintest.Tx // of blocks that a maker made
	spent    []coin        // one an input, the coinbase's zero; of a bad block, some
}

func genesisNode() *node {
	g := chaintest.Genesis()
	return &node{Block: g, mtp: g.Time, verdict: good, coins: map[outpoint]coin{}}
}

var good = validate.Verdict{Tx: -1, Input: -1}

// child makes the node of a block on n. In the blocks that are excepted BIP30 does not hold.
func (n *node) child(p *chain.Params, block *chaintest.Block) *node {
	c := &node{Block: block, parent: n, coins: maps.Clone(n.coins)}
	times := []uint32{block.Time}
	for at := n; at != nil && len(times) < 11; at = at.parent {
		times = append(times, at.Time)
	}
	slices.Reverse(times)
	c.mtp = medianTime(times)
	var d chain.Block
	if err := d.Decode(block.Raw); err != nil {
		panic(err)
	}
	excepted := slices.Contains(p.BIP30Exceptions, chain.HeightHash{Height: block.Height, Hash: block.Hash})
	c.verdict = c.apply(&d, excepted)
	return c
}

func bad(reason string, tx, input int) validate.Verdict {
	return validate.Verdict{Reason: reason, Tx: tx, Input: input, Condemns: true}
}

func (n *node) apply(d *chain.Block, excepted bool) validate.Verdict {
	for tx, id := range n.Txids {
		for o := range n.coins {
			if o.Txid != id {
				continue
			}
			if !excepted {
				return bad(validate.ReasonBIP30, tx, -1)
			}
			delete(n.coins, o)
		}
	}
	for tx := range d.Txs {
		if v := n.spend(d, tx); !v.OK() {
			return v
		}
		t := &d.Txs[tx]
		for vout, out := range d.Outs[t.FirstOut:][:t.Outs] {
			script := d.Bytes(out.Script)
			if len(script) > 10_000 || len(script) > 0 && script[0] == 0x6a {
				continue
			}
			n.coins[outpoint{Txid: n.Txids[tx], Vout: uint32(vout)}] = coin{out.Value, string(script), n.Height, tx == 0}
		}
	}
	return good
}

// spend takes what transaction tx spends out of the ledger.
func (n *node) spend(d *chain.Block, tx int) validate.Verdict {
	t := &d.Txs[tx]
	ins := d.Ins[t.FirstIn:][:t.Ins]
	if tx == 0 {
		n.spent = append(n.spent, coin{})
		return good
	}
	var spent []coin
	for i := range ins {
		txid, vout := d.Outpoint(int(t.FirstIn) + i)
		c, ok := n.coins[outpoint{Txid: *txid, Vout: vout}]
		if !ok {
			return bad(validate.ReasonMissingOrSpent, tx, i)
		}
		spent = append(spent, c)
	}
	for i, c := range spent {
		if c.coinbase && n.Height < c.height+100 {
			return bad(validate.ReasonPremature, tx, i)
		}
	}
	for i, c := range spent {
		if t.Version >= 2 && n.locked(c, ins[i].Sequence) {
			return bad(validate.ReasonNonFinal, tx, -1)
		}
	}
	for i := range ins {
		txid, vout := d.Outpoint(int(t.FirstIn) + i)
		delete(n.coins, outpoint{Txid: *txid, Vout: vout})
	}
	n.spent = append(n.spent, spent...)
	return good
}

// locked tells whether a relative lock keeps a coin from being spent in block n (BIP68, in its own words: the lock is
// over when the time or height before the block's exceeds that of the coin by the value less one).
func (n *node) locked(c coin, sequence uint32) bool {
	if sequence&(1<<31) != 0 {
		return false
	}
	value := sequence & 0xffff
	if sequence&(1<<22) == 0 {
		return n.Height < c.height+value
	}
	before := n.parent
	for before.Height > 0 && before.Height >= c.height {
		before = before.parent
	}
	return n.parent.mtp < before.mtp+value*512
}

// ancestors walks from n down to the first block.
func (n *node) ancestors(f func(*node) bool) {
	for at := n; at != nil; at = at.parent {
		if !f(at) {
			return
		}
	}
}

// points lists what n leaves unspent, in order.
func (n *node) points() []outpoint {
	return slices.SortedFunc(maps.Keys(n.coins), func(a, b outpoint) int {
		return cmp.Or(bytes.Compare(a.Txid[:], b.Txid[:]), cmp.Compare(a.Vout, b.Vout))
	})
}

// hash is hash_serialized_3 of what n leaves unspent.
func (n *node) hash(t fataler) chain.Hash {
	h := utxo.NewSerialized3()
	for _, o := range n.points() {
		c := n.coins[o]
		err := h.Add(&utxo.Coin{
			Txid: &o.Txid, Vout: o.Vout, Height: c.height, Coinbase: c.coinbase, Value: c.value, Script: []byte(c.script),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return h.Sum()
}
