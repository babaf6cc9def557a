package p2p

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"stele/chain"
	"stele/node/p2p/download"
	"stele/node/p2p/presync"
	"stele/validate"
)

const (
	syncTick       = 500 * time.Millisecond
	headersTime    = 2 * time.Minute        // for an answer to getheaders (Core: HEADERS_RESPONSE_TIME)
	leaderSilent   = 3 * time.Second        // for the first answer of a leader, before another one is asked as well
	leaderTime     = 15 * time.Minute       // for all headers of a leader ...
	leaderHeader   = time.Millisecond       // ... and this for each that is expected (Core)
	recentHeader   = 24 * time.Hour         // a best header of this age: all peers are asked, not the leader alone
	wantsAtOnce    = 20_000                 // blocks that the scheduler is told of
	refillSeldom   = 2 * time.Second        // what is missing is asked for: without a reason ...
	refillOften    = 500 * time.Millisecond // ... when it may have changed ...
	refillFull     = 50 * time.Millisecond  // ... and when it was more than one answer holds
	directFetch    = 16                     // blocks of a branch that are fetched as it is announced
	unrequestedMax = 288                    // blocks above the confirmed tip up to which one that nobody asked for is taken
	unconnectedMax = 10                     // messages with unconnected headers that cost something together
	inboundPresync = 8                      // inbound peers whose low-work headers are listened to at a time
	partialTold    = 64 << 10               // bytes of a block that is coming which are worth telling
	sharedDepth    = 288                    // headers that are looked through for the fork of a peer's branch
)

// syncer asks peers for headers and blocks. mu guards all of it but what a syncPeer says of itself. Readers take it with
// every block, so it is held for the scheduler and for Chain.Status and Room, which answer at once; never for a question
// that the node has to find time for, nor while something is sent by p.send.
type syncer struct {
	m    *Manager
	wake chan struct{} // there may be something to plan

	mu      sync.Mutex
	sched   *download.Scheduler
	peers   map[PeerID]*syncPeer
	order   []*syncPeer // as they joined
	leader  *syncPeer   // whom headers are asked of while they are far from the present; nil: nobody
	ended   bool        // a leader has told all that it has: everybody is asked
	dirty   bool        // what is missing may have changed
	tipTime time.Time   // when the tip moved last, or we began
	inPre   int         // inbound peers in presync

	// The loop alone:
	wants    []Want
	refilled time.Time // when wants was asked for
}

// syncPeer is a peer as the syncer sees it.
type syncPeer struct {
	p        *peer
	download bool      // blocks may be asked of it
	started  bool      // it was asked for headers
	asked    time.Time // for headers, without an answer yet; zero: not
	leads    time.Time // since when it leads, and the time that it has
	leadTime time.Duration
	lag      lag
	owed     int   // blocks that it was asked for and that did not come
	told     int64 // bytes of its connection up to which the scheduler knows of them

	// The reader's goroutine alone:
	pre         *presync.Sync
	unconnected int
}

func newSyncer(m *Manager) *syncer {
	return &syncer{
		m: m, wake: make(chan struct{}, 1), sched: download.New(download.Options{}), peers: map[PeerID]*syncPeer{},
		tipTime: time.Now(),
	}
}

// loop plans, and reads the node's news.
func (s *syncer) loop() error {
	ticker := time.NewTicker(syncTick)
	defer ticker.Stop()
	events := s.m.chain.Events()
	for last := time.Now(); ; {
		select {
		case <-s.m.ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			s.event(&e)
		case <-s.wake:
		case <-ticker.C:
			now := time.Now()
			if slept(last, now) {
				s.m.probe()
			}
			last = now
			s.headersTick(now)
		}
		s.plan(time.Now())
	}
}

// join begins with a peer whose handshake is done. Its reader calls it.
func (s *syncer) join(p *peer) error {
	sp := &syncPeer{p: p, download: s.m.serves(p.services)}
	s.mu.Lock()
	s.peers[p.id] = sp
	s.order = append(s.order, sp)
	s.mu.Unlock()
	s.startHeaders(time.Now())
	return nil
}

