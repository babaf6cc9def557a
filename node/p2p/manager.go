package p2p

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stele/chain"
	"stele/node/p2p/addrbook"
)

// Config says how a Manager behaves. The zero value of a number is its default.
type Config struct {
	Chain  Chain
	Book   *addrbook.Book // nil: no gossip, and nobody is called but who is named
	Folder string         // of bans.json; empty: bans are kept in memory

	Listen   []string           // host:port to listen on
	External []addrbook.Address // where others reach us; told to peers
	Connect  []string           // call these alone
	AddNode  []string           // call these as well
	Proxy    string             // host:port of a SOCKS5 proxy through which everything is called, names included
	NoSeeds  bool               // never ask DNS seeds nor call the fixed ones

	MaxInbound int // 114, so that there are 125 in all as in Core; negative: none
	FullOut    int // 8; negative: none
	BlockOut   int // 2; negative: none

	NoEncryption bool       // neither offer nor try the encrypted transport
	UserAgent    string     // "/Stele:0.1.0/"
	MinimumWork  chain.Work // of a chain worth storing; zero: the network's
	Log          func(line string)

	// Dial and Lookup replace the network in tests. Lookup resolves DNS seeds.
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	defaultInbound  = 114
	defaultFull     = 8
	defaultBlock    = 2
	defaultAgent    = "/Stele:0.1.0/"
	maxHandshaking  = 64 // inbound connections whose handshake is on its way
	acceptPause     = 100 * time.Millisecond
	bansFile        = "bans.json"
	maxErrorPause   = 5 * time.Second
	addrFetchTime   = time.Minute
	closeMessageMax = 200 // characters of a reason in the log
)

// Manager holds the connections. All methods may be called from any goroutine.
type Manager struct {
	cfg    Config
	chain  Chain
	book   *addrbook.Book
	bans   *banList
	sync   *syncer
	dialer dialer
	ctx    context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup

	announcer announcer
	nonces    nonces
	samples   sample
	blocks    spaces
	secret    maphash.Seed

	lastID           atomic.Uint64
	served, dropped  atomic.Int64 // blocks sent; addresses beyond their rate
	goneIn, goneOut  atomic.Int64 // bytes of connections that are gone
	staleTip, closed atomic.Bool
	outbound         chan struct{} // wakes the loop that calls: a slot is free or an address new

	mu        sync.Mutex
	peers     map[PeerID]*peer              // after their handshake
	waiting   map[PeerID]*peer              // before it
	calling   map[Kind]int                  // of the book's addresses: calls on their way, and connections that came of them
	named     map[string]context.CancelFunc // manual nodes
	listeners []net.Listener
}

// New prepares a Manager. It does not touch the network. A file of bans that does not parse is told to the log.
func New(cfg Config) (*Manager, error) {
	defaults(&cfg)
	m := &Manager{
		cfg: cfg, chain: cfg.Chain, book: cfg.Book, blocks: make(spaces, keptSpaces), secret: maphash.MakeSeed(),
		outbound: make(chan struct{}, 1), peers: map[PeerID]*peer{}, waiting: map[PeerID]*peer{},
		calling: map[Kind]int{}, named: map[string]context.CancelFunc{},
	}
	m.announcer.m = m
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.sync = newSyncer(m)
	path := ""
	if cfg.Folder != "" {
		path = filepath.Join(cfg.Folder, bansFile)
	}
	var err error
	if m.bans, err = openBans(path, time.Now, m.log); err != nil {
		m.log(err.Error())
	}
	if m.dialer, err = newDialer(&cfg); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

func defaults(c *Config) {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
		*n = max(*n, 0)
	}
	number(&c.MaxInbound, defaultInbound)
	number(&c.FullOut, defaultFull)
	number(&c.BlockOut, defaultBlock)
	if c.UserAgent == "" {
		c.UserAgent = defaultAgent
	}
	if c.MinimumWork.IsZero() {
		c.MinimumWork = c.Chain.Params().MinimumChainWork
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
}

func (m *Manager) log(line string) { m.cfg.Log(line) }

// Start listens and calls. The error is of an address that cannot be listened on; nothing runs then.
func (m *Manager) Start() error {
	for _, address := range m.cfg.Listen {
		l, err := net.Listen("tcp", address)
		if err != nil {
			m.stop()
			for _, l := range m.listeners {
				_ = l.Close()
			}
			return err
		}
		m.listeners = append(m.listeners, l)
	}
	for _, l := range m.listeners {
		m.Serve(l)
	}
	for _, address := range slices.Concat(m.cfg.Connect, m.cfg.AddNode) {
		m.AddNode(address)
	}
	if len(m.cfg.Connect) == 0 && m.book != nil {
		m.goes("outbound", m.outboundLoop)
	}
	m.goes("sync", m.sync.loop)
	m.goes("gossip", m.gossipLoop)
	return nil
}

// goes runs a loop until Close, under a name for the log.
func (m *Manager) goes(name string, loop func() error) {
	m.wg.Go(func() {
		if err := loop(); err != nil && m.ctx.Err() == nil {
			m.log(fmt.Sprintf("%s: %v", name, err))
		}
	})
}

// Close ends all connections and goroutines, and waits for them.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed.Store(true) // nothing is added to wg from here on
	m.stop()
	var err error
	for _, l := range m.listeners {
		if e := l.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	m.mu.Unlock()
	m.wg.Wait()
	return err
}

// Serve accepts connections from l until it is closed, which Close does. Start calls it for Config.Listen.
func (m *Manager) Serve(l net.Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		_ = l.Close()
		return
	}
	if !slices.Contains(m.listeners, l) {
		m.listeners = append(m.listeners, l)
	}
	m.goes("listener", func() error { return m.acceptLoop(l) })
}

