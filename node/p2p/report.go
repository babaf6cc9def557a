package p2p

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// PeerInfo is what can be told of a connection.
type PeerInfo struct {
	ID          PeerID
	Kind        Kind
	Address     string // of the other side, host:port
	Local       string // of ours
	Encrypted   bool
	Session     string // of an encrypted connection: the same on both sides if nobody sits between
	Version     uint32
	Services    uint64
	Agent       string // as it says; not to be shown unquoted
	Since       time.Time
	LastIn      time.Time
	LastOut     time.Time
	BytesIn     int64
	BytesOut    int64
	Latency     time.Duration // of the last ping; zero: none yet
	MinLatency  time.Duration
	PingWaiting time.Duration // how long a pong is overdue or on its way
	StartHeight int32
	Score       int
	Height      uint32 // of the best block that it is known to have
	InFlight    int    // blocks that it owes us
	Blocks      int64  // bytes of blocks that it gave us
	Queued      int    // bytes that wait to be sent
	Asked       int    // blocks that it waits for
	Presync     uint32 // height of a chain of headers that has not shown enough work yet; zero: none
}

// Peers tells of all connections whose handshake is done, oldest first.
func (m *Manager) Peers() []PeerInfo {
	all := m.connected()
	infos := make([]PeerInfo, len(all))
	for i, p := range all {
		infos[i] = p.info()
		m.sync.tell(p, &infos[i])
	}
	return infos
}

func (p *peer) info() PeerInfo {
	i := PeerInfo{
		ID: p.id, Kind: p.kind, Address: p.remote, Encrypted: p.encrypted, Version: p.version, Services: p.services,
		Agent: p.agent, Since: p.since, LastIn: p.moment(&p.conn.lastIn), LastOut: p.moment(&p.conn.lastOut),
		BytesIn: p.conn.in.Load(), BytesOut: p.conn.out.Load(), Latency: time.Duration(p.latency.Load()),
		MinLatency: time.Duration(p.minLatency.Load()), StartHeight: p.startHeight, Blocks: p.received.Load(),
	}
	if c, ok := p.link.(*v2); ok {
		i.Session = c.sessionText()
	}
	if a := p.conn.LocalAddr(); a != nil {
		i.Local = a.String()
	}
	p.tips.mu.Lock()
	i.Height = p.tips.best.Height
	p.tips.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	i.Score, i.Queued, i.Asked = p.score, p.queued, len(p.asked)
	if !p.ping.sent.IsZero() {
		i.PingWaiting = time.Since(p.ping.sent)
	}
	return i
}

// moment is a time of the meter; zero where nothing has happened yet.
func (p *peer) moment(after *atomic.Int64) time.Time {
	d := after.Load()
	if d == 0 {
		return time.Time{}
	}
	return p.since.Add(time.Duration(d))
}

// Totals are sums over all connections since the start.
type Totals struct {
	BytesIn, BytesOut int64
	BlocksServed      int64
	AddrsDropped      int64 // beyond the rate at which a peer may tell of addresses
	Inbound, Outbound int   // connections now
}

// Totals adds up.
func (m *Manager) Totals() Totals {
	t := Totals{
		BytesIn: m.goneIn.Load(), BytesOut: m.goneOut.Load(), BlocksServed: m.served.Load(),
		AddrsDropped: m.dropped.Load(),
	}
	for _, p := range m.connected() {
		t.BytesIn += p.conn.in.Load()
		t.BytesOut += p.conn.out.Load()
		if p.kind == Inbound {
			t.Inbound++
		} else {
			t.Outbound++
		}
	}
	return t
}

// Addrs are the addresses that are listened on.
func (m *Manager) Addrs() []net.Addr {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]net.Addr, len(m.listeners))
	for i, l := range m.listeners {
		all[i] = l.Addr()
	}
	return all
}

// Disconnect ends a connection; false where there is none of that number.
func (m *Manager) Disconnect(id PeerID, reason string) bool {
	m.mu.Lock()
	p := m.peers[id]
	m.mu.Unlock()
	if p == nil {
		return false
	}
	p.close(errors.New(reason))
	return true
}

// Bans are those in force.
func (m *Manager) Bans() []Ban { return m.bans.list() }

// Ban keeps a range of addresses away for a time, and ends its connections. Not even named nodes are excepted.
func (m *Manager) Ban(subnet netip.Prefix, d time.Duration, reason string) {
	now := time.Now()
	m.bans.add(Ban{Subnet: subnet.Masked(), Created: now, Until: now.Add(d), Reason: reason})
	for _, p := range m.connected() {
		if m.bans.banned(p.addr) {
			p.close(errors.New("banned"))
		}
	}
}

// Unban tells whether there was such a ban.
func (m *Manager) Unban(subnet netip.Prefix) bool { return m.bans.remove(subnet) }

// ClearBans lifts all bans.
func (m *Manager) ClearBans() { m.bans.clear() }
