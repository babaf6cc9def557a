package tables

import (
	"crypto/sha256"
	"slices"

	"stele/chain"
	"stele/tables/codec"
)

// Unspent is one output that exists in a view and that no transaction of it has spent.
type Unspent struct {
	Tx       TxLink
	Txid     *chain.Hash // view of the table
	Vout     uint32
	Output   OutputLink
	Height   uint32
	Coinbase bool
	Value    int64
	Script   []byte // view of the slab, or of buf
	buf      codec.ScriptBuffer
}

// EachUnspent calls f for every unspent output of the view's chain, in the order of heights, positions and indexes. It
// reads each cell and each output of the chain once, both in sequence. The Unspent is valid during the call only.
func (v *View) EachUnspent(f func(*Unspent) error) error { return v.EachUnspentIn(0, v.chain.n, f) }

// EachUnspentIn is EachUnspent for what the blocks of the heights [from, to) made. Goroutines may share a chain out among
// themselves by it.
func (v *View) EachUnspentIn(from, to uint32, f func(*Unspent) error) error {
	var s unspentScan
	for height := from; height < min(to, v.chain.n); height++ {
		b, ok := v.Block(v.chain.at(height))
		if !ok {
			return damage(chainName, "it holds a block that is not archived")
		}
		v.t.willNeed(&b)
		s.read(v, b.FirstOut, b.Outs)
		for i := range b.Txs {
			l := b.FirstTx + TxLink(i)
			if err := s.each(v, &b, l, v.t.span(&b, l), height, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachUnspentOf calls f for the unspent outputs of transaction l, which must be in the view's chain.
func (v *View) EachUnspentOf(l TxLink, f func(*Unspent) error) error {
	at := v.blockOfTx(l)
	b := v.t.block(at)
	span := v.t.span(&b, l)
	var s unspentScan
	s.read(v, b.FirstOut+OutputLink(span.start.outs), sub(span.end.outs, span.start.outs, b.Outs))
	return s.each(v, &b, l, span, v.place[at].height, f)
}

// unspentScan goes through outputs whose cells it has read together: the cache misses of a block's cells overlap, where
// one after the other they were a third of a pass over the archive. Conflict is asked after the cells, as View.spentBy
// wants it. It holds 16 bytes for each output of a block.
type unspentScan struct {
	u             Unspent
	first         OutputLink // whose cells are deltas[0] and bases[0]
	numbers       []uint64
	deltas, bases []uint32
}

// read reads the cells of n outputs.
func (s *unspentScan) read(v *View, first OutputLink, n uint32) {
	s.first, s.numbers = first, s.numbers[:0]
	for i := range n {
		s.numbers = append(s.numbers, uint64(first)+uint64(i))
	}
	s.deltas, s.bases = slices.Grow(s.deltas[:0], int(n))[:n], slices.Grow(s.bases[:0], int(n))[:n]
	v.spends.GetGroup(s.numbers, s.deltas, s.bases)
}

// each calls f for what is unspent of transaction l, whose cells have been read.
func (s *unspentScan) each(v *View, b *Block, l TxLink, span txSpan, height uint32, f func(*Unspent) error) error {
	u := &s.u
	outs := sub(span.end.outs, span.start.outs, b.Outs)
	first := b.FirstOut + OutputLink(span.start.outs)
	run, ok := v.t.outputRun(b, span)
	u.Tx, u.Txid, u.Height, u.Coinbase = l, v.t.txid(l), height, l == b.FirstTx
	for i := uint32(0); ok && i < outs; i++ {
		var n int
		if n, ok = codec.SkipOutput(run); !ok {
			break
		}
		at := run
		run = run[n:]
		o := first + OutputLink(i)
		if _, spent := v.spentMarks(o, s.deltas[o-s.first], s.bases[o-s.first]); spent {
			continue
		}
		var out codec.Output
		if out, _, ok = codec.DecodeOutput(at, &u.buf); !ok {
			break
		}
		u.Vout, u.Output, u.Value, u.Script = i, o, out.Value, out.Script
		if err := f(u); err != nil {
			return err
		}
	}
	if !ok {
		return damage(outputName, "an output does not decode")
	}
	return nil
}

// Who keeps output numbers outside of the store must know later whether they are still the archive's: what a power cut
// took off its end may have been archived again in another order. Archiving order is what gives numbers; the rest follows
// from the blocks.

// Params returns the parameters of the store's network.
func (v *View) Params() *chain.Params { return v.t.params }

// StoreID returns the id that the store was given when it was made, and that backups of it share.
func (v *View) StoreID() [16]byte { return v.t.manifest.Preamble().ID }

// ArchiveOrder returns the SHA256 of the hashes of the first so many archived blocks, in archive order, and how many outputs
// they own; false where the view has fewer. It reads a header row a block: 125 MB for a million.
func (v *View) ArchiveOrder(blocks uint64) (order chain.Hash, outputs uint64, ok bool) {
	if blocks > uint64(v.cut.Txs) {
		return chain.Hash{}, 0, false
	}
	h := sha256.New()
	for s := range TxsLink(blocks) {
		hash := v.t.Header(v.place[s].header).Hash()
		h.Write(hash[:])
	}
	if outputs = v.cut.Outs; blocks < uint64(v.cut.Txs) {
		outputs = uint64(v.firstOut[blocks])
	}
	return chain.Hash(h.Sum(nil)), outputs, true
}

// Durable reports whether a manifest that this process wrote, or found and wrote again, covers all that the view's chain
// stands on. Any goroutine may ask.
func (v *View) Durable() bool {
	m := v.t.durable.Load()
	tip, _ := v.Tip()
	return m != nil && uint32(tip) < m.cut.Headers && v.cut.Txs <= m.cut.Txs && v.cut.Log <= m.cut.Log
}
