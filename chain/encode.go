package chain

import "encoding/binary"

// AppendTx encodes transaction tx out of its parsed fields; no run of Raw is copied but outpoints, scripts and witness
// items, so that equality with Raw proves the parse. Without witness it is what the txid commits to.
func (b *Block) AppendTx(dst []byte, tx int, witness bool) []byte {
	t := &b.Txs[tx]
	witness = witness && t.Witness
	dst = binary.LittleEndian.AppendUint32(dst, t.Version)
	if witness {
		dst = append(dst, 0, 1)
	}
	ins := b.Ins[t.FirstIn:][:t.Ins]
	dst = AppendCompactSize(dst, uint64(len(ins)))
	for i := range ins {
		dst = append(dst, b.Raw[ins[i].Prevout:][:outpointSize]...)
		dst = b.appendRun(dst, ins[i].Script)
		dst = binary.LittleEndian.AppendUint32(dst, ins[i].Sequence)
	}
	outs := b.Outs[t.FirstOut:][:t.Outs]
	dst = AppendCompactSize(dst, uint64(len(outs)))
	for i := range outs {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(outs[i].Value))
		dst = b.appendRun(dst, outs[i].Script)
	}
	if witness {
		for i := range ins {
			dst = AppendCompactSize(dst, uint64(ins[i].Items))
			for _, item := range b.Items[ins[i].FirstItem:][:ins[i].Items] {
				dst = b.appendRun(dst, item)
			}
		}
	}
	return binary.LittleEndian.AppendUint32(dst, t.LockTime)
}

// appendRun appends the bytes of s behind their length.
func (b *Block) appendRun(dst []byte, s Span) []byte {
	return append(AppendCompactSize(dst, uint64(s.Len)), b.Bytes(s)...)
}

// Append encodes the whole block, header first, as AppendTx does its transactions.
func (b *Block) Append(dst []byte) []byte {
	dst = b.Header.Append(dst)
	dst = AppendCompactSize(dst, uint64(len(b.Txs)))
	for i := range b.Txs {
		dst = b.AppendTx(dst, i, true)
	}
	return dst
}
