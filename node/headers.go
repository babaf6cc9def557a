package node

import (
	"stele/chain"
	"stele/tables"
	"stele/validate"
)

// Headers from peers cost their sender little where the target is easy, and rows are for ever. So a header is stored
// only when its chain is credible: it has the work that the network's is known to have, and no less than the confirmed
// tip's but for 144 blocks (Core: GetAntiDoSWorkThreshold). Until then it is judged all the same, and held in memory;
// when a header comes that makes its chain credible, all of them move to the tree, lowest first. An import and what
// is submitted by hand do not pass here.
//
//	header ── known? ── proof of work ── parent? ── rules in context ──▶ credible ──▶ tree (tree.accept)
//	                                                                       │ no             ▲ the run from the fork
//	                                                                       └──▶ pool ───────┘

const (
	headersHeld = 20_000 // headers that are held in memory: 4.2 MB with what a message may add
	headersRun  = 2_000  // at most so many are taken before the pool is cut down again: a message of headers
	antiDoS     = 144    // blocks of the tip's work that a branch may be behind it
)

// headerPool is the way of headers from peers into the tree. It belongs to the writer.
type headerPool struct {
	tr    *tree
	min   chain.Work // that a credible chain has at least, whatever the tip
	max   int        // headers that are held between two calls
	added func(l tables.HeaderLink)

	pool  pool
	bar   chain.Work // that a credible chain has, while put runs
	sound uint32     // of the pool: what it hangs on is known to be valid, while put runs
	path  []uint32   // scratch of move
	line  poolLine
}

// newHeaderPool makes the gate before a tree. min is the least work of a chain that is stored, commonly
// Params.MinimumChainWork. held bounds the headers in memory, 0: the default. added, unless nil, is told of each header
// that is new in the tree.
func newHeaderPool(tr *tree, min chain.Work, held int, added func(l tables.HeaderLink)) *headerPool {
	if held <= 0 {
		held = headersHeld
	}
	if added == nil {
		added = func(tables.HeaderLink) {}
	}
	g := &headerPool{tr: tr, min: min, max: held, added: added}
	g.line.g = g
	g.line.tree.tree = tr
	return g
}

// headersResult is what became of a run of headers.
type headersResult struct {
	Added int // new in the tree: of this run, and held ones that it made credible
	Held  int // of this run, new and held in memory for their low work
	Gone  int // likewise, but there was no room

	// The last header of the run that is known now: Link is none where it is held. Where a held one went for want of
	// room, the highest below it that is left. Hash is zero where there is none.
	Link   tables.HeaderLink
	Height uint32
	Hash   chain.Hash
	Work   chain.Work

	Taken       int              // from the first on, that were known or taken; the next one failed, or Gone says why
	Unconnected bool             // its parent is not known
	Verdict     validate.Verdict // the rule that it breaks. It may come again later unless the verdict condemns it

	first uint64 // sequence number of the first one that may be this run's
	last  uint32 // of the pool, as Hash is; 0: it is in the tree
}

// put takes a run of headers, each on the one before it, of any length. It stops at the first that breaks a rule or
// has no known parent. The memory of the pool is bounded whatever comes: the branches of least work give way, the
// older of equal ones first, and the run itself last, so that no branch of much work keeps all others out. An error is
// the store's; what was taken until then stays. proven headers are of a chain that was shown to have the work, though
// it may not be here yet (node/p2p/presync): they are credible as they come.
func (g *headerPool) put(hs []chain.Header, proven bool) (r headersResult, err error) {
	r = headersResult{Link: none, Verdict: validate.Verdict{Tx: -1, Input: -1}, first: g.pool.seq + 1}
	if g.bar, g.sound = g.threshold(), 0; proven {
		g.bar = chain.Work{}
	}
	for going := true; going && err == nil && r.Taken < len(hs); {
		end := min(r.Taken+headersRun, len(hs))
		for going && err == nil && r.Taken < end {
			h := &hs[r.Taken]
			hash := h.Hash()
			if going, err = g.take(h, &hash, &r); going && err == nil {
				r.Taken++
			}
		}
		if g.cut(&r) {
			break // nothing is left that the rest could stand on
		}
	}
	return r, err
}

// has reports whether a header is held.
func (g *headerPool) has(hash *chain.Hash) bool { return g.pool.find(hash) != 0 }

