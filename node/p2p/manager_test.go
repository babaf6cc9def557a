package p2p

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/node/p2p/addrbook"
)

func TestBansOnDisk(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	open := func(at time.Time) *banList {
		l, err := openBans(filepath.Join(folder, bansFile), func() time.Time { return at }, func(s string) { t.Error(s) })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open(now)
	for _, subnet := range []string{"192.0.2.7/32", "198.51.100.0/24", "2001:db8:1:2::/64"} {
		l.add(Ban{Subnet: netip.MustParsePrefix(subnet), Created: now, Until: now.Add(time.Hour), Reason: "test"})
	}
	l = open(now.Add(time.Minute))
	for address, want := range map[string]bool{
		"192.0.2.7:1": true, "192.0.2.8:1": false, "198.51.100.200:1": true, "[2001:db8:1:2:3::4]:1": true,
		"[2001:db8:1:3::4]:1": false, "[::ffff:192.0.2.7]:9": true,
	} {
		if got := l.banned(addrbook.FromAddrPort(netip.MustParseAddrPort(address))); got != want {
			t.Errorf("%s: banned %v", address, got)
		}
	}
	if !l.remove(netip.MustParsePrefix("192.0.2.7/32")) || l.remove(netip.MustParsePrefix("192.0.2.7/32")) {
		t.Error("a ban is lifted once")
	}
	if l = open(now.Add(2 * time.Minute)); len(l.list()) != 2 {
		t.Errorf("bans %v", l.list())
	}
	if l = open(now.Add(2 * time.Hour)); len(l.list()) != 0 {
		t.Errorf("bans that are over: %v", l.list())
	}
	path := filepath.Join(folder, bansFile)
	if err := os.WriteFile(path, []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := openBans(path, time.Now, nil); err == nil || l == nil || len(l.list()) != 0 {
		t.Errorf("a damaged list: %v", err)
	}
}

// Who misbehaved is kept away; who is named or of this machine is not.
func TestBannedPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		for _, c := range []struct {
			from string
			bans int
		}{{"192.0.2.1:1000", 1}, {"127.0.0.1:1000", 1}, {"[2001:db8::1]:1000", 2}} {
			s := play(t, n, c.from).shake()
			s.write(rawFrame(cmdPing, make([]byte, 65)))
			s.gone()
			synctest.Wait()
			if len(n.Bans()) != c.bans {
				t.Errorf("%s: bans %v", c.from, n.Bans())
			}
		}
		play(t, n, "192.0.2.1:2000").gone()
		play(t, n, "[2001:db8::2]:2000").gone()
		play(t, n, "127.0.0.1:2000").shake()
		settled(banTime + time.Minute)
		play(t, n, "192.0.2.1:3000").shake()
		n.Ban(netip.MustParsePrefix("192.0.2.0/24"), time.Hour, "by hand")
		play(t, n, "192.0.2.200:1").gone()
	})
}

func TestInboundLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain(), func(c *Config) { c.MaxInbound = 30 })
		for i := range 40 {
			play(t, n, fmt.Sprintf("192.0.%d.1:1000", i)).shake()
		}
		settled(time.Second)
		if got := len(n.Peers()); got != 30 || !n.logged("evicted for another") {
			t.Errorf("%d peers", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain(), func(c *Config) { c.MaxInbound = -1 })
		play(t, n, "192.0.2.1:1000").gone()
	})
}

