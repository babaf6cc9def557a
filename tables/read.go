package tables

import (
	"encoding/binary"
	"fmt"

	"stele/chain"
	"stele/tables/codec"
)

// Tx is where one archived transaction stands and what it owns.
type Tx struct {
	Link     TxLink
	Txid     chain.Hash
	Header   HeaderLink
	Position uint32 // in its block
	Strong   bool   // its block is in the view's chain
	Coinbase bool
	FirstIn  InputLink
	Ins      uint32
	FirstOut OutputLink
	Outs     uint32
}

// Tx returns transaction l. Cost: its block's interval and row, its own row and the start of the next.
func (v *View) Tx(l TxLink) Tx {
	s := v.blockOfTx(l)
	b := v.t.block(s)
	return v.txIn(l, s, &b, v.t.span(&b, l))
}

// txIn is Tx for a transaction whose block and span are at hand.
func (v *View) txIn(l TxLink, s TxsLink, b *Block, span txSpan) Tx {
	p := v.place[s]
	return Tx{
		Link: l, Txid: *v.t.txid(l), Header: b.Header,
		Position: uint32(l - b.FirstTx),
		Strong:   v.chain.has(p.header, p.height),
		Coinbase: l == b.FirstTx,
		FirstIn:  b.FirstIn + InputLink(span.start.ins), Ins: sub(span.end.ins, span.start.ins, b.Ins),
		FirstOut: b.FirstOut + OutputLink(span.start.outs), Outs: sub(span.end.outs, span.start.outs, b.Outs),
	}
}

// sub returns the length of an interval in a block, zero for one that a damaged row makes impossible.
func sub(end, start, total uint32) uint32 {
	if end < start || end > total {
		return 0
	}
	return end - start
}

// Txid returns the txid of row l, as a view of the table.
func (v *View) Txid(l TxLink) *chain.Hash { return v.t.txid(l) }

// Prevout returns the output that input i spends; false for a coinbase input.
func (v *View) Prevout(i InputLink) (OutputLink, bool) {
	o := uint40(v.t.ins.At(int64(i)*insWidth, insWidth))
	return OutputLink(o - 1), o != 0
}

// OutputTx returns the transaction that owns output o, and the index of o in it. Cost: two samples, which lie side by
// side, the interval of a block, and tx rows around where o would be if the outputs between the samples were spread
// evenly: a few neighbours, where halving would read five rows in as many places.
func (v *View) OutputTx(o OutputLink) (TxLink, uint32) {
	k := int64(o) / outTxEvery
	from := v.sample(k)
	b := v.t.block(v.blockFrom(TxLink(from), o))
	want := uint32(o - b.FirstOut)
	lo, hi := uint32(b.FirstTx), uint32(b.FirstTx)+b.Txs
	last := hi - 1
	// A sample may belong to a block before or after this one: it narrows the search, and never leads out of the block.
	lo = min(max(lo, from), last)
	if k+1 < samples(v.cut.Outs) {
		hi = max(min(hi, v.sample(k+1)+1), lo+1)
	}
	l := lo + (hi-lo)*uint32(o%outTxEvery)/outTxEvery
	at := v.firstOutput(l)
	for l > lo && at > want {
		l--
		at = v.firstOutput(l)
	}
	for l+1 < hi {
		next := v.firstOutput(l + 1)
		if next > want {
			break
		}
		l, at = l+1, next
	}
	return TxLink(l), want - at
}

// blockFrom is blockOfOutput for an output that belongs to transaction l's block, as its sample says, or to one of the
// few after it.
func (v *View) blockFrom(l TxLink, o OutputLink) TxsLink {
	s := v.blockOfTx(l)
	for range fewBlocks {
		switch {
		case v.firstOut[s] > o:
			return v.blockOfOutput(o)
		case int(s)+1 == len(v.firstOut) || v.firstOut[s+1] > o:
			return s
		}
		s++
	}
	return v.blockOfOutput(o)
}

