package script

import (
	"bytes"
	"crypto/sha256"

	"stele/chain"
)

// Forms of taproot's witness (BIP341).
const (
	annexTag      = 0x50
	leafMask      = 0xfe
	leafTapscript = 0xc0
	controlBase   = 33 // leaf version and parity, internal key
	controlNode   = 32
	controlNodes  = 128
)

var (
	leafPrefix   = tagPrefix("TapLeaf")
	branchPrefix = tagPrefix("TapBranch")
	tweakPrefix  = tagPrefix("TapTweak")
)

// taproot spends an output whose key is output: with a signature of that key, or with a script that it commits to.
//
//	key path     | signature | annex? |
//	script path  | elements of the script | script | control block | annex? |
func (e *Engine) taproot(output *[32]byte) Error {
	n := int(e.input.Items)
	if n == 0 {
		return WitnessEmpty
	}
	e.tap.script, e.tap.annex = false, false
	if n >= 2 {
		if last := e.item(n - 1); len(last) > 0 && last[0] == annexTag {
			e.setAnnex(last)
			n--
		}
	}
	if n == 1 {
		return e.checkSchnorr(e.item(0), output[:])
	}
	script, control := e.item(n-2), e.item(n-1)
	nodes := len(control) - controlBase
	if nodes < 0 || nodes > controlNodes*controlNode || nodes%controlNode != 0 {
		return TaprootControlSize
	}
	version := control[0] & leafMask
	e.setLeaf(version, script)
	if !e.committed(output, control) {
		return WitnessMismatch
	}
	if version == leafTapscript {
		e.tap.script = true
		e.budget = int64(e.witnessSize()) + sigWeight
		return e.runWitness(script, n-2, tapscript)
	}
	if e.flags.Has(DiscourageTaprootVersion) {
		return DiscouragedTaprootVersion
	}
	return OK
}

func (e *Engine) setAnnex(annex []byte) {
	e.tap.annex = true
	e.sha.Reset()
	e.sha.Write(chain.AppendCompactSize(e.prefix[:0], uint64(len(annex))))
	e.sha.Write(annex)
	e.sha.Sum(e.tap.annexHash[:0])
}

func (e *Engine) setLeaf(version byte, script []byte) {
	e.sha.Reset()
	e.sha.Write(leafPrefix[:])
	e.sha.Write(chain.AppendCompactSize(append(e.prefix[:0], version), uint64(len(script))))
	e.sha.Write(script)
	e.sha.Sum(e.tap.leaf[:0])
}

// committed tells whether the control block leads from the leaf to the output's key: each pair of nodes is hashed
// smaller one first, and the root tweaks the internal key. For every leaf version.
func (e *Engine) committed(output *[32]byte, control []byte) bool {
	internal := (*[32]byte)(control[1:])
	node := e.tap.leaf
	copy(e.pair[:], branchPrefix[:])
	for path := control[controlBase:]; len(path) > 0; path = path[controlNode:] {
		low, high := node[:], path[:controlNode]
		if bytes.Compare(low, high) > 0 {
			low, high = high, low
		}
		copy(e.pair[64:], low)
		copy(e.pair[96:], high)
		node = sha256.Sum256(e.pair[:])
	}
	copy(e.pair[:], tweakPrefix[:])
	copy(e.pair[64:], internal[:])
	copy(e.pair[96:], node[:])
	e.sum = sha256.Sum256(e.pair[:])
	return e.tweaked(output, internal, &e.sum, control[0]&1 == 1)
}
