package node

import (
	"fmt"

	"stele/chain"
	"stele/tables"
)

// deepEnough is how much work has to lie on a block before its scripts may be assumed to be valid: what the network
// does in this time (Core: two weeks, by GetBlockProofEquivalentTime).
const deepEnough = 14 * 24 * 60 * 60 // seconds

// ConsensusFailure ends an import when the block that is assumed to be valid, or one below it, breaks a rule: either
// that block is the wrong one, or this node is at fault.
type ConsensusFailure struct {
	Hash   chain.Hash
	Height uint32
	Reason string
}

func (e *ConsensusFailure) Error() string {
	return fmt.Sprintf("block %v at height %d, at or below the one assumed to be valid, is not: %s", e.Hash, e.Height, e.Reason)
}

// below reports whether header l is the block that is assumed to be valid, or one of its ancestors.
func (m *writer) below(l tables.HeaderLink) bool {
	if m.o.AssumeValid.IsZero() {
		return false
	}
	if m.assumed == none {
		a, ok := m.t.FindHeader(&m.o.AssumeValid)
		if !ok {
			return false
		}
		m.assumed = a
	}
	return m.tree.under(l, m.assumed)
}

// assumes reports whether the scripts of the block of header l need not be run. Core's conditions: it is an ancestor of
// the block that is assumed to be valid, or that block, and of the best header; that one's chain has the work that
// the network's is known to have; and so much work lies on the block that nobody can have made it up for this. All
// but scripts is verified nevertheless.
func (m *writer) assumes(l tables.HeaderLink) bool {
	if !m.below(l) || !m.tree.under(l, m.tree.heaviest) {
		return false
	}
	p, best, row := m.t.Params(), m.t.Header(m.tree.heaviest), m.t.Header(l)
	if best.Work().Cmp(p.MinimumChainWork) < 0 {
		return false
	}
	// In seconds, work on l * spacing / work of the best block > two weeks: whole seconds, as Core counts.
	onIt := best.Work().Sub(row.Work()).MulUint32(p.TargetSpacing)
	return onIt.Cmp(chain.BlockWork(best.Bits()).MulUint32(deepEnough+1)) >= 0
}

// under reports whether header a is b or one of its ancestors.
func (tr *tree) under(a, b tables.HeaderLink) bool {
	return tr.vertices[a].height <= tr.vertices[b].height && tr.ancestor(b, tr.vertices[a].height) == a
}
