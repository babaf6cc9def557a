package node

import "stele/tables"

// The best branch is the one of most work among those that are complete; of equal ones the one that was complete
// first.
//
// heap holds candidates, the best on top. Not every complete header is in it, but each has itself or a complete
// descendant there; as a descendant has more work, the best is always in. A header that became incomplete or
// invalid is thrown out when it comes up, and its parent was offered when that happened.

// candidate is a header that was complete when it was offered. It is stale where its order is another one by now, or
// the header is invalid.
type candidate struct {
	l     tables.HeaderLink
	order uint32
}

// better reports whether a is to be preferred to b: more work, or as much and complete earlier.
func (tr *tree) better(a, b candidate) bool {
	if c := tr.t.Header(a.l).Work().Cmp(tr.t.Header(b.l).Work()); c != 0 {
		return c > 0
	}
	return a.order < b.order
}

func (tr *tree) candidate(l tables.HeaderLink) candidate { return candidate{l, tr.vertices[l].order} }

// wanted reports whether l may be the tip: it is not above the stop height, or archived already.
func (tr *tree) wanted(l tables.HeaderLink) bool {
	if tr.stop < 0 || int64(tr.vertices[l].height) <= tr.stop {
		return true
	}
	_, archived := tr.t.Archived(l)
	return archived
}

// offer makes a complete header a candidate. Where the best candidate is its parent it takes that one's place.
func (tr *tree) offer(l tables.HeaderLink) {
	if l == none || !tr.complete(l) || !tr.wanted(l) {
		return
	}
	c := tr.candidate(l)
	if len(tr.heap) > 0 && tr.heap[0].l == tr.vertices[l].parent {
		tr.heap[0] = c // still the best: more work than its parent
		return
	}
	tr.heap = append(tr.heap, c)
	n := len(tr.heap) - 1
	for n > 0 && tr.better(c, tr.heap[(n-1)/2]) {
		tr.heap[n] = tr.heap[(n-1)/2]
		n = (n - 1) / 2
	}
	tr.heap[n] = c
}

// best returns the tip of the best branch. There always is one: the confirmed chain is complete.
func (tr *tree) best() candidate {
	for {
		c := tr.heap[0]
		if v := &tr.vertices[c.l]; c.order == v.order && !v.invalid {
			return c
		}
		tr.dropBest()
	}
}

// dropBest takes the candidate on top out.
func (tr *tree) dropBest() {
	end := len(tr.heap) - 1
	last := tr.heap[end]
	tr.heap = tr.heap[:end]
	n := 0
	for c := 1; c < end; c = 2*n + 1 {
		if c+1 < end && tr.better(tr.heap[c+1], tr.heap[c]) {
			c++
		}
		if !tr.better(tr.heap[c], last) {
			break
		}
		tr.heap[n] = tr.heap[c]
		n = c
	}
	if n < end {
		tr.heap[n] = last
	}
}

// target returns the tip of the branch that the chain is to move to, if it does not end there. From a tip that is
// invalid it moves whatever the work.
func (tr *tree) target() (tables.HeaderLink, bool) {
	tip, _ := tr.t.Tip()
	best := tr.best()
	return best.l, best.l != tip && (tr.vertices[tip].invalid || tr.better(best, tr.candidate(tip)))
}
