package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/proxy"

	"stele/node/p2p/addrbook"
)

const (
	dialTime      = 5 * time.Second // Core: DEFAULT_CONNECT_TIMEOUT
	proxyDialTime = time.Minute     // a circuit has to be built behind it
)

// dialer opens connections: all of them through the proxy where there is one, so that no name is resolved and no
// address called beside it.
type dialer struct {
	dial  func(ctx context.Context, address string) (net.Conn, error)
	limit time.Duration
	proxy bool
}

func newDialer(c *Config) (dialer, error) {
	switch {
	case c.Dial != nil:
		return dialer{c.Dial, dialTime, false}, nil
	case c.Proxy == "":
		direct := &net.Dialer{}
		return dialer{func(ctx context.Context, address string) (net.Conn, error) {
			return direct.DialContext(ctx, "tcp", address)
		}, dialTime, false}, nil
	}
	if _, _, err := net.SplitHostPort(c.Proxy); err != nil {
		return dialer{}, fmt.Errorf("proxy: %w", err)
	}
	socks, err := proxy.SOCKS5("tcp", c.Proxy, nil, &net.Dialer{})
	if err != nil {
		return dialer{}, fmt.Errorf("proxy: %w", err)
	}
	through, ok := socks.(proxy.ContextDialer)
	if !ok {
		return dialer{}, errors.New("proxy: calls cannot be cancelled")
	}
	return dialer{func(ctx context.Context, address string) (net.Conn, error) {
		return through.DialContext(ctx, "tcp", address)
	}, proxyDialTime, true}, nil
}

func (d *dialer) call(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return d.dial(ctx, address)
}

// reaches tells whether addresses of a network can be called.
func (d *dialer) reaches(n addrbook.Network) bool {
	switch n {
	case addrbook.IPv4, addrbook.IPv6:
		return true
	case addrbook.TorV3:
		return d.proxy
	}
	return false
}

// call opens a connection and leads it. Where the encrypted transport is tried and the other side hangs up on it, a
// second call is made without. ended is called once, when all is over, with how long the connection was in use.
func (m *Manager) call(kind Kind, address string, addr addrbook.Address, encrypted bool,
	ended func(used time.Duration, err error)) {
	conn, err := m.dialer.call(m.ctx, address)
	if err != nil {
		ended(0, err)
		return
	}
	if addr.Net == addrbook.Unknown && !m.dialer.proxy {
		addr = addressOf(conn.RemoteAddr())
	}
	p := m.newPeer(conn, kind, addr)
	if m.dialer.proxy {
		p.remote = address
	}
	begin := func(c *meter) (transport, error) { return dialTransport(c, encrypted, m.chain.Params().Magic) }
	m.lead(p, begin, func(used time.Duration, err error) {
		if errors.Is(err, errNotV2) && m.ctx.Err() == nil {
			m.call(kind, address, addr, false, ended)
			return
		}
		ended(used, err)
	})
}

// withPort adds the network's port to an address that the user gave without.
func (m *Manager) withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	port := strconv.Itoa(int(m.chain.Params().Port))
	if n := len(address); n > 1 && address[0] == '[' && address[n-1] == ']' {
		address = address[1 : n-1]
	}
	return net.JoinHostPort(address, port)
}

// Pauses between calls of a node that the user named.
const (
	firstPause = time.Second
	lastPause  = time.Minute
	goodUse    = time.Minute // a connection that lasted so long begins the pauses anew
)

// AddNode has a node called, and called again whenever its connection ends, until RemoveNode. It is false for one that
// is in the list already.
func (m *Manager) AddNode(address string) bool {
	address = m.withPort(address)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.named[address]; ok || m.closed.Load() {
		return false
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.named[address] = cancel
	m.goes(address, func() error { return m.nodeLoop(ctx, address) })
	return true
}

// RemoveNode ends what AddNode began. The connection that is open stays.
func (m *Manager) RemoveNode(address string) bool {
	address = m.withPort(address)
	m.mu.Lock()
	defer m.mu.Unlock()
	cancel, ok := m.named[address]
	if ok {
		cancel()
		delete(m.named, address)
	}
	return ok
}

func (m *Manager) nodeLoop(ctx context.Context, address string) error {
	addr, _ := addrbook.Parse(address, m.chain.Params().Port)
	for pause := firstPause; ctx.Err() == nil; {
		over := make(chan time.Duration, 1)
		m.call(Manual, address, addr, !m.cfg.NoEncryption, func(used time.Duration, err error) {
			if used == 0 && m.ctx.Err() == nil {
				m.log(fmt.Sprintf("cannot connect to %s: %v", address, err))
			}
			over <- used
		})
		select {
		case used := <-over:
			if used >= goodUse {
				pause = firstPause
			}
		case <-ctx.Done():
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		pause = min(2*pause, lastPause)
	}
	return nil
}
