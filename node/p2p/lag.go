package p2p

import (
	"errors"
	"time"

	"stele/chain"
)

const (
	lagTime     = 20 * time.Minute // a peer of ours has less work than our tip had then: it is asked once more ...
	lagAnswer   = 2 * time.Minute  // ... and has this time (Core: ConsiderEviction)
	lagSafe     = 4                // peers of ours that are kept all the same, so that not all can be driven out
	asksAgain   = 15 * time.Minute // headers are asked for anew while no block comes
	staleHeader = 30 * time.Minute
	sleepTime   = time.Minute
)

// lag is how a peer of ours keeps up with the chain.
type lag struct {
	until time.Time  // by when it must have at least the work; zero: it is not behind
	work  chain.Work // of our tip when the time began
	asked bool
	again time.Time // when headers were asked for because none came
}

// slept tells whether the clock on the wall went much further than the one that stands still while the machine sleeps.
func slept(before, now time.Time) bool {
	return now.Round(0).Sub(before.Round(0))-now.Sub(before) > sleepTime
}

// headersTick looks for answers that are overdue, peers that lag, and a chain that stands still.
func (s *syncer) headersTick(now time.Time) {
	confirmed := s.m.chain.Status().Confirmed
	s.mu.Lock()
	stale := now.Sub(s.tipTime) > staleHeader
	order := append([]*syncPeer(nil), s.order...)
	leader, others := s.leader, 0
	for _, sp := range order {
		if sp.p.kind != Inbound && sp.download {
			others++
		}
	}
	s.mu.Unlock()
	if leader != nil && now.Sub(leader.leads) > leader.leadTime && others > 1 {
		s.lead(leader, "headers come too slowly")
	}
	for _, sp := range order {
		started := s.overdue(sp, now)
		if sp.p.kind == Full || sp.p.kind == BlockOnly {
			s.lags(sp, started, confirmed, now, others)
		}
		if stale && started && sp.p.kind != Inbound && now.Sub(sp.lag.again) > asksAgain {
			sp.lag.again = now
			sp.p.postHeaders(s.locator())
		}
	}
	s.startHeaders(now)
}

// overdue parts with a peer of ours that does not answer getheaders; another leads. Before that, a leader that says nothing
// for a while has another one beside it, so that nobody holds a sync up. It tells whether the peer was ever asked.
func (s *syncer) overdue(sp *syncPeer, now time.Time) (started bool) {
	s.mu.Lock()
	late := !sp.asked.IsZero() && now.Sub(sp.asked) > headersTime
	if late {
		sp.asked = time.Time{}
	}
	leads, started := s.leader == sp, sp.started
	if leads && !late && !sp.asked.IsZero() && now.Sub(sp.asked) > leaderSilent && s.candidate() != nil {
		s.leader = nil // what it says later counts all the same
	}
	s.mu.Unlock()
	if late && (leads || sp.p.kind == Full || sp.p.kind == BlockOnly) {
		s.lead(sp, "no answer to getheaders")
	}
	return started
}

// lead takes the lead from a peer, and ends the connection if it is one of ours that nobody named.
func (s *syncer) lead(sp *syncPeer, reason string) {
	s.mu.Lock()
	if s.leader == sp {
		s.leader = nil
	}
	if sp.p.kind == Manual { // its turn comes again after the others'
		sp.started = false
		for i := range s.order {
			if s.order[i] == sp {
				s.order = append(append(s.order[:i:i], s.order[i+1:]...), sp)
				break
			}
		}
	}
	s.mu.Unlock()
	if sp.p.kind == Full || sp.p.kind == BlockOnly {
		sp.p.close(errors.New(reason))
	}
}

// lags parts with a peer of ours whose best chain has had less work than our tip for long. The loop alone calls it.
func (s *syncer) lags(sp *syncPeer, started bool, tip Point, now time.Time, others int) {
	sp.p.tips.mu.Lock()
	best := sp.p.tips.best
	sp.p.tips.mu.Unlock()
	l := &sp.lag
	switch {
	case !started || best.Work.Cmp(tip.Work) >= 0:
		l.until = time.Time{}
	case l.until.IsZero() || best.Work.Cmp(l.work) >= 0:
		l.until, l.work, l.asked = now.Add(lagTime), tip.Work, false
	case now.Before(l.until):
	case !l.asked:
		l.until, l.asked = now.Add(lagAnswer), true
		sp.p.postHeaders(s.locator())
	case others > lagSafe:
		sp.p.close(errors.New("has a chain of less work"))
	}
}