func TestEvict(t *testing.T) {
	began := time.Unix(1e9, 0)
	make := func(n int, change func(i int, c *candidate)) []candidate {
		all := make([]candidate, n)
		for i := range all {
			all[i] = candidate{id: PeerID(i + 1), since: began.Add(time.Duration(i) * time.Minute), ping: int64(1e9)}
			all[i].group[0] = byte(i)
			all[i].mark = uint64(i)
			change(i, &all[i])
		}
		return all
	}
	none := func(int, *candidate) {}
	if _, ok := evict(nil); ok {
		t.Error("somebody of nobody")
	}
	if id, ok := evict(make(16, none)); ok {
		t.Errorf("%d of 16, who are all safe", id)
	}
	// Of many the newest of the largest group goes, unless it is safe for a quality.
	crowd := func(i int, c *candidate) {
		if i >= 40 {
			c.group[0], c.mark = 200, 0
		}
	}
	if id, _ := evict(make(60, crowd)); id != 60 {
		t.Errorf("%d goes of a crowd", id)
	}
	for name, safe := range map[string]func(c *candidate){
		"ping": func(c *candidate) { c.ping = 1 }, "block": func(c *candidate) { c.lastBlock = 1 },
		"time": func(c *candidate) { c.since = began.Add(-time.Hour) }, "group": func(c *candidate) { c.mark = 1 << 60 },
		"local": func(c *candidate) { c.local = true },
	} {
		all := make(60, crowd)
		safe(&all[59])
		if id, ok := evict(all); !ok || id == 60 {
			t.Errorf("%s: %d goes", name, id)
		}
	}
}

// A book of addresses in many groups fills the slots, no two of them from one group, and finds a way round those that
// do not answer.
func TestOutboundSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present)
		var net pipes
		book := addrbook.New(addrbook.Options{})
		var list []addrbook.Known
		for i := range 60 {
			address := fmt.Sprintf("52.%d.%d.1:18444", i%30, i) // two of each group
			list = append(list, addrbook.Known{Address: addrbook.FromAddrPort(netip.MustParseAddrPort(address)),
				Services: allServices | serviceV2, Seen: time.Now()})
			if i%3 > 0 {
				net.listen(address, start(t, newFakeChain()).Accept)
			}
		}
		book.Add(list, addrbook.Named("test"), 0)
		n := start(t, newFakeChain(), func(c *Config) { c.Book, c.Dial, c.FullOut, c.BlockOut = book, net.dial, 8, 2 })
		settled(5 * time.Minute)
		count, groups := map[Kind]int{}, map[string]bool{}
		for _, p := range n.Peers() {
			count[p.Kind]++
			groups[netip.MustParseAddrPort(p.Address).Addr().String()[:6]] = true
			if !p.Encrypted {
				t.Errorf("%s is not encrypted", p.Address)
			}
		}
		if count[Full] != 8 || count[BlockOnly] != 2 {
			t.Errorf("connections %v\n%s", count, n.log())
		}
		if _, tried := book.Count(); tried < 10 {
			t.Errorf("%d addresses are known to be good", tried)
		}
		settled(20 * time.Minute)
		if _, tried := book.Count(); tried < 12 {
			t.Errorf("%d addresses are known to be good: no feelers", tried)
		}
		// Without a block for half an hour, one more is called, and one taken off when a block comes.
		settled(time.Hour)
		if !n.logged("no new block for") {
			t.Error("nobody was called for a tip that stands still")
		}
	})
}

func TestSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present)
		book := addrbook.New(addrbook.Options{})
		var net pipes
		fake := &seeded{newFakeChain()}
		n, err := New(Config{Chain: fake, Book: book, Dial: net.dial,
			Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
				if host != "x9.seed.example" {
					return nil, fmt.Errorf("no %s", host)
				}
				return []netip.Addr{netip.MustParseAddr("52.1.1.1"), netip.MustParseAddr("52.2.1.1")}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		settled(time.Second)
		if book.Len() != 2 {
			t.Errorf("%d addresses", book.Len())
		}
		_ = n.Close()
	})
}

// seeded is a chain of a network with seeds.
type seeded struct{ *fakeChain }

func (s *seeded) Params() *chain.Params {
	p := *chain.Regtest()
	p.Seeds = []string{"seed.example", "other.example"}
	return &p
}

// Everything goes through the proxy, and names are resolved behind it.
func TestProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	asked := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		// RFC 1928: greeting, no authentication, then a request by name.
		b := make([]byte, 3)
		_, _ = io.ReadFull(conn, b)
		_, _ = conn.Write([]byte{5, 0})
		head := make([]byte, 5)
		_, _ = io.ReadFull(conn, head)
		name := make([]byte, int(head[4])+2)
		_, _ = io.ReadFull(conn, name)
		asked <- fmt.Sprint(head[3], " ", string(name[:head[4]]))
	}()
	start(t, newFakeChain(), func(c *Config) { c.Proxy, c.Connect = l.Addr().String(), []string{"node.example"} })
	if got := <-asked; got != "3 node.example" {
		t.Errorf("the proxy was asked for %q", got)
	}
	if _, err := New(Config{Chain: newFakeChain(), Proxy: "nowhere"}); err == nil {
		t.Error("a proxy without a port")
	}
}

