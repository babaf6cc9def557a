package download

import (
	"encoding/binary"
	"testing"
	"time"

	"stele/chain"
)

// A simulated network: blocks of given sizes, peers that send them over links of their own, and a clock that goes in
// steps. Nothing here knows how the scheduler decides; it counts what it does.

const tick = 20 * time.Millisecond

// script is how a peer behaves.
type script struct {
	rate    int64         // bytes a second
	latency time.Duration // from a request to its first byte
	stall   time.Duration // sends nothing from then on; 0: never
	leave   time.Duration // hangs up then; 0: never
	trickle bool          // tells of bytes, but never ends a block
	mutant  int           // every so many blocks have a mutated body; 0: none
	lacks   int           // it does not have every so many blocks; 0: it has all
	late    time.Duration // joins then
	limited bool
}

type job struct {
	hash  chain.Hash
	ready time.Duration // when its first byte can go
	left  int64
}

type link struct {
	script
	id   PeerID
	up   bool
	gone bool
	jobs []job
	sent int
	ask  map[chain.Hash]int // how many times it was asked
}

type sim struct {
	t      testing.TB
	s      *Scheduler
	o      Options
	wants  []Want
	sizes  map[chain.Hash]int64
	height map[chain.Hash]uint32
	have   map[chain.Hash]bool
	done   int // blocks below this index are dealt with by the node, in order
	held   int64
	room   int64 // what the node takes in all; 0: any
	speed  int64 // bytes a second that the node deals with, in order; 0: any
	credit float64
	links  []*link
	start  time.Time
	now    time.Duration
	drops  map[PeerID]Reason
	most   int64 // largest bytes in flight
	bad    uint64
	refill int // blocks listed at a time

	largest int64 // block
}

func hashOf(n int) (h chain.Hash) {
	binary.LittleEndian.PutUint64(h[:], uint64(n)*0x9e3779b97f4a7c15+1)
	return h
}

func newSim(t testing.TB, o Options, sizes []int64, scripts ...script) *sim {
	m := &sim{
		t: t, s: New(o), o: o.withDefaults(), sizes: make(map[chain.Hash]int64), have: make(map[chain.Hash]bool),
		height: make(map[chain.Hash]uint32), start: time.Unix(1_800_000_000, 0), drops: make(map[PeerID]Reason), refill: 8192,
	}
	for i, size := range sizes {
		w := Want{hashOf(i), uint32(i + 1)}
		m.wants = append(m.wants, w)
		m.sizes[w.Hash], m.height[w.Hash] = size, w.Height
		m.largest = max(m.largest, size)
	}
	for i, c := range scripts {
		m.links = append(m.links, &link{script: c, id: PeerID(i + 1), ask: make(map[chain.Hash]int)})
	}
	m.list()
	return m
}

func (m *sim) clock() time.Time { return m.start.Add(m.now) }

func (m *sim) total() (n int64) {
	for _, size := range m.sizes {
		n += size
	}
	return n
}

// list refills with what the node does not have.
func (m *sim) list() {
	var wants []Want
	for _, w := range m.wants[m.done:] {
		if !m.have[w.Hash] && len(wants) < m.refill {
			wants = append(wants, w)
		}
	}
	m.s.Refill(wants)
}

// step moves the clock, the peers and the scheduler.
func (m *sim) step() {
	m.now += tick
	for _, l := range m.links {
		m.live(l)
		if l.up && !l.gone {
			m.send(l)
		}
	}
	m.consume()
	if m.s.Short() {
		m.list()
	}
	room := int64(1) << 40
	if m.room > 0 {
		room = m.room - m.held
	}
	m.act(m.s.Plan(m.clock(), room, uint32(m.done)))
	m.check(room)
}

func (m *sim) live(l *link) {
	if !l.up && m.now > l.late {
		l.up = true
		m.s.Join(m.clock(), l.id, Peer{Height: uint32(len(m.wants)), Limited: l.limited})
	}
	if l.leave > 0 && m.now >= l.leave && !l.gone {
		l.gone = true
		m.s.Leave(m.clock(), l.id)
	}
}

