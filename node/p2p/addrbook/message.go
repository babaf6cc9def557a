package addrbook

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
)

// MaxMessage is the largest number of addresses in an addr or addrv2 message (BIP155, Core MAX_ADDR_TO_SEND).
const MaxMessage = 1000

const (
	maxHost   = 512               // bytes of an address of any network (BIP155)
	minEntry2 = 4 + 1 + 1 + 1 + 2 // the shortest entry of addrv2, one of an unknown network with an empty address
	entry1    = 4 + 8 + 16 + 2    // every entry of addr
)

// MalformedError says what is wrong with an addr or addrv2 message. The message must be dropped as a whole.
type MalformedError struct{ Reason string }

func (e *MalformedError) Error() string { return "malformed addresses: " + e.Reason }

var errShort = &MalformedError{"the message ends within an entry"}

// reader takes fields off the front of a payload; once something is missing, all it gives is zero and bad is set.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.left) {
		r.bad, r.left = true, nil
		return make([]byte, min(n, 16))
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

// compact reads a CompactSize. One that is longer than it need be is malformed, as for Core.
func (r *reader) compact() uint64 {
	var v, least uint64
	switch first := r.take(1)[0]; first {
	case 0xfd:
		v, least = uint64(binary.LittleEndian.Uint16(r.take(2))), 0xfd
	case 0xfe:
		v, least = uint64(binary.LittleEndian.Uint32(r.take(4))), 1<<16
	case 0xff:
		v, least = binary.LittleEndian.Uint64(r.take(8)), 1<<32
	default:
		return uint64(first)
	}
	if v < least {
		r.bad = true
	}
	return v
}

func appendCompact(dst []byte, v uint64) []byte {
	switch {
	case v < 0xfd:
		return append(dst, byte(v))
	case v < 1<<16:
		return binary.LittleEndian.AppendUint16(append(dst, 0xfd), uint16(v))
	case v < 1<<32:
		return binary.LittleEndian.AppendUint32(append(dst, 0xfe), uint32(v))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xff), v)
}

// DecodeV2 reads the payload of an addrv2 message:
//
//	count  CompactSize, at most 1,000, then each
//	  0        4            +1       +1        +n          +2
//	  +--------+------------+--------+---------+-----------+------------+
//	  | seen   | services   | network| n       | host      | port       |
//	  | u32    | CompactSize| u8     | Compact | n bytes   | big-endian |
//	  +--------+------------+--------+---------+-----------+------------+
//
// Entries that BIP155 wants passed over are: unknown networks, Tor v2, IPv4 and OnionCat addresses written as IPv6,
// CJDNS outside its range. The error is a *MalformedError, and then there are no addresses. What follows the last entry
// is not looked at. The addresses need not be routable.
func DecodeV2(payload []byte) ([]Known, error) {
	r := reader{left: payload}
	count := r.compact()
	if count > MaxMessage {
		return nil, &MalformedError{fmt.Sprintf("%d of them, %d at most", count, MaxMessage)}
	}
	list := make([]Known, 0, min(int(count), len(r.left)/minEntry2))
	for ; count > 0; count-- {
		k, use, err := r.entry2()
		if err != nil {
			return nil, err
		}
		if use {
			list = append(list, k)
		}
	}
	if r.bad {
		return nil, errShort
	}
	return list, nil
}

// entry2 reads one entry of addrv2; use is false where it is to be passed over.
func (r *reader) entry2() (k Known, use bool, err error) {
	k.Seen = time.Unix(int64(binary.LittleEndian.Uint32(r.take(4))), 0)
	k.Services = r.compact()
	n := Network(r.take(1)[0])
	size := r.compact()
	if size > maxHost {
		return k, false, &MalformedError{fmt.Sprintf("an address of %d bytes", size)}
	}
	host := r.take(int(size))
	port := binary.BigEndian.Uint16(r.take(2))
	switch want, ok := wireSize(n); {
	case r.bad:
		return k, false, errShort
	case ok && int(size) != want:
		return k, false, &MalformedError{fmt.Sprintf("an address of network %d with %d bytes", n, size)}
	case n.Size() == 0:
		return k, false, nil
	}
	k.Address = fromBytes(n, host, port)
	switch ap, _ := k.AddrPort(); n {
	case IPv6:
		use = !mapped.Contains(ap.Addr()) && !onionCat.Contains(ap.Addr())
	case CJDNS:
		use = cjdns.Contains(ap.Addr())
	default:
		use = true
	}
	return k, use, nil
}

// wireSize returns the address length of every network that has a number in BIP155.
func wireSize(n Network) (int, bool) {
	switch n {
	case 3: // Tor v2
		return 10, true
	case 7: // Yggdrasil; Core does not know it and takes any length
		return 0, false
	}
	return n.Size(), n.Size() != 0
}

