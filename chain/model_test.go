package chain_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// The model is a block as plain objects with an encoder of its own, written from the protocol's description and
// sharing no code with the package. What it holds is what a decode must give.
type (
	modelIn struct {
		txid     [32]byte
		vout     uint32
		script   []byte
		sequence uint32
		stack    [][]byte
	}
	modelOut struct {
		value  int64
		script []byte
	}
	modelTx struct {
		version, lockTime uint32
		ins               []modelIn
		outs              []modelOut
	}
	modelBlock struct {
		header [80]byte
		txs    []modelTx
	}
)

// writer collects bytes. Every length goes through size, under the name of its place, so that a test can spell it
// wrongly.
type writer struct {
	bytes.Buffer
	size func(place string, n int) []byte
}

func newWriter() *writer {
	return &writer{size: func(_ string, n int) []byte { return shortest(uint64(n)) }}
}

// shortest is the canonical CompactSize of n.
func shortest(n uint64) []byte {
	switch {
	case n < 0xfd:
		return longForm(n, 1)
	case n < 1<<16:
		return longForm(n, 3)
	case n < 1<<32:
		return longForm(n, 5)
	}
	return longForm(n, 9)
}

// longForm spells n in the CompactSize form of 1, 3, 5 or 9 bytes, canonical or not.
func longForm(n uint64, bytes int) []byte {
	var wide [8]byte
	binary.LittleEndian.PutUint64(wide[:], n)
	switch bytes {
	case 1:
		return wide[:1]
	case 3:
		return append([]byte{0xfd}, wide[:2]...)
	case 5:
		return append([]byte{0xfe}, wide[:4]...)
	}
	return append([]byte{0xff}, wide[:8]...)
}

func (w *writer) u32(v uint32) { _ = binary.Write(w, binary.LittleEndian, v) }

func (w *writer) run(place string, b []byte) {
	w.Write(w.size(place, len(b)))
	w.Write(b)
}

func (m *modelTx) hasWitness() bool {
	for _, in := range m.ins {
		if len(in.stack) > 0 {
			return true
		}
	}
	return false
}

// tx writes m in its canonical form, or without witness.
func (w *writer) tx(m *modelTx, witness bool) {
	witness = witness && m.hasWitness()
	w.u32(m.version)
	if witness {
		w.Write([]byte{0, 1})
	}
	w.body(m)
	if witness {
		w.stacks(m)
	}
	w.u32(m.lockTime)
}

func (w *writer) body(m *modelTx) {
	w.Write(w.size("inputs", len(m.ins)))
	for _, in := range m.ins {
		w.Write(in.txid[:])
		w.u32(in.vout)
		w.run("input script", in.script)
		w.u32(in.sequence)
	}
	w.Write(w.size("outputs", len(m.outs)))
	for _, out := range m.outs {
		_ = binary.Write(w, binary.LittleEndian, out.value)
		w.run("output script", out.script)
	}
}

func (w *writer) stacks(m *modelTx) {
	for _, in := range m.ins {
		w.Write(w.size("stack", len(in.stack)))
		for _, item := range in.stack {
			w.run("item", item)
		}
	}
}

func (w *writer) block(m *modelBlock, witness bool) {
	w.Write(m.header[:])
	w.Write(w.size("transactions", len(m.txs)))
	for i := range m.txs {
		w.tx(&m.txs[i], witness)
	}
}

// smallBlock is a segwit block of three transactions, one of them legacy, with every kind of field in it.
func smallBlock() *modelBlock {
	m := &modelBlock{txs: []modelTx{
		{
			version: 1, lockTime: 7,
			ins: []modelIn{{
				vout: ^uint32(0), script: []byte{2, 3, 4}, sequence: 5, stack: [][]byte{make([]byte, 32)},
			}},
			outs: []modelOut{{value: 50e8, script: []byte{0x51}}, {value: 0, script: []byte{0x6a, 1, 9}}},
		},
		{
			version: 2, lockTime: 8,
			ins:  []modelIn{{txid: [32]byte{1, 2, 3}, vout: 4, script: []byte{5}, sequence: 6}},
			outs: []modelOut{{value: 1, script: []byte{0x52, 0x53}}},
		},
		{
			version: 2,
			ins: []modelIn{
				{txid: [32]byte{7}, script: nil, sequence: 9, stack: [][]byte{{1, 2}, {}, {3}}},
				{txid: [32]byte{8}, script: []byte{1}, sequence: 10},
			},
			outs: []modelOut{{value: 2, script: nil}},
		},
	}}
	for i := range m.header {
		m.header[i] = byte(i)
	}
	return m
}