// send lets a link carry what it can in one tick.
func (m *sim) send(l *link) {
	if l.stall > 0 && m.now >= l.stall {
		return
	}
	budget := int64(float64(l.rate) * tick.Seconds())
	if l.trickle {
		if len(l.jobs) > 0 {
			m.s.Received(m.clock(), l.id, 10)
		}
		return
	}
	for budget > 0 && len(l.jobs) > 0 && l.jobs[0].ready <= m.now && !l.gone {
		j := &l.jobs[0]
		n := min(budget, j.left)
		budget -= n
		if j.left -= n; j.left > 0 {
			m.s.Received(m.clock(), l.id, n)
			return
		}
		hash := j.hash
		l.jobs = l.jobs[1:]
		m.deliver(l, hash)
	}
}

func (m *sim) deliver(l *link, hash chain.Hash) {
	l.sent++
	if l.lacks > 0 && int(m.height[hash])%l.lacks == 0 {
		m.s.NotFound(m.clock(), l.id, &hash)
		return
	}
	switch m.s.Block(m.clock(), l.id, &hash, m.sizes[hash]) {
	case Take:
		if m.have[hash] {
			m.t.Fatalf("block %d taken twice", m.height[hash])
		}
		if l.mutant > 0 && l.sent%l.mutant == 0 {
			m.bad++
			m.s.Refused(m.clock(), &hash, l.id, Mutated)
			return
		}
		m.have[hash] = true
		m.held += m.sizes[hash]
	case Unasked:
		if m.s.byID[l.id] == nil {
			return // dropped by what it sent just before
		}
		m.t.Errorf("block %d from %d was asked, and called unasked", m.height[hash], l.id)
	}
}

// consume lets the node deal with blocks in order.
func (m *sim) consume() {
	if m.speed > 0 {
		m.credit = min(m.credit+float64(m.speed)*tick.Seconds(), 16<<20)
	}
	for m.done < len(m.wants) && m.have[m.wants[m.done].Hash] {
		size := m.sizes[m.wants[m.done].Hash]
		if m.speed > 0 {
			if m.credit < float64(size) {
				return
			}
			m.credit -= float64(size)
		}
		m.held -= size
		m.done++
	}
}

// act does what a plan says.
func (m *sim) act(p Plan) {
	for _, d := range p.Drops {
		m.drops[d.Peer] = d.Reason
		l := m.links[d.Peer-1]
		l.gone, l.jobs = true, nil
	}
	for _, r := range p.Requests {
		l := m.links[r.Peer-1]
		if l.gone || !l.up {
			m.t.Fatalf("peer %d is asked and not there", r.Peer)
		}
		for _, h := range r.Hashes {
			if l.ask[h]++; l.ask[h] > 1 {
				m.t.Fatalf("peer %d is asked for block %d again", r.Peer, m.height[h])
			}
			if m.have[h] {
				m.t.Fatalf("block %d is here and asked for", m.height[h])
			}
			l.jobs = append(l.jobs, job{h, m.now + l.latency, m.sizes[h]})
		}
	}
}

// check holds the scheduler to its bounds.
func (m *sim) check(room int64) {
	st := m.s.Stats()
	// A block counts in flight by its estimate. The front and hedges go beyond window and room.
	over := int64(1+m.o.Hedges) * max(firstWeight, m.largest)
	// What waits has its true size, so it may be more than was expected.
	if st.Taken < 100 { // what was asked for before the first blocks came counts more when they have
		over += m.o.Window * max(0, m.largest-firstWeight) / firstWeight
	}
	if st.FlightBytes > m.o.Window+over || st.FlightBytes+st.WaitingBytes > m.o.Window*3/2+over {
		m.t.Fatalf("%v: %d bytes in flight, %d waiting", m.now, st.FlightBytes, st.WaitingBytes)
	}
	m.most = max(m.most, st.FlightBytes)
	for _, p := range m.s.peers {
		if len(p.owes) > m.o.Bulk {
			m.t.Fatalf("peer %d owes %d", p.id, len(p.owes))
		}
	}
	if m.now/tick%8 == 0 {
		consistent(m.t, m.s)
	}
}

// run goes on until all is here, or the time is over.
func (m *sim) run(limit time.Duration) time.Duration {
	m.t.Helper()
	for m.done < len(m.wants) {
		if m.now > limit {
			st := m.s.Stats()
			m.t.Fatalf("after %v at block %d of %d; %+v; dropped %v", m.now, m.done, len(m.wants), st, m.drops)
		}
		m.step()
	}
	return m.now
}
