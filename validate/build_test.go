package validate

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"stele/chain"
)

// txSpec, inSpec and outSpec say a transaction in plain Go; bytes writes it down by BIP144, by other code than
// chain's.
type (
	txSpec struct {
		version, lockTime uint32
		ins               []inSpec
		outs              []outSpec
	}
	inSpec struct {
		txid    chain.Hash
		vout    uint32
		script  []byte
		witness [][]byte
		open    uint32 // the complement of the sequence, so that zero is final
	}
	outSpec struct {
		value  int64
		script []byte
	}
)

func (x *txSpec) bytes(withWitness bool) []byte {
	b := binary.LittleEndian.AppendUint32(nil, x.version)
	if withWitness {
		b = append(b, 0, 1)
	}
	b = chain.AppendCompactSize(b, uint64(len(x.ins)))
	for _, in := range x.ins {
		b = append(b, in.txid[:]...)
		b = binary.LittleEndian.AppendUint32(b, in.vout)
		b = appendSized(b, in.script)
		b = binary.LittleEndian.AppendUint32(b, ^in.open)
	}
	b = chain.AppendCompactSize(b, uint64(len(x.outs)))
	for _, out := range x.outs {
		b = binary.LittleEndian.AppendUint64(b, uint64(out.value))
		b = appendSized(b, out.script)
	}
	if withWitness {
		for _, in := range x.ins {
			b = chain.AppendCompactSize(b, uint64(len(in.witness)))
			for _, item := range in.witness {
				b = appendSized(b, item)
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, x.lockTime)
}

func appendSized(b, run []byte) []byte {
	return append(chain.AppendCompactSize(b, uint64(len(run))), run...)
}

func (x *txSpec) hasWitness() bool {
	for _, in := range x.ins {
		if len(in.witness) > 0 {
			return true
		}
	}
	return false
}

// decodeTx is x as a Block that holds it alone.
func (x *txSpec) decode(t testing.TB) *chain.Block {
	t.Helper()
	b := new(chain.Block)
	if err := b.DecodeTx(x.bytes(x.hasWitness())); err != nil {
		t.Fatal(err)
	}
	return b
}

// blockSpec is a block whose merkle root is made to fit.
type blockSpec struct {
	txs       []txSpec
	wrongRoot bool
}

func (x *blockSpec) decode(t testing.TB) (*chain.Block, []chain.Hash) {
	t.Helper()
	var level []chain.Hash
	for i := range x.txs {
		level = append(level, chain.DoubleSHA256(x.txs[i].bytes(false)))
	}
	h := chain.Header{Version: 4, Time: 1_600_000_000, Bits: 0x207fffff, Merkle: plainRoot(level)}
	if x.wrongRoot {
		h.Merkle[7] ^= 0x10
	}
	raw := chain.AppendCompactSize(h.Append(nil), uint64(len(x.txs)))
	for i := range x.txs {
		raw = append(raw, x.txs[i].bytes(x.txs[i].hasWitness())...)
	}
	b := new(chain.Block)
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	return b, b.Txids(nil)
}

// plainRoot is the merkle root by the definition: the root of the parents, one level at a time.
func plainRoot(level []chain.Hash) chain.Hash {
	if len(level) == 0 {
		return chain.Hash{}
	}
	if len(level) == 1 {
		return level[0]
	}
	var up []chain.Hash
	for i := 0; i < len(level); i += 2 {
		left, right := level[i], level[min(i+1, len(level)-1)]
		up = append(up, chain.DoubleSHA256(append(left[:len(left):len(left)], right[:]...)))
	}
	return plainRoot(up)
}

// label is a txid that no transaction has.
func label(n int) (h chain.Hash) {
	binary.LittleEndian.PutUint64(h[:], uint64(n)+1)
	h[31] = 0xee
	return h
}

func coinbaseSpec() txSpec {
	return txSpec{version: 1, ins: []inSpec{{vout: 0xffff_ffff, script: []byte{0x01, 0x65, 0x00}}},
		outs: []outSpec{{50 * 1e8, []byte{0x51}}}}
}

// spendSpec spends outputs of transactions that no block has, which no rule here minds.
func spendSpec(n int) txSpec {
	return txSpec{version: 2, ins: []inSpec{{txid: label(2 * n), vout: 1}, {txid: label(2 * n), vout: 0}},
		outs: []outSpec{{1000, []byte{0x51}}, {2000, []byte{0x6a, 0x01, 0x02}}}}
}

// validSpec is a coinbase and two spends, one of them with a witness.
func validSpec() *blockSpec {
	x := &blockSpec{txs: []txSpec{coinbaseSpec(), spendSpec(0), spendSpec(1)}}
	x.txs[2].ins[0].witness = [][]byte{{1, 2, 3}, {}}
	return x
}

// padded grows an output script of opcodes 0 until stripped, the sizes without witnesses of all txs and what
// surrounds them in a block, is size.
func (x *blockSpec) padded(t testing.TB, size int) *blockSpec {
	t.Helper()
	out := &x.txs[1].outs[0]
	for range 4 { // the script's own length changes width
		b, _ := x.decode(t)
		if grow := len(out.script) + size - b.StrippedSize(); grow >= 0 {
			out.script = make([]byte, grow)
		}
	}
	if b, _ := x.decode(t); b.StrippedSize() != size {
		t.Fatalf("stripped size %d, want %d", b.StrippedSize(), size)
	}
	return x
}

// commit lets the coinbase commit to the witnesses, with a reserved value of 32 bytes, as BIP141 describes it. Later
// changes of a witness are no longer covered.
func (x *blockSpec) commit() *blockSpec {
	reserved := bytes.Repeat([]byte{0x5a}, 32)
	x.txs[0].ins[0].witness = [][]byte{reserved}
	x.txs[0].outs = append(x.txs[0].outs, outSpec{0, x.commitment(reserved)})
	return x
}

// commitment is the script that commits to the witnesses of x with that reserved value.
func (x *blockSpec) commitment(reserved []byte) []byte {
	level := []chain.Hash{{}}
	for i := range x.txs[1:] {
		level = append(level, chain.DoubleSHA256(x.txs[1+i].bytes(x.txs[1+i].hasWitness())))
	}
	root := plainRoot(level)
	hash := chain.DoubleSHA256(append(root[:], reserved...))
	return append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, hash[:]...)
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
