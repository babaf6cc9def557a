package confirm_test

import (
	"math/rand/v2"
	"slices"
	"sync"

	"stele/chain"
	"stele/internal/chaintest"
)

// baseHeight leaves a handful of coinbases that are mature.
const baseHeight = 106

// base is a chain whose first coinbases are mature; nobody may change it.
var base = sync.OnceValue(func() *node {
	n := genesisNode()
	r := rand.New(rand.NewPCG(1, 2))
	for n.Height < baseHeight {
		n = n.child(chain.Regtest(), n.NextWith(someCoinbase(r, n.Height+1)))
	}
	return n
})

func someCoinbase(r *rand.Rand, height uint32) *chaintest.Tx {
	tx := chaintest.Coinbase(height, r.Uint32())
	tx.Outs = nil
	for range 1 + r.IntN(4) {
		tx.Outs = append(tx.Outs, chaintest.Output{Value: 5e8, Script: someScript(r)})
	}
	return tx
}

func someScript(r *rand.Rand) []byte {
	raw := func(n int, head ...byte) []byte {
		s := slices.Clone(head)
		for len(s) < n {
			s = append(s, byte(r.Uint32()))
		}
		return s
	}
	switch r.IntN(16) {
	case 0:
		return raw(r.IntN(40), 0x6a)
	case 1:
		return nil
	case 2:
		return raw(r.IntN(60))
	case 3:
		return append(raw(23, 0xa9, 0x14)[:22], 0x87)
	case 4, 5, 6:
		return raw(34, 0x51, 0x20)
	case 7:
		if r.IntN(8) == 0 {
			return raw(10_000 + r.IntN(2)) // spendable, or one byte too long
		}
	}
	return raw(22, 0x00, 0x14)
}

// flaw is what is wrong with a block; the naive ledger has the last word on whether it is.
type flaw int

const (
	flawless flaw = iota
	flawMissing
	flawNoSuchIndex
	flawSpentBelow
	flawTwice
	flawImmature
	flawHeightLock
	flawTimeLock
	flawOrder
	flawUnspendable
	flawRepeat
	repeatExcepted // none, but rare
	flaws
)

// maker makes blocks of random transactions.
type maker struct {
	*rand.Rand
	p      *chain.Params
	parent *node
	flaw   flaw
	points []outpoint // that may still be spent by the block being made
	coins  map[outpoint]coin
	txs    []*chaintest.Tx
}

func (m *maker) height() uint32 { return m.parent.Height + 1 }

// block makes a block on a parent.
func (m *maker) block(parent *node, f flaw) *node {
	m.parent, m.flaw, m.points, m.txs = parent, f, nil, nil
	m.coins = map[outpoint]coin{}
	for _, o := range parent.points() {
		c := parent.coins[o]
		if !c.coinbase || m.height() >= c.height+100 {
			m.points, m.coins[o] = append(m.points, o), c
		}
	}
	for range m.IntN(5) {
		m.addTx(m.draw(1+m.IntN(3)), false)
	}
	coinbase := someCoinbase(m.Rand, m.height())
	m.spoil()
	if f == flawRepeat || f == repeatExcepted {
		coinbase = m.coinbaseBelow(coinbase)
	}
	block := parent.NextWith(coinbase, m.txs...)
	if f == repeatExcepted {
		m.p.BIP30Exceptions = append(m.p.BIP30Exceptions, chain.HeightHash{Height: block.Height, Hash: block.Hash})
	}
	n := parent.child(m.p, block)
	n.coinbase = coinbase
	return n
}

// draw takes up to n coins off the stock.
func (m *maker) draw(n int) (ins []outpoint) {
	for len(ins) < n && len(m.points) > 0 {
		i := m.IntN(len(m.points))
		if m.IntN(3) == 0 {
			i = len(m.points) - 1 // often an output of the block itself
		}
		ins = append(ins, m.points[i])
		m.points = slices.Delete(m.points, i, i+1)
	}
	return ins
}

// addTx adds a transaction that spends ins. Locks that it has are over, unless the last one is to be too long.
func (m *maker) addTx(ins []outpoint, tooLong bool) {
	if len(ins) == 0 {
		return
	}
	tx := &chaintest.Tx{Version: uint32(1 + m.IntN(2)), Ins: ins}
	if tooLong {
		tx.Version = 2 + uint32(m.IntN(2))*0x8000_0000
	}
	sum := int64(0)
	for i, o := range ins {
		sum += m.coins[o].value
		long := uint32(0)
		if tooLong && i == len(ins)-1 {
			long = 1
		}
		tx.Sequences = append(tx.Sequences, m.sequence(m.coins[o], tx.Version, long))
	}
	for range 1 + m.IntN(4) {
		v := m.Int64N(sum/2 + 1)
		sum -= v
		tx.Outs = append(tx.Outs, chaintest.Output{Value: v, Script: someScript(m.Rand)})
	}
	m.txs = append(m.txs, tx)
	_, id := tx.Raw()
	for vout, o := range tx.Outs {
		if !chain.Unspendable(o.Script) {
			p := outpoint{Txid: id, Vout: uint32(vout)}
			m.points, m.coins[p] = append(m.points, p), coin{o.Value, string(o.Script), m.height(), false}
		}
	}
}

