package p2p

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/node/p2p/addrbook"
)

// Rules of gossip, all of them Core's.
const (
	sampleMax     = 1000 // addresses in an answer to getaddr ...
	samplePercent = 23   // ... and of what the book holds
	sampleTime    = 21 * time.Hour
	sampleSpread  = 6 * time.Hour
	gossipFresh   = 10 * time.Minute // addresses seen lately are passed on ...
	gossipFew     = 10               // ... if they came in a small message
	gossipPeers   = 2
	gossipTime    = 30 * time.Second // what is to be passed on is sent together
	gossipPenalty = 2 * time.Hour    // what others say is taken as older
	knownAddrs    = 1000             // addresses that a peer is known to have, before that is forgotten
	selfTime      = 24 * time.Hour
)

// gossip is the addresses on their way to a peer.
type gossip struct {
	mu    sync.Mutex
	on    bool // it takes part
	known map[addrbook.Address]struct{}
	queue []addrbook.Known
}

// join tells that the peer takes part in gossip; those that do not are never told addresses.
func (g *gossip) join() {
	g.mu.Lock()
	g.on = true
	g.mu.Unlock()
}

// has notes that the peer knows an address, and tells whether it did before.
func (g *gossip) has(a addrbook.Address) bool {
	if _, ok := g.known[a]; ok {
		return true
	}
	if g.known == nil || len(g.known) >= knownAddrs {
		g.known = make(map[addrbook.Address]struct{})
	}
	g.known[a] = struct{}{}
	return false
}

// pass queues an address for the peer, unless it has that.
func (g *gossip) pass(k addrbook.Known) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on && len(g.queue) < maxAddrs && !g.has(k.Address) {
		g.queue = append(g.queue, k)
	}
}

func (g *gossip) take() []addrbook.Known {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queue
	g.queue = nil
	return queue
}

// takesAddrs tells whether the kind of connection has to do with addresses at all.
func (p *peer) takesAddrs() bool { return p.kind != BlockOnly && p.kind != Feeler }

// gotAddrs takes addresses in, as many as the peer's bucket has tokens for.
func (p *peer) gotAddrs(msg message) error {
	if !p.takesAddrs() {
		return nil
	}
	decode := addrbook.DecodeV1
	if msg.command == cmdAddrV2 {
		decode = addrbook.DecodeV2
	}
	list, err := decode(msg.payload)
	if err != nil {
		return p.malformed(msg.command)
	}
	p.gossip.join()
	now := time.Now()
	p.in.addrs.refill(now)
	fresh := len(list) <= gossipFew && !p.in.asked
	kept := list[:0]
	for _, k := range list {
		if !p.in.addrs.take() {
			p.m.dropped.Add(1)
			continue
		}
		if k.Services&(serviceNetwork|serviceLimited) == 0 || !k.Routable() || p.m.bans.banned(k.Address) {
			continue
		}
		p.gossip.mu.Lock()
		p.gossip.has(k.Address)
		p.gossip.mu.Unlock()
		if fresh && now.Sub(k.Seen).Abs() < gossipFresh {
			p.m.passOn(p, k)
		}
		kept = append(kept, k)
	}
	if p.m.book != nil {
		p.m.book.Add(kept, p.addr, gossipPenalty)
	}
	if len(list) > 1 {
		p.in.asked = p.in.asked && len(list) == maxAddrs // more may follow
		if p.kind == AddrFetch {
			return errDone
		}
	}
	return nil
}

// passOn queues an address for two peers. Which ones follows from the address, the day and a secret: who sends the same
// address again reaches the same peers.
func (m *Manager) passOn(from *peer, k addrbook.Known) {
	var best [gossipPeers]*peer
	var marks [gossipPeers]uint64
	day := time.Now().Unix() / (24 * 60 * 60)
	for _, p := range m.connected() {
		if p == from || !p.takesAddrs() {
			continue
		}
		mark := maphash.Comparable(m.secret, passing{k.Address, day, p.id})
		for i := range best {
			if best[i] == nil || mark > marks[i] {
				copy(best[i+1:], best[i:])
				copy(marks[i+1:], marks[i:])
				best[i], marks[i] = p, mark
				break
			}
		}
	}
	for _, p := range best {
		if p != nil {
			p.gossip.pass(k)
		}
	}
}

type passing struct {
	addr addrbook.Address
	day  int64
	peer PeerID
}

// sendAddrs sends addresses in the form that the peer understands.
func (p *peer) sendAddrs(list []addrbook.Known) {
	for len(list) > 0 {
		n := min(len(list), maxAddrs)
		if p.addrV2 {
			p.post(cmdAddrV2, addrbook.AppendV2(make([]byte, headroom), list[:n]))
		} else {
			p.post(cmdAddr, addrbook.AppendV1(make([]byte, headroom), list[:n]))
		}
		list = list[n:]
	}
}

// askAddrs sends getaddr, and makes room for the answer.
func (p *peer) askAddrs() error {
	p.in.asked = true
	p.in.addrs.grant(addrBurst)
	return p.sendMessage(wire.NewMsgGetAddr())
}

// gotGetAddr answers who connected to us, once: the others could tell from our answers where else we are connected.
func (p *peer) gotGetAddr() error {
	if p.kind != Inbound || p.in.answered || p.m.book == nil {
		return nil
	}
	p.in.answered = true
	p.gossip.join()
	p.sendAddrs(p.m.samples.take(p.m))
	return nil
}

// sample is the answer to getaddr: the same for all who ask within a day, so that asking often does not read the book
// out.
type sample struct {
	mu    sync.Mutex
	list  []addrbook.Known
	until time.Time
}

func (s *sample) take(m *Manager) []addrbook.Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.list == nil || now.After(s.until) {
		s.list = m.book.Sample(sampleMax, samplePercent)
		s.until = now.Add(sampleTime + rand.N(sampleSpread))
	}
	var list []addrbook.Known
	for _, k := range s.list {
		if !m.bans.banned(k.Address) {
			list = append(list, k)
		}
	}
	return list
}

// gossipLoop sends what was queued, and tells our own addresses once a day.
func (m *Manager) gossipLoop() error {
	ticker := time.NewTicker(gossipTime)
	defer ticker.Stop()
	self := time.Now().Add(selfTime)
	for {
		select {
		case <-m.ctx.Done():
			return nil
		case <-ticker.C:
		}
		if now := time.Now(); now.After(self) {
			self = now.Add(selfTime)
			for _, p := range m.connected() {
				m.tellSelf(p)
			}
		}
		for _, p := range m.connected() {
			if list := p.gossip.take(); len(list) > 0 {
				p.sendAddrs(list)
			}
		}
	}
}

// tellSelf tells a peer where we listen, if the user said so.
func (m *Manager) tellSelf(p *peer) {
	if p.kind != Full && p.kind != Manual && p.kind != Inbound {
		return
	}
	for _, a := range m.cfg.External {
		p.gossip.mu.Lock()
		delete(p.gossip.known, a)
		p.gossip.mu.Unlock()
		p.gossip.pass(addrbook.Known{Address: a, Services: m.services(), Seen: time.Now()})
	}
}
