package validate

import (
	"bytes"

	"stele/chain"
)

const (
	// lockTimeThreshold parts lock times that are heights from those that are Unix seconds (Core: LOCKTIME_THRESHOLD).
	lockTimeThreshold = 500_000_000

	finalSequence = 0xffff_ffff // of an input that does not mind its transaction's lock time
	nonceSize     = 32          // bytes of the witness reserved value (BIP141)
)

// Accept judges b at its place, by the headers below it alone (Core: ContextualCheckBlock, in its order). txids are
// those of its transactions, in order; b has passed Check.
//
// Witnesses are in no txid, so anybody can change or grow them without changing the block's hash: a witness that does
// not fit its commitment leaves the header alone, and the weight is asked only of witnesses that do fit. What else
// fails condemns. Passing allocates nothing once scratch has grown to the largest block; the witness tree hashes
// each transaction with a witness once, and takes the txid of all others.
func Accept(pl *Place, b *chain.Block, txids []chain.Hash, scratch *Scratch) Verdict {
	clock := pl.clock()
	for tx := range b.Txs {
		if !Final(b, tx, pl.Height, clock) {
			return condemnTx(ReasonNonFinal, "non-final transaction", tx, none)
		}
	}
	if pl.Deployments.Has(BIP34) && !namesHeight(b, pl.Height) {
		return condemnTx(ReasonCoinbaseHeight, "block height mismatch in coinbase", 0, 0)
	}
	if v := checkWitness(pl, b, txids, scratch); !v.OK() {
		return v
	}
	if b.Weight() > chain.MaxBlockWeight {
		return condemn(ReasonWeight, "ContextualCheckBlock : weight limit failed")
	}
	return valid
}

// Final tells whether transaction tx of b may be in a block of that height and clock (Core: IsFinalTx): its lock time
// is zero or below its measure, or no input minds it. clock is the parent's median time past since BIP113, before
// that the block's time.
func Final(b *chain.Block, tx int, height, clock uint32) bool {
	t := &b.Txs[tx]
	measure := clock
	if t.LockTime < lockTimeThreshold {
		measure = height
	}
	if t.LockTime == 0 || t.LockTime < measure {
		return true
	}
	ins := b.Ins[t.FirstIn:][:t.Ins]
	for i := range ins {
		if ins[i].Sequence != finalSequence {
			return false
		}
	}
	return true
}

// namesHeight tells whether the coinbase's script begins with height as BIP34 wants it, byte for byte: one opcode up
// to 16, and the shortest push of a script number above. What follows is free.
func namesHeight(b *chain.Block, height uint32) bool {
	if len(b.Txs) == 0 || b.Txs[0].Ins == 0 {
		return false
	}
	var push [6]byte
	return bytes.HasPrefix(b.Bytes(b.Ins[b.Txs[0].FirstIn].Script), appendHeight(push[:0], height))
}

// appendHeight appends the opcode or the push that stands for height in a script (Core: CScript << int64):
//
//	0          | 00 |                          OP_0
//	1 .. 16    | 50 + height |                 OP_1 .. OP_16
//	above      | n | n bytes, little-endian |  the fewest whose top bit, the sign, is clear
func appendHeight(dst []byte, height uint32) []byte {
	const opReserved = 0x50 // one below OP_1
	switch {
	case height == 0:
		return append(dst, 0)
	case height <= 16:
		return append(dst, opReserved+byte(height))
	}
	at := len(dst)
	dst = append(dst, 0)
	for rest := uint64(height); rest > 0; rest >>= 8 {
		dst = append(dst, byte(rest))
	}
	if dst[len(dst)-1]&0x80 != 0 {
		dst = append(dst, 0)
	}
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// checkWitness judges the witnesses of b by their commitment, where segwit holds and there is one; else there must be
// none at all (Core: CheckWitnessMalleation).
func checkWitness(pl *Place, b *chain.Block, txids []chain.Hash, scratch *Scratch) Verdict {
	if pl.Deployments.Has(Segwit) {
		if out := commitment(b); out != none {
			return checkCommitment(b, out, txids, scratch)
		}
	}
	for tx := range b.Txs {
		if b.Txs[tx].Witness {
			v := refuse(ReasonUnexpectedWitness, "CheckWitnessMalleation : unexpected witness data found")
			v.Tx = tx
			return v
		}
	}
	return valid
}

// commitment is the index, in b.Outs, of the output that commits to the witnesses: the coinbase's last whose script
// begins as below and has 38 bytes or more (BIP141); none where no output does.
//
//	 0    1    2             6          38
//	+----+----+-------------+----------+-----
//	| 6a | 24 | aa 21 a9 ed | hash     | free
//	+----+----+-------------+----------+-----
func commitment(b *chain.Block) int {
	if len(b.Txs) == 0 {
		return none
	}
	t := &b.Txs[0]
	for out := int(t.FirstOut+t.Outs) - 1; out >= int(t.FirstOut); out-- {
		script := b.Bytes(b.Outs[out].Script)
		if len(script) >= commitmentSize && [commitmentAt]byte(script) == commitmentHead {
			return out
		}
	}
	return none
}

const (
	commitmentAt   = 6 // offset of the hash in the commitment's script
	commitmentSize = commitmentAt + chain.HashSize
)

var commitmentHead = [commitmentAt]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}

// checkCommitment compares the hash in output out with the root of the wtxids, the coinbase's taken as zero, and the
// only item of the coinbase's witness. A mutation of this tree would be one of the tree of txids, so none is looked
// for here.
func checkCommitment(b *chain.Block, out int, txids []chain.Hash, scratch *Scratch) Verdict {
	t := &b.Txs[0]
	if t.Ins == 0 || b.Ins[t.FirstIn].Items != 1 || b.Items[b.Ins[t.FirstIn].FirstItem].Len != nonceSize {
		v := refuse(ReasonNonceSize, "CheckWitnessMalleation : invalid witness reserved value size")
		v.Tx = 0
		return v
	}
	level := append(scratch.level[:0], txids...)
	scratch.level = level
	mismatch := refuse(ReasonWitnessMismatch, "CheckWitnessMalleation : witness merkle commitment mismatch")
	if len(level) != len(b.Txs) {
		return mismatch
	}
	level[0] = chain.Hash{}
	for tx := 1; tx < len(b.Txs); tx++ {
		if t := &b.Txs[tx]; t.Witness {
			level[tx] = chain.DoubleSHA256(b.Raw[t.Off:t.End])
		}
	}
	root, _ := chain.MerkleRoot(level)
	var both [chain.HashSize + nonceSize]byte
	copy(both[:], root[:])
	copy(both[chain.HashSize:], b.Bytes(b.Items[b.Ins[t.FirstIn].FirstItem]))
	if chain.DoubleSHA256(both[:]) != chain.Hash(b.Bytes(b.Outs[out].Script)[commitmentAt:commitmentSize]) {
		return mismatch
	}
	return valid
}
