package validate

import (
	"fmt"

	"stele/chain"
)

// maxSigOpsCost bounds a block's signature operations; a legacy one costs 4 (BIP141, Core: MAX_BLOCK_SIGOPS_COST).
const maxSigOpsCost = 80_000

// Scratch is what Check and Accept keep from one block to the next: 32 bytes a transaction, and 8 to 16 bytes an input
// of the largest transaction if that has more than pairwise inputs; and what Signet keeps. The zero Scratch is ready.
// It serves one call at a time.
type Scratch struct {
	level []chain.Hash // a copy of the txids or wtxids, eaten by the merkle root
	slots []uint32     // see repeatedByHash

	signet signetScratch // on signets: a copy of the coinbase, and of its solution twice
}

// Check judges b by itself, without its place in the chain (Core: CheckBlock, after the header). txids are those of
// its transactions, in order. No rule here differs between networks.
//
// The merkle root comes first, so that all other rules speak of a body that its header commits to, but for mutations.
// Nothing that fails condemns the header. Passing allocates nothing once scratch has grown to the largest block.
func Check(_ *chain.Params, b *chain.Block, txids []chain.Hash, scratch *Scratch) Verdict {
	if v := checkMerkle(b, txids, scratch); !v.OK() {
		return v
	}
	if v := checkShape(b); !v.OK() {
		return v
	}
	for tx := range b.Txs {
		if v := CheckTx(b, tx, scratch); !v.OK() {
			v.Detail = fmt.Sprintf("Transaction check failed (tx hash %v)", txids[tx])
			return v
		}
	}
	if chain.WitnessScale*blockSigOps(b) > maxSigOpsCost {
		return refuse(ReasonSigOps, "out-of-bounds SigOpCount")
	}
	return valid
}

// Weight judges the whole size of b, witnesses included (BIP141), where nothing vouches for the witnesses: anybody can
// make one heavier, so this verdict leaves the header alone. Accept asks the same after it found the witness commitment
// to match, as Core does, and condemns.
//
// A body that this rule passes has at most 4,000,000 bytes, which is what the archive's offsets inside a block are
// made for.
func Weight(b *chain.Block) Verdict {
	if b.Weight() > chain.MaxBlockWeight {
		return refuse(ReasonWeight, "weight limit failed")
	}
	return valid
}

// checkMerkle ties the transactions to the header.
func checkMerkle(b *chain.Block, txids []chain.Hash, scratch *Scratch) Verdict {
	scratch.level = append(scratch.level[:0], txids...)
	root, mutated := chain.MerkleRoot(scratch.level)
	if len(txids) != len(b.Txs) || root != b.Header.Merkle {
		return refuse(ReasonMerkleRoot, "hashMerkleRoot mismatch")
	}
	if mutated {
		return refuse(ReasonDuplicateTx, "duplicate transaction")
	}
	return valid
}

// checkShape judges the sizes, and that the first transaction is the only coinbase. The count of transactions is
// bounded as if each had one byte, as Core does; their real sizes, of 10 bytes at least, bound it further.
func checkShape(b *chain.Block) Verdict {
	const most = chain.MaxBlockWeight / chain.WitnessScale
	if len(b.Txs) == 0 || len(b.Txs) > most || b.StrippedSize() > most {
		return refuse(ReasonBlockLength, "size limits failed")
	}
	if !b.Coinbase(0) {
		return refuse(ReasonCoinbaseMissing, "first tx is not coinbase")
	}
	for tx := 1; tx < len(b.Txs); tx++ {
		if b.Coinbase(tx) {
			v := refuse(ReasonCoinbaseMultiple, "more than one coinbase")
			v.Tx = tx
			return v
		}
	}
	return valid
}
