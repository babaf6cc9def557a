package validate

import (
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// branch is a header chain from genesis in two arrays: the plainest Ancestry.
type branch struct{ times, bits []uint32 }

func (c *branch) At(height uint32) (time, bits uint32) { return c.times[height], c.bits[height] }

func (c *branch) add(h *chain.Header) {
	c.times, c.bits = append(c.times, h.Time), append(c.bits, h.Bits)
}

// tip is the last header as the next one's parent.
func (c *branch) tip() Parent {
	n := len(c.times)
	return Parent{Height: uint32(n - 1), Time: c.times[n-1], Bits: c.bits[n-1], MTP: MTP(c.times)}
}

// at is a Parent as of a lower height.
func (c *branch) at(height uint32) Parent {
	cut := branch{c.times[:height+1], c.bits[:height+1]}
	return cut.tip()
}

// easy is a copy of p in which about every second hash meets the target, so that tests can make headers of any
// network.
func easy(p *chain.Params) *chain.Params {
	q := *p
	q.PowLimit, q.PowLimitBits = chain.Regtest().PowLimit, chain.Regtest().PowLimitBits
	return &q
}

// mine counts the nonce up until the hash meets the target that the header itself names.
func mine(h *chain.Header) chain.Hash {
	target, _, _ := chain.CompactToTarget(h.Bits)
	for {
		hash := h.Hash()
		if chain.HashMeetsTarget(&hash, target) {
			return hash
		}
		h.Nonce++
	}
}

// wantReason fails the test unless v has the reason, and stands for itself consistently.
func wantReason(t *testing.T, what string, v Verdict, reason string) {
	t.Helper()
	if v.Reason != reason {
		t.Errorf("%s: %v; want %q", what, v, reason)
	}
	if v.OK() && v != valid {
		t.Errorf("%s: a passing verdict says more: %+v", what, v)
	}
}
