package download

import (
	"slices"
	"time"

	"stele/chain"
)

type state uint8

const (
	idle    state = iota // nobody is asked
	asked                // holders are
	arrived              // given to the chain
)

// block is one that is wanted, or was until it arrived.
type block struct {
	Want
	state   state
	listed  bool     // by the last Refill: it stands in order
	side    bool     // announced, and not listed: only sources are asked
	at      int      // place in order, if listed
	size    int64    // of an arrived one
	owers   int      // peers that were asked and have not answered; the block is known while there is one
	holders []PeerID // those of them that are counted upon
	tried   []PeerID // asked at any time, the last one last; emptied by Again but for owers
	never   []PeerID // do not have it, or sent a mutated body
	source  PeerID   // who sent it
	sources []PeerID // who announced it
}

// Refill sets the blocks that are wanted: all, or the first ones, of those of the best chain which are not here, in
// order from the lowest. Blocks of the last list that are not in this one are forgotten, unless a peer owes them.
// Arrived blocks that are listed still are not asked for again.
func (s *Scheduler) Refill(wants []Want) {
	before := s.frontBlock()
	old := s.order
	s.order, s.other = s.other[:0], old
	for _, b := range old {
		b.listed = false
	}
	for i, j := 0, 0; i < len(wants); i++ {
		b := (*block)(nil)
		if j, b = match(old, j, &wants[i]); b == nil {
			if b = s.blocks[wants[i].Hash]; b == nil {
				b = s.know(wants[i])
			}
		}
		if b.listed {
			continue // named twice
		}
		b.listed, b.side, b.at = true, false, len(s.order)
		s.order = append(s.order, b)
	}
	s.forget(old)
	s.pruneSide()
	s.cursor, s.front = 0, 0
	s.sumWaiting()
	s.advance()
	if s.frontBlock() != before {
		s.frontSince = s.now
	}
}

// match looks for w in the old order, from place j on as far as it is lower: most lists are parts of the last one, and
// no table need be asked.
func match(old []*block, j int, w *Want) (int, *block) {
	for j < len(old) && old[j].Height < w.Height {
		j++
	}
	if j < len(old) && old[j].Hash == w.Hash {
		return j + 1, old[j]
	}
	return j, nil
}

// forget drops what is in no list any more and is not owed. What arrived above the top of the order stays: the node may
// refuse it still, and a longer list may name it.
func (s *Scheduler) forget(old []*block) {
	top := uint32(0)
	if len(s.order) > 0 {
		top = s.order[len(s.order)-1].Height
	}
	kept := s.loose[:0]
	for _, list := range [][]*block{s.loose, old} {
		for _, b := range list {
			switch {
			case b.listed || b.side || s.blocks[b.Hash] != b:
			case b.owers == 0 && (b.state == idle || b.Height <= top || len(s.order) == 0):
				delete(s.blocks, b.Hash)
			default:
				kept = append(kept, b)
			}
		}
	}
	clear(s.loose[min(len(kept), len(s.loose)):])
	s.loose = kept
}

// know makes the state of a block.
func (s *Scheduler) know(w Want) *block {
	b := &block{Want: w, never: s.mutants[w.Hash]}
	s.blocks[w.Hash] = b
	return b
}

// pruneSide drops announced blocks that arrived or stand in order now.
func (s *Scheduler) pruneSide() {
	s.side = slices.DeleteFunc(s.side, func(b *block) bool {
		if b.side && b.state == arrived {
			b.side = false
			s.loose = append(s.loose, b)
		}
		return !b.side
	})
}

// Short tells that the list is running out, so that a longer one would keep the peers busy.
func (s *Scheduler) Short() bool {
	return len(s.order)-s.cursor <= max(len(s.order)/4, 16*max(1, len(s.peers)))
}

