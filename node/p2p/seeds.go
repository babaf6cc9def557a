package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"stele/node/p2p/addrbook"
)

const (
	// seedPrefix asks a DNS seed for nodes with NETWORK and WITNESS (Core: SeedsServiceFlags); seeds that do not
	// filter answer all the same.
	seedPrefix  = "x9."
	seedTime    = 30 * time.Second
	seedAnswers = 32            // of one seed (Core takes as many)
	seedAge     = 3 * 24 * 3600 // seconds; addresses of seeds are taken as seen 3 to 7 days ago
	seedEnough  = 1000          // addresses in the book with which a node waits for its peers before it asks seeds
	seedWait    = 11 * time.Second
	seedLater   = 5 * time.Minute
)

// askSeeds asks all DNS seeds of the network and puts what they answer into the book. Through a proxy names cannot be
// resolved, so a seed is called itself: it listens as a node does, and is asked for addresses.
func (m *Manager) askSeeds() error {
	seeds := m.chain.Params().Seeds
	if m.dialer.proxy {
		for _, host := range seeds {
			address := net.JoinHostPort(host, strconv.Itoa(int(m.chain.Params().Port)))
			m.begin(AddrFetch)
			m.call(AddrFetch, address, addrbook.Named(host), false, func(time.Duration, error) { m.end(AddrFetch) })
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(m.ctx, seedTime)
	defer cancel()
	errs := make([]error, len(seeds))
	var wg sync.WaitGroup
	for i, host := range seeds {
		wg.Go(func() { errs[i] = m.askSeed(ctx, host) })
	}
	wg.Wait()
	signal(m.outbound)
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("no DNS seed answers: %w", errors.Join(errs...))
}

func (m *Manager) askSeed(ctx context.Context, host string) error {
	lookup := m.cfg.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	ips, err := lookup(ctx, seedPrefix+host)
	if err != nil {
		return err
	}
	now := time.Now()
	var list []addrbook.Known
	for i, ip := range ips[:min(len(ips), seedAnswers)] {
		age := time.Duration(seedAge+i*4*24*3600/seedAnswers) * time.Second
		list = append(list, addrbook.Known{
			Address:  addrbook.FromAddrPort(netip.AddrPortFrom(ip, m.chain.Params().Port)),
			Services: serviceNetwork | serviceWitness, Seen: now.Add(-age),
		})
	}
	m.book.Add(list, addrbook.Named(host), 0)
	return nil
}

// seedLoop asks the seeds when there is nobody to ask, or when nobody whom we know can be reached.
func (m *Manager) seedLoop() error {
	if m.cfg.NoSeeds || len(m.chain.Params().Seeds) == 0 {
		return nil
	}
	wait := seedWait
	switch n := m.book.Len(); {
	case n == 0:
		wait = 0
	case n > seedEnough:
		wait = seedLater
	}
	for {
		if wait > 0 && !m.sleep(wait) {
			return nil
		}
		if m.Totals().Outbound < 2 {
			if err := m.askSeeds(); err != nil && m.ctx.Err() == nil {
				m.log(err.Error())
			}
		}
		wait = seedLater
	}
}
