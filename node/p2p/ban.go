package p2p

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"stele/internal/durable"
	"stele/node/p2p/addrbook"
)

// banTime is how long who misbehaved stays away (Core: DEFAULT_MISBEHAVING_BANTIME).
const banTime = 24 * time.Hour

// maxBans bounds the list. Beyond it those go first that end first.
const maxBans = 10_000

// Ban is a range of addresses that may not connect to us, nor are they connected to.
type Ban struct {
	Subnet  netip.Prefix `json:"subnet"`
	Created time.Time    `json:"created"`
	Until   time.Time    `json:"until"`
	Reason  string       `json:"reason"`
}

// banList is the bans and the file that they are kept in:
//
//	[{"subnet": "192.0.2.1/32", "created": "2026-...", "until": "2026-...", "reason": "..."}, ...]
//
// The file is written beside and renamed, so that a crash leaves the old or the new one. Addresses that are no IP
// addresses (Tor, I2P) cost nothing to make, and are not banned.
type banList struct {
	path string // empty: in memory alone
	now  func() time.Time
	warn func(string)

	mu   sync.Mutex
	bans map[netip.Prefix]Ban

	saving sync.Mutex // taken before mu
}

// openBans reads the list. A file that does not parse is an error; the list is good, and empty.
func openBans(path string, now func() time.Time, warn func(string)) (*banList, error) {
	l := &banList{path: path, now: now, warn: warn, bans: map[netip.Prefix]Ban{}}
	if path == "" {
		return l, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	var bans []Ban
	if err := json.Unmarshal(text, &bans); err != nil {
		return l, fmt.Errorf("list of bans %s: %w", path, err)
	}
	for _, b := range bans {
		if b.Subnet.IsValid() && b.Until.After(now()) {
			l.bans[b.Subnet.Masked()] = b
		}
	}
	return l, nil
}

// punish bans where p came from, if that is an address of somebody.
func (l *banList) punish(p *peer, reason string) {
	ap, ok := p.addr.AddrPort()
	if !ok || p.kind == Manual || ap.Addr().IsLoopback() {
		return
	}
	now := l.now()
	l.add(Ban{Subnet: ownPrefix(ap.Addr()), Created: now, Until: now.Add(banTime), Reason: reason})
}

// ownPrefix is what one party has at least: an address of IPv4, 64 bits of IPv6.
func ownPrefix(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip = ip.Unmap(); ip.Is4() {
		bits = 32
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		panic(err) // of no IP address
	}
	return prefix
}

func (l *banList) add(b Ban) {
	l.mu.Lock()
	l.bans[b.Subnet.Masked()] = b
	for len(l.bans) > maxBans {
		first := b
		for _, other := range l.bans {
			if other.Until.Before(first.Until) {
				first = other
			}
		}
		delete(l.bans, first.Subnet.Masked())
	}
	l.mu.Unlock()
	l.save()
}

// remove tells whether there was such a ban.
func (l *banList) remove(subnet netip.Prefix) bool {
	l.mu.Lock()
	_, was := l.bans[subnet.Masked()]
	delete(l.bans, subnet.Masked())
	l.mu.Unlock()
	if was {
		l.save()
	}
	return was
}

func (l *banList) clear() {
	l.mu.Lock()
	clear(l.bans)
	l.mu.Unlock()
	l.save()
}

// banned tells whether an address is in a range that is banned now.
func (l *banList) banned(a addrbook.Address) bool {
	ap, ok := a.AddrPort()
	if !ok {
		return false
	}
	ip, now := ap.Addr().Unmap().WithZone(""), l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bans) == 0 {
		return false
	}
	for bits := ip.BitLen(); bits >= 0; bits-- {
		prefix, err := ip.Prefix(bits)
		if err != nil {
			return false
		}
		if b, ok := l.bans[prefix]; ok && b.Until.After(now) {
			return true
		}
	}
	return false
}

// list is the bans in force, in the order of their addresses.
func (l *banList) list() []Ban {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Ban, 0, len(l.bans))
	for subnet, b := range l.bans {
		if !b.Until.After(now) {
			delete(l.bans, subnet)
			continue
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Ban) int { return strings.Compare(a.Subnet.String(), b.Subnet.String()) })
	return all
}

// save writes the file; that it cannot be written costs the bans at the next start, and no more.
func (l *banList) save() {
	if l.path == "" {
		return
	}
	l.saving.Lock()
	defer l.saving.Unlock()
	text, err := json.MarshalIndent(l.list(), "", " ")
	if err == nil {
		err = durable.Replace(l.path, append(text, '\n'))
	}
	if err != nil {
		l.warn(fmt.Sprintf("list of bans: %v", err))
	}
}