// Announce wants blocks that a peer has just told of, on the best chain or beside it, and asks this peer first. Blocks
// beside the best chain are asked of those alone who announced them. The caller decides how many and how far out.
func (s *Scheduler) Announce(now time.Time, id PeerID, wants []Want) {
	s.step(now)
	if s.byID[id] == nil {
		return
	}
	for _, w := range wants {
		b := s.blocks[w.Hash]
		if b == nil {
			b = s.know(w)
			b.side = true
			s.side = append(s.side, b)
		}
		if !slices.Contains(b.sources, id) {
			b.sources = append(b.sources, id)
		}
	}
}

// Received takes note of n bytes of a block that is still coming, for the rate and against time-outs.
func (s *Scheduler) Received(now time.Time, id PeerID, n int64) {
	s.step(now)
	if p := s.byID[id]; p != nil && len(p.owes) > 0 {
		p.partial += n
		p.hear(s.now, n)
	}
}

// Block takes a whole block from a peer; size is that of its bytes. The caller knows hash from the header, whose proof
// of work is checked; the body may be anything.
func (s *Scheduler) Block(now time.Time, id PeerID, hash *chain.Hash, size int64) Arrival {
	s.step(now)
	p, b := s.byID[id], s.blocks[*hash]
	owed, since := -1, time.Duration(0)
	if p != nil {
		owed = p.find(hash)
		if len(p.owes) > 0 {
			p.hear(s.now, max(size-p.partial, 0))
			p.partial = 0
		}
	}
	if owed >= 0 {
		since = p.owes[owed].asked
		s.paid(p, owed, size)
	}
	switch {
	case b == nil || b.state == arrived:
		if owed < 0 {
			s.stats.Unasked++
			return Unasked
		}
		s.stats.Duplicates++
		s.stats.DuplicateBytes += uint64(size)
		return Duplicate
	case slices.Contains(b.never, id) || owed < 0 && s.window() < size && b != s.frontBlock():
		s.stats.Unasked++
		return Unasked
	}
	s.size.add(float64(size))
	s.take(b, id, size, since)
	return Take
}

// paid settles what a peer owed.
func (s *Scheduler) paid(p *peer, i int, size int64) {
	p.fold(s.now)
	o := p.settle(s.now, i)
	p.measure(s.now, &o, size)
	s.settled(p, &o)
}

// settled lets the block know that the peer owes it no more.
func (s *Scheduler) settled(p *peer, o *owed) {
	b := s.blocks[o.hash]
	b.owers--
	if !o.relieved {
		s.unhold(b, p)
	}
}

// unhold takes a holder away; the block goes back to idle where it was the last.
func (s *Scheduler) unhold(b *block, p *peer) {
	s.flight--
	b.holders = slices.DeleteFunc(b.holders, func(id PeerID) bool { return id == p.id })
	if b.state == asked && len(b.holders) == 0 {
		s.lose(b)
	}
}

// lose makes a block idle.
func (s *Scheduler) lose(b *block) {
	b.state = idle
	switch {
	case b.listed:
		s.cursor = min(s.cursor, b.at)
	case b.side: // waits there
	case b.owers == 0:
		delete(s.blocks, b.Hash) // not wanted any more
	}
}

// take marks a block as arrived. Others who owe it lost a race: what they send does not count any more, and who was
// silent since the winner was asked is relieved of the rest, too.
func (s *Scheduler) take(b *block, id PeerID, size int64, since time.Duration) {
	losers := b.holders
	if len(losers) > 0 && len(b.tried) > 0 && b.tried[len(b.tried)-1] == id {
		s.stats.HedgesWon++
	}
	b.holders = nil
	b.state, b.size, b.source = arrived, size, id
	s.stats.Taken++
	s.stats.TakenBytes += uint64(size)
	if b.listed && b.at >= s.front {
		s.waiting += size
	}
	for _, loser := range losers {
		q := s.byID[loser]
		if i := q.find(&b.Hash); !q.owes[i].relieved {
			q.owes[i].relieved = true
			s.flight--
		}
		if q.heard < since {
			s.relieve(q)
		}
	}
	s.pruneSide()
	s.advance()
}

