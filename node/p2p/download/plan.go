package download

import (
	"slices"
	"time"

	"stele/chain"
)

// Plan decides. room is how many bytes of blocks the node would take now, those that are here but not dealt with taken
// off; it may be negative. tip is the height of its best block: if that is the one before the front, the node has nothing
// to do without the front, and what it holds lies beyond.
func (s *Scheduler) Plan(now time.Time, room int64, tip uint32) Plan {
	s.step(now)
	s.requests = s.requests[:0]
	for _, p := range s.peers {
		p.fold(s.now)
		p.exhausted = false
	}
	s.watch()
	s.direct()
	s.fill(room)
	s.unblock(room, tip)
	s.hedge()
	slices.SortStableFunc(s.requests, func(a, b Request) int { return s.rank(a.Peer) - s.rank(b.Peer) })
	p := Plan{Requests: s.joined(), Cancelled: s.cancelled, Drops: s.drops}
	s.cancelled, s.drops = nil, nil
	return p
}

// rank is the place of a peer in order of joining.
func (s *Scheduler) rank(id PeerID) int { return slices.Index(s.peers, s.byID[id]) }

// joined makes one request of all for a peer.
func (s *Scheduler) joined() (all []Request) {
	for _, r := range s.requests {
		if n := len(all); n > 0 && all[n-1].Peer == r.Peer {
			all[n-1].Hashes = append(all[n-1].Hashes, r.Hashes...)
		} else {
			all = append(all, r)
		}
	}
	return all
}

// weight is what a block is expected to take.
func (s *Scheduler) weight() int64 {
	return max(int64(s.size.value), minWeight)
}

// flightBytes is what is on its way, by the size of blocks that came lately.
func (s *Scheduler) flightBytes() int64 { return int64(s.flight) * s.weight() }

// window is the bytes that are free in it.
func (s *Scheduler) window() int64 { return s.o.Window - s.flightBytes() - s.waiting }

// atTip tells that few blocks are wanted.
func (s *Scheduler) atTip() bool { return len(s.order)-s.front <= s.o.TipWithin }

// limit is the number of blocks that a peer may owe.
func (s *Scheduler) limit() int {
	if s.atTip() {
		return s.o.AtTip
	}
	return s.o.Bulk
}

// spare tells whether the peer may be given another block; urgent ones go beyond its bytes, but not its count.
func (s *Scheduler) spare(p *peer, weight int64, urgent bool) bool {
	if p.resting || len(p.owes) >= s.limit() {
		return false
	}
	return urgent || len(p.owes) == 0 || p.debt(1, weight) <= p.budget(s.o.Depth)
}

// can tells whether the peer may be asked for the block.
func (s *Scheduler) can(p *peer, b *block) bool {
	if !(b.listed && p.has(b.Height)) && !slices.Contains(b.sources, p.id) {
		return false
	}
	return !slices.Contains(b.tried, p.id) && !slices.Contains(b.never, p.id)
}

// best is the peer with room that would deliver the block first, or nil.
func (s *Scheduler) best(b *block, urgent bool) (best *peer) {
	weight := s.weight()
	for _, p := range s.peers {
		if s.spare(p, weight, urgent) && s.can(p, b) && (best == nil || p.eta(weight) < best.eta(weight)) {
			best = p
		}
	}
	return best
}

// ask asks.
func (s *Scheduler) ask(p *peer, blocks ...*block) {
	weight := s.weight()
	r := Request{Peer: p.id, Hashes: make([]chain.Hash, 0, len(blocks))}
	for _, b := range blocks {
		b.state = asked
		b.owers++
		b.holders = append(b.holders, p.id)
		b.tried = append(b.tried, p.id)
		p.add(s.now, &b.Hash, weight)
		s.flight++
		r.Hashes = append(r.Hashes, b.Hash)
	}
	s.requests = append(s.requests, r)
}

// direct asks for blocks that were announced: of who announced them, if that has room.
func (s *Scheduler) direct() {
	try := func(b *block) {
		if b.state != idle || len(b.sources) == 0 {
			return
		}
		var best *peer
		weight := s.weight()
		for _, id := range b.sources {
			p := s.byID[id]
			if p != nil && s.spare(p, weight, true) && s.can(p, b) && (best == nil || p.eta(weight) < best.eta(weight)) {
				best = p
			}
		}
		if best != nil && s.window() >= weight {
			s.ask(best, b)
		}
	}
	for _, b := range s.side {
		try(b)
	}
	if s.atTip() {
		for _, b := range s.order[s.front:] {
			try(b)
		}
	}
}

