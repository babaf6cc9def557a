package download

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stele/chain"
)

// machine plays random events, in any order that a network and a node can produce, and keeps its own books: who was
// asked for what since when. It knows the rules of the package comment, and nothing of how they are kept.
type machine struct {
	t     *rapid.T
	s     *Scheduler
	o     Options
	now   time.Time
	next  PeerID
	live  map[PeerID]Peer
	owes  map[PeerID]map[chain.Hash]bool // asked for, neither sent nor denied
	asked map[PeerID]map[chain.Hash]bool // not to be asked for again
	bad   map[PeerID]map[chain.Hash]bool // never
	chain []Want
	have  map[chain.Hash]bool
	from  map[chain.Hash]PeerID
	side  map[chain.Hash]bool // announced at any time: may be asked for though not listed
	list  []Want              // what the last Refill named
	fork  int
}

func newMachine(t *rapid.T) *machine {
	o := Options{Window: 24 * 1000, AtTip: 3, Bulk: 6, TipWithin: 8}
	m := &machine{
		t: t, s: New(o), o: o.withDefaults(), now: time.Unix(1e9, 0), next: 1, live: map[PeerID]Peer{},
		owes: map[PeerID]map[chain.Hash]bool{}, asked: map[PeerID]map[chain.Hash]bool{},
		bad: map[PeerID]map[chain.Hash]bool{}, have: map[chain.Hash]bool{}, from: map[chain.Hash]PeerID{},
		side: map[chain.Hash]bool{},
	}
	m.s.size = mean{1000, 64} // so that some blocks fit the window
	m.grow(rapid.IntRange(1, 60).Draw(t, "blocks"))
	m.refill()
	return m
}

func (m *machine) grow(n int) {
	for range n {
		height := uint32(len(m.chain) + 1)
		m.chain = append(m.chain, Want{chain.DoubleSHA256(fmt.Appendf(nil, "%d/%d", m.fork, height)), height})
	}
}

func (m *machine) refill() {
	m.list = nil
	most := rapid.IntRange(20, 80).Draw(m.t, "list")
	for _, w := range m.chain {
		if !m.have[w.Hash] && len(m.list) < most {
			m.list = append(m.list, w)
		}
	}
	m.s.Refill(m.list)
	m.forget(m.asked)
	m.forget(m.bad)
}

// forget drops what was known of blocks that are not wanted any more, nor owed: if they are again, all starts anew.
func (m *machine) forget(known map[PeerID]map[chain.Hash]bool) {
	for id, blocks := range known {
		for h := range blocks {
			if m.s.blocks[h] == nil && !m.owes[id][h] {
				delete(blocks, h)
			}
		}
	}
}

func pick[K comparable](t *rapid.T, m map[K]bool, less func(a, b K) int, label string) (k K, ok bool) {
	var all []K
	for k := range m {
		all = append(all, k)
	}
	if len(all) == 0 {
		return k, false
	}
	slices.SortFunc(all, less)
	return rapid.SampledFrom(all).Draw(t, label), true
}

func byHash(a, b chain.Hash) int { return slices.Compare(a[:], b[:]) }
func byID(a, b PeerID) int       { return int(a) - int(b) }

func (m *machine) peer() (PeerID, bool) {
	ids := map[PeerID]bool{}
	for id := range m.live {
		ids[id] = true
	}
	return pick(m.t, ids, byID, "peer")
}

// owed is a block that a random peer owes.
func (m *machine) owed() (id PeerID, h chain.Hash, ok bool) {
	if id, ok = m.peer(); ok {
		h, ok = pick(m.t, m.owes[id], byHash, "owed")
	}
	return id, h, ok
}

func (m *machine) join() {
	p := Peer{uint32(rapid.IntRange(0, len(m.chain)).Draw(m.t, "height")), rapid.IntRange(0, 4).Draw(m.t, "limited") == 0}
	m.admit(p)
}

func (m *machine) admit(p Peer) {
	m.live[m.next] = p
	m.owes[m.next], m.asked[m.next] = map[chain.Hash]bool{}, map[chain.Hash]bool{}
	m.bad[m.next] = map[chain.Hash]bool{}
	m.s.Join(m.now, m.next, p)
	m.next++
}

func (m *machine) gone(id PeerID) {
	delete(m.live, id)
	delete(m.owes, id)
}

// send delivers a block that a peer owes; the node may refuse the body.
func (m *machine) send() {
	id, h, ok := m.owed()
	if !ok {
		return
	}
	m.deliver(id, h)
	if m.from[h] == id && m.have[h] && rapid.IntRange(0, 15).Draw(m.t, "mutant") == 0 {
		m.have[h] = false
		m.bad[id][h] = true
		m.s.Refused(m.now, &h, id, Mutated)
		m.gone(id)
	}
}