// advance moves the front past what has arrived.
func (s *Scheduler) advance() {
	for s.front < len(s.order) && s.order[s.front].state == arrived {
		s.waiting -= s.order[s.front].size
		s.front++
		s.frontSince = s.now
		s.stall = max(time.Duration(float64(s.stall)*stallDecay), stallMin)
	}
	s.cursor = max(s.cursor, s.front)
}

// sumWaiting adds up the blocks in order that have arrived; advance takes those before the front off again.
func (s *Scheduler) sumWaiting() {
	s.waiting = 0
	for _, b := range s.order {
		if b.state == arrived {
			s.waiting += b.size
		}
	}
}

// frontBlock is the first wanted block that has not arrived, or nil.
func (s *Scheduler) frontBlock() *block {
	if s.front < len(s.order) {
		return s.order[s.front]
	}
	return nil
}

// NotFound takes a peer's answer that it does not have a block.
func (s *Scheduler) NotFound(now time.Time, id PeerID, hash *chain.Hash) {
	s.step(now)
	p, b := s.byID[id], s.blocks[*hash]
	if p == nil {
		return
	}
	i := p.find(hash)
	if i < 0 {
		return
	}
	p.heard = s.now
	b.never = append(b.never, id)
	o := p.settle(s.now, i)
	s.settled(p, &o)
	if p.notFound++; p.notFound >= maxNotFound && !p.Limited {
		s.drop(p, LacksBlock)
	}
}

// Refused takes the chain's word that a block which from had sent is none, be it known here still or not.
func (s *Scheduler) Refused(now time.Time, hash *chain.Hash, from PeerID, v Verdict) {
	s.step(now)
	b := s.blocks[*hash]
	if v == Condemned {
		delete(s.mutants, *hash)
		if b != nil {
			s.condemn(b)
		}
		return
	}
	if len(s.mutants) < maxMutants {
		s.mutants[*hash] = append(s.mutants[*hash], from)
	}
	if b != nil {
		b.never = append(b.never, from)
		if b.state == arrived && b.source == from {
			s.want(b)
		}
	}
	if p := s.byID[from]; p != nil {
		s.drop(p, SentMutant)
	}
}

// condemn forgets a block and, as the order is a chain, all that stand above it there.
func (s *Scheduler) condemn(b *block) {
	cut := []*block{b}
	if b.listed {
		cut = slices.Clone(s.order[b.at:])
		s.order = s.order[:b.at]
	}
	for _, c := range cut {
		c.listed, c.side = false, false
		if c.owers == 0 {
			delete(s.blocks, c.Hash)
		} else {
			s.loose = append(s.loose, c)
		}
	}
	s.pruneSide()
	s.front, s.cursor = min(s.front, len(s.order)), min(s.cursor, len(s.order))
	s.sumWaiting()
	for _, c := range s.order[:s.front] {
		s.waiting -= c.size
	}
}

// Again wants a block once more that was taken, but that the node could not keep. Any peer may be asked for it.
func (s *Scheduler) Again(now time.Time, hash *chain.Hash) {
	s.step(now)
	if b := s.blocks[*hash]; b != nil && b.state == arrived {
		b.tried = slices.DeleteFunc(b.tried, func(id PeerID) bool {
			p := s.byID[id]
			return p == nil || p.find(hash) < 0
		})
		s.want(b)
	}
}

// want makes an arrived block idle, and the front where it is the lowest.
func (s *Scheduler) want(b *block) {
	if b.listed && b.at >= s.front {
		s.waiting -= b.size
	}
	b.size = 0
	s.lose(b) // forgets it, unless it is listed
	if !b.listed {
		return // the next Refill lists it, if it is wanted
	}
	for s.front > b.at { // what lies between has arrived, and waits for this one again
		s.front--
		s.waiting += s.order[s.front].size
	}
	s.frontSince = s.now
	s.cursor = min(s.cursor, b.at)
}
