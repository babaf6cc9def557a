package tables

import (
	"fmt"
	"unsafe"

	"stele/chain"
	"stele/hashmap"
	"stele/tables/codec"
)

// Prevout is what a view says of an outpoint.
type Prevout struct {
	Output OutputLink // NoOutput: there is no such output in the view's chain, or it is spent
	Coin   chain.Coin
}

// prevoutGroup is how many prevouts go through a phase together; see hashmap.MapView.FindGroup.
const prevoutGroup = 16

// prevouts is the state of a group between its phases.
type prevouts struct {
	outs          [prevoutGroup]uint64 // numbers; of one that is not there, any
	deltas, bases [prevoutGroup]uint32 // their cells
	runs          [prevoutGroup][]byte // slab bytes of the transaction; nil: there is no such output
	blocks        [prevoutGroup]TxsLink
	links         [prevoutGroup]uint32
	script        codec.ScriptBuffer
}

// Prevouts looks for many outpoints at once: dst[i] becomes what the view says of output vouts[i] of the transaction
// txids[i], whose script is appended to scripts, which is returned. All slices must be as long as txids. It allocates
// nothing where scripts has room. An error is *store.Damaged.
//
// Cost of one, warm: a line of the map (or a slot of its delta) and a tx row, the block's interval and row, a cell, and
// the transaction's run of the output slab. A group goes from one to the next together, so that the misses overlap.
func (v *View) Prevouts(txids [][32]byte, vouts []uint32, dst []Prevout, scripts []byte) ([]byte, error) {
	var g prevouts
	for len(txids) > 0 {
		n := min(prevoutGroup, len(txids))
		v.txids.FindGroup(txids[:n], v.cut.Tx, g.links[:n])
		for i := range n {
			v.locate(&g, i, (*chain.Hash)(&txids[i]), vouts[i])
		}
		v.spends.GetGroup(g.outs[:n], g.deltas[:n], g.bases[:n])
		var err error
		for i := range n {
			if scripts, err = v.prevout(&g, i, vouts[i], &dst[i], scripts); err != nil {
				return scripts, err
			}
		}
		txids, vouts, dst = txids[n:], vouts[n:], dst[n:]
	}
	return scripts, nil
}

// HasAny tells of each txid, in a group so that the misses overlap, whether there is a row of it in any branch. dst must
// be as long as txids. Nearly always one line of the map (or a slot of its delta) says that there is none.
func (v *View) HasAny(txids []chain.Hash, dst []bool) {
	var links [prevoutGroup]uint32
	for len(txids) > 0 {
		n := min(prevoutGroup, len(txids))
		keys := unsafe.Slice((*[32]byte)(&txids[0]), n)
		v.txids.FindGroup(keys, v.cut.Tx, links[:n])
		for i, l := range links[:n] {
			dst[i] = TxLink(l) != NoTx
		}
		txids, dst = txids[n:], dst[n:]
	}
}

// locate finds the number of an output and where its transaction's slab bytes are.
func (v *View) locate(g *prevouts, i int, txid *chain.Hash, vout uint32) {
	g.outs[i], g.runs[i] = 0, nil
	l := TxLink(g.links[i])
	if l == NoTx {
		return
	}
	s := v.blockOfTx(l)
	if p := v.place[s]; !v.chain.has(p.header, p.height) {
		var ok bool
		if l, ok = v.FindStrong(txid); !ok { // the newest row is of a branch that was left
			return
		}
		s = v.blockOfTx(l)
	}
	b := v.t.block(s)
	span := v.t.span(&b, l)
	run, ok := v.t.outputRun(&b, span)
	if !ok || span.end.outs < span.start.outs || span.end.outs > b.Outs {
		run = damagedRun // which is no reason to call a prevout missing
	} else if vout >= span.end.outs-span.start.outs {
		return
	}
	hashmap.Prefetch(unsafe.Pointer(unsafe.SliceData(run)))
	g.outs[i] = uint64(b.FirstOut) + uint64(span.start.outs+vout)
	g.runs[i], g.blocks[i], g.links[i] = run, s, uint32(l)
}

