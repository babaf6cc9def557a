package p2p

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/chaintest"
)

// Over sockets of the loopback: sync, then follow, over both transports.
func TestSockets(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			all := blocks(chaintest.Genesis(), 300, 1)
			source := start(t, newFakeChain().with(all...), func(c *Config) { c.Listen = []string{"127.0.0.1:0"} })
			n := start(t, newFakeChain(), func(c *Config) {
				c.Connect, c.NoEncryption = []string{source.Addrs()[0].String()}, plain
			})
			until(t, "sync", func() bool { return n.chain.confirmed() == 300 })
			next := all[299].Next(1)
			h, _ := chain.ParseHeader(next.Raw)
			_, _ = source.chain.PutHeaders(t.Context(), []chain.Header{h}, false)
			_ = source.chain.PutBlock(&next.Hash, next.Raw, 0)
			until(t, "the next block", func() bool { return n.chain.confirmed() == 301 })
			if p := n.Peers(); len(p) != 1 || p[0].Encrypted == plain || p[0].Local == "" {
				t.Errorf("peers %+v", p)
			}
		})
	}
}

// A peer of btcd's messages that knows the first transport alone hangs up on our key, and is called again.
func TestSocketFallsBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	calls := make(chan *script, 2)
	go func() {
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls <- scripted(t, conn)
		}
	}()
	n := start(t, newFakeChain(), func(c *Config) { c.Connect = []string{l.Addr().String()} })
	first := <-calls
	first.gone() // btcd's reader stops at what is no message ...
	_ = first.conn.Close()
	second := <-calls
	expect[*wire.MsgVersion](second) // ... and then we speak as it does
	second.send(version(1, allServices), wire.NewMsgVerAck())
	until(t, "the handshake", func() bool { return len(n.Peers()) == 1 })
	all := blocks(chaintest.Genesis(), 10, 1)
	expect[*wire.MsgGetHeaders](second)
	second.send(headersOf(raws(all)...))
	for asked := 0; asked < 10; {
		for _, v := range expect[*wire.MsgGetData](second).InvList {
			asked++
			for _, b := range all {
				if chain.Hash(v.Hash) == b.Hash {
					var msg wire.MsgBlock
					if err := msg.Deserialize(bytes.NewReader(b.Raw)); err != nil {
						t.Fatal(err)
					}
					second.send(&msg)
				}
			}
		}
	}
	until(t, "sync", func() bool { return n.chain.confirmed() == 10 })
}

// BenchmarkServe sends blocks of a megabyte to a peer over the loopback.
func BenchmarkServe(b *testing.B) {
	for _, plain := range []bool{true, false} {
		b.Run(fmt.Sprint("plain=", plain), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			out, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			in, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			accepted := beside(func() (transport, error) {
				return acceptTransport(&meter{Conn: in}, !plain, testMagic)
			})
			link, err := dialTransport(&meter{Conn: out}, !plain, testMagic)
			if err != nil {
				b.Fatal(err)
			}
			other := <-accepted
			buf := make([]byte, headroom+1<<20)
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			go func() {
				for range b.N {
					if link.write(cmdBlock, buf) != nil {
						return
					}
				}
			}()
			for range b.N {
				if _, err := other.link.read(); err != nil {
					b.Fatal(err)
				}
			}
			_, _ = out.Close(), in.Close()
		})
	}
}

// BenchmarkSync downloads blocks of a megabyte from one node over the loopback, scheduler and all. What the fake node
// does with a block (parse, hash) is in the time.
func BenchmarkSync(b *testing.B) {
	const size, count = 1 << 20, 200
	parent, all := chaintest.Genesis(), make([]*chaintest.Block, count)
	for i := range all {
		coinbase := chaintest.Coinbase(parent.Height+1, 1)
		coinbase.Outs[0].Script = bytes.Repeat([]byte{0x6a}, size)
		parent = parent.NextWith(coinbase)
		all[i] = parent
	}
	for _, plain := range []bool{true, false} {
		b.Run(fmt.Sprint("plain=", plain), func(b *testing.B) {
			source := start(b, newFakeChain().with(all...), func(c *Config) { c.Listen = []string{"127.0.0.1:0"} })
			b.SetBytes(size * count)
			for range b.N {
				n := start(b, newFakeChain(), func(c *Config) {
					c.Connect, c.NoEncryption = []string{source.Addrs()[0].String()}, plain
				})
				until(b, "sync", func() bool { return n.chain.confirmed() == count })
				_ = n.Close()
			}
		})
	}
}
