package node

import "stele/tables"

// Every vertex has, beside its parent, one ancestor further down to jump to. How far a jump leads follows from the
// height alone: jumps are as long as the digits of a skew-binary number (Myers 1983), which makes a jump link cost
// one comparison to set and any ancestor cost O(log height) steps to reach. So a header deep in a side branch costs
// no more than one on the best chain, and no array by height has to follow reorganisations.

// jumpFrom returns where a child of parent jumps to: over the parent's two jumps where they are equally long, else to
// the parent.
func (tr *tree) jumpFrom(parent tables.HeaderLink) tables.HeaderLink {
	p := &tr.vertices[parent]
	one := &tr.vertices[p.jump]
	two := &tr.vertices[one.jump]
	if p.height-one.height == one.height-two.height {
		return one.jump
	}
	return parent
}

// ancestor returns the header at a height, not above l's, of the branch that ends in l.
func (tr *tree) ancestor(l tables.HeaderLink, height uint32) tables.HeaderLink {
	for {
		v := &tr.vertices[l]
		switch {
		case v.height <= height:
			return l
		case tr.vertices[v.jump].height >= height:
			l = v.jump
		default:
			l = v.parent
		}
	}
}

// fork returns the highest header that the branches of a and b share. Equally high vertices jump equally far, so both
// sides go down in step.
func (tr *tree) fork(a, b tables.HeaderLink) tables.HeaderLink {
	low := min(tr.vertices[a].height, tr.vertices[b].height)
	a, b = tr.ancestor(a, low), tr.ancestor(b, low)
	for a != b {
		va, vb := &tr.vertices[a], &tr.vertices[b]
		if va.jump != vb.jump {
			a, b = va.jump, vb.jump
		} else {
			a, b = va.parent, vb.parent
		}
	}
	return a
}

// path appends the headers above base up to tip, lowest first.
func (tr *tree) path(dst []tables.HeaderLink, base, tip tables.HeaderLink) []tables.HeaderLink {
	n := int(tr.vertices[tip].height - tr.vertices[base].height)
	start := len(dst)
	dst = append(dst, make([]tables.HeaderLink, n)...)
	for l := tip; n > 0; l = tr.vertices[l].parent {
		n--
		dst[start+n] = l
	}
	return dst
}

// lineage is the validate.Ancestry of one header: the branch that ends in top. It goes on from where it was asked
// last, as the rules ask downwards.
type lineage struct {
	tree    *tree
	top, at tables.HeaderLink
}

func (a *lineage) start(top tables.HeaderLink) { a.top, a.at = top, top }

// At implements validate.Ancestry.
func (a *lineage) At(height uint32) (time, bits uint32) {
	if a.tree.vertices[a.at].height < height {
		a.at = a.top
	}
	a.at = a.tree.ancestor(a.at, height)
	row := a.tree.t.Header(a.at)
	return row.Time(), row.Bits()
}
