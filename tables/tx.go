package tables

import (
	"encoding/binary"

	"stele/chain"
)

// Tx row: 42 bytes, in archive order: the txid and where the transaction's outputs and inputs start, as offsets from
// the bases of its block's txs row. It ends where the next transaction of the block starts, the last one at the
// block's totals. Rows hold nothing that depends on the block's place in the archive, so they are made before the
// place is known. Immutable once written.
//
//	+0   txid 32 (internal byte order)
//	+32  80 bits, little-endian:
//	     0-16   outputs before this transaction's in the block (17)
//	     17-31  inputs (15)
//	     32-52  output slab bytes (21)
//	     53-74  input slab bytes (22)
//	     75     some output can never be spent: its script starts with OP_RETURN or is over 10,000 bytes
//	     76-79  zero
//
// The widths hold every block whose weight is within consensus: an output takes 9 bytes of base size or more, so
// 1,000,000 / 9 < 2^17; an input takes 41, so 24,390 < 2^15; output runs are at most the base size and one byte an
// output, 1,111,111 < 2^21; input runs at most the block's bytes and one byte a transaction, 4,000,000 + 16,666
// < 2^22.
const (
	txTxid    = 0
	txOffsets = 32
)

// Limits of a tx row's fields, as counts that still fit.
const (
	maxBlockOuts     = 1<<17 - 1
	maxBlockIns      = 1<<15 - 1
	maxBlockOutBytes = 1<<21 - 1
	maxBlockInBytes  = 1<<22 - 1
)

// txOffset is where a transaction starts in its block.
type txOffset struct {
	outs, ins         uint32
	outBytes, inBytes uint32
	unspendable       bool
}

// put writes the offsets into the ten bytes of a tx row.
func (o txOffset) put(b []byte) {
	lo := uint64(o.outs) | uint64(o.ins)<<17 | uint64(o.outBytes)<<32 | uint64(o.inBytes)<<53
	hi := uint16(o.inBytes >> 11)
	if o.unspendable {
		hi |= 1 << 11
	}
	binary.LittleEndian.PutUint64(b, lo)
	binary.LittleEndian.PutUint16(b[8:], hi)
}

// getTxOffset reads the ten bytes of a tx row.
func getTxOffset(b []byte) txOffset {
	lo, hi := binary.LittleEndian.Uint64(b), uint32(binary.LittleEndian.Uint16(b[8:]))
	return txOffset{
		outs:        uint32(lo) & (1<<17 - 1),
		ins:         uint32(lo>>17) & (1<<15 - 1),
		outBytes:    uint32(lo>>32) & (1<<21 - 1),
		inBytes:     uint32(lo>>53) | (hi&(1<<11-1))<<11,
		unspendable: hi>>11&1 != 0,
	}
}

// txSpan is a transaction's place inside its block: from start to the start of the next.
type txSpan struct {
	start, end txOffset
}

// span reads where transaction l of block b starts and ends: its row and the next one, 52 bytes side by side.
func (t *Tables) span(b *Block, l TxLink) txSpan {
	off := int64(l)*txWidth + txOffsets
	s := txSpan{start: getTxOffset(t.tx.At(off, txWidth-txOffsets))}
	if uint32(l-b.FirstTx)+1 < b.Txs {
		s.end = getTxOffset(t.tx.At(off+txWidth, txWidth-txOffsets))
	} else {
		s.end = txOffset{outs: b.Outs, ins: b.Ins, outBytes: b.outBytes, inBytes: b.inBytes}
	}
	return s
}

// txid returns the key of row l as a view of the table.
func (t *Tables) txid(l TxLink) *chain.Hash {
	return (*chain.Hash)(t.tx.At(int64(l)*txWidth+txTxid, 32))
}