// held returns how many headers are held.
func (g *headerPool) held() int { return g.pool.used }

// threshold is the work of a credible chain.
func (g *headerPool) threshold() chain.Work {
	l, _ := g.tr.t.Tip()
	row := g.tr.t.Header(l)
	bar, behind := row.Work(), chain.BlockWork(row.Bits()).MulUint32(antiDoS)
	if bar.Cmp(behind) > 0 {
		bar = bar.Sub(behind)
	} else {
		bar = chain.Work{}
	}
	if bar.Cmp(g.min) < 0 {
		return g.min
	}
	return bar
}

func (g *headerPool) credible(w chain.Work) bool { return w.Cmp(g.bar) >= 0 }

// take puts one header where it belongs. false: it has no place, and neither has what stands on it.
func (g *headerPool) take(h *chain.Header, hash *chain.Hash, r *headersResult) (bool, error) {
	tr := g.tr
	if l, ok := tr.t.FindHeader(hash); ok {
		if tr.vertices[l].invalid {
			return r.breaks(validate.ReasonDuplicateInvalid), nil
		}
		return r.inTree(tr, l, hash), nil
	}
	if n := g.pool.find(hash); n != 0 {
		if g.credible(g.pool.at(n).work) { // the tip has gone down since
			return g.move(n, r)
		}
		return r.inPool(g, n), nil
	}
	if _, ok := tr.refused[*hash]; ok {
		return r.breaks(validate.ReasonDuplicateInvalid), nil
	}
	if r.Verdict = validate.ProofOfWork(tr.p, h.Bits, hash); !r.Verdict.OK() {
		return false, nil // not remembered: it cost nothing to make
	}
	e := pooled{header: *h, hash: *hash, on: none}
	known, invalid := g.findParent(&e)
	switch {
	case invalid:
		tr.refuse(hash)
		return r.breaks(validate.ReasonBadPrev), nil
	case !known:
		r.Unconnected = true
		return false, nil
	}
	return g.judge(&e, r)
}

// findParent looks a header's parent up, in the tree and in the pool.
func (g *headerPool) findParent(e *pooled) (known, invalid bool) {
	tr := g.tr
	if l, ok := tr.t.FindHeader(&e.header.Prev); ok {
		e.on = l
		return true, tr.vertices[l].invalid
	}
	if e.parent = g.pool.find(&e.header.Prev); e.parent == 0 {
		_, invalid = tr.refused[e.header.Prev]
		return invalid, invalid
	}
	if e.parent == g.sound {
		return true, false
	}
	n := e.parent
	for g.pool.at(n).parent != 0 {
		n = g.pool.at(n).parent
	}
	return true, tr.vertices[g.pool.at(n).on].invalid
}

// judge applies the rules to a header whose parent is known and valid, and stores or holds it.
func (g *headerPool) judge(e *pooled, r *headersResult) (bool, error) {
	var context validate.Parent
	var work chain.Work
	if e.parent != 0 {
		p := g.pool.at(e.parent)
		context = validate.Parent{Height: p.height, Time: p.header.Time, Bits: p.header.Bits, MTP: p.mtp}
		work = p.work
	} else {
		row := g.tr.t.Header(e.on)
		context = validate.Parent{Height: row.Height(), Time: row.Time(), Bits: row.Bits(), MTP: row.MTP()}
		work = row.Work()
	}
	e.height, e.work = context.Height+1, work.Add(chain.BlockWork(e.header.Bits))
	if g.credible(e.work) && e.parent == 0 {
		return g.store(&e.header, &e.hash, r)
	}
	g.line.start(e)
	r.Verdict = validate.Header(g.tr.p, &e.header, &e.hash, context, &g.line, g.tr.now().Unix())
	if !r.Verdict.OK() {
		if r.Verdict.Condemns {
			g.tr.refuse(&e.hash)
		}
		return false, nil
	}
	if g.credible(e.work) {
		if ok, err := g.move(e.parent, r); !ok || err != nil {
			return ok, err
		}
		return g.store(&e.header, &e.hash, r)
	}
	g.line.start(e)
	e.mtp = validate.NextMTP(context, &g.line, e.header.Time)
	g.pool.reserve(g.max + headersRun)
	n := g.pool.put(e)
	g.sound = n
	r.Held++
	return r.inPool(g, n), nil
}