// sequence draws one for the spending of a coin: no lock, or one that is over for just as long as not, plus long.
func (m *maker) sequence(c coin, version, long uint32) uint32 {
	kind := m.IntN(5)
	switch m.flaw {
	case flawHeightLock:
		kind = 3
	case flawTimeLock:
		kind = 4
	}
	noise := m.Uint32() &^ (1<<31 | 1<<22 | 0xffff) // bits that mean nothing
	switch kind {
	case 0:
		return 0xffffffff
	case 1:
		return 1<<31 | noise | 0xffff
	case 2:
		if version == 1 {
			return noise | 0xffff // locks are for version 2
		}
		return noise
	case 3:
		return noise | (m.height() - c.height + long)
	}
	before := m.parent
	for before.Height > 0 && before.Height >= c.height {
		before = before.parent
	}
	return noise | 1<<22 | ((m.parent.mtp-before.mtp)/512 + long)
}

// spoil adds what is wrong to the block.
func (m *maker) spoil() {
	switch m.flaw {
	case flawMissing:
		m.addTx(append(m.draw(1), outpoint{Txid: chain.Hash{byte(m.Uint32()), 1}}), false)
	case flawNoSuchIndex:
		if ins := m.draw(1); len(ins) > 0 {
			m.addTx([]outpoint{{Txid: ins[0].Txid, Vout: uint32(20 + m.IntN(2)*0x7fffffff)}}, false)
		}
	case flawSpentBelow:
		m.addTx(m.spentBelow(), false)
	case flawTwice:
		if len(m.txs) > 0 {
			m.addTx(m.txs[m.IntN(len(m.txs))].Ins[:1], false)
		}
	case flawImmature:
		m.addTx(m.young(), false)
	case flawHeightLock, flawTimeLock:
		m.addTx(m.draw(1+m.IntN(2)), true)
	case flawOrder:
		m.addTx(m.draw(1), false)
		m.addTx(m.draw(1), false)
		if n := len(m.txs); n > 1 {
			m.txs[n-1], m.txs[n-2] = m.txs[n-2], m.txs[n-1]
		}
	case flawUnspendable:
		m.unspendable()
	}
}

// spentBelow names a coin that one of the blocks below spent.
func (m *maker) spentBelow() (ins []outpoint) {
	depth := 1 + m.IntN(6)
	m.parent.ancestors(func(n *node) bool {
		for _, o := range n.points() {
			if _, ok := m.parent.coins[o]; !ok && (ins == nil || m.IntN(3) == 0) {
				ins = []outpoint{o}
			}
		}
		depth--
		return depth > 0
	})
	return ins
}

// young names a coinbase's coin that lacks one confirmation or more.
func (m *maker) young() []outpoint {
	var all []outpoint
	for _, o := range m.parent.points() {
		if c := m.parent.coins[o]; c.coinbase && m.height() < c.height+100 {
			if m.height() == c.height+99 {
				return []outpoint{o}
			}
			all = append(all, o)
		}
	}
	return all[m.IntN(len(all)):][:1]
}

// unspendable spends what cannot be: of a block below, or of this one.
func (m *maker) unspendable() {
	var o outpoint
	depth := m.IntN(8)
	m.parent.ancestors(func(n *node) bool {
		var d chain.Block
		if d.Decode(n.Raw) != nil {
			return false
		}
		for tx := range d.Txs {
			for vout, out := range d.Outs[d.Txs[tx].FirstOut:][:d.Txs[tx].Outs] {
				if chain.Unspendable(d.Bytes(out.Script)) {
					o = outpoint{Txid: n.Txids[tx], Vout: uint32(vout)}
				}
			}
		}
		depth--
		return depth > 0 || o.Txid == chain.Hash{}
	})
	if m.IntN(2) == 0 && len(m.txs) > 0 {
		tx := m.txs[len(m.txs)-1]
		tx.Outs = append(tx.Outs, chaintest.Output{Script: []byte{0x6a, 1, byte(m.Uint32())}})
		_, id := tx.Raw() // another one now: outputs of it in the stock no longer exist
		o = outpoint{Txid: id, Vout: uint32(len(tx.Outs) - 1)}
	}
	m.addTx([]outpoint{o}, false)
}

// coinbaseBelow is the coinbase of one of the blocks below that were made here.
func (m *maker) coinbaseBelow(other *chaintest.Tx) *chaintest.Tx {
	depth := 1 + m.IntN(5)
	m.parent.ancestors(func(n *node) bool {
		if n.coinbase != nil {
			other = n.coinbase
		}
		depth--
		return depth > 0
	})
	return other
}

func newMaker(p *chain.Params, seed uint64) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 0)), p: p}
}
