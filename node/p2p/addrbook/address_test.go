package addrbook

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The names and keys are those of Bitcoin Core's net_tests.
const (
	onionName = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"
	onionKey  = "79bcc625184b05194975c28b66b66b0469f7f6556fb1ac3189a79b40dda32f1f"
	i2pName   = "ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p"
	i2pKey    = "a2894dabaec08c0051a481a6dac88b64f98232ae42d4b6fd2fa81952dfe36a87"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// ip makes an address of host:port.
func ip(s string) Address { return FromAddrPort(netip.MustParseAddrPort(s)) }

// of6 makes an IPv6 address without the unwrapping that FromAddrPort does.
func of6(s string, n Network) Address {
	host := netip.MustParseAddr(s).As16()
	return fromBytes(n, host[:], 8333)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in, out string
		net     Network
		host    string
	}{
		{"1.2.3.4", "1.2.3.4:8333", IPv4, "01020304"},
		{"1.2.3.4:18444", "1.2.3.4:18444", IPv4, "01020304"},
		{"::ffff:1.2.3.4", "1.2.3.4:8333", IPv4, "01020304"},
		{"[::ffff:1.2.3.4]:7", "1.2.3.4:7", IPv4, "01020304"},
		{"2001:4860::1", "[2001:4860::1]:8333", IPv6, "20014860000000000000000000000001"},
		{"[2001:4860::1]", "[2001:4860::1]:8333", IPv6, "20014860000000000000000000000001"},
		{"[2001:4860::1]:1", "[2001:4860::1]:1", IPv6, "20014860000000000000000000000001"},
		{onionName, onionName + ":8333", TorV3, onionKey},
		{onionName + ":9", onionName + ":9", TorV3, onionKey},
		{i2pName + ":0", i2pName + ":0", I2P, i2pKey},
	} {
		a, err := Parse(c.in, 8333)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if a.Net != c.net || hex.EncodeToString(a.Bytes()) != c.host || a.String() != c.out {
			t.Errorf("%s: %v %x %s, want %v %s %s", c.in, a.Net, a.Bytes(), a, c.net, c.host, c.out)
		}
		if again, err := Parse(a.String(), 1); err != nil || again != a {
			t.Errorf("%s does not come back: %v, %v", a, again, err)
		}
	}
	for _, s := range []string{"", "bitcoin.org", "1.2.3", "1.2.3.4:70000", "fe80::1%eth0", ".onion",
		"6hzph5hv6337r6p2.onion", "qg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion",
		"ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdr.b32.i2p", onionName + ":x", "fd87:d87e:eb43::1"} {
		if a, err := Parse(s, 8333); err == nil {
			t.Errorf("%q is taken as %v", s, a)
		}
	}
}

// TestGroup has the cases of Core's netbase_getgroup, and its rules for the networks that the test leaves out.
func TestGroup(t *testing.T) {
	host32 := func(n Network, first byte) Address { return fromBytes(n, []byte{first, 1, 2}, 0) }
	for _, c := range []struct {
		a    Address
		want Group
	}{
		{ip("127.0.0.1:1"), Group{groupLocal}},
		{ip("10.0.0.1:1"), Group{groupClosed}},
		{ip("169.254.1.1:1"), Group{groupClosed}},
		{ip("1.2.3.4:1"), Group{1, 1, 2}},
		{of6("::ffff:0:102:304", IPv6), Group{1, 1, 2}},        // RFC 6145
		{of6("64:ff9b::102:304", IPv6), Group{1, 1, 2}},        // RFC 6052
		{of6("2002:102:304:9999::9999", IPv6), Group{1, 1, 2}}, // RFC 3964
		{of6("2001:0:9999:9999:9999:9999:fefd:fcfb", IPv6), Group{1, 1, 2}},
		{of6("2001:470:abcd:9999:9999::1", IPv6), Group{2, 0x20, 1, 4, 0x70, 0xaf}},
		{of6("2001:2001:9999:9999::1", IPv6), Group{2, 0x20, 1, 0x20, 1}},
		{ip("[::ffff:1.2.3.4]:1"), Group{1, 1, 2}},
		{host32(TorV3, 0xab), Group{4, 0xaf}},
		{host32(I2P, 0x1c), Group{5, 0x1f}},
		{of6("fc12:3456::1", CJDNS), Group{6, 0xfc, 0x1f}},
	} {
		if got := c.a.Group(); got != c.want {
			t.Errorf("%v: group %v, want %v", c.a, got, c.want)
		}
		c.a.Port = 0
		if got := c.a.Group(); got != c.want {
			t.Errorf("%v: group %v without a port, want %v", c.a, got, c.want)
		}
	}
	if Named("a").Group() == Named("b").Group() || Named("a").Routable() || (Address{}).Routable() {
		t.Error("names share a group or can be called")
	}
}

