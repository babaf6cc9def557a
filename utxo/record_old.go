package utxo

import (
	"encoding/binary"
	"fmt"
	"math"

	"stele/chain"
)

// OldRecord is a transaction's unspent outputs as the records v4 and v5 keep them: in an order that follows from their
// history, each with its own height. The two are the oracle of the record in use, and what it is measured against.
type OldRecord struct {
	Txid   chain.Hash
	Inline int // of Outs, at most 8 from the front; decides where Add and Remove change the order
	Outs   []OldOutput
}

// OldOutput is an output of an OldRecord.
type OldOutput struct {
	Vout     uint32
	Value    uint64
	Height   uint32
	Coinbase bool
	Script   []byte
}

// oldInline is the most outputs that are inline.
const oldInline = 8

// NewOldRecord returns the record of outputs that were made together.
func NewOldRecord(txid *chain.Hash, outs []OldOutput) *OldRecord {
	return &OldRecord{Txid: *txid, Inline: min(len(outs), oldInline), Outs: outs}
}

// Add puts an output in: behind the inline ones while they are less than 8, else last.
func (r *OldRecord) Add(o OldOutput) {
	r.Outs = append(r.Outs, o)
	if r.Inline < oldInline {
		copy(r.Outs[r.Inline+1:], r.Outs[r.Inline:])
		r.Outs[r.Inline] = o
		r.Inline++
	}
}

// Remove takes an output out. An inline one changes places with the last inline one, which the overflow closes up to;
// one of the overflow with the last of all.
func (r *OldRecord) Remove(vout uint32) (o OldOutput, ok bool) {
	for i := range r.Outs {
		if r.Outs[i].Vout != vout {
			continue
		}
		o = r.Outs[i]
		if i < r.Inline {
			r.Inline--
			r.Outs[i] = r.Outs[r.Inline]
			copy(r.Outs[r.Inline:], r.Outs[r.Inline+1:])
		} else {
			r.Outs[i] = r.Outs[len(r.Outs)-1]
		}
		r.Outs = r.Outs[:len(r.Outs)-1]
		return o, true
	}
	return o, false
}

// check returns the error of a record that v4 and v5 cannot hold.
func (r *OldRecord) check() error {
	if len(r.Outs) == 0 {
		return ErrNoOutputs
	}
	if r.Inline < 0 || r.Inline > min(len(r.Outs), oldInline) {
		return badRecord("%d inline outputs of %d", r.Inline, len(r.Outs))
	}
	for i := range r.Outs {
		if len(r.Outs[i].Script) > math.MaxUint16 {
			return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(r.Outs[i].Script))
		}
	}
	return nil
}

// oldHead reads what v4 and v5 begin with.
func (r *OldRecord) oldHead(b []byte, size int) (n int, err error) {
	if len(b) < size {
		return 0, badRecord("%d bytes, less than what all begin with", len(b))
	}
	copy(r.Txid[:], b)
	count := binary.LittleEndian.Uint32(b[chain.HashSize:])
	r.Inline = int(b[chain.HashSize+4])
	r.Outs = r.Outs[:0]
	if count == 0 || uint64(count) > uint64(len(b)) {
		return 0, badRecord("%d outputs in %d bytes", count, len(b))
	}
	if uint32(r.Inline) > min(count, oldInline) {
		return 0, badRecord("%d inline outputs of %d", r.Inline, count)
	}
	return int(count), nil
}

func (r *OldRecord) appendOldHead(dst []byte) []byte {
	dst = append(dst, r.Txid[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Outs)))
	return append(dst, byte(r.Inline))
}