// leave gives back what a peer that is gone owed.
func (s *syncer) leave(p *peer) {
	s.mu.Lock()
	sp := s.peers[p.id]
	if sp == nil {
		s.mu.Unlock()
		return
	}
	delete(s.peers, p.id)
	for i := range s.order {
		if s.order[i] == sp {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
	if s.leader == sp {
		s.leader = nil
	}
	if sp.pre != nil && p.kind == Inbound {
		s.inPre--
	}
	s.sched.Leave(time.Now(), p.id)
	s.mu.Unlock()
	s.startHeaders(time.Now())
	signal(s.wake)
}

// peer finds a peer's record; it is gone only when the peer is.
func (s *syncer) peer(p *peer) (*syncPeer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.peers[p.id]; sp != nil {
		return sp, nil
	}
	return nil, errors.New("gone")
}

// learned tells the scheduler up to where a peer has the best chain.
func (s *syncer) learned(sp *syncPeer) {
	sp.p.tips.mu.Lock()
	best := sp.p.tips.best
	sp.p.tips.mu.Unlock()
	if best.Work.IsZero() || !sp.download {
		return
	}
	height := s.shared(best.Hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[sp.p.id] != sp {
		return
	}
	s.sched.Join(time.Now(), sp.p.id, download.Peer{Height: height, Limited: sp.p.services&serviceNetwork == 0})
}

// shared is the height of the last header that our best chain and the branch of hash share; 0 where that is far below.
func (s *syncer) shared(hash chain.Hash) uint32 {
	for range sharedDepth {
		k := s.m.chain.Know(&hash)
		if k.Knowledge == Nothing {
			return 0
		}
		if k.Best {
			return k.Height
		}
		hash = k.Header.Prev
	}
	return 0
}

// plan asks for blocks, and parts with peers that do not give them.
func (s *syncer) plan(now time.Time) {
	s.refill(now)
	s.mu.Lock()
	s.coming(now)
	plan := s.sched.Plan(now, s.m.chain.Room(), s.m.chain.Status().Confirmed.Height)
	for _, r := range plan.Requests {
		if sp := s.peers[r.Peer]; sp != nil {
			sp.owed += len(r.Hashes)
			sp.p.post(cmdGetData, encodeInv(invBlock|witnessFlag, r.Hashes))
		}
	}
	for _, r := range plan.Cancelled {
		s.settle(r.Peer, len(r.Hashes))
	}
	var again []*syncPeer
	for _, d := range plan.Drops {
		sp := s.peers[d.Peer]
		switch {
		case sp == nil:
		case sp.p.kind == Manual:
			s.m.log(fmt.Sprintf("peer %d (%s): %s", sp.p.id, sp.p.remote, d.Reason))
			again = append(again, sp)
		default:
			sp.p.close(fmt.Errorf("blocks: %s", d.Reason))
		}
	}
	s.mu.Unlock()
	for _, sp := range again {
		s.learned(sp)
	}
}

// settle notes that a peer owes n blocks less. One that was given back may come all the same. mu is held.
func (s *syncer) settle(id PeerID, n int) {
	if sp := s.peers[id]; sp != nil {
		sp.owed = max(sp.owed-n, 0)
	}
}

// coming tells the scheduler of bytes of blocks that are not whole yet. mu is held.
func (s *syncer) coming(now time.Time) {
	for _, sp := range s.order {
		in := sp.p.conn.in.Load()
		if n := in - max(sp.told, sp.p.whole.Load()); sp.owed > 0 && n >= partialTold {
			s.sched.Received(now, sp.p.id, n)
			sp.told = in
		}
	}
}

// refill tells the scheduler what is missing: at once where it runs out of blocks and there may be more, else now and
// then.
func (s *syncer) refill(now time.Time) {
	since := now.Sub(s.refilled)
	s.mu.Lock()
	due := since >= refillSeldom || s.dirty && since >= refillOften ||
		s.sched.Short() && (s.dirty || len(s.wants) == wantsAtOnce && since >= refillFull)
	s.dirty = s.dirty && !due
	s.mu.Unlock()
	if !due {
		return
	}
	s.refilled = now
	s.wants = s.m.chain.Missing(s.wants[:0], wantsAtOnce)
	s.mu.Lock()
	s.sched.Refill(s.wants) // a block that came since the question is arrived in the scheduler's eyes, and stays so
	s.mu.Unlock()
}

// event takes in news of the node.
func (s *syncer) event(e *Event) {
	now := time.Now()
	switch e.Kind {
	case TipMoved:
		s.mu.Lock()
		s.tipTime, s.dirty = now, true
		s.mu.Unlock()
		s.m.announcer.tip(e.Hashes)
	case ChainMoved:
		s.mu.Lock()
		s.dirty = true
		order := append([]*syncPeer(nil), s.order...)
		s.mu.Unlock()
		for _, sp := range order {
			s.learned(sp)
		}
	case Refused:
		s.refused(e, now)
	case WantAgain:
		s.mu.Lock()
		s.sched.Again(now, &e.Hash)
		s.mu.Unlock()
	}
}

// refused blames who sent a block that was refused, and has it asked of others if its body alone was at fault.
func (s *syncer) refused(e *Event, now time.Time) {
	verdict := download.Condemned
	if e.Mutated {
		verdict = download.Mutated
	}
	s.mu.Lock()
	s.sched.Refused(now, &e.Hash, e.From, verdict)
	s.dirty = true
	sp := s.peers[e.From]
	s.mu.Unlock()
	switch {
	case sp == nil, e.Reason == validate.ReasonPrevNotFound:
	case e.Reason == validate.ReasonDuplicateInvalid && sp.p.kind == Inbound: // as with headers
	default:
		sp.p.misbehaved(banScore, fmt.Sprintf("block %s: %s", e.Hash, e.Reason))
	}
}

// block takes a block in: one that was asked for, or one that nobody asked for under the rules for those.
func (s *syncer) block(p *peer, h *chain.Header, hash *chain.Hash, raw []byte) error {
	now := time.Now()
	s.mu.Lock()
	arrival := s.sched.Block(now, p.id, hash, int64(len(raw)))
	if arrival != download.Unasked {
		s.settle(p.id, 1)
	}
	s.mu.Unlock()
	signal(s.wake)
	switch arrival {
	case download.Duplicate:
		return nil
	case download.Unasked:
		if take, err := s.unrequested(p, h, hash, len(raw)); err != nil || !take {
			return err
		}
	}
	p.received.Add(int64(len(raw)))
	p.lastBlock.Store(now.UnixNano())
	if err := s.m.chain.PutBlock(hash, raw, p.id); err != nil {
		s.m.log(fmt.Sprintf("block %s: %v", hash, err))
		s.mu.Lock()
		s.sched.Again(now, hash)
		s.mu.Unlock()
	}
	return nil
}

// unrequested tells whether to take a block that was not asked of this peer: if it is new, of a chain with at least
// the work of the confirmed one and not far above that (Core: AcceptBlock), and if there is room for it.
func (s *syncer) unrequested(p *peer, h *chain.Header, hash *chain.Hash, size int) (bool, error) {
	known := s.m.chain.Know(hash)
	if known.Knowledge == Nothing {
		if err := s.headers(p, []chain.Header{*h}); err != nil {
			return false, err
		}
		known = s.m.chain.Know(hash)
	}
	confirmed := s.m.chain.Status().Confirmed
	return known.Knowledge == HeaderHere && known.Work.Cmp(confirmed.Work) >= 0 &&
		known.Height <= confirmed.Height+unrequestedMax && int64(size) <= s.m.chain.Room(), nil
}

// notFound gives back blocks that a peer does not have.
func (s *syncer) notFound(p *peer, hashes []chain.Hash) {
	now := time.Now()
	s.mu.Lock()
	s.settle(p.id, len(hashes))
	for i := range hashes {
		s.sched.NotFound(now, p.id, &hashes[i])
	}
	s.mu.Unlock()
	signal(s.wake)
}

// tell adds to what is told of a peer.
func (s *syncer) tell(p *peer, info *PeerInfo) {
	info.InFlight = s.owes(p)
	info.Presync = p.presync.Load()
}

// owes is how many blocks a peer was asked for and has not given.
func (s *syncer) owes(p *peer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.peers[p.id]; sp != nil {
		return sp.owed
	}
	return 0
}

// lastTip is when the tip moved last.
func (s *syncer) lastTip() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tipTime
}

// idle tells that no block is on its way.
func (s *syncer) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sched.Stats().InFlight == 0
}

// Downloads are the counts of the scheduler.
func (m *Manager) Downloads() download.Stats {
	m.sync.mu.Lock()
	defer m.sync.mu.Unlock()
	return m.sync.sched.Stats()
}
