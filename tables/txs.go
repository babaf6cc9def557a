package tables

import "encoding/binary"

// Txs row: 56 bytes, one for each archived block, in archive order. Immutable once written. The block's transactions,
// inputs, outputs and slab bytes are the intervals that start at the firsts and bases, as long as the totals say; the
// next row starts where they end, so every interval here is also found by searching its start.
//
//	+0   header link plus one 4
//	+4   first tx link 4 | +8 tx count 4
//	+12  first output number 5 | +17 first input number 5
//	+22  output slab base 6 | +28 input slab base 6      (offsets in bytes)
//	+34  outputs 3 | +37 inputs 3 | +40 output slab bytes 3 | +43 input slab bytes 3
//	+46  wire size 4 | +50 weight 4
//	+54  flags 2: bit 0, a transaction repeats the txid of unspent outputs (before BIP30 was enforced)
const (
	txsHeader   = 0
	txsFirstTx  = 4
	txsCount    = 8
	txsFirstOut = 12
	txsFirstIn  = 17
	txsOutBase  = 22
	txsInBase   = 28
	txsOuts     = 34
	txsIns      = 37
	txsOutBytes = 40
	txsInBytes  = 43
	txsSize     = 46
	txsWeight   = 50
	txsFlags    = 54
)

// txsOverwrites is the flag of a block with a transaction that repeats an unspent txid.
const txsOverwrites = 1

// Block is one archived block: the intervals that it owns.
type Block struct {
	Header            HeaderLink
	FirstTx           TxLink
	Txs               uint32
	FirstOut          OutputLink
	Outs              uint32
	FirstIn           InputLink
	Ins               uint32
	outBase, inBase   int64  // slab offsets
	outBytes, inBytes uint32 // slab lengths
	Size, Weight      uint32 // wire bytes with witness; weight units (BIP141)
	overwrites        bool
}

// block reads txs row l in place.
func (t *Tables) block(l TxsLink) Block {
	r := t.txs.At(int64(l)*txsWidth, txsWidth)
	return Block{
		Header:     HeaderLink(binary.LittleEndian.Uint32(r[txsHeader:]) - 1),
		FirstTx:    TxLink(binary.LittleEndian.Uint32(r[txsFirstTx:])),
		Txs:        binary.LittleEndian.Uint32(r[txsCount:]),
		FirstOut:   OutputLink(uint40(r[txsFirstOut:])),
		Outs:       uint24(r[txsOuts:]),
		FirstIn:    InputLink(uint40(r[txsFirstIn:])),
		Ins:        uint24(r[txsIns:]),
		outBase:    int64(uint48(r[txsOutBase:])),
		inBase:     int64(uint48(r[txsInBase:])),
		outBytes:   uint24(r[txsOutBytes:]),
		inBytes:    uint24(r[txsInBytes:]),
		Size:       binary.LittleEndian.Uint32(r[txsSize:]),
		Weight:     binary.LittleEndian.Uint32(r[txsWeight:]),
		overwrites: binary.LittleEndian.Uint16(r[txsFlags:])&txsOverwrites != 0,
	}
}

// putBlock writes the fields of b into a txs row.
func putBlock(r []byte, b *Block) {
	binary.LittleEndian.PutUint32(r[txsHeader:], uint32(b.Header)+1)
	binary.LittleEndian.PutUint32(r[txsFirstTx:], uint32(b.FirstTx))
	binary.LittleEndian.PutUint32(r[txsCount:], b.Txs)
	putUint40(r[txsFirstOut:], uint64(b.FirstOut))
	putUint40(r[txsFirstIn:], uint64(b.FirstIn))
	putUint48(r[txsOutBase:], uint64(b.outBase))
	putUint48(r[txsInBase:], uint64(b.inBase))
	putUint24(r[txsOuts:], b.Outs)
	putUint24(r[txsIns:], b.Ins)
	putUint24(r[txsOutBytes:], b.outBytes)
	putUint24(r[txsInBytes:], b.inBytes)
	binary.LittleEndian.PutUint32(r[txsSize:], b.Size)
	binary.LittleEndian.PutUint32(r[txsWeight:], b.Weight)
	flags := uint16(0)
	if b.overwrites {
		flags = txsOverwrites
	}
	binary.LittleEndian.PutUint16(r[txsFlags:], flags)
}

// willNeed asks for the rows of a block's transactions and inputs, for what is about to go through them: they are mapped
// without read-ahead, as lookups want one page of them and no more.
func (t *Tables) willNeed(b *Block) {
	t.tx.WillNeed(int64(b.FirstTx)*txWidth, int64(b.Txs)*txWidth)
	t.ins.WillNeed(int64(b.FirstIn)*insWidth, int64(b.Ins)*insWidth)
}
