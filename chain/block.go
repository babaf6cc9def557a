package chain

import "encoding/binary"

// Consensus sizes and amounts (Core: consensus/consensus.h, consensus/amount.h).
const (
	MaxBlockWeight       = 4_000_000
	WitnessScale         = 4
	MaxMoney       int64 = 21_000_000 * 1e8 // satoshis
)

// outpointSize is a prevout on the wire: 32 bytes of txid, 4 of output index.
const outpointSize = HashSize + 4

// valueSize is an output's amount on the wire.
const valueSize = 8

// Span is a run of bytes inside Block.Raw.
type Span struct{ Off, Len uint32 }

// Tx is a transaction of a block as offsets into Raw and ranges of the block's other arrays; 44 bytes, no pointers.
//
//	legacy            | version | ins | outs | lock time |
//	                  Off       Body         Wit         End
//	with witness      | version | 00 01 | ins | outs | stacks | lock time |
//	                  Off               Body         Wit                  End
type Tx struct {
	Off, End          uint32 // the whole transaction: Raw[Off:End]
	Body              uint32 // offset of the input count
	Wit               uint32 // end of the outputs: witness stacks begin here, or the lock time
	Version, LockTime uint32 // version as BIP68 and BIP112 compare it, unsigned
	FirstIn, Ins      uint32 // Block.Ins[FirstIn : FirstIn+Ins]
	FirstOut, Outs    uint32 // Block.Outs[FirstOut : FirstOut+Outs]
	Witness           bool   // written with marker and flag; then at least one stack is not empty
}

// In is an input; 24 bytes.
type In struct {
	Prevout          uint32 // offset of the 36 bytes of the outpoint
	Script           Span
	Sequence         uint32
	FirstItem, Items uint32 // witness stack: Block.Items[FirstItem : FirstItem+Items]
}

// Out is an output; 16 bytes. The value is what the wire says, in satoshis; its range is a consensus rule, not
// checked here.
type Out struct {
	Value  int64
	Script Span
}

// Block is one parsed block: arrays of offsets over the bytes that it came from. The arrays are kept from one Decode
// to the next, so a Block that is reused decodes without allocating. Raw is the caller's and must not change while
// the Block is in use. Reading is safe from any number of goroutines; Decode, DecodeTx, Own, Txids and Wtxids (they
// share a scratch buffer) want the Block to themselves.
type Block struct {
	Raw    []byte
	Header Header
	Txs    []Tx
	Ins    []In
	Outs   []Out
	Items  []Span // witness items of all inputs

	scratch []byte // a segwit transaction without its witness, while its txid is computed
}

// Bytes is the run s of Raw, with no room to append into what follows.
func (b *Block) Bytes(s Span) []byte {
	return b.Raw[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// Outpoint is what input in (an index of Ins) spends; the txid views Raw.
func (b *Block) Outpoint(in int) (txid *Hash, vout uint32) {
	point := b.Raw[b.Ins[in].Prevout:][:outpointSize]
	return (*Hash)(point), binary.LittleEndian.Uint32(point[HashSize:])
}

// Coinbase tells whether transaction tx has exactly one input, with the null outpoint (txid zero, index 2^32-1).
func (b *Block) Coinbase(tx int) bool {
	t := &b.Txs[tx]
	if t.Ins != 1 {
		return false
	}
	txid, vout := b.Outpoint(int(t.FirstIn))
	return vout == ^uint32(0) && txid.IsZero()
}

// TxSize gives the lengths of transaction tx on the wire, without and with its witness.
func (b *Block) TxSize(tx int) (stripped, total int) {
	t := &b.Txs[tx]
	total = int(t.End - t.Off)
	return total - t.witnessSize(), total
}

// witnessSize is the number of bytes that only the witness form has: marker, flag and stacks.
func (t *Tx) witnessSize() int {
	if !t.Witness {
		return 0
	}
	const markerFlag, lockTime = 2, 4
	return markerFlag + int(t.End-lockTime-t.Wit)
}

// StrippedSize is the length of Raw without witnesses, markers and flags.
func (b *Block) StrippedSize() int {
	size := len(b.Raw)
	for i := range b.Txs {
		size -= b.Txs[i].witnessSize()
	}
	return size
}

// Weight is three times the stripped size and once the whole (BIP141). Of a transaction decoded alone, it is that
// transaction's weight.
func (b *Block) Weight() int {
	return (WitnessScale-1)*b.StrippedSize() + len(b.Raw)
}

// Own copies Raw into the arena. Every view stays right, as views are offsets; slices taken before keep the old bytes.
func (b *Block) Own(a *Arena) {
	b.Raw = a.Copy(b.Raw)
}