func addrs(n int, at time.Time) *wire.MsgAddrV2 {
	msg := wire.NewMsgAddrV2()
	for i := range n {
		ip := []byte{60, byte(i >> 8), byte(i), 1}
		msg.AddrList = append(msg.AddrList, wire.NetAddressV2FromBytes(at, allServices, ip, 8333))
	}
	return msg
}

func TestAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present)
		book := addrbook.New(addrbook.Options{})
		n := start(t, newFakeChain(), func(c *Config) { c.Book, c.Connect = book, []string{} })
		a := play(t, n, "52.1.1.1:1000")
		a.send(version(1, allServices), wire.NewMsgSendAddrV2())
		expect[*wire.MsgVerAck](a)
		a.send(wire.NewMsgVerAck())
		b := play(t, n, "52.2.1.1:1000")
		b.send(version(2, allServices), wire.NewMsgSendAddrV2())
		expect[*wire.MsgVerAck](b)
		b.send(wire.NewMsgVerAck(), wire.NewMsgGetAddr())
		b.sync()
		a.send(addrs(5, time.Now()))
		a.sync()
		if book.Len() != 1 || n.Totals().AddrsDropped != 4 {
			t.Errorf("%d addresses of a stranger, %d dropped", book.Len(), n.Totals().AddrsDropped)
		}
		if got := expect[*wire.MsgAddrV2](b).AddrList; len(got) != 1 || got[0].Addr.String() != "60.0.0.1" {
			t.Errorf("passed on: %v", got)
		}
		time.Sleep(100 * time.Second)
		a.send(addrs(1000, time.Now()))
		a.sync()
		if got := book.Len(); got < 10 || got > 15 {
			t.Errorf("%d addresses after 130 s", got)
		}
	})
}

// What a node answers to getaddr is a part of its book.
func TestGetAddr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present)
		book := addrbook.New(addrbook.Options{})
		var list []addrbook.Known
		for i := range 400 {
			ip := netip.AddrFrom4([4]byte{60, byte(i), 1, 1})
			list = append(list, addrbook.Known{Address: addrbook.FromAddrPort(netip.AddrPortFrom(ip, 8333)),
				Services: allServices, Seen: time.Now()})
		}
		for i := range list {
			book.Add(list[i:i+1], addrbook.Named(fmt.Sprint(i)), 0)
		}
		n := start(t, newFakeChain(), func(c *Config) { c.Book, c.Dial = book, (&pipes{}).dial })
		var answers [2]string
		for i := range answers {
			s := play(t, n, fmt.Sprintf("52.1.%d.1:1000", i)).shake()
			s.send(wire.NewMsgGetAddr())
			got := expect[*wire.MsgAddr](s).AddrList
			if len(got) < book.Len()/5 || len(got) > book.Len()*samplePercent/100 {
				t.Errorf("%d of %d addresses", len(got), book.Len())
			}
			for _, a := range got {
				answers[i] += a.IP.String() + " "
			}
			s.send(wire.NewMsgGetAddr())
			s.sync()
			if len(s.in) > 0 {
				t.Errorf("answered twice: %v", <-s.in)
			}
		}
		if answers[0] != answers[1] {
			t.Error("two answers in a day differ")
		}
	})
}

// Close ends everything, whatever is going on.
func TestCloseInTheMiddle(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		n := start(t, newFakeChain(), func(c *Config) { c.Listen = []string{"127.0.0.1:0"} })
		other := start(t, newFakeChain(), func(c *Config) { c.Connect = []string{n.Addrs()[0].String()} })
		time.Sleep(after)
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		if n.AddNode("127.0.0.1:1") {
			t.Error("a node was added after the end")
		}
	}
}
