package addrbook

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Group is the part of an address that costs its owner something to vary. Two nodes of one group count as one when
// diversity is asked for. The first byte is the network, the rest the prefix, its last byte filled up with ones, as Core
// writes it; bytes behind are zero.
type Group [1 + namedSize]byte

// Prefixes whose members are not addresses of the open network, or carry an IPv4 address.
var (
	onionCat   = netip.MustParsePrefix("fd87:d87e:eb43::/48") // Tor v2
	sixToFour  = netip.MustParsePrefix("2002::/16")           // RFC 3964: IPv4 in bytes 2..5
	teredo     = netip.MustParsePrefix("2001::/32")           // RFC 4380: IPv4 inverted in bytes 12..15
	nat64      = netip.MustParsePrefix("64:ff9b::/96")        // RFC 6052: IPv4 in bytes 12..15
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")     // RFC 6145: likewise
	mapped     = netip.MustParsePrefix("::ffff:0:0/96")       // RFC 4291: likewise
	cjdns      = netip.MustParsePrefix("fc00::/8")
	hurricane  = netip.MustParsePrefix("2001:470::/32") // gives /48 to anybody who asks: 36 bits count

	local = prefixes("0.0.0.0/8", "127.0.0.0/8", "::1/128")
	// closed holds what is not routed on the internet.
	closed = prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
		"198.18.0.0/15",               // RFC 2544
		"169.254.0.0/16", "fe80::/64", // RFC 3927, RFC 4862
		"100.64.0.0/10",                                     // RFC 6598
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // RFC 5737
		"fc00::/7",                     // RFC 4193
		"2001:10::/28", "2001:20::/28", // RFC 4843, RFC 7343
		"255.255.255.255/32", "::/128", // no host
		"2001:db8::/32", "::ffff:0:0/96", // RFC 3849; written as IPv4, or it is none
	)
)

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, s := range list {
		all[i] = netip.MustParsePrefix(s)
	}
	return all
}

func within(list []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Routable tells whether a node anywhere could call the address. I2P has no ports and wants 0, the others want one.
func (a Address) Routable() bool {
	switch a.Net {
	case IPv4, IPv6:
		ap, _ := a.AddrPort()
		return a.Port != 0 && !within(local, ap.Addr()) && !within(closed, ap.Addr())
	case CJDNS:
		ap, _ := a.AddrPort()
		return a.Port != 0 && cjdns.Contains(ap.Addr())
	case TorV3:
		return a.Port != 0
	case I2P:
		return a.Port == 0
	}
	return false
}

// inner returns the IPv4 address that an IPv6 address carries, or that a is.
func (a Address) inner() (host [4]byte, ok bool) {
	switch ap, _ := a.AddrPort(); {
	case a.Net == IPv4:
		return [4]byte(a.Host[:4]), true
	case a.Net != IPv6:
		return host, false
	case nat64.Contains(ap.Addr()), translated.Contains(ap.Addr()), mapped.Contains(ap.Addr()):
		return [4]byte(a.Host[12:16]), true
	case sixToFour.Contains(ap.Addr()):
		return [4]byte(a.Host[2:6]), true
	case teredo.Contains(ap.Addr()):
		binary.BigEndian.PutUint32(host[:], ^binary.BigEndian.Uint32(a.Host[12:16]))
		return host, true
	}
	return host, false
}

// Group returns the group of a: /16 of IPv4, also where IPv6 carries it; /32 of IPv6, /36 of Hurricane Electric's; 4
// bits of the keys of Tor and I2P, which cost nothing, so that these networks have 16 groups each; /12 of CJDNS, of which
// 8 are the same for all. Every name is its own. What is not routable is one group, and what is local another.
func (a Address) Group() Group {
	g := Group{byte(a.Net)}
	if a.Net == Unknown {
		copy(g[1:], a.Host[:namedSize])
		return g
	}
	if a.Net == I2P {
		a.Port = 0 // a source may have one
	} else if a.Port == 0 {
		a.Port = 1
	}
	if ap, ok := a.AddrPort(); ok && a.Net != CJDNS && within(local, ap.Addr()) {
		return Group{groupLocal}
	}
	if !a.Routable() {
		return Group{groupClosed}
	}
	if host, ok := a.inner(); ok {
		return Group{byte(IPv4), host[0], host[1]}
	}
	bits := 32
	switch ap, _ := a.AddrPort(); {
	case a.Net == TorV3, a.Net == I2P:
		bits = 4
	case a.Net == CJDNS:
		bits = 12
	case hurricane.Contains(ap.Addr()):
		bits = 36
	}
	n := copy(g[1:], a.Host[:(bits+7)/8])
	if over := bits % 8; over != 0 {
		g[n] |= 0xff >> over
	}
	return g
}

const (
	groupLocal  = 0xfe
	groupClosed = 0xff
)

// badPorts are ports of services that do not like to be called by strangers: anybody may gossip such an address to make
// nodes annoy its owner. The list is that of the Fetch standard (port blocking) and of Core.
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
	113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
	554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, 6665, 6666,
	6667, 6668, 6669, 6697, 10080,
}

// BadPort tells whether port belongs to a service that is not to be called unasked. The book holds such addresses, since
// a node may listen there; who picks one to call unasked should pick again, some 50 times as Core does.
func BadPort(port uint16) bool {
	_, bad := slices.BinarySearch(badPorts, port)
	return bad
}
