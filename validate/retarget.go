package validate

import "stele/chain"

// NextBits is the target, in compact form, that a header of the given time must have as a child of parent (Core:
// GetNextWorkRequired). It changes at heights that are multiples of p.Interval() and stays in between; with
// p.MinDifficulty (testnets, regtest) a header more than twice the spacing after its parent may be of the limit
// instead.
//
// anc is asked for the first header of the parent's period when a period begins, and with p.MinDifficulty for the
// parent's ancestors back to the start of the period at most.
func NextBits(p *chain.Params, parent Parent, anc Ancestry, time uint32) uint32 {
	switch {
	case (parent.Height+1)%p.Interval() == 0:
		return retarget(p, parent, anc)
	case !p.MinDifficulty:
		return parent.Bits
	case int64(time) > int64(parent.Time)+2*int64(p.TargetSpacing):
		return p.PowLimitBits
	}
	return lastOrdinary(p, parent, anc)
}

// retarget is the bits of the first header of a new period. The span that it measures runs from the first to the
// last header of the old one: one gap less than the period has headers. It counts for a quarter to four times the
// intended one.
//
// The old target is the parent's; under BIP94 that of the period's first header, so that a parent of the limit cannot
// reset the difficulty of the network. The new one is rounded down twice: by the division, and by its compact form.
func retarget(p *chain.Params, parent Parent, anc Ancestry) uint32 {
	if p.NoRetarget {
		return parent.Bits
	}
	firstTime, firstBits := anc.At(parent.Height - (p.Interval() - 1))
	intended := int64(p.TargetTimespan)
	span := min(max(int64(parent.Time)-int64(firstTime), intended/4), 4*intended)
	bits := parent.Bits
	if p.BIP94 {
		bits = firstBits
	}
	target, _, _ := chain.CompactToTarget(bits)
	target = target.MulUint32(uint32(span)).DivUint32(p.TargetTimespan)
	if target.Cmp(p.PowLimit) > 0 {
		target = p.PowLimit
	}
	return chain.TargetToCompact(target)
}

// lastOrdinary is the bits of the nearest header, from the parent down, that is not of the limit. The walk ends at
// the first header of the period, whatever its bits are.
func lastOrdinary(p *chain.Params, parent Parent, anc Ancestry) uint32 {
	bits := parent.Bits
	for height := parent.Height; bits == p.PowLimitBits && height%p.Interval() != 0; {
		height--
		_, bits = anc.At(height)
	}
	return bits
}
