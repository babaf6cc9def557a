package hashmap

import (
	"bytes"
	"fmt"

	"stele/store"
)

// maxProblems is the number of problems that are named; more are counted.
const maxProblems = 32

// Verify checks the file against the rows of the body, of which there are `to`, and names what is wrong. Where it finds
// nothing, every row below the watermark is reached from its home line, every entry has the tag and the home of its
// row, no link is out of range, and marks are where entries passed and nowhere else (unless a merge did not finish).
// Only the writer calls it, while no merge runs. It takes a bit of memory a row. Damaged bytes never make it panic.
func (m *Map) Verify(to uint32) []string {
	c := checker{m: m, to: uint64(to), state: m.now(), gen: m.View().gen}
	if err := store.Guard(c.walk); err != nil {
		c.problem("%v", err)
	}
	if more := c.found - len(c.problems); more > 0 {
		c.problems = append(c.problems, fmt.Sprintf("%s: and %d problems more", m.spec.Name, more))
	}
	return c.problems
}

// checker walks the lines once, in order, a run at a time: lines that entries passed, and the first that none did. No
// lookup leaves the run of its home.
type checker struct {
	m     *Map
	gen   *generation
	state State
	to    uint64
	seen  []uint64 // a bit a row below the watermark: reached
	stray []uint32 // links of entries that are not reached: right only if the row is reached elsewhere

	problems []string
	found    int
}

// shown are the marks of a line for which an entry beyond it is the reason.
type shown byte

func (c *checker) problem(format string, args ...any) {
	c.found++
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, c.m.spec.Name+": "+fmt.Sprintf(format, args...))
	}
}

func (c *checker) walk() error {
	if rows := c.m.rows.count(); c.to > rows {
		c.problem("%d rows are to be there, %d are", c.to, rows)
		c.to = rows
	}
	if c.state.Watermark > c.to {
		c.problem("watermark %d is beyond the %d rows", c.state.Watermark, c.to)
	}
	if c.gen == nil {
		return nil
	}
	c.checkHeader()
	c.seen = make([]uint64, (c.state.Watermark+63)/64)
	first := uint64(0)
	for i := uint64(0); i < c.gen.lines; i++ {
		if l := c.gen.line(i); l[lineMeta]&metaPassed == 0 || i+1 == c.gen.lines {
			c.checkRun(first, i)
			first = i + 1
		}
	}
	c.checkRows()
	return nil
}

// checkHeader compares the whole header page with what it must be.
func (c *checker) checkHeader() {
	want := make([]byte, headerSize)
	copy(want, c.m.header(c.gen.number, c.gen.buckets, c.gen.lines))
	copy(want[headStamp:], stamp(c.gen.stamp))
	have := c.gen.file.Mapping().Bytes()[:headerSize]
	if bytes.Equal(have, want) {
		return
	}
	for i := range have {
		if have[i] != want[i] {
			c.problem("the header page differs at byte %d", i)
			return
		}
	}
}

// checkRun checks the lines from first to last.
func (c *checker) checkRun(first, last uint64) {
	beyond := make([]shown, last-first+1)
	for i := first; i <= last; i++ {
		l := c.gen.line(i)
		c.checkShape(i, &l)
		for slot := 0; slot < lineSlots; slot++ {
			if l.stored(slot) != 0 {
				c.checkEntry(first, i, slot, &l, beyond)
			}
		}
	}
	// While an interrupted merge waits to be repeated, marks may point to entries that did not survive.
	settled := c.gen.stamp == c.state.Watermark
	for k, b := range beyond {
		l := c.gen.line(first + uint64(k))
		meta := shown(l[lineMeta])
		if b&metaTwin&^meta != 0 {
			c.problem("line %d: an entry beyond has a twin here, but no mark says so", first+uint64(k))
		}
		if extra := meta &^ b; extra != 0 && settled {
			c.problem("line %d: marks %#02x are for entries beyond, but there are none", first+uint64(k), byte(extra))
		}
	}
}

// checkShape checks what a line must be whatever the rows are.
func (c *checker) checkShape(i uint64, l *line) {
	meta, full := l[lineMeta], true
	for slot := 0; slot < lineSlots; slot++ {
		switch empty := l.stored(slot) == 0; {
		case empty && l.tag(slot) != 0:
			c.problem("line %d: slot %d is empty but has a tag", i, slot)
		case !empty && !full:
			c.problem("line %d: slot %d follows an empty one", i, slot)
		}
		full = full && l.stored(slot) != 0
	}
	switch {
	case meta != 0 && !full:
		c.problem("line %d: marked as passed, but has room", i)
	case meta == metaTwin:
		c.problem("line %d: marked for a twin, but for no entry that passed", i)
	}
}

// checkEntry checks an entry of line i, of the run that begins at first, against its row.
func (c *checker) checkEntry(first, i uint64, slot int, l *line, beyond []shown) {
	link := uint64(l.stored(slot) - 1)
	if link >= min(c.to, c.gen.stamp) {
		c.problem("line %d: slot %d names row %d, of %d that were merged", i, slot, link, min(c.to, c.gen.stamp))
		return
	}
	window, tag := c.m.place.of(c.m.rows.key(uint32(link)))
	home := bucketOf(window, c.gen.buckets)
	switch {
	case tag != l.tag(slot):
		c.problem("line %d: slot %d has tag %d, but row %d has %d", i, slot, l.tag(slot), link, tag)
		return
	case home > i:
		c.problem("line %d: slot %d names row %d, whose home is line %d", i, slot, link, home)
		return
	case home < first || !c.reached(home, i, tag):
		c.stray = append(c.stray, uint32(link))
		return
	}
	if link < c.state.Watermark {
		c.seen[link/64] |= 1 << (link % 64)
	}
	// Which lines it passed; none if it is a double that a torn merge left behind the entry that is reached.
	for j := home; j < i; j++ {
		if on := c.gen.line(j); on.slotWith(uint32(link+1)) >= 0 {
			return
		}
	}
	for j := home; j < i; j++ {
		beyond[j-first] |= shown(passMark(tag))
		if on := c.gen.line(j); on.hasTag(tag) {
			beyond[j-first] |= metaTwin
		}
	}
}

// reached tells whether a lookup of a tag goes on from line to line.
func (c *checker) reached(from, to uint64, tag uint32) bool {
	for ; from < to; from++ {
		if on := c.gen.line(from); on[lineMeta]&passMark(tag) == 0 {
			return false
		}
	}
	return true
}

// checkRows names the rows that no entry reaches.
func (c *checker) checkRows() {
	for _, link := range c.stray {
		if uint64(link) >= c.state.Watermark {
			continue // of an unfinished merge; in the delta
		}
		if c.seen[link/64]>>(link%64)&1 == 0 {
			c.problem("row %d has an entry, but a line from its home to there is not marked as passed", link)
		}
	}
	missing := uint64(0)
	for link := uint64(0); link < c.state.Watermark; link++ {
		if c.seen[link/64]>>(link%64)&1 == 0 {
			if missing++; missing <= 4 {
				c.problem("row %d is not found", link)
			}
		}
	}
	if c.state.Entries != c.state.Watermark || missing > 4 {
		c.problem("%d rows are found, of %d rows and %d entries", c.state.Watermark-missing, c.state.Watermark,
			c.state.Entries)
	}
}
