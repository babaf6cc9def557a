package node

import (
	"time"

	"stele/chain"
	"stele/tables"
	"stele/validate"
)

// none stands for no header.
const none = tables.NoHeader

// vertex is what the tree keeps of one header beside its row, by header link: 32 bytes, half a cache line. It is
// derived from the tables when an import begins and dropped at its end.
type vertex struct {
	parent, jump tables.HeaderLink // see ancestor
	last, next   tables.HeaderLink // the last child; the next sibling, in a circle, in the order in which they came
	height       uint32
	order        uint32 // when its blocks were all here, counted from 1; 0: its own, or one below, is not. See complete
	body         uint32 // last of its bodies, plus one (see bodies); 0: none but perhaps the archive's
	invalid      bool   // it or one below it
	listed       bool   // the root cause is in this import's report
}

// tree is the header tree: every known header, which of them have their block at hand, and which branch is best. It
// belongs to the writer.
type tree struct {
	t    *tables.Tables
	p    *chain.Params
	now  func() time.Time
	stop int64 // no block above it is wanted, -1: no limit

	vertices []vertex
	heaviest tables.HeaderLink   // of most work among those that are not invalid, whether its blocks are here or not
	clock    uint32              // last order given
	heap     []candidate         // see chooser.go
	queue    []tables.HeaderLink // scratch of settle and withdraw
	marked   []tables.HeaderLink // scratch of invalidate and reconsider
	top      topLine             // see topline.go
	line     lineage             // scratch of accept
	waiting  waiting
	refused  map[chain.Hash]struct{}
}

// maxRefused bounds how many refused headers are remembered for the sake of their children's reason.
const maxRefused = 1 << 20

// growTree builds the tree of a store: one pass over its header rows.
func growTree(t *tables.Tables, stop int64, now func() time.Time) *tree {
	tr := &tree{t: t, p: t.Params(), now: now, stop: stop, refused: make(map[chain.Hash]struct{})}
	tr.waiting.ends = make(map[chain.Hash]ends)
	tr.line.tree = tr
	tr.vertices = make([]vertex, 0, t.Headers()+t.Headers()/8)
	for l := range tables.HeaderLink(t.Headers()) {
		row := t.Header(l)
		parent, ok := row.Parent()
		if !ok {
			parent = none
		}
		tr.add(parent, row.Height())
		v := &tr.vertices[l]
		v.invalid = t.State(l).Invalid() || ok && tr.vertices[parent].invalid
	}
	tr.findHeaviest()
	// The confirmed chain was complete first: it wins every tie. It may hold what was marked invalid since its last block.
	live := t.Live()
	tip, height := live.Tip()
	for h := range height + 1 {
		l, _ := live.HeaderAt(h)
		tr.clock++
		tr.vertices[l].order = tr.clock
	}
	for tr.vertices[tip].invalid {
		tip = tr.vertices[tip].parent
	}
	tr.offer(tip)
	for l := range tables.HeaderLink(t.Headers()) {
		tr.settle(l)
	}
	return tr
}

// add appends the vertex of the newest header row.
func (tr *tree) add(parent tables.HeaderLink, height uint32) {
	l := tables.HeaderLink(len(tr.vertices))
	v := vertex{parent: parent, jump: l, last: none, next: l, height: height}
	if parent != none {
		v.jump = tr.jumpFrom(parent)
	}
	tr.vertices = append(tr.vertices, v)
	if parent == none {
		return
	}
	p := &tr.vertices[parent]
	if p.last != none {
		last := &tr.vertices[p.last]
		tr.vertices[l].next, last.next = last.next, l
	}
	p.last = l
}

// fate is what became of a header that was put to the tree.
type fate uint8

const (
	known   fate = iota // it was there already
	added               // it is there now
	waits               // its parent is not known
	refused             // it broke a rule: the verdict says which
	derived             // it stands on a header that this import refused, and has no reason of its own
)

// accept puts a header to the tree. The link is valid for known and added, the height for refused and added (-1 where
// the parent is not known). An error is the store's.
func (tr *tree) accept(h *chain.Header, hash *chain.Hash) (l tables.HeaderLink, f fate, v validate.Verdict, err error) {
	if l, ok := tr.t.FindHeader(hash); ok {
		return l, known, v, nil
	}
	if _, ok := tr.refused[*hash]; ok {
		return none, derived, v, nil
	}
	parent, ok := tr.t.FindHeader(&h.Prev)
	if !ok {
		parent = none
	}
	if !ok || tr.vertices[parent].invalid {
		f, v = tr.orphan(h, hash, parent)
		return none, f, v, nil
	}
	p := &tr.vertices[parent]
	row := tr.t.Header(parent)
	context := validate.Parent{Height: p.height, Time: row.Time(), Bits: row.Bits(), MTP: row.MTP()}
	tr.line.start(parent)
	if v = validate.Header(tr.p, h, hash, context, &tr.line, tr.now().Unix()); !v.OK() {
		if v.Condemns {
			tr.refuse(hash)
		}
		return none, refused, v, nil
	}
	tr.line.start(parent)
	if l, err = tr.t.PutHeader(h, hash, parent, validate.NextMTP(context, &tr.line, h.Time)); err != nil {
		return none, waits, v, err
	}
	tr.add(parent, p.height+1)
	tr.weigh(l)
	return l, added, v, nil
}