func (m *machine) deliver(id PeerID, h chain.Hash) {
	size := int64(rapid.IntRange(200, 2000).Draw(m.t, "size"))
	delete(m.owes[id], h)
	switch a := m.s.Block(m.now, id, &h, size); {
	case a == Unasked:
		m.t.Fatalf("block %v was asked of %d and is unasked", h, id)
	case a == Take && m.have[h]:
		m.t.Fatalf("block %v taken twice", h)
	case a == Take:
		m.have[h], m.from[h] = true, id
	case !m.have[h] && m.listed(h):
		m.t.Fatalf("block %v is wanted and called a duplicate", h)
	}
}

func (m *machine) listed(h chain.Hash) bool {
	return slices.ContainsFunc(m.list, func(w Want) bool { return w.Hash == h })
}

// plan lets time go by and checks what comes of it.
func (m *machine) plan(room int64, step time.Duration) Plan {
	m.now = m.now.Add(step)
	tip := m.tip()
	p := m.s.Plan(m.now, room, tip)
	for _, d := range p.Drops {
		if _, ok := m.live[d.Peer]; !ok && d.Reason != SentMutant && d.Reason != LacksBlock {
			m.t.Fatalf("peer %d is dropped and not there", d.Peer)
		}
		m.gone(d.Peer)
	}
	for _, r := range p.Requests {
		m.requested(r)
	}
	consistent(m.t, m.s)
	m.bounds(room, tip)
	return p
}

func (m *machine) tip() (tip uint32) {
	for _, w := range m.chain {
		if !m.have[w.Hash] {
			break
		}
		tip = w.Height
	}
	return tip
}

func (m *machine) requested(r Request) {
	about, ok := m.live[r.Peer]
	if !ok {
		m.t.Fatalf("peer %d is asked and not there", r.Peer)
	}
	for _, h := range r.Hashes {
		if m.asked[r.Peer][h] || m.bad[r.Peer][h] {
			m.t.Fatalf("peer %d is asked for %v again, or denied it", r.Peer, h)
		}
		i := slices.IndexFunc(m.list, func(w Want) bool { return w.Hash == h })
		if m.have[h] || i < 0 && !m.side[h] {
			m.t.Fatalf("peer %d is asked for %v, which is not wanted", r.Peer, h)
		}
		if i >= 0 && m.list[i].Height > about.Height && !m.side[h] {
			m.t.Fatalf("peer %d has %d blocks and is asked for %d", r.Peer, about.Height, m.list[i].Height)
		}
		m.asked[r.Peer][h], m.owes[r.Peer][h] = true, true
	}
	if len(m.owes[r.Peer]) > m.o.Bulk {
		m.t.Fatalf("peer %d owes %d blocks", r.Peer, len(m.owes[r.Peer]))
	}
}

