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
	Script   []byte // view of the slab
}

// EachUnspent calls f for every unspent output of the view's chain, in the order of heights, positions and indexes. It
// reads each cell and each output of the chain once, both in sequence. The Unspent is valid during the call only.
func (v *View) EachUnspent(f func(*Unspent) error) error {
	for height := range v.chain.n {
		b, ok := v.Block(v.chain.at(height))
		if !ok {
			return damage(chainName, "it holds a block that is not archived")
		}
		for i := range b.Txs {
			if err := v.eachUnspent(&b, b.FirstTx+TxLink(i), height, f); err != nil {
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
	return v.eachUnspent(&b, l, v.place[s].height, f)
}

func (v *View) eachUnspent(b *Block, l TxLink, height uint32, f func(*Unspent) error) error {
	span := v.t.span(b, l)
	outs := sub(span.end.outs, span.start.outs, b.Outs)
	first := b.FirstOut + OutputLink(span.start.outs)
	run, ok := v.t.outputRun(b, span)
	u := Unspent{Tx: l, Txid: v.t.txid(l), Height: height, Coinbase: l == b.FirstTx}
	for i := uint32(0); ok && i < outs; i++ {
		var o codec.Output
		var n int
		if o, n, ok = codec.DecodeOutput(run); !ok {
			break
		}
		run = run[n:]
		u.Vout, u.Output, u.Value, u.Script = i, first+OutputLink(i), o.Value, o.Script
		if v.Spent(u.Output) {
			continue
		}
		if err := f(&u); err != nil {
			return err
		}
	}
	if !ok {
		return damage(outputName, "an output does not decode")
	}
	return nil
}
