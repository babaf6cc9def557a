package tables

import (
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
func (v *View) EachUnspent(f func(*Unspent) error) error {
	var u Unspent
	for height := range v.chain.n {
		b, ok := v.Block(v.chain.at(height))
		if !ok {
			return damage(chainName, "it holds a block that is not archived")
		}
		v.t.willNeed(&b)
		for i := range b.Txs {
			if err := v.eachUnspent(&u, &b, b.FirstTx+TxLink(i), height, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachUnspentOf calls f for the unspent outputs of transaction l, which must be in the view's chain.
func (v *View) EachUnspentOf(l TxLink, f func(*Unspent) error) error {
	s := v.blockOfTx(l)
	b := v.t.block(s)
	return v.eachUnspent(new(Unspent), &b, l, v.place[s].height, f)
}

func (v *View) eachUnspent(u *Unspent, b *Block, l TxLink, height uint32, f func(*Unspent) error) error {
	span := v.t.span(b, l)
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
		if v.Spent(first + OutputLink(i)) {
			continue
		}
		var o codec.Output
		if o, _, ok = codec.DecodeOutput(at, &u.buf); !ok {
			break
		}
		u.Vout, u.Output, u.Value, u.Script = i, first+OutputLink(i), o.Value, o.Script
		if err := f(u); err != nil {
			return err
		}
	}
	if !ok {
		return damage(outputName, "an output does not decode")
	}
	return nil
}