// orphan is accept for a header whose parent is not known (none), or known to be invalid.
func (tr *tree) orphan(h *chain.Header, hash *chain.Hash, parent tables.HeaderLink) (fate, validate.Verdict) {
	v := validate.ProofOfWork(tr.p, h.Bits, hash)
	if !v.OK() {
		return refused, v
	}
	_, below := tr.refused[h.Prev]
	switch {
	case parent == none && !below:
		return waits, v
	case below || tr.vertices[parent].listed:
		tr.refuse(hash)
		return derived, v
	}
	tr.refuse(hash)
	return refused, validate.Verdict{Reason: validate.ReasonBadPrev, Tx: -1, Input: -1, Condemns: true}
}

func (tr *tree) refuse(hash *chain.Hash) {
	if len(tr.refused) < maxRefused {
		tr.refused[*hash] = struct{}{}
	}
}

// heightUnder returns the height that a header has by its parent; -1 where that is not known.
func (tr *tree) heightUnder(prev *chain.Hash) int64 {
	if l, ok := tr.t.FindHeader(prev); ok {
		return int64(tr.vertices[l].height) + 1
	}
	return -1
}

// complete reports whether the blocks of l and of all below it are here, and none of them is invalid. What became
// invalid keeps its order, in case it is reconsidered.
func (tr *tree) complete(l tables.HeaderLink) bool {
	v := &tr.vertices[l]
	return v.order != 0 && !v.invalid
}

// ready reports whether l becomes complete now.
func (tr *tree) ready(l tables.HeaderLink) bool {
	v := &tr.vertices[l]
	if v.order != 0 || v.invalid || v.parent == none || !tr.complete(v.parent) {
		return false
	}
	if v.body != 0 {
		return true
	}
	_, archived := tr.t.Archived(l)
	return archived
}

// settle looks whether l became complete, as its block came or its parent became so, and then at its descendants.
func (tr *tree) settle(l tables.HeaderLink) {
	if !tr.ready(l) {
		return
	}
	tr.queue = append(tr.queue[:0], l)
	for n := 0; n < len(tr.queue); n++ {
		l := tr.queue[n]
		tr.clock++
		tr.vertices[l].order = tr.clock
		tr.offer(l)
		tr.eachChild(l, func(c tables.HeaderLink) {
			if tr.ready(c) {
				tr.queue = append(tr.queue, c)
			}
		})
	}
}

// eachChild calls f for the children of l in the order in which they came.
func (tr *tree) eachChild(l tables.HeaderLink, f func(c tables.HeaderLink)) {
	last := tr.vertices[l].last
	if last == none {
		return
	}
	for c := tr.vertices[last].next; ; c = tr.vertices[c].next {
		f(c)
		if c == last {
			return
		}
	}
}

// withdraw makes l and what stands on it incomplete: its block turned out not to be here.
func (tr *tree) withdraw(l tables.HeaderLink) {
	tr.top.lost(l, tr.vertices[l].height)
	if tr.vertices[l].order == 0 {
		return
	}
	tr.queue = append(tr.queue[:0], l)
	for n := 0; n < len(tr.queue); n++ {
		tr.vertices[tr.queue[n]].order = 0
		tr.eachChild(tr.queue[n], func(c tables.HeaderLink) {
			if tr.vertices[c].order != 0 {
				tr.queue = append(tr.queue, c)
			}
		})
	}
	tr.offer(tr.vertices[l].parent)
}

// findHeaviest looks through all headers; of equal work the first one counts.
func (tr *tree) findHeaviest() {
	tr.heaviest = 0
	for l := range tr.vertices {
		at := tables.HeaderLink(l)
		if !tr.vertices[l].invalid && tr.t.Header(at).Work().Cmp(tr.t.Header(tr.heaviest).Work()) > 0 {
			tr.heaviest = at
		}
	}
}

// invalidate marks l and all that stands on it, and calls f for each of them, which may withdraw it.
func (tr *tree) invalidate(l tables.HeaderLink, f func(l tables.HeaderLink)) {
	tr.marked = append(tr.marked[:0], l)
	for n := 0; n < len(tr.marked); n++ {
		v := &tr.vertices[tr.marked[n]]
		v.invalid, v.listed = true, true
		f(tr.marked[n])
		tr.eachChild(tr.marked[n], func(c tables.HeaderLink) {
			if !tr.vertices[c].invalid {
				tr.marked = append(tr.marked, c)
			}
		})
	}
	tr.offer(tr.vertices[l].parent)
	if tr.vertices[tr.heaviest].invalid {
		tr.findHeaviest()
	}
}