// damagedRun decodes to nothing.
var damagedRun = []byte{}

// prevout is the last phase of a group for one of it: is the output spent, and what is it.
func (v *View) prevout(g *prevouts, i int, vout uint32, dst *Prevout, scripts []byte) ([]byte, error) {
	run := g.runs[i]
	if run == nil {
		dst.Output = NoOutput
		return scripts, nil
	}
	if delta, base := g.deltas[i], g.bases[i]; (delta != 0 || base != 0) && len(run) > 0 {
		if _, spent := v.spentMarks(OutputLink(g.outs[i]), delta, base); spent {
			dst.Output = NoOutput
			return scripts, nil
		}
	}
	for ; vout > 0; vout-- {
		n, ok := codec.SkipOutput(run)
		if !ok {
			break
		}
		run = run[n:]
	}
	o, _, ok := codec.DecodeOutput(run, &g.script)
	if !ok || vout > 0 {
		txid := v.t.txid(TxLink(g.links[i]))
		return scripts, damage(outputName, fmt.Sprintf("an output of transaction %v does not decode", txid))
	}
	at := len(scripts)
	scripts = append(scripts, o.Script...)
	s := g.blocks[i]
	*dst = Prevout{Output: OutputLink(g.outs[i]), Coin: chain.Coin{
		Value: o.Value, Script: scripts[at:len(scripts):len(scripts)],
		Height: v.place[s].height, Coinbase: g.links[i] == v.firstTx[s],
	}}
	return scripts, nil
}

// Made is one output of an archived block.
type Made struct {
	Tx     TxLink
	Index  uint32 // in its transaction
	Output OutputLink
	Value  int64
	Script []byte // view of the slab, or of buf
	buf    codec.ScriptBuffer
}

// EachMade calls f for every output of an archived block, whatever became of it, in order. What f gets is valid during
// the call. Only tx rows and the output slab are read.
func (v *View) EachMade(b *Block, f func(*Made) error) error {
	var m Made
	v.t.willNeed(b)
	for i := range b.Txs {
		m.Tx = b.FirstTx + TxLink(i)
		span := v.t.span(b, m.Tx)
		outs := sub(span.end.outs, span.start.outs, b.Outs)
		run, ok := v.t.outputRun(b, span)
		for m.Index = 0; ok && m.Index < outs; m.Index++ {
			var o codec.Output
			var n int
			if o, n, ok = codec.DecodeOutput(run, &m.buf); !ok {
				break
			}
			run = run[n:]
			m.Output = b.FirstOut + OutputLink(span.start.outs+m.Index)
			m.Value, m.Script = o.Value, o.Script
			if err := f(&m); err != nil {
				return err
			}
		}
		if !ok {
			return damage(outputName, fmt.Sprintf("an output of transaction %v does not decode", v.t.txid(m.Tx)))
		}
	}
	return nil
}

// Overwrites tells whether a transaction of the block repeats the txid of outputs that were unspent below it (BIP30).
func (b *Block) Overwrites() bool { return b.overwrites }

// EachOverwritten calls f for every output that an archived block overwrote, whether or not it is in the view's chain.
func (v *View) EachOverwritten(b *Block, f func(OutputLink)) {
	if !b.overwrites {
		return
	}
	any := func(TxLink) bool { return true }
	v.eachRepeated(b, any, func(o OutputLink, by TxLink) {
		if v.bears(o, by) {
			f(o)
		}
	})
}

// bears reports whether transaction l ever marked output o.
func (v *View) bears(o OutputLink, l TxLink) bool {
	delta, base := v.spends.Get(uint64(o))
	if delta == uint32(l)+1 || base == uint32(l)+1 {
		return true
	}
	var buf [8]uint64
	for _, by := range v.t.conflict.View().All(buf[:0], uint64(o)) {
		if TxLink(by) == l {
			return true
		}
	}
	return false
}
