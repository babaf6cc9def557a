package tables

import (
	"errors"

	"stele/chain"
	"stele/tables/codec"
)

// Rows is one block as rows: what Encode makes of it and Archive appends. Nothing in it depends on where the block
// will stand in the archive, so blocks are encoded on every core while their order is still being decided. The
// buffers are reused by the next Encode.
type Rows struct {
	tx     []byte // txWidth a transaction
	output []byte // output slab
	input  []byte // input slab
	txs    uint32
	outs   uint32
	ins    uint32
	size   uint32
	weight uint32
}

// ErrTooLarge says that a block does not fit the fields of its rows. Every block whose weight is within consensus
// does.
var ErrTooLarge = errors.New("block is larger than a valid one can be")

// Encode turns a decoded block into rows. txids are those of its transactions, in order. It reads only its
// arguments: many goroutines may encode at once, each into Rows of its own.
func (r *Rows) Encode(b *chain.Block, txids []chain.Hash) error {
	r.tx, r.output, r.input = r.tx[:0], r.output[:0], r.input[:0]
	r.txs, r.outs, r.ins = uint32(len(b.Txs)), uint32(len(b.Outs)), uint32(len(b.Ins))
	r.size, r.weight = uint32(len(b.Raw)), uint32(b.Weight())
	if r.weight > chain.MaxBlockWeight || r.outs > maxBlockOuts || r.ins > maxBlockIns {
		return ErrTooLarge
	}
	genesis := b.Header.Prev == chain.Hash{}
	for i := range b.Txs {
		tx := &b.Txs[i]
		at := txOffset{
			outs: tx.FirstOut, ins: tx.FirstIn,
			outBytes: uint32(len(r.output)), inBytes: uint32(len(r.input)),
			unspendable: genesis,
		}
		r.encodeOutputs(b, tx, &at)
		r.encodeInputs(b, tx)
		r.tx = append(r.tx, txids[i][:]...)
		var offsets [txWidth - txOffsets]byte
		at.put(offsets[:])
		r.tx = append(r.tx, offsets[:]...)
	}
	if len(r.output) > maxBlockOutBytes || len(r.input) > maxBlockInBytes {
		return ErrTooLarge
	}
	return nil
}

func (r *Rows) encodeOutputs(b *chain.Block, tx *chain.Tx, at *txOffset) {
	for _, o := range b.Outs[tx.FirstOut : tx.FirstOut+tx.Outs] {
		script := b.Bytes(o.Script)
		at.unspendable = at.unspendable || chain.Unspendable(script)
		r.output = codec.AppendOutput(r.output, o.Value, script)
	}
}

func (r *Rows) encodeInputs(b *chain.Block, tx *chain.Tx) {
	r.input = codec.AppendHead(r.input, codec.Head{Version: tx.Version, LockTime: tx.LockTime, Witness: tx.Witness})
	stack := tx.Wit // witness stacks follow each other from here
	for _, in := range b.Ins[tx.FirstIn : tx.FirstIn+tx.Ins] {
		var witness []byte
		if tx.Witness {
			end := stack + uint32(chain.CompactSizeLen(uint64(in.Items)))
			if in.Items > 0 {
				last := b.Items[in.FirstItem+in.Items-1]
				end = last.Off + last.Len
			}
			witness = b.Raw[stack:end]
			stack = end
		}
		r.input = codec.AppendInput(r.input, in.Sequence, b.Bytes(in.Script), witness)
	}
}