// sample returns the transaction that owns output number 64 k.
func (v *View) sample(k int64) uint32 {
	return binary.LittleEndian.Uint32(v.t.outTx.At(k*outTxWidth, outTxWidth)) - 1
}

// firstOutput returns the offset, from its block's first output, of the first output of a transaction.
func (v *View) firstOutput(l uint32) uint32 {
	return getTxOffset(v.t.tx.At(int64(l)*txWidth+txOffsets, txWidth-txOffsets)).outs
}

// Output returns an output's amount and its script, appended to script[:0].
func (v *View) Output(o OutputLink, script []byte) (value int64, s []byte, err error) {
	l, index := v.OutputTx(o)
	var buf codec.ScriptBuffer
	out, err := v.output(l, index, &buf)
	return out.Value, append(script[:0], out.Script...), err
}

// Coin returns output index of transaction l as validation sees it. Its script is appended to dst and is a view of what
// is returned.
func (v *View) Coin(l TxLink, index uint32, dst []byte) (c chain.Coin, scripts []byte, err error) {
	var buf codec.ScriptBuffer
	o, err := v.output(l, index, &buf)
	if err != nil {
		return chain.Coin{}, dst, err
	}
	at := len(dst)
	dst = append(dst, o.Script...)
	s := v.blockOfTx(l)
	return chain.Coin{
		Value: o.Value, Script: dst[at:len(dst):len(dst)], Height: v.place[s].height, Coinbase: uint32(l) == v.firstTx[s],
	}, dst, nil
}

// output decodes one output of a transaction; its script is a view of the slab or of buf.
func (v *View) output(l TxLink, index uint32, buf *codec.ScriptBuffer) (codec.Output, error) {
	b := v.t.block(v.blockOfTx(l))
	run, ok := v.t.outputRun(&b, v.t.span(&b, l))
	for ; ok && index > 0; index-- {
		var n int
		if n, ok = codec.SkipOutput(run); ok {
			run = run[n:]
		}
	}
	if ok {
		var o codec.Output
		if o, _, ok = codec.DecodeOutput(run, buf); ok {
			return o, nil
		}
	}
	return codec.Output{}, damage(outputName, fmt.Sprintf("an output of transaction %v does not decode", v.t.txid(l)))
}

// AppendTx appends the wire bytes of transaction l, rebuilt from its rows; without witness they are what the txid
// hashes. A transaction that has none is the same both ways.
func (v *View) AppendTx(dst []byte, l TxLink, witness bool) ([]byte, error) {
	b := v.t.block(v.blockOfTx(l))
	return v.appendTx(dst, &b, l, witness)
}

func (v *View) appendTx(dst []byte, b *Block, l TxLink, witness bool) ([]byte, error) {
	span := v.t.span(b, l)
	run, ok := v.t.inputRun(b, span)
	head, size, good := codec.DecodeHead(run)
	if !ok || !good {
		return dst, damage(inputName, fmt.Sprintf("the inputs of transaction %v do not decode", v.t.txid(l)))
	}
	run = run[size:]
	stacks := run // the second pass, over the witnesses, starts here
	dst = binary.LittleEndian.AppendUint32(dst, head.Version)
	if witness = witness && head.Witness; witness {
		dst = append(dst, 0, 1) // BIP144 marker and flag
	}
	ins := sub(span.end.ins, span.start.ins, b.Ins)
	dst = chain.AppendCompactSize(dst, uint64(ins))
	for i := range ins {
		dst = v.appendOutpoint(dst, b.FirstIn+InputLink(span.start.ins+i))
		var n int
		if dst, n, ok = codec.AppendWireInput(dst, run, head.Witness); !ok {
			return dst, damage(inputName, fmt.Sprintf("an input of transaction %v does not decode", v.t.txid(l)))
		}
		run = run[n:]
	}
	dst, err := v.appendOutputs(dst, b, span, l)
	if err != nil {
		return dst, err
	}
	for i := uint32(0); witness && i < ins; i++ {
		var n int
		dst, n, _ = codec.AppendWireStack(dst, stacks)
		stacks = stacks[n:]
	}
	return binary.LittleEndian.AppendUint32(dst, head.LockTime), nil
}

