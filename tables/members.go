package tables

// memberChunk is the heights that one chunk of a membership covers: a page of links.
const memberChunk = 1024

// membership is which header stands at each height of one chain, from genesis to its tip. It is a value: the chunks
// that it points to never change below n.
type membership struct {
	chunks []*[memberChunk]HeaderLink
	n      uint32 // heights
}

// at returns the header at a height below n.
func (m *membership) at(height uint32) HeaderLink {
	return m.chunks[height/memberChunk][height%memberChunk]
}

// has reports whether header l, of the given height, is in the chain: one read.
func (m *membership) has(l HeaderLink, height uint32) bool {
	return height < m.n && m.at(height) == l
}

// members is the writer's membership, and gives shared copies of itself to views.
//
// A chunk is copied before a height is written that some shared copy may be reading; heights above all that was ever
// shared are written in place. So following the tip copies nothing, and a reorganisation copies a page a push.
type members struct {
	now    membership
	shared uint32 // heights below it may be read by others
}

func (m *members) push(l HeaderLink) {
	c := int(m.now.n / memberChunk)
	switch {
	case c == len(m.now.chunks):
		// A new directory, as views may hold the one that append would write into.
		chunks := make([]*[memberChunk]HeaderLink, c+1)
		copy(chunks, m.now.chunks)
		chunks[c] = new([memberChunk]HeaderLink)
		m.now.chunks = chunks
	case m.now.n < m.shared:
		chunks := append([]*[memberChunk]HeaderLink(nil), m.now.chunks...)
		chunk := *chunks[c]
		chunks[c] = &chunk
		m.now.chunks = chunks
	}
	m.now.chunks[c][m.now.n%memberChunk] = l
	m.now.n++
}

func (m *members) pop() { m.now.n-- }

// view returns the membership for the writer itself.
func (m *members) view() membership { return m.now }

// share returns a copy that others may read from now on.
func (m *members) share() membership {
	m.shared = max(m.shared, m.now.n)
	return m.now
}