// store puts a header of a credible chain to the tree.
func (g *headerPool) store(h *chain.Header, hash *chain.Hash, r *headersResult) (bool, error) {
	l, f, v, err := g.tr.accept(h, hash)
	switch {
	case err != nil:
		return false, err
	case f == added:
		r.Added++
		g.added(l)
		return r.inTree(g.tr, l, hash), nil
	case f == known:
		return r.inTree(g.tr, l, hash), nil
	case f == refused:
		r.Verdict = v
		return false, nil
	}
	return r.breaks(validate.ReasonBadPrev), nil // its parent is known, and no more than that is wrong with it
}

// move puts header n of the pool and all below it to the tree. Where one is not accepted any more, it is forgotten with
// all that stands on it.
func (g *headerPool) move(n uint32, r *headersResult) (ok bool, err error) {
	g.path = g.path[:0]
	for at := n; at != 0; at = g.pool.at(at).parent {
		g.path = append(g.path, at)
	}
	ok = true
	for i := len(g.path) - 1; i >= 0 && ok && err == nil; i-- {
		e := g.pool.at(g.path[i])
		switch ok, err = g.store(&e.header, &e.hash, r); {
		case ok && err == nil:
			e.state, e.on = pooledMoved, r.Link
			if e.seq >= r.first {
				r.Held--
			}
		case err == nil:
			e.state = pooledDoomed
		}
	}
	g.pool.sweep(func(n uint32) {
		if g.pool.at(n).seq >= r.first {
			r.Held--
		}
		if n == r.last {
			r.Link, r.Height, r.Hash, r.Work, r.last = none, 0, chain.Hash{}, chain.Work{}, 0
		}
	})
	g.sound = 0
	return ok, err
}

// cut makes the pool as small as it may be. It gives up a sixteenth more than it must, so that a flood of single
// headers does not look through it for each. It reports whether the last header of the run went.
func (g *headerPool) cut(r *headersResult) (lost bool) {
	if g.pool.used <= g.max {
		return false
	}
	g.pool.shrink(g.max-g.max/16, r.first, func(n uint32) {
		e := g.pool.at(n)
		if e.seq >= r.first {
			r.Held--
			r.Gone++
		}
		if n == r.last {
			lost = true
			if e.parent != 0 {
				r.inPool(g, e.parent)
			} else {
				hash := g.tr.t.Header(e.on).Hash()
				r.inTree(g.tr, e.on, &hash)
			}
		}
		if n == g.sound {
			g.sound = 0
		}
	})
	return lost
}

// breaks says that the next header breaks a rule, and its parent or itself was invalid before.
func (r *headersResult) breaks(reason string) bool {
	r.Verdict = validate.Verdict{Reason: reason, Tx: -1, Input: -1, Condemns: true}
	return false
}

func (r *headersResult) inTree(tr *tree, l tables.HeaderLink, hash *chain.Hash) bool {
	r.Link, r.Height, r.Hash, r.Work, r.last = l, tr.vertices[l].height, *hash, tr.t.Header(l).Work(), 0
	return true
}

func (r *headersResult) inPool(g *headerPool, n uint32) bool {
	e := g.pool.at(n)
	r.Link, r.Height, r.Hash, r.Work, r.last = none, e.height, e.hash, e.work, n
	return true
}

// poolLine is the validate.Ancestry of a header whose parent may be held: down the pool parent by parent, then as
// lineage. The rules ask downwards, so it goes on from where it was.
type poolLine struct {
	g       *headerPool
	top, at uint32 // of the pool; 0: the tree
	tree    lineage
}

// start makes it the ancestry of e.
func (a *poolLine) start(e *pooled) {
	a.top, a.at = e.parent, e.parent
	if e.parent == 0 {
		a.tree.start(e.on)
	}
}

// At implements validate.Ancestry.
func (a *poolLine) At(height uint32) (time, bits uint32) {
	if a.top != 0 && (a.at == 0 && a.g.tr.vertices[a.tree.top].height < height ||
		a.at != 0 && a.g.pool.at(a.at).height < height) {
		a.at = a.top
	}
	for a.at != 0 {
		e := a.g.pool.at(a.at)
		if e.height <= height {
			return e.header.Time, e.header.Bits
		}
		if a.at = e.parent; a.at == 0 {
			a.tree.start(e.on)
		}
	}
	return a.tree.At(height)
}
