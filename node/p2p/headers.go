package p2p

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"stele/chain"
	"stele/node/p2p/presync"
	"stele/validate"
)

// nearTip is how many blocks of work below the confirmed tip a branch may be and still be stored, where that is more
// than the minimum work (Core: GetAntiDoSWorkThreshold).
const nearTip = 144

// startHeaders asks for headers whom it is time to ask: everybody once our best header is recent or a leader has told
// all it has, one leader before. Peers that connected to us lead where there are no others.
func (s *syncer) startHeaders(now time.Time) {
	var ask []*syncPeer
	best := s.m.chain.Status().Headers
	known := s.m.chain.Know(&best.Hash)
	age := now.Sub(time.Unix(int64(known.Header.Time), 0))
	s.mu.Lock()
	all := s.ended || age < recentHeader
	for _, sp := range s.order {
		if all && !sp.started && sp.download {
			sp.started, sp.asked = true, now
			ask = append(ask, sp)
		}
	}
	if !all && s.leader == nil {
		if sp := s.candidate(); sp != nil {
			s.leader, sp.started, sp.asked, sp.leads = sp, true, now, now
			sp.leadTime = leaderTime + leaderHeader*(max(age, 0)/(time.Duration(s.m.chain.Params().TargetSpacing)*time.Second))
			ask = append(ask, sp)
		}
	}
	s.mu.Unlock()
	for _, sp := range ask {
		sp.p.postHeaders(s.locator())
	}
}

// candidate is who leads next. mu is held.
func (s *syncer) candidate() *syncPeer {
	var inbound *syncPeer
	for _, sp := range s.order {
		switch {
		case sp.started || !sp.download || sp.p.ctx.Err() != nil:
		case sp.p.kind != Inbound:
			return sp
		case inbound == nil:
			inbound = sp
		}
	}
	return inbound
}

// locator is that of the best chain but for its tip: so the answer of one who has what we have is not empty, and says
// what that is.
func (s *syncer) locator() []chain.Hash {
	l := s.m.chain.Locator()
	if len(l) > 1 {
		l = l[1:]
	}
	return l
}

// postHeaders asks for headers without waiting for room in the queue.
func (p *peer) postHeaders(locator []chain.Hash) {
	p.post(cmdGetHeaders, appendLocator(make([]byte, headroom, headroom+5+32*(len(locator)+1)), locator, chain.Hash{}))
}

// ask sends getheaders unless an answer to the last one is due still.
func (s *syncer) ask(sp *syncPeer, locator []chain.Hash) error {
	now := time.Now()
	s.mu.Lock()
	waiting := !sp.asked.IsZero() && now.Sub(sp.asked) < headersTime
	if !waiting {
		sp.asked, sp.started = now, true
	}
	s.mu.Unlock()
	if waiting {
		return nil
	}
	return sp.p.getHeaders(locator, chain.Hash{})
}

// inv hears that a peer has a block.
func (s *syncer) inv(p *peer, hash *chain.Hash) error {
	sp, err := s.peer(p)
	if err != nil {
		return err
	}
	known := s.m.chain.Know(hash)
	if known.Knowledge == Nothing {
		p.tips.mu.Lock()
		p.tips.unknown = *hash
		p.tips.mu.Unlock()
		return s.ask(sp, s.m.chain.Locator())
	}
	s.has(sp, known.Point)
	return nil
}

// has notes that a peer has a header that we know.
func (s *syncer) has(sp *syncPeer, tip Point) {
	t := &sp.p.tips
	t.mu.Lock()
	better := tip.Work.Cmp(t.best.Work) > 0
	if better {
		t.best = tip
	}
	if t.unknown == tip.Hash {
		t.unknown = chain.Hash{}
	}
	t.mu.Unlock()
	if better {
		s.learned(sp)
		signal(s.wake)
	}
}

