package hashmap

import (
	"slices"
	"unsafe"
)

// MultiView is a multimap as it was when the view was taken: an immutable value that any number of goroutines may use
// at the same time and keep for as long as the multimap is open.
//
// Pairs that are added later may show in it (it shares the delta until that is sealed). What it never does is lose one.
type MultiView struct {
	m      *Multimap
	active *multiDelta // what was added since the last seal
	sealed *multiDelta // what is being merged; nil: nothing
	file   *multiFile  // nil: none
	lines  uint64      // overflow lines that merges have filled: those beyond are of a merge after the view
	// mending: the replay has not yet been merged to the mark of a torn merge, so that pairs may be in the lines that it
	// will add again.
	mending bool
}

// MultiCounters are the work of one lookup.
type MultiCounters struct {
	Heads  int // heads of deltas read, 4 bytes each
	Pairs  int // pairs of deltas read, 20 bytes each
	Lines  int // lines of the file read, of 64 bytes each
	Passes int // entries whose tag agreed
}

// All appends the values of a key to dst, in the reverse of the order in which they were added (of those around a merge
// that a crash tore, nearly). Some may be of other keys, see Multimap. None is there twice.
//
// A key that is absent costs a head of each delta and one line, unless its bucket overflowed.
func (v MultiView) All(dst []uint64, key uint64) []uint64 {
	dst, _ = v.Probe(dst, key)
	return dst
}

// Probe is All that tells what it cost.
func (v MultiView) Probe(dst []uint64, key uint64) ([]uint64, MultiCounters) {
	var c MultiCounters
	from := len(dst)
	key = v.m.mix(key)
	dst = v.active.all(dst, key, &c)
	if v.sealed != nil {
		newer := len(dst)
		dst = v.sealed.all(dst, key, &c)
		if !v.m.spec.Once { // a pair of the sealed delta was added again, when that was merged already
			dst = multiCompact(dst, from, newer)
		}
	}
	if v.file != nil {
		dst = v.merged(dst, from, key, &c)
	}
	return dst, c
}

// multiCompact takes the values of dst[from:newer] out of dst[newer:].
func multiCompact(dst []uint64, from, newer int) []uint64 {
	kept := dst[:newer]
	for _, value := range dst[newer:] {
		if !slices.Contains(dst[from:newer], value) {
			kept = append(kept, value)
		}
	}
	return kept
}

// merged appends what the lines have. dst[from:] is what the deltas had.
//
// A pair may be in both, and is then left out. Only the newest line that the view counts can have such pairs: it had
// room for a merge that came after the view, or that a crash tore. The others were full by then; and a replay adds what
// a torn merge put into a line before anything that makes it push a line before that one, because merges fill lines in
// the order of the log. Only a map whose log repeats pairs can have them anywhere.
func (v *MultiView) merged(dst []uint64, from int, key uint64, c *MultiCounters) []uint64 {
	g := v.file
	bucket, tag := g.place(key)
	home := g.line(bucket)
	c.Lines++
	known := len(dst)
	suspect := true
	links := loadWord(home, multiLinks/8)
	limit := g.written.Load() // after the links: what they lead to was written before them
	for link := g.newest(bucket, links, limit); link != 0; {
		p, older, ok := g.overflow(bucket, link, limit)
		if !ok {
			break
		}
		c.Lines++
		if link <= v.lines {
			dst = multiMatch(p, dst, from, known, suspect, tag, c)
			suspect = !v.m.spec.Once
		}
		if older >= link {
			break // damage: chains lead to older lines only, so they end
		}
		link = older
	}
	return multiMatch(home, dst, from, known, suspect, tag, c)
}

// multiMatch appends the values of the line at p that have the tag, the last first, but where suspect those that are in
// dst[from:known].
func multiMatch(p unsafe.Pointer, dst []uint64, from, known int, suspect bool, tag uint64, c *MultiCounters) []uint64 {
	for i := multiEntries - 1; i >= 0; i-- {
		entry := loadWord(p, uint(i))
		if entry>>multiTagShift != tag || entry&multiValues == 0 {
			continue
		}
		c.Passes++
		value := entry&multiValues - 1
		if suspect && slices.Contains(dst[from:known], value) {
			continue
		}
		dst = append(dst, value)
	}
	return dst
}