func (m *Manager) acceptLoop(l net.Listener) error {
	for pause := acceptPause; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = acceptPause
			m.Accept(conn)
		case m.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil
		default: // no file descriptors, say: it will pass
			m.log(fmt.Sprintf("accept: %v", err))
			if !m.sleep(pause) {
				return nil
			}
			pause = min(2*pause, maxErrorPause)
		}
	}
}

// sleep tells whether there is a Manager after it.
func (m *Manager) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-m.ctx.Done():
		return false
	}
}

// Accept takes a connection that was opened to us; it belongs to the Manager then.
func (m *Manager) Accept(conn net.Conn) {
	p := m.newPeer(conn, Inbound, addressOf(conn.RemoteAddr()))
	if m.bans.banned(p.addr) || !m.admit(p) {
		p.close(errors.New("not admitted"))
		return
	}
	begin := func(c *meter) (transport, error) {
		return acceptTransport(c, !m.cfg.NoEncryption, m.chain.Params().Magic)
	}
	m.lead(p, begin, nil)
}

// admit finds room for an inbound peer, if need be by disconnecting another.
func (m *Manager) admit(p *peer) bool {
	m.mu.Lock()
	handshaking, inbound := 0, 0
	for _, o := range m.waiting {
		if o.kind == Inbound {
			handshaking++
		}
	}
	for _, o := range m.peers {
		if o.kind == Inbound {
			inbound++
		}
	}
	m.mu.Unlock()
	if m.cfg.MaxInbound == 0 || handshaking >= maxHandshaking {
		return false
	}
	return inbound+handshaking < m.cfg.MaxInbound || m.evictOne()
}

// evictOne disconnects the inbound peer that has least to show.
func (m *Manager) evictOne() bool {
	var all []candidate
	for _, p := range m.connected() {
		if p.kind != Inbound || p.ctx.Err() != nil {
			continue
		}
		group := p.addr.Group()
		ap, _ := p.addr.AddrPort()
		all = append(all, candidate{
			id: p.id, since: p.since, ping: p.minLatency.Load(), lastBlock: p.lastBlock.Load(), group: group,
			mark: maphash.Comparable(m.secret, group), local: p.addr.Net == addrbook.Unknown || ap.Addr().IsLoopback(),
		})
	}
	id, ok := evict(all)
	return ok && m.Disconnect(id, "evicted for another")
}

// addressOf is the other side's address, or none where it is of no network (a pipe).
func addressOf(a net.Addr) addrbook.Address {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return addrbook.FromAddrPort(tcp.AddrPort())
	}
	return addrbook.Address{}
}

// lead runs a connection on a goroutine of its own, in the books of the Manager. ended is told how long it was in use;
// zero: its handshake failed.
func (m *Manager) lead(p *peer, begin func(*meter) (transport, error), ended func(used time.Duration, err error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		p.close(net.ErrClosed)
		return
	}
	m.waiting[p.id] = p
	m.wg.Go(func() {
		var ready time.Time
		err := p.run(begin, func() error {
			ready = time.Now()
			return m.welcome(p)
		})
		m.mu.Lock()
		delete(m.waiting, p.id)
		delete(m.peers, p.id)
		m.mu.Unlock()
		m.goneIn.Add(p.conn.in.Load())
		m.goneOut.Add(p.conn.out.Load())
		var used time.Duration
		if !ready.IsZero() {
			m.sync.leave(p)
			used = max(time.Since(ready), 1)
		}
		m.farewell(p, used, err)
		if ended != nil {
			ended(used, err)
		}
	})
}

// welcome takes a peer whose handshake is done among the connected, and says what there is to say first.
func (m *Manager) welcome(p *peer) error {
	m.mu.Lock()
	delete(m.waiting, p.id)
	m.peers[p.id] = p
	m.mu.Unlock()
	m.known(p)
	if p.kind == Feeler {
		return errDone
	}
	if p.version >= sendHeadersVersion {
		if err := p.send(cmdSendHeaders, make([]byte, headroom)); err != nil {
			return err
		}
	}
	if err := p.sendPing(); err != nil {
		return err
	}
	if p.kind == Full || p.kind == Manual || p.kind == AddrFetch {
		p.gossip.join()
		m.tellSelf(p)
		if m.book != nil {
			if err := p.askAddrs(); err != nil {
				return err
			}
		}
	}
	if p.kind == AddrFetch {
		time.AfterFunc(addrFetchTime, func() { p.close(errDone) })
		return nil
	}
	return m.sync.join(p)
}

// farewell is the line in the log, and news for the loop that calls.
func (m *Manager) farewell(p *peer, used time.Duration, err error) {
	signal(m.outbound)
	if m.ctx.Err() != nil || errors.Is(err, errDone) {
		return
	}
	reason := fmt.Sprint(err)
	m.log(fmt.Sprintf("peer %d (%s, %s) left after %v: %s", p.id, p.remote, p.kind, used.Round(time.Second),
		reason[:min(len(reason), closeMessageMax)]))
}

// connected is the peers whose handshake is done, oldest first.
func (m *Manager) connected() []*peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*peer, 0, len(m.peers))
	for _, p := range m.peers {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *peer) int { return int(int64(a.id) - int64(b.id)) })
	return all
}

// services are those that we offer.
func (m *Manager) services() uint64 {
	if m.cfg.NoEncryption {
		return serviceNetwork | serviceWitness
	}
	return serviceNetwork | serviceWitness | serviceV2
}

// probe asks all peers whether they are there still.
func (m *Manager) probe() {
	m.log("the clock jumped: peers are asked whether they are there still")
	for _, p := range m.connected() {
		p.probe()
	}
}