func encode(m *modelBlock, witness bool) []byte {
	w := newWriter()
	w.block(m, witness)
	return w.Bytes()
}

// drawBytes draws lengths around the borders of the CompactSize forms, and those of keys and signatures, more often
// than chance would.
func drawBytes(t *rapid.T, label string) []byte {
	n := rapid.OneOf(rapid.IntRange(0, 80), rapid.SampledFrom([]int{
		0, 1, 33, 33, 33, 72, 252, 253, 254, 255, 256, 520})).Draw(t, label)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + n)
	}
	return b
}

func drawBlock(t *rapid.T) *modelBlock {
	m := new(modelBlock)
	copy(m.header[:], rapid.SliceOfN(rapid.Byte(), 80, 80).Draw(t, "header"))
	m.txs = make([]modelTx, rapid.IntRange(0, 6).Draw(t, "txs"))
	for i := range m.txs {
		m.txs[i] = drawTx(t)
	}
	return m
}

func drawTx(t *rapid.T) modelTx {
	m := modelTx{version: rapid.Uint32().Draw(t, "version"), lockTime: rapid.Uint32().Draw(t, "lock time")}
	ins := rapid.SampledFrom([]int{0, 1, 1, 2, 3, 260}).Draw(t, "ins")
	if ins == 0 {
		return m // without inputs, outputs have no encoding
	}
	witness := rapid.Bool().Draw(t, "witness")
	for range ins {
		in := modelIn{vout: rapid.Uint32().Draw(t, "vout"), sequence: rapid.Uint32().Draw(t, "sequence")}
		copy(in.txid[:], drawBytes(t, "txid"))
		if ins < 10 {
			in.script = drawBytes(t, "script")
		}
		if witness {
			for range rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "items") {
				in.stack = append(in.stack, drawBytes(t, "item"))
			}
		}
		m.ins = append(m.ins, in)
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "outs") {
		m.outs = append(m.outs, modelOut{rapid.Int64().Draw(t, "value"), drawBytes(t, "script")})
	}
	return m
}

// matchTx fails where transaction tx of b differs from the model in any field.
func matchTx(t failer, b *chain.Block, tx int, m *modelTx) {
	t.Helper()
	have := &b.Txs[tx]
	if have.Version != m.version || have.LockTime != m.lockTime || have.Witness != m.hasWitness() ||
		int(have.Ins) != len(m.ins) || int(have.Outs) != len(m.outs) {
		t.Fatalf("tx %d is %+v, want version %d, lock time %d, %d inputs, %d outputs, witness %v",
			tx, *have, m.version, m.lockTime, len(m.ins), len(m.outs), m.hasWitness())
	}
	for i := range m.ins {
		in, want := &b.Ins[int(have.FirstIn)+i], &m.ins[i]
		txid, vout := b.Outpoint(int(have.FirstIn) + i)
		if *txid != chain.Hash(want.txid) || vout != want.vout || in.Sequence != want.sequence ||
			!bytes.Equal(b.Bytes(in.Script), want.script) || int(in.Items) != len(want.stack) {
			t.Fatalf("tx %d input %d differs: %+v", tx, i, *in)
		}
		for j, item := range want.stack {
			if !bytes.Equal(b.Bytes(b.Items[int(in.FirstItem)+j]), item) {
				t.Fatalf("tx %d input %d witness item %d differs", tx, i, j)
			}
		}
	}
	for i := range m.outs {
		out, want := &b.Outs[int(have.FirstOut)+i], &m.outs[i]
		if out.Value != want.value || !bytes.Equal(b.Bytes(out.Script), want.script) {
			t.Fatalf("tx %d output %d is %d %x, want %d %x",
				tx, i, out.Value, b.Bytes(out.Script), want.value, want.script)
		}
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
