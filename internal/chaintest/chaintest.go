package chaintest

import (
	"encoding/binary"

	"stele/chain"
)

// Outpoint names an output.
type Outpoint struct {
	Txid chain.Hash
	Vout uint32
}

// Output is an output to be made.
type Output struct {
	Value  int64
	Script []byte
}

// Tx is a transaction to be made. With Witness, every input gets a stack of one item.
type Tx struct {
	Version   uint32
	Ins       []Outpoint
	Sequences []uint32 // one an input; nil: all final
	Script    []byte   // of every input; nil: two small pushes
	Outs      []Output
	LockTime  uint32
	Witness   bool
	Item      []byte // of every input's stack; nil: three bytes
}

// Raw returns the wire bytes, and the txid.
func (x *Tx) Raw() (raw []byte, txid chain.Hash) {
	txid = chain.DoubleSHA256(x.encode(false))
	return x.encode(x.Witness), txid
}

func (x *Tx) encode(witness bool) []byte {
	b := binary.LittleEndian.AppendUint32(nil, x.Version)
	if witness {
		b = append(b, 0, 1)
	}
	b = chain.AppendCompactSize(b, uint64(len(x.Ins)))
	for i, in := range x.Ins {
		b = append(b, in.Txid[:]...)
		b = binary.LittleEndian.AppendUint32(b, in.Vout)
		script := x.Script
		if script == nil {
			script = []byte{0x51, byte(i)&0x0f | 0x50}
		}
		b = chain.AppendCompactSize(b, uint64(len(script)))
		b = append(b, script...)
		sequence := uint32(0xffffffff)
		if x.Sequences != nil {
			sequence = x.Sequences[i]
		}
		b = binary.LittleEndian.AppendUint32(b, sequence)
	}
	b = chain.AppendCompactSize(b, uint64(len(x.Outs)))
	for _, o := range x.Outs {
		b = binary.LittleEndian.AppendUint64(b, uint64(o.Value))
		b = chain.AppendCompactSize(b, uint64(len(o.Script)))
		b = append(b, o.Script...)
	}
	for i := 0; witness && i < len(x.Ins); i++ {
		item := x.Item
		if item == nil {
			item = []byte{byte(i), 2, 3}
		}
		b = append(b, 1)
		b = chain.AppendCompactSize(b, uint64(len(item)))
		b = append(b, item...)
	}
	return binary.LittleEndian.AppendUint32(b, x.LockTime)
}

// Block is a block that was made.
type Block struct {
	Raw    []byte
	Hash   chain.Hash
	Height uint32
	Time   uint32
	Txids  []chain.Hash
	Parent *Block
}

// Genesis returns the first block of regtest.
func Genesis() *Block {
	p := chain.Regtest()
	h, err := chain.ParseHeader(p.GenesisBlock)
	if err != nil {
		panic(err)
	}
	return &Block{Raw: p.GenesisBlock, Hash: h.Hash(), Time: h.Time, Txids: []chain.Hash{h.Merkle}}
}

// Coinbase returns the coinbase that Next makes for a height: BIP34's push of it, and a salt that tells blocks of one
// height apart.
func Coinbase(height, salt uint32) *Tx {
	script := heightPush(height)
	script = append(script, 4)
	script = binary.LittleEndian.AppendUint32(script, salt)
	return &Tx{
		Version: 2, Ins: []Outpoint{{Vout: 0xffffffff}}, Script: script,
		Outs: []Output{{Value: 50e8, Script: []byte{0x51}}},
	}
}

// heightPush is the minimal push of a height as a script number.
func heightPush(height uint32) []byte {
	if height <= 16 {
		return []byte{0x50 + byte(height)}
	}
	n := binary.LittleEndian.AppendUint32(nil, height)
	for len(n) > 1 && n[len(n)-1] == 0 && n[len(n)-2] < 0x80 {
		n = n[:len(n)-1]
	}
	return append([]byte{byte(len(n))}, n...)
}

// Next makes a block on b with a coinbase and the given transactions.
func (b *Block) Next(salt uint32, txs ...*Tx) *Block {
	return b.NextWith(Coinbase(b.Height+1, salt), txs...)
}

// NextWith makes a block on b with a coinbase of the caller's own. Where a transaction has a witness, the coinbase gets
// the commitment (BIP141).
func (b *Block) NextWith(coinbase *Tx, txs ...*Tx) *Block {
	n := &Block{Height: b.Height + 1, Time: b.Time + 600, Parent: b}
	coinbase = commit(coinbase, txs)
	body := chain.AppendCompactSize(nil, uint64(len(txs)+1))
	for _, tx := range append([]*Tx{coinbase}, txs...) {
		raw, txid := tx.Raw()
		body = append(body, raw...)
		n.Txids = append(n.Txids, txid)
	}
	root, _ := chain.MerkleRoot(append([]chain.Hash(nil), n.Txids...))
	h := chain.Header{Version: 0x20000000, Prev: b.Hash, Merkle: root, Time: n.Time, Bits: chain.Regtest().PowLimitBits}
	n.Raw = append(Mine(&h), body...)
	n.Hash = h.Hash()
	return n
}

// commit returns the coinbase with a commitment to the witnesses of the other transactions, if there are any.
func commit(coinbase *Tx, txs []*Tx) *Tx {
	wtxids, any := []chain.Hash{{}}, false
	for _, tx := range txs {
		raw, _ := tx.Raw()
		wtxids = append(wtxids, chain.DoubleSHA256(raw))
		any = any || tx.Witness
	}
	if !any {
		return coinbase
	}
	c := *coinbase
	c.Witness, c.Item = true, make([]byte, 32)
	root, _ := chain.MerkleRoot(wtxids)
	sum := chain.DoubleSHA256(append(root[:], c.Item...))
	script := append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, sum[:]...)
	c.Outs = append(append([]Output(nil), c.Outs...), Output{Script: script})
	return &c
}

// Mine finds the nonce of a header for its own bits, and returns its 80 bytes.
func Mine(h *chain.Header) []byte {
	target, _, _ := chain.CompactToTarget(h.Bits)
	for ; ; h.Nonce++ {
		if hash := h.Hash(); chain.HashMeetsTarget(&hash, target) {
			return h.Append(nil)
		}
	}
}
