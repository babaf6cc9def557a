package addrbook

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha3"
	"encoding/base32"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Network is a kind of address, by its BIP155 number.
type Network uint8

const (
	// Unknown is no network: the zero Address, and a source that is a name (Named).
	Unknown Network = 0
	// IPv4 has 4 bytes.
	IPv4 Network = 1
	// IPv6 has 16 bytes.
	IPv6 Network = 2
	// TorV3 has 32 bytes, the service's ed25519 key. (3 was Tor v2, which is gone.)
	TorV3 Network = 4
	// I2P has 32 bytes, the SHA-256 of the destination.
	I2P Network = 5
	// CJDNS has 16 bytes, of fc00::/8.
	CJDNS Network = 6

	networks = 7 // one above the largest number
)

// Size returns the length of the network's addresses in bytes, 0 where the book does not know the network.
func (n Network) Size() int {
	switch n {
	case IPv4:
		return 4
	case IPv6, CJDNS:
		return 16
	case TorV3, I2P:
		return 32
	}
	return 0
}

// String returns the name by which Bitcoin Core calls the network.
func (n Network) String() string {
	switch n {
	case IPv4:
		return "ipv4"
	case IPv6:
		return "ipv6"
	case TorV3:
		return "onion"
	case I2P:
		return "i2p"
	case CJDNS:
		return "cjdns"
	}
	return "unknown"
}

// Address is where a node listens. It is a value to compare and to use as a key; Host is zero beyond the network's size.
type Address struct {
	Host [32]byte
	Port uint16
	Net  Network
}

// Known is an address with what was told of it.
type Known struct {
	Address
	Services uint64    // bits of the version message
	Seen     time.Time // when somebody was last connected to it; whole seconds
}

// FromAddrPort makes an Address of an IP address. One that is mapped into IPv6 becomes IPv4; one with a zone is no
// address of the network and gives the zero Address, as do the OnionCat addresses that Tor v2 used.
func FromAddrPort(ap netip.AddrPort) Address {
	ip := ap.Addr().Unmap()
	switch {
	case ip.Is4():
		host := ip.As4()
		return fromBytes(IPv4, host[:], ap.Port())
	case ip.Is6() && ip.Zone() == "" && !onionCat.Contains(ip):
		host := ip.As16()
		return fromBytes(IPv6, host[:], ap.Port())
	}
	return Address{}
}

// Named makes a source of a name, such as a DNS seed's: a group of its own, never an address to call.
func Named(name string) Address {
	sum := sha256.Sum256([]byte(name))
	a := Address{}
	copy(a.Host[:namedSize], sum[:])
	return a
}

const namedSize = 10 // bytes of the name's hash that are kept

func fromBytes(n Network, host []byte, port uint16) Address {
	a := Address{Net: n, Port: port}
	copy(a.Host[:], host)
	return a
}

// Bytes returns the host's bytes, which lie in a.
func (a *Address) Bytes() []byte { return a.Host[:a.Net.Size()] }

// AddrPort returns the address as the net package dials it; ok is false where it is no IP address.
func (a Address) AddrPort() (ap netip.AddrPort, ok bool) {
	switch a.Net {
	case IPv4, IPv6, CJDNS:
		ip, _ := netip.AddrFromSlice(a.Bytes())
		return netip.AddrPortFrom(ip, a.Port), true
	}
	return netip.AddrPort{}, false
}

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// HostString returns the host as it is typed and as a SOCKS5 proxy takes it: an IP address without brackets, or a name
// of .onion or .b32.i2p.
func (a Address) HostString() string {
	switch a.Net {
	case IPv4, IPv6, CJDNS:
		ap, _ := a.AddrPort()
		return ap.Addr().String()
	case TorV3:
		raw := make([]byte, 0, onionSize)
		raw = append(raw, a.Host[:]...)
		raw = append(raw, onionSum(a.Host[:])...)
		return lower32.EncodeToString(append(raw, onionVersion)) + onionSuffix
	case I2P:
		return lower32.EncodeToString(a.Host[:]) + i2pSuffix
	}
	return fmt.Sprintf("%x.internal", a.Host[:namedSize])
}

// String returns host:port, with brackets around a host that has colons.
func (a Address) String() string {
	host := a.HostString()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(a.Port))
}

const (
	onionSuffix  = ".onion"
	i2pSuffix    = ".b32.i2p"
	onionVersion = 3
	onionSize    = 32 + 2 + 1 // key, checksum, version (Tor rend-spec-v3)
)

// onionSum is the checksum inside a Tor v3 name.
func onionSum(key []byte) []byte {
	h := sha3.New256()
	h.Write([]byte(".onion checksum"))
	h.Write(key)
	h.Write([]byte{onionVersion})
	return h.Sum(nil)[:2]
}

var errNotAddress = errors.New("not an address of IPv4, IPv6, Tor v3 or I2P")

// Parse reads what String writes. A host without a port gets port; IPv6 with a port needs brackets. Addresses of
// fc00::/8 are read as IPv6: whether CJDNS is reachable is for the caller to know.
func Parse(s string, port uint16) (Address, error) {
	if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return known(FromAddrPort(netip.AddrPortFrom(ip, port)))
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return known(FromAddrPort(ap))
	}
	host := strings.ToLower(s)
	if name, digits, ok := strings.Cut(host, ":"); ok {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return Address{}, errNotAddress
		}
		host, port = name, uint16(n)
	}
	if name, ok := strings.CutSuffix(host, onionSuffix); ok {
		raw, err := lower32.DecodeString(name)
		if err != nil || len(raw) != onionSize || raw[onionSize-1] != onionVersion ||
			!bytes.Equal(raw[32:34], onionSum(raw[:32])) {
			return Address{}, errNotAddress
		}
		return fromBytes(TorV3, raw[:32], port), nil
	}
	if name, ok := strings.CutSuffix(host, i2pSuffix); ok {
		// 52 digits hold 260 bits: the last four must be zero, or a host would have many names.
		raw, err := lower32.DecodeString(name)
		if err != nil || len(raw) != 32 || lower32.EncodeToString(raw) != name {
			return Address{}, errNotAddress
		}
		return fromBytes(I2P, raw, port), nil
	}
	return Address{}, errNotAddress
}

func known(a Address) (Address, error) {
	if a.Net == Unknown {
		return Address{}, errNotAddress
	}
	return a, nil
}
