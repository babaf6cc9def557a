package p2p

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/internal/chaintest"
)

func TestHandshakeInbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain().with(blocks(chaintest.Genesis(), 3, 1)...))
		s := play(t, n, "192.0.2.1:1000")
		s.write(rawFrame(cmdVersion, nil)[:24-8]) // nothing can come before version; and bytes come as they like
		s.write(frame(t, version(5, allServices))[16:])
		v := expect[*wire.MsgVersion](s)
		if v.Services != allServices|serviceV2 || v.LastBlock != 3 || !v.DisableRelayTx || v.UserAgent != defaultAgent {
			t.Errorf("version %+v", v)
		}
		if v.AddrMe.IP.String() != "::" || v.AddrYou.IP.String() != "192.0.2.1" || v.AddrYou.Port != 1000 {
			t.Errorf("addresses %v, %v", v.AddrMe, v.AddrYou)
		}
		if _, ok := (<-s.in).(*wire.MsgSendAddrV2); !ok {
			t.Error("sendaddrv2 must stand between version and verack")
		}
		expect[*wire.MsgVerAck](s)
		if len(n.Peers()) != 0 {
			t.Error("connected before verack")
		}
		// Messages to come, and what does not belong here, are read over.
		s.send(wire.NewMsgSendAddrV2(), wire.NewMsgMemPool(), wire.NewMsgGetAddr())
		s.write(rawFrame("sendtxrcncl", make([]byte, 12)))
		s.write(rawFrame("whatever", make([]byte, 1000)))
		s.send(wire.NewMsgVerAck())
		expect[*wire.MsgSendHeaders](s)
		synctest.Wait()
		peers := n.Peers()
		if len(peers) != 1 || peers[0].Agent != "/script:1/" || peers[0].Version != 70016 || peers[0].Encrypted ||
			peers[0].Address != "192.0.2.1:1000" || peers[0].Kind != Inbound {
			t.Errorf("peers %+v", peers)
		}
		s.send(version(5, allServices)) // a second one means nothing (Core)
		s.sync()
	})
}

func TestHandshakeRefuses(t *testing.T) {
	old := version(5, allServices)
	old.ProtocolVersion = minVersion - 1
	for name, c := range map[string]struct {
		send func(s *script)
		want string
	}{
		"obsolete":         {func(s *script) { s.send(old) }, "obsolete version 31799"},
		"garbled":          {func(s *script) { s.write(rawFrame(cmdVersion, make([]byte, 10))) }, "version:"},
		"version too long": {func(s *script) { s.write(rawFrame(cmdVersion, make([]byte, 3000))) }, "at most 2048"},
		"another network": {func(s *script) {
			f := frame(s.t, version(5, allServices))
			binary.LittleEndian.PutUint32(f, uint32(wire.MainNet))
			s.write(f)
		}, "another network"},
		"flood": {func(s *script) {
			s.send(version(5, allServices))
			for range handshakeMessages {
				s.send(wire.NewMsgGetAddr())
			}
		}, "no verack"},
		"silence":           {func(*script) {}, "handshake took too long"},
		"silence after one": {func(s *script) { s.send(version(5, allServices)) }, "handshake took too long"},
		"sendaddrv2 late": {func(s *script) {
			s.shake()
			s.send(wire.NewMsgSendAddrV2())
		}, "sendaddrv2 after verack"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := start(t, newFakeChain())
				s := play(t, n, "192.0.2.1:1000")
				c.send(s)
				s.gone()
				synctest.Wait()
				if !n.logged(c.want) {
					t.Errorf("log: %s", n.log())
				}
				banned := len(n.Bans()) == 1
				if fault := !strings.Contains("obsolete silence after one sendaddrv2 late another network", name); banned != fault {
					t.Errorf("banned: %v", n.Bans())
				}
			})
		})
	}
}

func TestHandshakeBetweenUs(t *testing.T) {
	for _, plain := range []string{"", "caller", "called", "both"} {
		t.Run("plain "+plain, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var net pipes
				called := start(t, newFakeChain(), func(c *Config) { c.NoEncryption = plain == "called" || plain == "both" })
				net.listen("198.51.100.1:18444", called.Accept)
				caller := start(t, newFakeChain(), func(c *Config) {
					c.NoEncryption = plain == "caller" || plain == "both"
					c.Dial, c.Connect = net.dial, []string{"198.51.100.1"}
				})
				synctest.Wait()
				a, b := caller.Peers(), called.Peers()
				if len(a) != 1 || len(b) != 1 {
					t.Fatalf("peers %v, %v\n%s\n%s", a, b, caller.log(), called.log())
				}
				if a[0].Encrypted != (plain == "") || a[0].Session != b[0].Session || a[0].Kind != Manual {
					t.Errorf("caller has %+v, called %+v", a[0], b[0])
				}
				if a[0].Services != called.services() || b[0].Services != caller.services() {
					t.Errorf("services %x, %x", a[0].Services, b[0].Services)
				}
			})
		})
	}
}

func TestConnectedToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var net pipes
		n := start(t, newFakeChain(), func(c *Config) { c.Dial = net.dial })
		net.listen("198.51.100.1:18444", n.Accept)
		n.AddNode("198.51.100.1:18444")
		synctest.Wait()
		if len(n.Peers()) != 0 || !n.logged(errSelf.Error()) {
			t.Errorf("peers %v, log %s", n.Peers(), n.log())
		}
	})
}

// A node that is called and does not have what we need is left; one that the user named is kept.
func TestServicesNeeded(t *testing.T) {
	for _, c := range []struct {
		services wire.ServiceFlag
		initial  bool
		kept     bool
	}{
		{allServices, true, true},
		{serviceNetwork, false, false},
		{serviceWitness | serviceLimited, true, false},
		{serviceWitness | serviceLimited, false, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := newFakeChain()
				fake.initial = c.initial
				n := start(t, fake)
				a, b := pair(t)
				p := n.newPeer(at(a, "198.51.100.1:18444"), Full, addressOf(at(a, "198.51.100.1:18444").RemoteAddr()))
				n.lead(p, func(m *meter) (transport, error) { return dialTransport(m, false, testMagic) }, nil)
				s := scripted(t, b.Conn)
				expect[*wire.MsgVersion](s)
				s.send(version(9, c.services), wire.NewMsgVerAck())
				time.Sleep(time.Second)
				if got := len(n.Peers()) == 1; got != c.kept {
					t.Errorf("kept: %v; %s", got, n.log())
				}
			})
		})
	}
}
