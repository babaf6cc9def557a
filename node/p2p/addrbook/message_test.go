package addrbook

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"pgregory.net/rapid"

	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// The streams of Bitcoin Core's netbase_tests: three entries for ::1 in either format.
const (
	coreV1 = "03" +
		"61bc6649" + "0000000000000000" + "00000000000000000000000000000001" + "0000" +
		"79627683" + "0100000000000000" + "00000000000000000000000000000001" + "00f1" +
		"ffffffff" + "4804000000000000" + "00000000000000000000000000000001" + "f1f2"
	coreV2 = "03" +
		"61bc6649" + "00" + "02" + "10" + "00000000000000000000000000000001" + "0000" +
		"79627683" + "01" + "02" + "10" + "00000000000000000000000000000001" + "00f1" +
		"ffffffff" + "fd4804" + "02" + "10" + "00000000000000000000000000000001" + "f1f2"
)

func TestCoreStreams(t *testing.T) {
	loop := netip.IPv6Loopback()
	want := []Known{
		{FromAddrPort(netip.AddrPortFrom(loop, 0)), 0, time.Unix(0x4966bc61, 0)},
		{FromAddrPort(netip.AddrPortFrom(loop, 0xf1)), 1, time.Unix(0x83766279, 0)},
		{FromAddrPort(netip.AddrPortFrom(loop, 0xf1f2)), 0x448, time.Unix(0xffffffff, 0)},
	}
	for _, c := range []struct {
		name   string
		stream string
		decode func([]byte) ([]Known, error)
		append func([]byte, []Known) []byte
	}{{"addr", coreV1, DecodeV1, AppendV1}, {"addrv2", coreV2, DecodeV2, AppendV2}} {
		raw := unhex(t, c.stream)
		got, err := c.decode(raw)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if back := c.append(nil, want); !bytes.Equal(back, raw) {
			t.Errorf("%s is written as %x", c.name, back)
		}
		for n := range raw {
			var bad *MalformedError
			if _, err := c.decode(raw[:n]); !errors.As(err, &bad) {
				t.Fatalf("%s cut at %d: %v", c.name, n, err)
			}
		}
	}
}

// TestDecodeV2 has an entry of every kind of BIP155; the first nine are those of Core's net_tests (cnetaddr_unserialize_v2).
func TestDecodeV2(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"IPv4", "0104" + "01020304", "1.2.3.4:8333"},
		{"IPv4 too long", "0105" + "0102030405", "malformed"},
		{"IPv6", "0210" + "0102030405060708090a0b0c0d0e0f10", "[102:304:506:708:90a:b0c:d0e:f10]:8333"},
		{"IPv6 too short", "0204" + "00000000", "malformed"},
		{"OnionCat in IPv6", "0210" + "fd87d87eeb430102030405060708090a", ""},
		{"mapped IPv4 in IPv6", "0210" + "00000000000000000000ffff01020304", ""},
		{"Tor v2", "030a" + "f1f2f3f4f5f6f7f8f9fa", ""},
		{"Tor v2 too short", "0307" + "00000000000000", "malformed"},
		{"Tor v3", "0420" + onionKey, onionName + ":8333"},
		{"Tor v3 too short", "0400", "malformed"},
		{"I2P", "0520" + i2pKey, i2pName + ":8333"},
		{"I2P too short", "0503" + "000000", "malformed"},
		{"CJDNS", "0610" + "fc000001000200030004000500060007", "[fc00:1:2:3:4:5:6:7]:8333"},
		{"CJDNS outside", "0610" + "aa000001000200030004000500060007", ""},
		{"CJDNS too short", "0601" + "00", "malformed"},
		{"Yggdrasil", "0710" + "02000001000200030004000500060007", ""},
		{"unknown", "aa04" + "01020304", ""},
		{"unknown, empty", "aa00", ""},
		{"unknown, 512 bytes", "aafd0002" + strings.Repeat("00", 512), ""},
		{"unknown, 513 bytes", "aafd0102" + strings.Repeat("00", 513), "malformed"},
		{"unknown, 32 MiB", "aafe00000002" + "01020304", "malformed"},
		{"length longer than it need be", "01fd0400" + "01020304", "malformed"},
	} {
		// The entry stands before a good one, which must be found whatever was passed over.
		raw := unhex(t, "02"+"01000000"+"09"+c.in+"208d"+"02000000"+"fd0904"+"010408080808"+"0001")
		got, err := DecodeV2(raw)
		if c.want == "malformed" {
			if err == nil {
				t.Errorf("%s: taken as %v", c.name, got)
			}
			continue
		}
		var names []string
		for _, k := range got {
			names = append(names, k.String())
		}
		want := []string{c.want, "8.8.8.8:1"}
		if c.want == "" {
			want = want[1:]
		}
		if err != nil || !slices.Equal(names, want) || got[len(got)-1].Services != 0x409 {
			t.Errorf("%s: %v, %v, want %v", c.name, names, err, want)
		}
	}
}

