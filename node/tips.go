package node

import (
	"slices"

	"stele/chain"
	"stele/tables"
)

// What ChainTip.Status says, as Core's getchaintips.
const (
	TipActive       = "active"        // the confirmed tip
	TipValidFork    = "valid-fork"    // validated in full, and not on the chain
	TipValidHeaders = "valid-headers" // all its blocks are here, and not all were validated in full
	TipHeadersOnly  = "headers-only"  // not all its blocks are here
	TipInvalid      = "invalid"       // it, or a block below it, is invalid
)

// ChainTip is the end of one branch.
type ChainTip struct {
	Height    uint32     `json:"height"`
	Hash      chain.Hash `json:"hash"`
	BranchLen uint32     `json:"branchlen"` // headers above the fork with the confirmed chain; 0: its tip
	Status    string     `json:"status"`
}

// tips lists the ends of all branches, and the confirmed tip also where headers stand on it; highest first, and of
// equally high ones the one that was known first. One pass over the vertices, and one logarithmic walk a branch.
func (tr *tree) tips() []ChainTip {
	active, _ := tr.t.Tip()
	var ends []tables.HeaderLink
	for l := range tr.vertices {
		if at := tables.HeaderLink(l); tr.vertices[l].last == none || at == active {
			ends = append(ends, at)
		}
	}
	slices.SortStableFunc(ends, func(a, b tables.HeaderLink) int {
		return int(tr.vertices[b].height) - int(tr.vertices[a].height)
	})
	all := make([]ChainTip, len(ends))
	for i, l := range ends {
		height := tr.vertices[l].height
		all[i] = ChainTip{
			Height: height, Hash: tr.t.Header(l).Hash(),
			BranchLen: height - tr.vertices[tr.fork(l, active)].height, Status: tr.status(l, active),
		}
	}
	return all
}

func (tr *tree) status(l, active tables.HeaderLink) string {
	if l == active {
		return TipActive
	}
	if tr.vertices[l].invalid {
		return TipInvalid
	}
	if _, archived := tr.t.Archived(l); archived {
		return TipValidFork
	}
	if tr.complete(l) {
		return TipValidHeaders
	}
	return TipHeadersOnly
}
