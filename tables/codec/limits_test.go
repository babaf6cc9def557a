package codec

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// Widths, in bits, of where a transaction starts in its block, as the tx row keeps it.
const (
	bitsOuts, bitsIns         = 17, 15
	bitsOutBytes, bitsInBytes = 21, 22
	smallestTx                = 4 + 1 + 41 + 1 + 9 + 4
)

// wireTx appends a transaction of inputs and outputs that are all alike.
func wireTx(dst []byte, ins, outs int, script, stack, outScript []byte, value int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 1<<30) // no short code
	if stack != nil {
		dst = append(dst, 0, 1)
	}
	dst = chain.AppendCompactSize(dst, uint64(ins))
	for range ins {
		dst = append(dst, make([]byte, 36)...)
		dst = chain.AppendCompactSize(dst, uint64(len(script)))
		dst = append(dst, script...)
		dst = binary.LittleEndian.AppendUint32(dst, 7)
	}
	dst = chain.AppendCompactSize(dst, uint64(outs))
	for range outs {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(value))
		dst = chain.AppendCompactSize(dst, uint64(len(outScript)))
		dst = append(dst, outScript...)
	}
	for range ins {
		dst = append(dst, stack...)
	}
	return binary.LittleEndian.AppendUint32(dst, 1<<31)
}

// extreme is a block made of one transaction, repeated as often as the weight limit allows.
type extreme struct {
	name                     string
	ins, outs                int
	script, stack, outScript []byte
	value                    int64
}

// fill returns the whole block.
func (e *extreme) fill() []byte {
	tx := wireTx(nil, e.ins, e.outs, e.script, e.stack, e.outScript, e.value)
	base := len(wireTx(nil, e.ins, e.outs, e.script, nil, e.outScript, e.value))
	weight := 3*base + len(tx)
	const head = (chain.HeaderSize + 5) * chain.WitnessScale
	count := (chain.MaxBlockWeight - head) / weight
	raw := chain.AppendCompactSize(make([]byte, chain.HeaderSize), uint64(count))
	return append(raw, bytes.Repeat(tx, count)...)
}

// holds encodes a block and wants every offset to fit its bits, and the slabs to stay within the wire's bytes and one
// more for each head, input and output.
func (e *extreme) holds(t rapid.TB) (outs, ins, outBytes, inBytes int) {
	var b chain.Block
	if err := b.Decode(e.fill()); err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	if b.Weight() > chain.MaxBlockWeight || b.Weight() < chain.MaxBlockWeight*3/4 {
		t.Fatalf("%s: weight %d", e.name, b.Weight())
	}
	var run []byte
	for i := range b.Txs {
		tx := &b.Txs[i]
		inBytes += len(AppendHead(run[:0], Head{Version: tx.Version, LockTime: tx.LockTime, Witness: tx.Witness}))
	}
	outWire, inWire := 0, 0
	for _, o := range b.Outs {
		run = AppendOutput(run[:0], o.Value, b.Bytes(o.Script))
		outBytes += len(run)
		outWire += 8 + chain.CompactSizeLen(uint64(o.Script.Len)) + int(o.Script.Len)
	}
	eachInput(&b, func(tx *chain.Tx, in *chain.In, script, witness []byte) {
		run = AppendInput(run[:0], in.Sequence, script, witness)
		inBytes += len(run)
		inWire += wireIn + chain.CompactSizeLen(uint64(len(script))) + len(script) + len(witness)
	})
	if outs, ins = len(b.Outs), len(b.Ins); outs >= 1<<bitsOuts || ins >= 1<<bitsIns ||
		outBytes >= 1<<bitsOutBytes || inBytes >= 1<<bitsInBytes {
		t.Fatalf("%s: %d outputs in %d bytes, %d inputs in %d bytes", e.name, outs, outBytes, ins, inBytes)
	}
	if outBytes > outWire+outs || inBytes > inWire+ins+9*len(b.Txs) {
		t.Fatalf("%s: output slab %d for %d, input slab %d for %d", e.name, outBytes, outWire, inBytes, inWire)
	}
	return outs, ins, outBytes, inBytes
}

// TestLargestBlocks fills blocks to the weight limit with the smallest and the least compressible parts that consensus
// allows, and wants the in-block offsets of tx rows to hold. The counts are computed from the wire's smallest sizes.
func TestLargestBlocks(t *testing.T) {
	big := bytes.Repeat([]byte{0x61}, 9_999)
	for _, e := range []extreme{
		{name: "outputs of 9 bytes", ins: 1, outs: 111_000, value: -1},
		{name: "outputs of 9 bytes, 6 kept", ins: 1, outs: 111_000, value: 1<<47 + 1},
		{name: "data carriers", ins: 1, outs: 90_000, outScript: []byte{0x6a, 0}, value: 1 << 50},
		{name: "carriers of 252 bytes", ins: 1, outs: 3_800, outScript: append([]byte{0x6a}, big[:251]...), value: 1 << 50},
		{name: "large outputs", ins: 1, outs: 99, outScript: big, value: -1},
		{name: "inputs of 41 bytes", ins: 24_000, outs: 1},
		{name: "large scripts", ins: 99, outs: 1, script: big},
		{name: "one stack", ins: 1, outs: 1, stack: stackOf([][]byte{make([]byte, 3_990_000)})},
		{name: "empty items", ins: 1, outs: 1, stack: stackOf(make([][]byte, 3_990_000))},
		{name: "items of 251 bytes", ins: 1, outs: 1, stack: stackOf(repeat(make([]byte, 251), 15_000))},
		{name: "items of 252 bytes", ins: 1, outs: 1, stack: stackOf(repeat(make([]byte, 252), 15_000))},
		{name: "short signatures", ins: 9_000, outs: 1, script: unhexText("09 30 06 02 01 01 02 01 01 01" + "21 02" + x)},
		{name: "smallest transactions", ins: 1, outs: 1, value: -1},
		{name: "transactions with a stack", ins: 1, outs: 1, stack: []byte{1, 0}, value: -1},
		{name: "no outputs", ins: 1, outs: 0},
	} {
		outs, ins, outBytes, inBytes := e.holds(t)
		t.Logf("%-28s %7d outputs in %8d bytes, %6d inputs in %8d bytes", e.name, outs, outBytes, ins, inBytes)
	}
	// No block holds more than these, whatever its transactions.
	const base = chain.MaxBlockWeight / chain.WitnessScale
	if base/9 >= 1<<bitsOuts || base/41 >= 1<<bitsIns || base+base/9 >= 1<<bitsOutBytes ||
		chain.MaxBlockWeight+base/smallestTx >= 1<<bitsInBytes {
		t.Error("the limits of a block's parts do not fit their bits")
	}
}

func repeat(item []byte, n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = item
	}
	return all
}

// TestDrawnBlocks does the same for full blocks of one drawn transaction.
func TestDrawnBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, rapid.Bool().Draw(t, "witness"))
		e := extreme{
			name: "drawn",
			ins:  rapid.SampledFrom([]int{1, 2, 3, 300}).Draw(t, "ins"), script: in.script, stack: in.witness,
			outs: rapid.SampledFrom([]int{0, 1, 2, 300}).Draw(t, "outs"), outScript: drawScript(t), value: drawValue(t),
		}
		if len(e.stack) == 1 {
			e.stack = nil // BIP144: a transaction without items has no stacks
		}
		if 4*len(wireTx(nil, e.ins, e.outs, e.script, e.stack, e.outScript, 0)) > chain.MaxBlockWeight/4 {
			e.ins, e.outs = 1, 1
		}
		e.holds(t)
	})
}