// bounds: bytes, and that the front is asked of a peer that is there, if one could be asked.
func (m *machine) bounds(room int64, tip uint32) {
	st := m.s.Stats()
	if st.FlightBytes+st.WaitingBytes > m.o.Window*3/2+int64(m.o.Hedges+4)*2000 {
		m.t.Fatalf("%+v", st)
	}
	front := slices.IndexFunc(m.list, func(w Want) bool { return !m.have[w.Hash] })
	if front < 0 {
		return
	}
	w := m.list[front]
	if st.FrontHeight != w.Height {
		m.t.Fatalf("front at %d, expected at %d", st.FrontHeight, w.Height)
	}
	limit := m.o.Bulk
	if len(m.list)-front <= m.o.TipWithin {
		limit = m.o.AtTip
	}
	for id := range m.live {
		if m.owes[id][w.Hash] {
			return // outstanding with a peer that is there
		}
	}
	for id, p := range m.live {
		resting := m.s.byID[id].resting
		could := !m.asked[id][w.Hash] && !m.bad[id][w.Hash] && w.Height <= p.Height && !resting &&
			(!p.Limited || w.Height+limitedDepth > p.Height) && len(m.owes[id]) < limit
		if could && (tip+1 >= w.Height || room >= st.FlightBytes+st.EstimatedBlock) {
			m.t.Fatalf("block %d is asked of nobody, and %d could be asked", w.Height, id)
		}
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	act := func(f func()) func(*rapid.T) {
		return func(t *rapid.T) { m.t = t; f() }
	}
	return map[string]func(*rapid.T){
		"join": act(m.join),
		"plan": act(func() {
			step := time.Duration(rapid.IntRange(-1000, 9000).Draw(m.t, "ms")) * time.Millisecond
			m.plan(int64(rapid.IntRange(-5000, 60_000).Draw(m.t, "room")), step)
		}),
		"send": act(m.send), "send more": act(m.send), "send most": act(m.send),
		"leave": act(func() {
			if id, ok := m.peer(); ok {
				m.s.Leave(m.now, id)
				m.gone(id)
			}
		}),
		"lacks": act(m.lacks), "grow": act(func() { m.grow(rapid.IntRange(1, 9).Draw(m.t, "n")); m.refill() }),
		"refill": act(m.refill), "reorganise": act(m.reorganise), "announce": act(m.announce),
		"again": act(m.again), "condemn": act(m.condemn),
		"unasked": act(func() {
			id, ok := m.peer()
			h := chain.Hash{1, 2, 3}
			if ok && m.s.Block(m.now, id, &h, 100) != Unasked {
				m.t.Fatal("a block that nobody wants was taken")
			}
		}),
		"received": act(func() {
			if id, ok := m.peer(); ok {
				m.s.Received(m.now, id, 100)
			}
		}),
	}
}

func (m *machine) lacks() {
	id, h, ok := m.owed()
	if !ok {
		return
	}
	delete(m.owes[id], h)
	m.bad[id][h] = true
	m.s.NotFound(m.now, id, &h)
	if m.s.byID[id] == nil {
		m.gone(id)
	}
}

// reorganise replaces the upper part of the chain; peers keep what they have below.
func (m *machine) reorganise() {
	cut := rapid.IntRange(0, len(m.chain)).Draw(m.t, "fork")
	n := len(m.chain) - cut
	m.chain = m.chain[:cut]
	m.fork++
	m.grow(n + rapid.IntRange(0, 3).Draw(m.t, "longer"))
	for id, p := range m.live {
		p.Height = min(p.Height, uint32(cut))
		m.live[id] = p
		m.s.Has(id, p.Height)
	}
	m.refill()
}

func (m *machine) announce() {
	id, ok := m.peer()
	if !ok {
		return
	}
	h := chain.DoubleSHA256(fmt.Appendf(nil, "side %d", rapid.IntRange(0, 5).Draw(m.t, "side")))
	w := Want{h, uint32(len(m.chain))}
	if rapid.Bool().Draw(m.t, "best") && len(m.list) > 0 {
		w = rapid.SampledFrom(m.list).Draw(m.t, "listed")
	}
	if m.have[w.Hash] {
		return
	}
	m.side[w.Hash] = true
	m.s.Announce(m.now, id, []Want{w})
}

// again loses a block that the node had; the node names it missing from then on.
func (m *machine) again() {
	h, ok := pick(m.t, m.have, byHash, "again")
	if !ok || !m.have[h] || m.side[h] {
		return
	}
	m.have[h] = false
	m.s.Again(m.now, &h)
	for id := range m.asked {
		if !m.owes[id][h] {
			delete(m.asked[id], h)
		}
	}
	m.refill()
}

func (m *machine) condemn() {
	if len(m.list) == 0 || rapid.IntRange(0, 5).Draw(m.t, "seldom") > 0 {
		return
	}
	w := rapid.SampledFrom(m.list).Draw(m.t, "condemned")
	if m.side[w.Hash] {
		return
	}
	m.s.Refused(m.now, &w.Hash, 0, Condemned)
	m.chain = m.chain[:w.Height-1]
	m.fork++
	m.refill()
}

// TestMachine: after any events every bound holds, and one honest peer that joins brings all that is wanted.
func TestMachine(t *testing.T) { rapid.Check(t, playMachine) }

func playMachine(t *rapid.T) {
	m := newMachine(t)
	t.Repeat(m.actions())
	m.t = t
	m.admit(Peer{Height: uint32(len(m.chain))})
	honest := m.next - 1
	for n := 0; m.tip() < uint32(len(m.chain)); n++ {
		m.refill()
		m.plan(math.MaxInt32, 500*time.Millisecond)
		if _, ok := m.live[honest]; !ok {
			t.Fatalf("the honest peer was dropped")
		}
		for _, h := range slices.SortedFunc(maps.Keys(m.owes[honest]), byHash) {
			m.deliver(honest, h)
		}
		if n > 400+20*len(m.chain) {
			t.Fatalf("no end at %d of %d; %+v", m.tip(), len(m.chain), m.s.Stats())
		}
	}
}
