package node

import (
	"cmp"
	"slices"

	"stele/tables"
)

// reconsider takes back that l, anything below it or anything on it is invalid, as Core's ResetBlockFailureFlags does.
// clear is called for each root cause and has to clear its state in the tables; where
// it fails nothing of the tree has changed, and what was cleared by then counts when the tree is grown next.
//
// What is complete again is so after everything that is now: the tip wins every tie. Among themselves the revived ones
// keep the order in which they were complete first. Branches that only an ancestor of l made invalid come back as well.
func (tr *tree) reconsider(l tables.HeaderLink, clear func(root tables.HeaderLink) error) error {
	base := l
	for at := l; at != none && tr.vertices[at].invalid; at = tr.vertices[at].parent {
		if tr.t.State(at).Invalid() {
			base = at
			if err := clear(at); err != nil {
				return err
			}
		}
	}
	tr.marked = append(tr.marked[:0], l)
	for n := 0; n < len(tr.marked); n++ {
		at := tr.marked[n]
		if tr.t.State(at).Invalid() {
			if err := clear(at); err != nil {
				return err
			}
		}
		tr.eachChild(at, func(c tables.HeaderLink) { tr.marked = append(tr.marked, c) })
	}
	tr.revive(base)
	return nil
}

// revive derives anew which headers from base up are invalid, and which are complete.
func (tr *tree) revive(base tables.HeaderLink) {
	var old, rest []tables.HeaderLink // revived ones that had an order, and those without
	tr.marked = append(tr.marked[:0], base)
	for n := 0; n < len(tr.marked); n++ {
		l := tr.marked[n]
		v := &tr.vertices[l]
		if tr.t.State(l).Invalid() || v.parent != none && tr.vertices[v.parent].invalid {
			continue // it was invalid before, and so was what stands on it
		}
		switch {
		case v.invalid && v.order != 0:
			old = append(old, l)
		case v.invalid:
			rest = append(rest, l)
		}
		if v.invalid {
			v.invalid, v.listed = false, false
			tr.weigh(l)
		}
		tr.eachChild(l, func(c tables.HeaderLink) { tr.marked = append(tr.marked, c) })
	}
	slices.SortFunc(old, func(a, b tables.HeaderLink) int {
		return cmp.Compare(tr.vertices[a].order, tr.vertices[b].order)
	})
	for _, l := range old {
		tr.clock++
		tr.vertices[l].order = tr.clock
		tr.offer(l)
	}
	for _, l := range rest {
		tr.settle(l)
	}
}

// weigh makes l the heaviest header if it is: of equal work the one that was known first counts.
func (tr *tree) weigh(l tables.HeaderLink) {
	c := tr.t.Header(l).Work().Cmp(tr.t.Header(tr.heaviest).Work())
	if c > 0 || c == 0 && l < tr.heaviest {
		tr.heaviest = l
	}
}