// headers takes in a message of headers that follow each other. hs is the reader's, and good until it returns.
func (s *syncer) headers(p *peer, hs []chain.Header) error {
	sp, err := s.peer(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	sp.asked = time.Time{}
	s.mu.Unlock()
	full := len(hs) == maxHeaders
	if sp.pre != nil {
		return s.presynced(sp, sp.pre.Put(hs, full))
	}
	if len(hs) == 0 {
		s.told(sp)
		return nil
	}
	hashes := make([]chain.Hash, len(hs))
	for i := range hs {
		hashes[i] = hs[i].Hash()
		if !validate.ProofOfWork(s.m.chain.Params(), hs[i].Bits, &hashes[i]).OK() {
			return breach(banScore, "header %s: high-hash", hashes[i])
		}
	}
	last := &hashes[len(hashes)-1]
	parent := s.m.chain.Know(&hs[0].Prev)
	if parent.Knowledge == Nothing {
		return s.unconnected(sp, last)
	}
	sp.unconnected = 0
	if s.m.chain.Know(last).Knowledge == Nothing && s.low(&parent, hs) {
		if !full || parent.Knowledge == Condemned {
			s.told(sp) // Core: Ignoring low-work chain
			return nil
		}
		return s.beginPresync(sp, &parent, hs)
	}
	return s.take(sp, hs, hashes, full)
}

// unconnected asks for what leads to headers that stand on nothing we know.
func (s *syncer) unconnected(sp *syncPeer, last *chain.Hash) error {
	sp.p.tips.mu.Lock()
	sp.p.tips.unknown = *last
	sp.p.tips.mu.Unlock()
	if sp.unconnected++; sp.unconnected%unconnectedMax == 0 &&
		sp.p.misbehaved(malformedScore, "headers that do not connect, again and again") {
		return errors.New("too many headers that do not connect")
	}
	return s.ask(sp, s.m.chain.Locator())
}

// low tells whether a chain that ends with hs has too little work to be stored.
func (s *syncer) low(parent *Known, hs []chain.Header) bool {
	work := parent.Work
	for i := range hs {
		work = work.Add(chain.BlockWork(hs[i].Bits))
	}
	return work.Cmp(s.enough()) < 0
}

// enough is the work of a chain that is stored: the minimum, or a little less than the confirmed tip has.
func (s *syncer) enough() chain.Work {
	tip := s.m.chain.Status().Confirmed
	known := s.m.chain.Know(&tip.Hash)
	near := chain.BlockWork(known.Header.Bits).MulUint32(nearTip)
	if near.Cmp(tip.Work) > 0 {
		near = tip.Work
	}
	if near = tip.Work.Sub(near); near.Cmp(s.m.cfg.MinimumWork) > 0 {
		return near
	}
	return s.m.cfg.MinimumWork
}

// beginPresync starts to look at a long chain of headers without storing it.
func (s *syncer) beginPresync(sp *syncPeer, parent *Known, hs []chain.Header) error {
	s.mu.Lock()
	room := sp.p.kind != Inbound || s.inPre < inboundPresync
	if room && sp.p.kind == Inbound {
		s.inPre++
	}
	s.mu.Unlock()
	if !room {
		s.told(sp)
		return nil
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	start := presync.Start{
		Hash: parent.Hash, Height: parent.Height, Bits: parent.Header.Bits, MTP: parent.MTP, Work: parent.Work,
		Locator: append([]chain.Hash{parent.Hash}, s.m.chain.Locator()...),
	}
	sp.pre = presync.New(s.m.chain.Params(), start, s.enough(), time.Now().Unix(), secret)
	return s.presynced(sp, sp.pre.Put(hs, true))
}

// presynced does what a presync says.
func (s *syncer) presynced(sp *syncPeer, r presync.Result) error {
	sp.p.presync.Store(sp.pre.Seen())
	if r.Status != presync.More {
		s.endPresync(sp)
	}
	if len(r.Released) > 0 {
		if err := s.put(sp, r.Released, true); err != nil {
			return err
		}
	}
	switch r.Status {
	case presync.More:
		return s.ask(sp, r.Locator)
	case presync.Done:
		return s.ask(sp, s.locator())
	}
	if r.Reason.Lies() {
		return breach(banScore, "headers: %s", r.Reason)
	}
	s.m.log(fmt.Sprintf("peer %d (%s): headers are not kept: %s", sp.p.id, sp.p.remote, r.Reason))
	s.told(sp)
	return nil
}

func (s *syncer) endPresync(sp *syncPeer) {
	sp.pre = nil
	sp.p.presync.Store(0)
	if sp.p.kind == Inbound {
		s.mu.Lock()
		s.inPre--
		s.mu.Unlock()
	}
}

// take hands headers to the node, and asks for more where there may be more.
func (s *syncer) take(sp *syncPeer, hs []chain.Header, hashes []chain.Hash, full bool) error {
	if err := s.put(sp, hs, false); err != nil {
		return err
	}
	last := s.m.chain.Know(&hashes[len(hashes)-1])
	switch {
	case last.Knowledge == Nothing: // held, or ahead of our clock: to ask for what follows is no use
		s.told(sp)
	case full:
		return s.ask(sp, append([]chain.Hash{last.Hash}, s.m.chain.Locator()...))
	default:
		s.announced(sp, &last)
		s.told(sp)
	}
	return nil
}

// put hands headers to the node and judges the answer. proven: presync has seen the work of their chain.
func (s *syncer) put(sp *syncPeer, hs []chain.Header, proven bool) error {
	r, err := s.m.chain.PutHeaders(s.m.ctx, hs, proven)
	if err != nil {
		s.m.log(fmt.Sprintf("headers: %v", err))
		return nil // no fault of the peer's: it stays
	}
	if r.Added > 0 {
		sp.p.lastNews.Store(time.Now().UnixNano())
	}
	if !r.Last.Work.IsZero() {
		s.has(sp, r.Last)
	}
	signal(s.wake)
	switch r.Invalid {
	case "", validate.ReasonTimeTooNew:
		return nil
	case validate.ReasonDuplicateInvalid: // it stands on one that we refused before; who connected to us may have other rules
		if sp.p.kind == Inbound {
			return nil
		}
	}
	return breach(banScore, "header: %s", r.Invalid)
}

// announced has blocks of a short announcement asked of who announced them: those from the last one down to what is
// here, if that is near, and the branch has no less work than the confirmed chain (Core: HeadersDirectFetchBlocks).
func (s *syncer) announced(sp *syncPeer, last *Known) {
	status := s.m.chain.Status()
	if status.Initial || !sp.download || last.Work.Cmp(status.Confirmed.Work) < 0 {
		return
	}
	var wants []Want
	for k := *last; k.Knowledge == HeaderHere; k = s.m.chain.Know(&k.Header.Prev) {
		if len(wants) == directFetch {
			return // a long branch is the scheduler's
		}
		wants = append(wants, Want{Hash: k.Hash, Height: k.Height})
	}
	for i, j := 0, len(wants)-1; i < j; i, j = i+1, j-1 {
		wants[i], wants[j] = wants[j], wants[i]
	}
	if len(wants) == 0 {
		return
	}
	s.mu.Lock()
	s.sched.Announce(time.Now(), sp.p.id, wants)
	s.mu.Unlock()
	signal(s.wake)
}

// told notes that a peer has no more headers for us now. Where that was the leader, everybody is asked.
func (s *syncer) told(sp *syncPeer) {
	s.mu.Lock()
	led := s.leader == sp
	if led {
		s.leader, s.ended = nil, true
	}
	s.mu.Unlock()
	if led {
		s.startHeaders(time.Now())
	}
}
