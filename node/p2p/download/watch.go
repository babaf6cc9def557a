package download

import (
	"math"
	"slices"
	"time"

	"stele/chain"
)

const (
	grace     = 500 * time.Millisecond // past the time at which a block is due
	hedgeNear = 32                     // blocks from the front that may be hedged
)

// giveBack makes idle what the peer alone was asked for. It owes it still; told is for the report.
func (s *Scheduler) giveBack(p *peer, told bool) {
	var hashes []chain.Hash
	for i := range p.owes {
		o := &p.owes[i]
		if o.relieved {
			continue
		}
		o.relieved = true
		hashes = append(hashes, o.hash)
		s.unhold(s.blocks[o.hash], p)
	}
	if told && len(hashes) > 0 {
		s.cancelled = append(s.cancelled, Request{p.id, hashes})
	}
}

// relieve gives back all that a peer owes, and lets it rest until it has sent it.
func (s *Scheduler) relieve(p *peer) {
	if p.resting || len(p.owes) == 0 {
		return
	}
	p.resting = true
	s.stats.Relieved++
	s.giveBack(p, true)
}

// watch drops peers that stall or are silent, and compares the others every now and then.
func (s *Scheduler) watch() {
	for _, p := range slices.Clone(s.peers) {
		if len(p.owes) == 0 {
			continue
		}
		switch silent := s.now - p.heard; {
		case silent >= stallMax:
			s.drop(p, Silent)
		case s.stalls(p) && silent >= s.stall && s.now-s.frontSince >= s.stall:
			s.stall = min(2*s.stall, stallMax)
			s.frontSince = s.now
			s.drop(p, Stalled)
		}
	}
	if s.now-s.sampled >= s.o.Sample {
		s.compare()
		s.sampled = s.now
	}
}

// stalls tells whether the peer is asked for the front, and another one could be.
func (s *Scheduler) stalls(p *peer) bool {
	b := s.frontBlock()
	if b == nil || !slices.Contains(b.holders, p.id) {
		return false
	}
	for _, q := range s.peers {
		if q != p && !q.resting && (s.can(q, b) || slices.Contains(b.holders, q.id)) {
			return true
		}
	}
	return false
}

// compare finds peers that are slow beside the others. A peer counts if it owed something for half of the time.
func (s *Scheduler) compare() {
	var some []*peer
	for _, p := range s.peers {
		if p.busy >= (s.now-s.sampled)/2 && p.busy > 0 {
			some = append(some, p)
		}
	}
	type verdict struct{ slow, much bool }
	verdicts := make([]verdict, len(some))
	for i, p := range some {
		average, deviation := othersOf(some, p)
		rate := float64(p.got) / p.busy.Seconds()
		slow := len(some) >= 4 && rate < average-s.o.Deviation*deviation && rate < average/2
		verdicts[i] = verdict{slow, slow && rate < average/muchTooSlow}
	}
	for i, p := range some {
		if !verdicts[i].slow {
			p.slow = 0
			continue
		}
		if p.slow++; p.slow >= maxSlow && verdicts[i].much {
			s.drop(p, Slow)
			continue
		}
		s.relieve(p)
	}
	for _, p := range s.peers {
		p.busy, p.got = 0, 0
	}
}

// othersOf is the mean of the rates of all but p, and their standard deviation (of a sample).
func othersOf(some []*peer, p *peer) (average, deviation float64) {
	n := float64(len(some) - 1)
	for _, q := range some {
		if q != p {
			average += float64(q.got) / q.busy.Seconds() / n
		}
	}
	for _, q := range some {
		if q != p {
			d := float64(q.got)/q.busy.Seconds() - average
			deviation += d * d
		}
	}
	return average, math.Sqrt(deviation / max(n-1, 1))
}

// hedge asks a second peer for blocks near the front that are late, or that a peer with nothing else to do would
// deliver in less than half the time.
func (s *Scheduler) hedge() {
	near := s.order[s.front:min(s.front+hedgeNear, len(s.order))]
	open := 0
	for _, list := range [][]*block{near, s.side} {
		for _, b := range list {
			if len(b.holders) > 1 {
				open++
			}
		}
	}
	for _, list := range [][]*block{near, s.side} {
		for _, b := range list {
			if open < s.o.Hedges && b.state == asked && len(b.holders) == 1 && s.second(b) {
				open++
			}
		}
	}
}

// second asks another peer for b, if that helps.
func (s *Scheduler) second(b *block) bool {
	p := s.byID[b.holders[0]]
	o := &p.owes[p.find(&b.Hash)]
	left := max(o.due, s.now) - s.now
	late := s.now > o.due+grace
	if late { // who is late stays late, as far as anybody can tell
		left = max(s.now-o.asked, s.now-p.heard)
	}
	q := s.best(b, late)
	if q == nil || 2*q.eta(s.weight())+grace > left {
		return false
	}
	s.stats.Hedged++
	s.ask(q, b)
	return true
}

// Stats counts.
func (s *Scheduler) Stats() Stats {
	st := s.stats
	st.Peers, st.FlightBytes, st.WaitingBytes, st.StallTimeout = len(s.peers), s.flightBytes(), s.waiting, s.stall
	st.EstimatedBlock = s.weight()
	for _, b := range s.blocks {
		switch b.state {
		case idle:
			st.Idle++
		case asked:
			st.InFlight++
			if len(b.holders) > 1 {
				st.HedgedNow++
			}
		case arrived:
			st.Arrived++
		}
	}
	for _, p := range s.peers {
		if len(p.owes) > 0 {
			st.BytesPerSecond += int64(p.rate)
		}
		if p.resting {
			st.Resting++
		}
		if len(p.owes) >= s.limit() {
			st.AtLimit++
		}
	}
	if b := s.frontBlock(); b != nil {
		st.FrontHeight = b.Height
	}
	return st
}