// appendOutpoint appends the 36 bytes that name the output which input i spends.
func (v *View) appendOutpoint(dst []byte, i InputLink) []byte {
	o, ok := v.Prevout(i)
	if !ok || uint64(o) >= v.cut.Outs {
		dst = append(dst, make([]byte, 32)...)
		return binary.LittleEndian.AppendUint32(dst, ^uint32(0))
	}
	l, index := v.OutputTx(o)
	dst = append(dst, v.t.txid(l)[:]...)
	return binary.LittleEndian.AppendUint32(dst, index)
}

func (v *View) appendOutputs(dst []byte, b *Block, span txSpan, l TxLink) ([]byte, error) {
	outs := sub(span.end.outs, span.start.outs, b.Outs)
	run, ok := v.t.outputRun(b, span)
	dst = chain.AppendCompactSize(dst, uint64(outs))
	for i := uint32(0); ok && i < outs; i++ {
		var n int
		if dst, n, ok = codec.AppendWireOutput(dst, run); ok {
			run = run[n:]
		}
	}
	if !ok {
		return dst, damage(outputName, fmt.Sprintf("an output of transaction %v does not decode", v.t.txid(l)))
	}
	return dst, nil
}

// AppendBlock appends the wire bytes of the block of header l, rebuilt from its rows; false when it is not archived.
func (v *View) AppendBlock(dst []byte, l HeaderLink) ([]byte, bool, error) {
	return v.AppendBlockAs(dst, l, true)
}

// AppendBlockAs is AppendBlock with or without witnesses: without, as nodes that know none of them are served (BIP144).
func (v *View) AppendBlockAs(dst []byte, l HeaderLink, witness bool) ([]byte, bool, error) {
	b, ok := v.Block(l)
	if !ok {
		return dst, false, nil
	}
	v.t.willNeed(&b)
	h := v.WireHeader(l)
	dst = h.Append(dst)
	dst = chain.AppendCompactSize(dst, uint64(b.Txs))
	var err error
	for i := range b.Txs {
		if dst, err = v.appendTx(dst, &b, b.FirstTx+TxLink(i), witness); err != nil {
			return dst, true, err
		}
	}
	return dst, true, nil
}

// TxSize returns the wire size of transaction l with its witness, and its weight (BIP141), from its rows without
// copying them.
func (v *View) TxSize(l TxLink) (size, weight int, err error) {
	b := v.t.block(v.blockOfTx(l))
	span := v.t.span(&b, l)
	run, ok := v.t.inputRun(&b, span)
	head, n, good := codec.DecodeHead(run)
	ok = ok && good
	ins, outs := sub(span.end.ins, span.start.ins, b.Ins), sub(span.end.outs, span.start.outs, b.Outs)
	base := 4 + chain.CompactSizeLen(uint64(ins)) + 36*int(ins) + chain.CompactSizeLen(uint64(outs)) + 4
	extra := 0
	if ok {
		run = run[n:]
		if head.Witness {
			extra = 2
		}
	}
	for i := uint32(0); ok && i < ins; i++ {
		var script, stack int
		if script, stack, n, ok = codec.InputSize(run, head.Witness); ok {
			run = run[n:]
			base += 4 + chain.CompactSizeLen(uint64(script)) + script
			extra += stack
		}
	}
	if ok {
		run, ok = v.t.outputRun(&b, span)
	}
	for i := uint32(0); ok && i < outs; i++ {
		var wire int
		if wire, n, ok = codec.OutputSize(run); ok {
			run = run[n:]
			base += wire
		}
	}
	if !ok {
		return 0, 0, damage(inputName, fmt.Sprintf("the rows of transaction %v do not decode", v.t.txid(l)))
	}
	return base + extra, base*chain.WitnessScale + extra, nil
}
