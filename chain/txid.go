package chain

// Txids gives the txid of every transaction, appended to dst[:0]: the hash of its encoding without witness. A legacy
// transaction is hashed where it lies in Raw; of one with a witness, the three runs around it are first put side by
// side in a scratch buffer, as one Sum256 over contiguous bytes is cheaper than a digest fed in parts. With a dst
// that is large enough nothing is allocated.
func (b *Block) Txids(dst []Hash) []Hash {
	dst = dst[:0]
	for i := range b.Txs {
		t := &b.Txs[i]
		if !t.Witness {
			dst = append(dst, DoubleSHA256(b.Raw[t.Off:t.End]))
			continue
		}
		const version, lockTime = 4, 4
		b.scratch = append(b.scratch[:0], b.Raw[t.Off:t.Off+version]...)
		b.scratch = append(b.scratch, b.Raw[t.Body:t.Wit]...)
		b.scratch = append(b.scratch, b.Raw[t.End-lockTime:t.End]...)
		dst = append(dst, DoubleSHA256(b.scratch))
	}
	return dst
}

// Wtxids gives the hash of every whole transaction (BIP141), appended to dst[:0]. The coinbase's is its real one; the
// zero that stands for it under the witness commitment is the business of whoever computes that root.
func (b *Block) Wtxids(dst []Hash) []Hash {
	dst = dst[:0]
	for i := range b.Txs {
		t := &b.Txs[i]
		dst = append(dst, DoubleSHA256(b.Raw[t.Off:t.End]))
	}
	return dst
}
