package presync

import "stele/chain"

// Permitted tells whether a header at height may have these bits after one of the bits before, whatever the times of
// the period were (Core: PermittedDifficultyTransition). Within a period they are equal. At its first header the target
// is between a quarter and four times the old one, either rounded as the rule rounds, and not above the limit. Networks
// with the 20-minute rule may have any bits anywhere.
//
// Without it little work could be shown as much: one lucky header of a high difficulty that nobody had to keep up.
func Permitted(p *chain.Params, height, before, bits uint32) bool {
	if p.MinDifficulty {
		return true
	}
	if height%p.Interval() != 0 {
		return bits == before
	}
	target, _, _ := chain.CompactToTarget(bits)
	return target.Cmp(scaled(p, before, p.TargetTimespan/4)) >= 0 &&
		target.Cmp(scaled(p, before, p.TargetTimespan*4)) <= 0
}

// scaled is the target after a period of span seconds that began at bits, as compact bits can say it.
func scaled(p *chain.Params, bits, span uint32) chain.Work {
	t, _, _ := chain.CompactToTarget(bits)
	t = t.MulUint32(span).DivUint32(p.TargetTimespan)
	if t.Cmp(p.PowLimit) > 0 {
		t = p.PowLimit
	}
	t, _, _ = chain.CompactToTarget(chain.TargetToCompact(t))
	return t
}
