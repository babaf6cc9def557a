package node

import (
	"bytes"

	"stele/chain"
	"stele/node/blockfile"
	"stele/node/p2p"
	"stele/tables"
	"stele/validate"
)

// live is what a writer has that takes headers and blocks from peers.
type live struct {
	node      *Node // nil: an import
	headers   *headerPool
	held      map[uint32]held // bodies in memory, by number
	heldBytes int64           // in them
	spare     []func()
	waiting   []chan struct{} // of Settle
	toldOf    int             // rejections that Options.Refused was told of
}

// held is a block in memory that came from a peer.
type held struct {
	raw  []byte
	from p2p.PeerID
}

// hear does what others left in the inbox, between two steps of the window.
func (m *writer) hear() {
	asks := m.node.inbox.take(m.spare)
	for i, ask := range asks {
		ask()
		asks[i] = nil
	}
	m.spare = asks
}

// quietWait reports whether the run in hand is to end for the sake of something that wants nothing in flight.
func (m *writer) quietWait() bool { return m.node != nil && m.node.inbox.waitsForQuiet() }

// doQuiet does what waits for that.
func (m *writer) doQuiet() error {
	if m.node == nil {
		return nil
	}
	for _, do := range m.node.inbox.takeQuiet() {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// extend lengthens the path by blocks that came since it was chosen, where the best branch goes on from its end.
func (m *writer) extend(r *route) bool {
	if m.node == nil || len(r.path) == 0 {
		return false
	}
	end, best := r.path[len(r.path)-1], m.tree.best().l
	if best == end || !m.tree.under(end, best) || r.view == nil && m.coins != nil && m.archivedAbove(end, best) {
		return false
	}
	r.path = m.tree.path(r.path[:0], end, best)
	r.at = 0
	return true
}

// archivedAbove reports whether a block of the branch from end to best has rows already, which a route with a set must
// have a view of before it sets out.
func (m *writer) archivedAbove(end, best tables.HeaderLink) bool {
	for l := best; l != end; l = m.tree.vertices[l].parent {
		if _, ok := m.t.Archived(l); ok {
			return true
		}
	}
	return false
}

// takeBlock gives a block that came from a peer to its header.
func (m *writer) takeBlock(hash *chain.Hash, raw []byte, from p2p.PeerID) {
	l, ok := m.t.FindHeader(hash)
	if !ok {
		m.node.tell(p2p.Event{Kind: p2p.Refused, Hash: *hash, From: from, Reason: validate.ReasonPrevNotFound, Mutated: true})
		return
	}
	v := &m.tree.vertices[l]
	if v.invalid {
		m.node.tell(p2p.Event{Kind: p2p.Refused, Hash: *hash, From: from, Reason: validate.ReasonDuplicateInvalid})
		return
	}
	if _, archived := m.t.Archived(l); archived || m.heldTwice(v, raw) {
		return
	}
	n := m.bodies.add(blockfile.Place{File: inMemory, Len: uint32(len(raw))})
	m.held[n] = held{raw, from}
	m.heldBytes += int64(len(raw))
	m.roomChanged()
	m.attach(l, hash, n)
}

// heldTwice reports whether a header has the same bytes already.
func (m *writer) heldTwice(v *vertex, raw []byte) bool {
	if v.body == 0 {
		return false
	}
	for n := m.bodies.all[v.body-1].next; ; n = m.bodies.all[n].next {
		if b := &m.bodies.all[n]; b.place.File == inMemory && bytes.Equal(m.held[n].raw, raw) {
			return true
		}
		if n == v.body-1 {
			return false
		}
	}
}

// letGo gives up what memory has of body n.
func (m *writer) letGo(n uint32) {
	if m.node == nil || m.bodies.all[n].place.File != inMemory {
		return
	}
	m.heldBytes -= int64(len(m.held[n].raw))
	delete(m.held, n)
	m.roomChanged()
}

// blame tells who sent a block what is wrong with it. mutated: with its body, and not with the block.
func (m *writer) blame(s *slot, v validate.Verdict, mutated bool) {
	if m.node == nil || s.place.File != inMemory {
		return
	}
	one, ok := m.held[s.body]
	if !ok {
		return
	}
	m.node.tell(p2p.Event{Kind: p2p.Refused, Hash: s.hash, From: one.from, Reason: v.Reason, Mutated: mutated})
	if mutated {
		m.node.tell(p2p.Event{Kind: p2p.WantAgain, Hash: s.hash})
	}
}

// roomChanged tells how much more would be taken.
func (m *writer) roomChanged() {
	room := m.node.room - m.heldBytes
	m.node.free.Store(room)
	if room > 0 && m.node.short.Swap(false) {
		m.node.tell(p2p.Event{Kind: p2p.RoomAgain})
	}
}

// moved tells of a new tip of the chain that readers see.
func (m *writer) moved(was, tip tables.HeaderLink) {
	if m.node == nil {
		return
	}
	m.tellStatus()
	base := m.tree.fork(was, tip)
	path := m.tree.path(nil, base, tip)
	if len(path) > mostAnnounced {
		path = path[len(path)-mostAnnounced:]
	}
	hashes := make([]chain.Hash, len(path))
	for i, l := range path {
		hashes[i] = m.t.Header(l).Hash()
	}
	if len(path) == 0 { // down, as its tip became invalid
		hashes = []chain.Hash{m.t.Header(tip).Hash()}
	}
	m.node.tell(p2p.Event{Kind: p2p.TipMoved, Hashes: hashes})
}

// mostAnnounced is how many blocks of a new chain are told of: peers announce eight at most.
const mostAnnounced = 16

// tellStatus makes the four tips known.
func (m *writer) tellStatus() {
	n := m.node
	validated, _ := m.t.Tip()
	s := p2p.Status{
		Headers: m.point(m.tree.heaviest), Downloaded: m.downloaded(validated), Validated: m.point(validated),
		Confirmed: m.point(m.visible), Time: m.t.Header(m.visible).Time(),
	}
	n.caughtUp = n.caughtUp || m.caughtUp(&s)
	s.Initial = !n.caughtUp
	n.status.Store(&s)
	for ; m.toldOf < len(m.report.Rejected); m.toldOf++ {
		if n.o.Refused != nil {
			n.o.Refused(m.report.Rejected[m.toldOf])
		}
	}
}

// downloaded is up to where the blocks of the best headers are here.
func (m *writer) downloaded(validated tables.HeaderLink) p2p.Point {
	if !m.moreWork(m.tree.heaviest, validated) {
		return m.point(validated)
	}
	m.tree.missing(0, nil, 0) // brings the line of the best headers level
	top := m.tree.topLine()
	return m.point(top.at[max(top.here, 1)-1])
}

// currentAge is how old the tip of a node may be that has caught up (Core: max tip age).
const currentAge = 24 * 60 * 60 // seconds

// caughtUp reports whether the initial sync is over: as Core, work enough and a recent tip. It is not asked again then.
func (m *writer) caughtUp(s *p2p.Status) bool {
	return s.Confirmed.Work.Cmp(m.headers.min) >= 0 && int64(s.Time) >= m.o.Now().Unix()-currentAge
}

func (m *writer) point(l tables.HeaderLink) p2p.Point { return pointOf(m.t.Header(l)) }

func pointOf(row tables.Header) p2p.Point {
	return p2p.Point{Height: row.Height(), Hash: row.Hash(), Work: row.Work()}
}
