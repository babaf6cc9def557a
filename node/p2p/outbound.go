package p2p

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"stele/node/p2p/addrbook"
)

const (
	callPause    = 500 * time.Millisecond // between two looks for free slots (Core)
	callsAtOnce  = 4
	pickTries    = 100              // addresses that are looked at for one call
	recentTries  = 30               // among them first those that were not called lately
	recentTime   = 10 * time.Minute // is lately
	portTries    = 50               // and those at ports of other services last
	feelerTime   = 2 * time.Minute  // between two feelers, in the mean
	connectedFor = 20 * time.Minute // a connection that lasted so long refreshes its address
	staleCheck   = 45 * time.Second
	staleTime    = 30 * time.Minute // without a new block: three blocks are due (Core)
	newPeerTime  = 30 * time.Second // in which a peer is not judged by its news
)

// outboundLoop keeps the slots for connections of ours full: eight peers of all kinds of news and two for blocks alone,
// as in Core. The two are not seen in gossip, so that who maps the network by it cannot cut us off from them.
func (m *Manager) outboundLoop() error {
	m.goes("seeds", m.seedLoop)
	ticker := time.NewTicker(callPause)
	defer ticker.Stop()
	nextFeeler, nextCheck := time.Now().Add(spread(feelerTime)), time.Now().Add(staleCheck)
	for {
		select {
		case <-m.ctx.Done():
			return nil
		case <-ticker.C:
		case <-m.outbound:
		}
		now := time.Now()
		if now.After(nextCheck) {
			nextCheck = now.Add(staleCheck)
			m.checkTip(now)
		}
		kind, ok := m.freeSlot()
		if !ok && now.After(nextFeeler) {
			nextFeeler = now.Add(spread(feelerTime))
			kind, ok = Feeler, true
		}
		if ok {
			m.callOne(kind)
		}
	}
}

// spread is a time with this mean, as between two events that know nothing of each other.
func spread(mean time.Duration) time.Duration {
	return time.Duration(rand.ExpFloat64() * float64(mean))
}

// freeSlot tells for which kind of peer there is room.
func (m *Manager) freeSlot() (Kind, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calling[Full] + m.calling[BlockOnly] + m.calling[Feeler]
	for _, p := range m.peers {
		if p.kind == Full || p.kind == BlockOnly || p.kind == Feeler {
			calls-- // it has been answered
		}
	}
	full := m.cfg.FullOut
	if m.staleTip.Load() {
		full++
	}
	switch {
	case calls >= callsAtOnce:
		return 0, false
	case m.calling[Full] < full:
		return Full, true
	case m.calling[BlockOnly] < m.cfg.BlockOut:
		return BlockOnly, true
	}
	return 0, false
}

// begin and end count calls from when they are made until their connection is gone.
func (m *Manager) begin(kind Kind) {
	m.mu.Lock()
	m.calling[kind]++
	m.mu.Unlock()
}

func (m *Manager) end(kind Kind) {
	m.mu.Lock()
	m.calling[kind]--
	m.mu.Unlock()
}

// callOne picks an address and calls it.
func (m *Manager) callOne(kind Kind) {
	m.book.Resolve()
	found, ok := m.pick(kind)
	if !ok {
		return
	}
	// Where nobody answers, the network may be gone and not the address.
	m.book.Attempt(found.Address, m.Totals().Outbound >= 2)
	encrypted := !m.cfg.NoEncryption && found.Services&serviceV2 != 0
	m.begin(kind)
	m.wg.Go(func() {
		m.call(kind, found.Address.String(), found.Address, encrypted, func(used time.Duration, err error) {
			m.end(kind)
			if used >= connectedFor {
				m.book.Connected(found.Address)
			}
		})
	})
}

// pick chooses whom to call: by chance from the book, but nobody of a network group that a connection of ours is in,
// as one party may hold all of it.
func (m *Manager) pick(kind Kind) (addrbook.Found, bool) {
	groups, called := m.taken()
	if kind == Feeler {
		if f, ok := m.book.SelectTriedCollision(); ok && !called[f.Address] {
			return f, true
		}
	}
	now := time.Now()
	for try := range pickTries {
		f, ok := m.book.Select(kind == Feeler)
		switch {
		case !ok:
			return f, false
		case called[f.Address], !m.dialer.reaches(f.Net), m.bans.banned(f.Address):
		case kind != Feeler && (groups[f.Group()] || !m.serves(f.Services)):
		case now.Sub(f.Called) < recentTime && try < recentTries:
		case addrbook.BadPort(f.Port) && try < portTries:
		default:
			return f, true
		}
	}
	return addrbook.Found{}, false
}

// taken is the groups of connections of ours, and the addresses of all.
func (m *Manager) taken() (map[addrbook.Group]bool, map[addrbook.Address]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	groups, called := map[addrbook.Group]bool{}, map[addrbook.Address]bool{}
	for _, all := range []map[PeerID]*peer{m.peers, m.waiting} {
		for _, p := range all {
			called[p.addr] = true
			if p.kind != Inbound && p.kind != Feeler {
				groups[p.addr.Group()] = true
			}
		}
	}
	return groups, called
}

// known tells the book of a handshake that was a success.
func (m *Manager) known(p *peer) {
	if p.kind == Inbound || m.book == nil {
		return
	}
	m.book.SetServices(p.addr, p.services)
	m.book.Good(p.addr)
}

// checkTip has one more peer called while no block comes, lest all peers be of one mind; and takes the one that has
// told nothing for longest off again when there is one too many.
func (m *Manager) checkTip(now time.Time) {
	stale := now.Sub(m.sync.lastTip()) > staleTime && m.sync.idle()
	if stale && !m.staleTip.Swap(stale) {
		m.log(fmt.Sprintf("no new block for %v: one more peer is called", staleTime))
	}
	m.staleTip.Store(stale)
	var full []*peer
	for _, p := range m.connected() {
		if p.kind == Full && p.ctx.Err() == nil {
			full = append(full, p)
		}
	}
	if len(full) <= m.cfg.FullOut {
		return
	}
	full = slices.DeleteFunc(full, func(p *peer) bool {
		return now.Sub(p.since) < newPeerTime || m.sync.owes(p) > 0
	})
	if len(full) > 0 {
		worst := slices.MinFunc(full, func(a, b *peer) int { return int(a.lastNews.Load()/1e9 - b.lastNews.Load()/1e9) })
		worst.close(errors.New("one more peer than needed, and its last news is the oldest"))
	}
}