// fill gives out units until peers, bytes or blocks are used up. The peer that would deliver first is served first.
func (s *Scheduler) fill(room int64) {
	weight := s.weight()
	for {
		free := min(s.window(), room-s.flightBytes())
		if free < weight {
			return
		}
		var p *peer
		for _, q := range s.peers {
			if !q.exhausted && s.spare(q, weight, false) && (p == nil || q.eta(weight) < p.eta(weight)) {
				p = q
			}
		}
		if p == nil {
			return
		}
		unit := s.unit(p, int(free/weight))
		if len(unit) == 0 {
			p.exhausted = true
			continue
		}
		s.ask(p, unit...)
	}
}

// unit picks the blocks to ask of p, most at most. It starts where the other peers will have come to by the time at
// which p delivers, and looks nearer to the front only where it would not be the last to deliver.
func (s *Scheduler) unit(p *peer, most int) []*block {
	for s.cursor < len(s.order) && s.order[s.cursor].state != idle {
		s.cursor++
	}
	weight := s.weight()
	rate, first := s.pool(weight)
	late := p.eta(weight) - first
	from := s.cursor
	if late > 0 && rate > 0 {
		from += int(min(rate*late.Seconds()/float64(weight), float64(most)))
	}
	if unit := s.gather(p, from, most, rate); len(unit) > 0 || from == s.cursor {
		return unit
	}
	// Nothing so far out: the rest would be done without p in the time that all need for what is owed and idle.
	left := time.Duration(float64(int64(len(s.order)-s.cursor+s.flight)*weight)/max(rate, 1)*float64(time.Second)) + first
	if p.eta(weight) > 2*left {
		return nil
	}
	return s.gather(p, s.cursor, min(most, 1), rate)
}

// pool is the rate of all peers together, and the least time in which one of them delivers a block.
func (s *Scheduler) pool(weight int64) (rate float64, first time.Duration) {
	first = stallMax
	for _, p := range s.peers {
		if p.resting {
			continue
		}
		if rate += p.rate; p.rate == 0 {
			rate += firstRate
		}
		first = min(first, p.eta(weight))
	}
	return rate, first
}

// gather takes idle blocks that p may be asked for, from a place on. The unit grows with the distance from the front.
func (s *Scheduler) gather(p *peer, from, most int, rate float64) (unit []*block) {
	weight, limit := s.weight(), s.limit()
	size := 1
	for _, b := range s.order[min(from, len(s.order)):] {
		if b.state != idle || !s.can(p, b) {
			continue
		}
		if len(unit) == 0 {
			size = unitSize(float64(int64(b.at-s.front)*weight), rate)
		}
		unit = append(unit, b)
		over := p.debt(len(unit)+1, weight) > p.budget(s.o.Depth)
		if len(unit) >= min(size, most) || len(p.owes)+len(unit) >= limit || over {
			break
		}
	}
	return unit
}

// unitSize: single blocks in what all peers send in two seconds from the front, four up to eight seconds, then 16.
func unitSize(distance, rate float64) int {
	switch {
	case distance < 2*rate:
		return 1
	case distance < 8*rate:
		return 4
	}
	return 16
}

// unblock sees to it that the front is asked of somebody, whatever the window says, and whatever room says if the node
// waits for it. Where those who could deliver it
// owe it already, but were relieved of it, one of them is counted upon again.
func (s *Scheduler) unblock(room int64, tip uint32) {
	b := s.frontBlock()
	if b == nil || b.state != idle || room < s.flightBytes()+s.weight() && tip+1 < b.Height {
		return
	}
	if p := s.best(b, true); p != nil {
		s.ask(p, b)
		return
	}
	for _, p := range s.peers {
		if i := p.find(&b.Hash); i >= 0 && p.owes[i].relieved {
			p.owes[i].relieved = false
			s.flight++
			b.state = asked
			b.holders = append(b.holders, p.id)
			return
		}
	}
}
