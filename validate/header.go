package validate

import (
	"fmt"

	"stele/chain"
)

const (
	maxFuture   = 2 * 60 * 60 // seconds that a header's time may be ahead of the clock (Core: MAX_FUTURE_BLOCK_TIME)
	maxTimewarp = 600         // seconds that a period's first header may be behind the one before (BIP94: MAX_TIMEWARP)
)

// Parent is what the rules ask of the header that is being built upon. Times are Unix seconds.
type Parent struct {
	Height uint32
	Time   uint32
	Bits   uint32
	MTP    uint32 // median time past: of the parent itself and the ten before it
}

// Ancestry answers for the branch that is being built upon, for any height from 0 to the parent's.
type Ancestry interface {
	At(height uint32) (time, bits uint32)
}

// Header judges h, whose hash is passed because the caller has it, as a child of parent. now is the time of day in
// Unix seconds. It is Core's CheckBlockHeader followed by ContextualCheckBlockHeader; whether the parent is known
// and not itself invalid, which Core asks between the two, is the caller's part. The genesis block has no parent
// and is not judged.
//
// Every reason condemns the header but time-too-new. A header without work should be refused before its parent is
// looked up: see ProofOfWork.
func Header(p *chain.Params, h *chain.Header, hash *chain.Hash, parent Parent, anc Ancestry, now int64) Verdict {
	if v := ProofOfWork(p, h.Bits, hash); !v.OK() {
		return v
	}
	return headerInContext(p, h, parent, anc, now)
}

// ProofOfWork tells whether bits name a target that is positive and no easier than the network's limit, and hash
// meets it. That needs no context, and a header that fails is worth nothing (Core: CheckProofOfWork). The only
// reason is high-hash.
func ProofOfWork(p *chain.Params, bits uint32, hash *chain.Hash) Verdict {
	target, negative, overflow := chain.CompactToTarget(bits)
	if negative || overflow || target.IsZero() || target.Cmp(p.PowLimit) > 0 || !chain.HashMeetsTarget(hash, target) {
		return condemn(ReasonHighHash, "proof of work failed")
	}
	return valid
}

// headerInContext judges everything but the proof of work. Times are compared as 64-bit numbers, so that no
// difference wraps; versions as signed ones, so that 0xe0000000 is below 2.
func headerInContext(p *chain.Params, h *chain.Header, parent Parent, anc Ancestry, now int64) Verdict {
	height := parent.Height + 1
	if h.Bits != NextBits(p, parent, anc, h.Time) {
		return condemn(ReasonBadDiffBits, "incorrect proof of work")
	}
	if h.Time <= parent.MTP {
		return condemn(ReasonTimeTooOld, "block's timestamp is too early")
	}
	if p.BIP94 && height%p.Interval() == 0 && int64(h.Time) < int64(parent.Time)-maxTimewarp {
		return condemn(ReasonTimewarp, "block's timestamp is too early on diff adjustment block")
	}
	if int64(h.Time) > now+maxFuture {
		return refuse(ReasonTimeTooNew, "block timestamp too far in the future")
	}
	if h.Version < versionFloor(p, height) {
		version := uint32(h.Version)
		return condemn(fmt.Sprintf(ReasonBadVersion+"(0x%08x)", version),
			fmt.Sprintf("rejected nVersion=0x%08x block", version))
	}
	return valid
}

// versionFloor is the least version that a header may have at height. Version 2 came with BIP34, 3 with BIP66, 4 with
// BIP65; each became compulsory with its rule.
func versionFloor(p *chain.Params, height uint32) int32 {
	switch d := DeploymentsAt(p, height); {
	case d.Has(CLTV):
		return 4
	case d.Has(DERSIG):
		return 3
	case d.Has(BIP34):
		return 2
	}
	return -1 << 31
}