// An IPv4 address is one whichever way it comes, and leaves under its own network: 1 in addrv2, mapped in addr.
func TestMappedIsIPv4(t *testing.T) {
	want := ip("1.2.3.4:8333")
	if want.Net != IPv4 || ip("[::ffff:1.2.3.4]:8333") != want {
		t.Fatalf("%v", ip("[::ffff:1.2.3.4]:8333"))
	}
	const mapped = "00000000000000000000ffff01020304208d"
	got, err := DecodeV1(unhex(t, "01"+"01000000"+"0900000000000000"+mapped))
	if err != nil || len(got) != 1 || got[0].Address != want {
		t.Fatalf("addr: %v, %v", got, err)
	}
	if out := hex.EncodeToString(AppendV2(nil, got)); out != "01"+"01000000"+"09"+"0104"+"01020304"+"208d" {
		t.Errorf("addrv2: %s", out)
	}
	if out := hex.EncodeToString(AppendV1(nil, got)); out != "01"+"01000000"+"0900000000000000"+mapped {
		t.Errorf("addr: %s", out)
	}
	// wire keeps the 16-byte form of net.IP under IPv4 since it learnt to.
	na := wire.NetAddressV2FromBytes(time.Unix(1, 0), 9, netip.MustParseAddr("::ffff:1.2.3.4").AsSlice(), 8333)
	if k, ok := FromWire(na); !ok || k != got[0] {
		t.Errorf("wire: %v, %v", k, ok)
	}
}

func TestWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Known{drawAddress(t), rapid.Uint64().Draw(t, "services"), time.Unix(int64(rapid.Uint32().Draw(t, "seen")), 0)}
		na, ok := ToWire(k)
		if want := k.Net == IPv4 || k.Net == IPv6 || k.Net == TorV3; ok != want {
			t.Fatalf("%v goes to wire: %v", k, ok)
		} else if !ok {
			return
		}
		back, ok := FromWire(na)
		if ap, _ := k.AddrPort(); k.Net == IPv6 && (mapped.Contains(ap.Addr()) || onionCat.Contains(ap.Addr())) {
			return
		}
		if !ok || back != k {
			t.Fatalf("%v became %v, %v", k, back, ok)
		}
	})
	v2 := wire.NetAddressV2FromBytes(time.Unix(1, 0), 9, make([]byte, 10), 1)
	for _, na := range []*wire.NetAddressV2{nil, {}, v2} {
		if k, ok := FromWire(na); ok {
			t.Errorf("%v became %v", na, k)
		}
	}
}

func TestMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list, v1 []Known
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			k := Known{drawAddress(t), rapid.Uint64().Draw(t, "services"), time.Unix(int64(rapid.Uint32().Draw(t, "seen")), 0)}
			if ap, _ := k.AddrPort(); k.Net == IPv6 && (mapped.Contains(ap.Addr()) || onionCat.Contains(ap.Addr())) {
				continue
			}
			list = append(list, k)
			if k.Net == IPv4 || k.Net == IPv6 {
				v1 = append(v1, k)
			}
		}
		if got, err := DecodeV2(AppendV2(nil, list)); err != nil || !slices.Equal(got, list) {
			t.Fatalf("addrv2: %v, %v", got, err)
		}
		if got, err := DecodeV1(AppendV1(nil, list)); err != nil || !slices.Equal(got, v1) {
			t.Fatalf("addr: %v, %v", got, err)
		}
	})
}