// DecodeV1 reads the payload of an addr message: a count, then for each the time (u32), the services (u64), 16 bytes of
// IPv6 or mapped IPv4, and the port in big-endian. Mapped addresses become IPv4, OnionCat ones are passed over. Errors
// are as DecodeV2's.
func DecodeV1(payload []byte) ([]Known, error) {
	r := reader{left: payload}
	count := r.compact()
	if count > MaxMessage {
		return nil, &MalformedError{fmt.Sprintf("%d of them, %d at most", count, MaxMessage)}
	}
	if r.bad || len(r.left) < int(count)*entry1 {
		return nil, errShort
	}
	list := make([]Known, 0, count)
	for ; count > 0; count-- {
		k := Known{Seen: time.Unix(int64(binary.LittleEndian.Uint32(r.take(4))), 0)}
		k.Services = binary.LittleEndian.Uint64(r.take(8))
		ip := netip.AddrFrom16([16]byte(r.take(16)))
		k.Address = FromAddrPort(netip.AddrPortFrom(ip, binary.BigEndian.Uint16(r.take(2))))
		if k.Net != Unknown {
			list = append(list, k)
		}
	}
	return list, nil
}

// AppendV2 appends the payload of an addrv2 message with the first MaxMessage of list. Its form is DecodeV2's. What has
// no network is left out.
func AppendV2(dst []byte, list []Known) []byte {
	list = sendable(list, func(n Network) bool { return n.Size() != 0 })
	dst = appendCompact(dst, uint64(len(list)))
	for i := range list {
		k := &list[i]
		dst = binary.LittleEndian.AppendUint32(dst, wireTime(k.Seen))
		dst = appendCompact(dst, k.Services)
		dst = append(dst, byte(k.Net))
		dst = appendCompact(dst, uint64(k.Net.Size()))
		dst = append(dst, k.Bytes()...)
		dst = binary.BigEndian.AppendUint16(dst, k.Port)
	}
	return dst
}

// AppendV1 appends the payload of an addr message with the first MaxMessage of list that are IPv4 or IPv6; others do not
// fit into it.
func AppendV1(dst []byte, list []Known) []byte {
	list = sendable(list, func(n Network) bool { return n == IPv4 || n == IPv6 })
	dst = appendCompact(dst, uint64(len(list)))
	for i := range list {
		k := &list[i]
		ap, _ := k.AddrPort()
		ip := ap.Addr().As16()
		dst = binary.LittleEndian.AppendUint32(dst, wireTime(k.Seen))
		dst = binary.LittleEndian.AppendUint64(dst, k.Services)
		dst = append(dst, ip[:]...)
		dst = binary.BigEndian.AppendUint16(dst, k.Port)
	}
	return dst
}

// sendable returns what of list may be sent, list itself where that is all.
func sendable(list []Known, may func(Network) bool) []Known {
	for i := range list {
		if i == MaxMessage {
			return list[:i]
		}
		if may(list[i].Net) {
			continue
		}
		kept := append([]Known(nil), list[:i]...)
		for _, k := range list[i+1:] {
			if may(k.Net) && len(kept) < MaxMessage {
				kept = append(kept, k)
			}
		}
		return kept
	}
	return list
}

// wireTime clamps a time into the 32 bits that messages, entries and the file have for it.
func wireTime(t time.Time) uint32 { return clamp(t.Unix()) }

func clamp(seconds int64) uint32 { return uint32(min(max(seconds, 0), 1<<32-1)) }

// FromWire takes over an address of btcd's wire, which knows IPv4, IPv6 and Tor v3 (and Tor v2, for which ok is false).
func FromWire(na *wire.NetAddressV2) (k Known, ok bool) {
	if na == nil || na.Addr == nil {
		return Known{}, false
	}
	k = Known{Services: uint64(na.Services), Seen: na.Timestamp}
	if na.IsTorV3() {
		a, err := Parse(na.Addr.String(), na.Port)
		k.Address = a
		return k, err == nil
	}
	ip, isIP := netip.AddrFromSlice(na.ToLegacy().IP)
	k.Address = FromAddrPort(netip.AddrPortFrom(ip, na.Port))
	return k, isIP && k.Net != Unknown
}

// ToWire gives an address to btcd's wire; ok is false where wire cannot hold it (I2P, CJDNS).
func ToWire(k Known) (na *wire.NetAddressV2, ok bool) {
	switch k.Net {
	case IPv4, IPv6, TorV3: // wire tells them apart by their length alone
		return wire.NetAddressV2FromBytes(k.Seen, wire.ServiceFlag(k.Services), k.Bytes(), k.Port), true
	}
	return nil, false
}