// TestRoutable has Core's examples of every reserved range (netbase_properties).
func TestRoutable(t *testing.T) {
	for _, s := range []string{"10.0.0.1", "192.168.1.1", "172.31.255.255", "198.18.0.0", "198.19.255.255", "169.254.2.2",
		"100.64.0.0", "100.127.255.255", "192.0.2.0", "198.51.100.0", "203.0.113.255", "127.0.0.1", "0.0.0.0", "255.255.255.255"} {
		if ip(s + ":8333").Routable() {
			t.Errorf("%s is called routable", s)
		}
	}
	for _, s := range []string{"2001:db8::", "fe80::", "fc00::", "2001:10::", "2001:20::", "::1", "::", "::ffff:1.2.3.4",
		"fd6b:88c0:8724:edb1:8e4:3588:e546:35ca"} {
		if of6(s, IPv6).Routable() {
			t.Errorf("%s is called routable", s)
		}
	}
	for _, s := range []string{"8.8.8.8", "100.128.0.1", "172.32.0.1", "198.20.0.0", "128.0.0.1"} {
		if !ip(s + ":8333").Routable() {
			t.Errorf("%s is called not routable", s)
		}
	}
	for _, s := range []string{"2001::1", "2002::1", "64:ff9b::1", "2001:470::1", "2001:30::1"} {
		if !of6(s, IPv6).Routable() {
			t.Errorf("%s is called not routable", s)
		}
	}
	if of6("fd00::1", CJDNS).Routable() || !of6("fc00::1", CJDNS).Routable() {
		t.Error("CJDNS is fc00::/8 and nothing else")
	}
	if ip("8.8.8.8:0").Routable() || fromBytes(TorV3, []byte{1}, 0).Routable() || fromBytes(I2P, []byte{1}, 1).Routable() {
		t.Error("a port that cannot be called")
	}
}

func TestBadPort(t *testing.T) {
	if !slices.IsSorted(badPorts) || len(badPorts) != 80 { // as many as in Core's p2p-bad-ports.md
		t.Errorf("%d ports, sorted %v", len(badPorts), slices.IsSorted(badPorts))
	}
	for _, p := range []uint16{1, 22, 6667, 10080} {
		if !BadPort(p) {
			t.Errorf("%d passes", p)
		}
	}
	for _, p := range []uint16{80, 443, 8333, 18333, 38333, 48333, 8332} {
		if BadPort(p) {
			t.Errorf("%d does not pass", p)
		}
	}
}

// drawAddress makes addresses of every network, routable or not.
func drawAddress(t *rapid.T) Address {
	n := rapid.SampledFrom([]Network{IPv4, IPv6, TorV3, I2P, CJDNS}).Draw(t, "net")
	host := rapid.SliceOfN(rapid.Byte(), n.Size(), n.Size()).Draw(t, "host")
	if n == CJDNS {
		host[0] = 0xfc
	}
	return fromBytes(n, host, rapid.Uint16().Draw(t, "port"))
}

func TestParseComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddress(t)
		got, err := Parse(a.String(), 1)
		switch ap, isIP := a.AddrPort(); {
		case isIP && a.Net != IPv4 && (mapped.Contains(ap.Addr()) || onionCat.Contains(ap.Addr())):
			return
		case a.Net == CJDNS:
			a.Net = IPv6 // as Parse says
		}
		if err != nil || got != a {
			t.Fatalf("%v became %v, %v", a, got, err)
		}
	})
}