func TestMessageLimit(t *testing.T) {
	list := make([]Known, 0, 2000)
	for i := range 1001 {
		list = append(list, Known{Address: fromBytes(IPv4, []byte{8, 8, byte(i >> 8), byte(i)}, 1), Seen: time.Unix(1, 0)})
	}
	for range 2 {
		got, err := DecodeV2(AppendV2(nil, list))
		if err != nil || len(got) != MaxMessage {
			t.Errorf("%d, %v", len(got), err)
		}
		got1, err := DecodeV1(AppendV1(nil, list))
		if err != nil || len(got1) != MaxMessage {
			t.Errorf("%d, %v", len(got1), err)
		}
		list = slices.Insert(list, 0, Known{}) // what has no network does not count
	}
	if _, err := DecodeV2(unhex(t, "fde903")); err == nil {
		t.Error("1,001 entries announced")
	}
	if got := testing.AllocsPerRun(10, func() { DecodeV2([]byte{0xfd, 0xe8, 0x03}) }); got > 2 {
		t.Errorf("%v allocations for entries that are not there", got)
	}
}

// sameAsWire compares with btcd's decoder: both take the message or neither, and find the same addresses of the networks
// that btcd knows. Tor v2 is passed over here and not there.
func sameAsWire(t testing.TB, payload []byte) (n int) {
	t.Helper()
	var msg wire.MsgAddrV2
	theirs := msg.BtcDecode(bytes.NewReader(payload), wire.ProtocolVersion, wire.BaseEncoding)
	ours, err := DecodeV2(payload)
	if (theirs == nil) != (err == nil) {
		t.Fatalf("%x: %v, wire %v", payload, err, theirs)
	}
	if err != nil {
		return 0
	}
	var want []Known
	for _, na := range msg.AddrList {
		if k, ok := FromWire(na); ok {
			want = append(want, k)
		}
	}
	got := slices.DeleteFunc(ours, func(k Known) bool { return k.Net == I2P || k.Net == CJDNS })
	if !slices.Equal(got, want) {
		t.Fatalf("%x: %v, wire %v", payload, got, want)
	}
	return len(got)
}

// TestCorpora runs the addrv2 seeds of bitcoinfuzz against wire.
func TestCorpora(t *testing.T) {
	file := realdata.Path(t, "fuzz", "bitcoinfuzz_corpora.tar.xz")
	raw, err := exec.Command("xz", "-dc", file).Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no program xz to unpack the corpora with")
	}
	if err != nil {
		t.Fatal(err)
	}
	inputs, found := 0, 0
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !strings.Contains(h.Name, "addrv2/") {
			continue
		}
		payload, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found += sameAsWire(t, payload)
		inputs++
	}
	if inputs != 585 || found == 0 {
		t.Errorf("%d inputs, %d addresses", inputs, found)
	}
	t.Logf("%d inputs, %d addresses", inputs, found)
}

func FuzzDecodeV2(f *testing.F) {
	f.Add(unhex(f, coreV2))
	f.Add(unhex(f, "03"+"01000000"+"09"+"0420"+onionKey+"208d"+"01000000"+"09"+"0520"+i2pKey+"0000"+
		"01000000"+"09"+"0610"+"fc000001000200030004000500060007"+"208d"))
	f.Add(unhex(f, "01"+"01000000"+"09"+"0210"+"00000000000000000000ffff01020304"+"208d"))
	f.Add(unhex(f, "01"+"01000000"+"ff0000000001000000"+"aafd0002"+strings.Repeat("00", 514)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		sameAsWire(t, payload)
		list, err := DecodeV2(payload)
		if err != nil {
			return
		}
		if back, err := DecodeV2(AppendV2(nil, list)); err != nil || !slices.Equal(back, list) {
			t.Fatalf("%v became %v, %v", list, back, err)
		}
	})
}

func FuzzDecodeV1(f *testing.F) {
	f.Add(unhex(f, coreV1))
	f.Add(unhex(f, "01"+"01000000"+"0900000000000000"+"00000000000000000000ffff01020304"+"208d"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		list, err := DecodeV1(payload)
		if err != nil {
			return
		}
		var msg wire.MsgAddr
		if err := msg.BtcDecode(bytes.NewReader(payload), wire.ProtocolVersion, wire.BaseEncoding); err != nil {
			t.Fatalf("%x: wire %v", payload, err)
		}
		if back, err := DecodeV1(AppendV1(nil, list)); err != nil || !slices.Equal(back, list) || len(list) > len(msg.AddrList) {
			t.Fatalf("%v became %v, %v", list, back, err)
		}
	})
}
