package validate

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"stele/chain"
)

const (
	outpointSize = chain.HashSize + 4

	// pairwise is the largest number of inputs that are compared each with each. Nearly all transactions have no
	// more; see BenchmarkRepeatedInput for where hashing begins to win.
	pairwise = 16
)

// seed keys the hashes of outpoints. It is drawn at random, as the outpoints are an attacker's: they need not exist
// at all to get here. No result depends on it.
var seed = maphash.MakeSeed()

// repeatedInput is the index, in t, of the first input whose outpoint an earlier one of t has too; none where all
// differ.
func repeatedInput(b *chain.Block, t *chain.Tx, scratch *Scratch) int {
	ins := b.Ins[t.FirstIn:][:t.Ins]
	switch {
	case len(ins) < 2:
		return none
	case len(ins) <= pairwise:
		return repeatedByPairs(b.Raw, ins)
	}
	return repeatedByHash(b.Raw, ins, scratch)
}

// repeatedByPairs compares one word a pair, out of an array of two cache lines, and whole outpoints only where the
// words agree. Spends of one transaction agree in their txids; so the word holds the output's index, too.
func repeatedByPairs(raw []byte, ins []chain.In) int {
	var words [pairwise]uint64
	for i := range ins {
		point := outpointAt(raw, &ins[i])
		word := binary.LittleEndian.Uint64(point[:]) + uint64(binary.LittleEndian.Uint32(point[chain.HashSize:]))
		for j := range words[:i] {
			if words[j] == word && *outpointAt(raw, &ins[j]) == *point {
				return i
			}
		}
		words[i] = word
	}
	return none
}

// repeatedByHash puts the inputs one after the other into an open table, at most half full, of which a slot is 0 or
// the input's index plus one. Clearing it costs 8 to 16 bytes an input; a probe reads one slot, and another input's
// outpoint where the slot is taken. The keyed hash keeps runs short, whatever the outpoints are.
func repeatedByHash(raw []byte, ins []chain.In, scratch *Scratch) int {
	size := 1 << bits.Len(uint(2*len(ins)-1))
	if cap(scratch.slots) < size {
		scratch.slots = make([]uint32, size)
	}
	slots := scratch.slots[:size]
	clear(slots)
	mask := uint64(size - 1)
	for i := range ins {
		point := outpointAt(raw, &ins[i])
		at := maphash.Bytes(seed, point[:]) & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			if *outpointAt(raw, &ins[slots[at]-1]) == *point {
				return i
			}
		}
		slots[at] = uint32(i) + 1
	}
	return none
}

func outpointAt(raw []byte, in *chain.In) *[outpointSize]byte {
	return (*[outpointSize]byte)(raw[in.Prevout:])
}
