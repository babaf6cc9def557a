package node

import "stele/tables"

// topLine is the branch that ends in the heaviest header, by height: what is to be downloaded. It is brought level
// when it is asked for, which costs as many steps as headers have come since, or down to the fork where another branch
// became the heaviest.
type topLine struct {
	at   []tables.HeaderLink
	here uint32 // the blocks of all headers below this height are here
}

// lost says that the block of l, at that height, is not here any more.
func (p *topLine) lost(l tables.HeaderLink, height uint32) {
	if height < p.here && p.at[height] == l {
		p.here = height
	}
}

// topLine brings the line level with the heaviest header.
func (tr *tree) topLine() *topLine {
	p := &tr.top
	n := int(tr.vertices[tr.heaviest].height) + 1
	old := len(p.at)
	if old == n && p.at[n-1] == tr.heaviest {
		return p
	}
	if cap(p.at) < n {
		p.at = append(make([]tables.HeaderLink, 0, n+n/8), p.at...)
	}
	p.at = p.at[:n]
	for l := tr.heaviest; l != none; l = tr.vertices[l].parent {
		h := tr.vertices[l].height
		if int(h) < old && p.at[h] == l {
			break
		}
		p.at[h] = l
		p.here = min(p.here, h)
	}
	p.here = min(p.here, uint32(n))
	if old == 0 { // the confirmed blocks are archived: no need to look
		tip, _ := tr.t.Tip()
		p.here = tr.vertices[tr.fork(tip, tr.heaviest)].height + 1
	}
	return p
}

// topAt returns the header at a height of the heaviest branch.
func (tr *tree) topAt(height uint32) (tables.HeaderLink, bool) {
	p := tr.topLine()
	if int64(height) >= int64(len(p.at)) {
		return none, false
	}
	return p.at[height], true
}

// here reports whether the block of l is at hand: archived, or one of its bodies.
func (tr *tree) here(l tables.HeaderLink) bool {
	if tr.vertices[l].body != 0 {
		return true
	}
	_, archived := tr.t.Archived(l)
	return archived
}

// missing appends up to max headers of the heaviest branch whose block is not here, lowest first, from a height on.
// None are while that branch has no more work than the tip. Nothing is looked at twice below the lowest missing block;
// above, a call costs one look for each header that it returns or skips.
func (tr *tree) missing(from uint32, dst []tables.HeaderLink, max int) []tables.HeaderLink {
	tip, _ := tr.t.Tip()
	if tr.t.Header(tr.heaviest).Work().Cmp(tr.t.Header(tip).Work()) <= 0 {
		return dst
	}
	p := tr.topLine()
	for int(p.here) < len(p.at) && tr.here(p.at[p.here]) {
		p.here++
	}
	h, end := int(p.here), len(p.at)
	if int64(from) > int64(h) {
		h = int(min(int64(from), int64(end)))
	}
	if tr.stop >= 0 && int64(end) > tr.stop+1 {
		end = int(tr.stop + 1)
	}
	for ; h < end && max > 0; h++ {
		if !tr.here(p.at[h]) {
			dst = append(dst, p.at[h])
			max--
		}
	}
	return dst
}
