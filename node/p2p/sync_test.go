package p2p

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/chaintest"
)

// present is from the time of a bubble to one at which the headers of tests can exist.
const present = 26 * 365 * 24 * time.Hour

// settled lets a bubble run for a while.
func settled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestSyncFromOnePeer(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := blocks(chaintest.Genesis(), 2100, 1) // two messages of headers
				var net pipes
				source := start(t, newFakeChain().with(all...))
				net.listen("198.51.100.1:18444", source.Accept)
				n := start(t, newFakeChain(), func(c *Config) {
					c.Dial, c.Connect, c.NoEncryption = net.dial, []string{"198.51.100.1"}, plain
				})
				settled(10 * time.Second)
				if h := n.chain.confirmed(); h != 2100 {
					t.Fatalf("synced to %d of 2100\n%s\n%+v", h, n.log(), n.Downloads())
				}
				p := n.Peers()[0]
				if p.Height != 2100 || p.InFlight != 0 || p.Blocks == 0 {
					t.Errorf("peer %+v", p)
				}
				if out, in := source.Totals(), n.Totals(); out.BlocksServed != 2100 || out.BytesOut != in.BytesIn {
					t.Errorf("totals %+v, %+v", out, in)
				}
			})
		})
	}
}

// Blocks come from all peers that have them, also while nobody of them is known to be ahead of the clock.
func TestSyncFromMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 3000, 1)
		var net pipes
		var connect []string
		for i := range 4 {
			address := fmt.Sprintf("198.51.%d.1:18444", i)
			source := start(t, newFakeChain().with(all...))
			net.listen(address, source.Accept)
			connect = append(connect, address)
		}
		n := start(t, newFakeChain(), func(c *Config) { c.Dial, c.Connect = net.dial, connect })
		settled(20 * time.Second)
		if h := n.chain.confirmed(); h != 3000 {
			t.Fatalf("synced to %d of 3000\n%s", h, n.log())
		}
		from := map[PeerID]int{}
		for _, id := range n.chain.put {
			from[id]++
		}
		if len(from) != 4 {
			t.Errorf("blocks came from %v", from)
		}
	})
}

// New blocks are announced by headers once the other side has said that it wants them so, and reorganisations of up to
// eight blocks, too; longer ones by inv.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 20, 1)
		var net pipes
		source := start(t, newFakeChain().with(all...))
		net.listen("198.51.100.1:18444", source.Accept)
		n := start(t, newFakeChain(), func(c *Config) { c.Dial, c.Connect = net.dial, []string{"198.51.100.1"} })
		settled(5 * time.Second)
		give := func(add []*chaintest.Block) {
			for _, b := range add {
				h, _ := chain.ParseHeader(b.Raw)
				_, _ = source.chain.PutHeaders(t.Context(), []chain.Header{h}, false)
				_ = source.chain.PutBlock(&b.Hash, b.Raw, 0)
			}
			settled(time.Second)
		}
		for i, branch := range [][]*chaintest.Block{
			blocks(all[19], 1, 1), blocks(all[19], 1, 2), // a block, and an equal one
			blocks(all[18], 3, 3), blocks(all[9], 15, 4), blocks(all[0], 400, 5),
		} {
			give(branch)
			if got, want := n.chain.Status().Confirmed, source.chain.Status().Confirmed; got != want {
				t.Fatalf("branch %d: at %d %s, the other is at %d %s\n%s", i, got.Height, got.Hash, want.Height, want.Hash, n.log())
			}
		}
		if h := n.chain.confirmed(); h != 401 {
			t.Errorf("at %d", h)
		}
	})
}

// The other way round: who connected to us is told, and we ask it.
func TestSyncFromInbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var net pipes
		n := start(t, newFakeChain())
		net.listen("198.51.100.1:18444", n.Accept)
		start(t, newFakeChain().with(blocks(chaintest.Genesis(), 100, 1)...), func(c *Config) {
			c.Dial, c.Connect = net.dial, []string{"198.51.100.1"}
		})
		settled(5 * time.Second)
		if h := n.chain.confirmed(); h != 100 {
			t.Errorf("synced to %d of 100", h)
		}
	})
}

// A leader that says nothing loses the lead, and the sync goes on with another.
func TestSilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		silent := play(t, n, "192.0.2.1:1000").shake()
		expect[*wire.MsgGetHeaders](silent)
		other := play(t, n, "192.0.2.2:1000").shake()
		all := blocks(chaintest.Genesis(), 5, 1)
		settled(headersTime + 2*time.Second)
		expect[*wire.MsgGetHeaders](other)
		other.send(headersOf(raws(all)...))
		if get := expect[*wire.MsgGetData](other); len(get.InvList) == 0 || get.InvList[0].Type != wire.InvTypeWitnessBlock {
			t.Errorf("asked for %v", get.InvList)
		}
	})
}

func raws(blocks []*chaintest.Block) [][]byte {
	all := make([][]byte, len(blocks))
	for i, b := range blocks {
		all[i] = b.Raw
	}
	return all
}

// A million headers of no work leave nothing behind, nor does a chain that ends below the minimum.
func TestLowWorkHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present) // a bubble begins in 2000
		n := start(t, newFakeChain(), func(c *Config) { c.MinimumWork = chain.WorkFromUint64(1 << 40) })
		s := play(t, n, "192.0.2.1:1000").shake()
		parent := chaintest.Genesis()
		for range 5 {
			expect[*wire.MsgGetHeaders](s)
			lot := blocks(parent, maxHeaders, 1)
			parent = lot[maxHeaders-1]
			s.send(headersOf(raws(lot)...))
		}
		expect[*wire.MsgGetHeaders](s)
		synctest.Wait()
		if p := n.Peers(); len(p) != 1 || p[0].Presync != 5*maxHeaders {
			t.Errorf("peers %+v", p)
		}
		s.send(headersOf(parent.Next(1).Raw))
		s.sync()
		if n.chain.most != 0 || n.Peers()[0].Presync != 0 {
			t.Errorf("%d headers were stored, %+v", n.chain.most, n.Peers())
		}
	})
}

// A chain with enough work is stored after it was shown twice.
func TestPresync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present) // a bubble begins in 2000
		all := blocks(chaintest.Genesis(), 2500, 1)
		var net pipes
		source := start(t, newFakeChain().with(all...))
		net.listen("198.51.100.1:18444", source.Accept)
		n := start(t, newFakeChain(), func(c *Config) {
			c.Dial, c.Connect, c.MinimumWork = net.dial, []string{"198.51.100.1"}, source.chain.Status().Confirmed.Work
		})
		settled(10 * time.Second)
		if h := n.chain.confirmed(); h != 2500 {
			t.Fatalf("synced to %d of 2500\n%s", h, n.log())
		}
	})
}

// Headers that connect to nothing bring a question, and cost something when they come again and again.
func TestUnconnectedHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		s := play(t, n, "192.0.2.1:1000").shake()
		expect[*wire.MsgGetHeaders](s)
		s.send(wire.NewMsgHeaders())
		s.sync()
		far := blocks(chaintest.Genesis(), 60, 1)
		s.send(headersOf(far[9].Raw))
		get := expect[*wire.MsgGetHeaders](s)
		if chain.Hash(*get.BlockLocatorHashes[0]) != chaintest.Genesis().Hash {
			t.Errorf("locator %v", get.BlockLocatorHashes)
		}
		for i := range 49 {
			s.send(headersOf(far[10+i].Raw))
		}
		s.gone()
		synctest.Wait()
		if len(n.Bans()) != 1 {
			t.Errorf("bans %v, log %s", n.Bans(), n.log())
		}
	})
}

// Headers without proof of work, or that do not follow each other, are breaches.
func TestBadHeaders(t *testing.T) {
	all := blocks(chaintest.Genesis(), 3, 1)
	lazy := headersOf(all[0].Raw)
	for h := lazy.Headers[0]; ; h.Nonce++ {
		hash, target := chain.Hash(h.BlockHash()), chain.Regtest().PowLimit
		if !chain.HashMeetsTarget(&hash, target) {
			break
		}
	}
	many := wire.NewMsgHeaders()
	for name, c := range map[string]struct {
		msg  *wire.MsgHeaders
		want string
	}{
		"no work": {lazy, "high-hash"}, "gap": {headersOf(all[0].Raw, all[2].Raw), "do not follow"},
		"turned": {headersOf(all[1].Raw, all[0].Raw), "do not follow"}, "none": {many, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := start(t, newFakeChain())
				s := play(t, n, "192.0.2.1:1000").shake()
				s.send(c.msg)
				if c.want == "" {
					s.sync()
					return
				}
				s.gone()
				synctest.Wait()
				if !n.logged(c.want) || len(n.Bans()) != 1 {
					t.Errorf("log %s, bans %v", n.log(), n.Bans())
				}
			})
		})
	}
}

// A mutated body costs its sender the connection, and the block is asked of another; a block against the rules costs
// it as well, and is asked of nobody.
func TestRefusedBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 2, 1)
		n := start(t, newFakeChain())
		n.chain.bad[all[1].Hash] = true
		first := play(t, n, "192.0.2.1:1000").shake()
		expect[*wire.MsgGetHeaders](first)
		first.send(headersOf(raws(all)...))
		second := play(t, n, "192.0.2.2:1000").shake()
		expect[*wire.MsgGetData](first)
		mutant := append([]byte(nil), all[0].Raw...)
		mutant[len(mutant)-5]++ // in the amount or script of the coinbase
		first.write(rawFrame(cmdBlock, mutant))
		first.gone()
		expect[*wire.MsgGetHeaders](second)
		second.send(headersOf(raws(all)...))
		expect[*wire.MsgGetData](second)
		second.write(rawFrame(cmdBlock, all[0].Raw))
		second.write(rawFrame(cmdBlock, all[1].Raw))
		second.gone()
		settled(time.Second)
		if n.chain.confirmed() != 1 || len(n.Bans()) != 2 {
			t.Errorf("at %d, bans %v, log %s", n.chain.confirmed(), n.Bans(), n.log())
		}
		third := play(t, n, "192.0.2.3:1000").shake()
		third.send(headersOf(raws(all)...)) // it has a block that we refused: so may other nodes, and it came to us
		third.sync()
		third.send(headersOf(all[1].Next(1).Raw)) // one that builds upon it
		third.gone()
	})
}

// Blocks that nobody asked for are taken where they could be the next ones, and else dropped.
func TestUnrequestedBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 300, 1)
		side := blocks(chaintest.Genesis(), 2, 2)
		n := start(t, newFakeChain().with(all[:3]...))
		s := play(t, n, "192.0.2.1:1000").shake()
		s.write(rawFrame(cmdBlock, side[0].Raw)) // less work than ours
		s.write(rawFrame(cmdBlock, all[1].Raw))  // here already
		s.write(rawFrame(cmdBlock, all[9].Raw))  // stands on nothing
		s.sync()
		if len(n.chain.put) != 0 {
			t.Fatalf("took %v", n.chain.put)
		}
		s.write(rawFrame(cmdBlock, all[3].Raw))
		s.sync()
		if n.chain.confirmed() != 4 {
			t.Errorf("at %d", n.chain.confirmed())
		}
		n.chain.setRoom(int64(len(all[4].Raw)) - 1)
		s.write(rawFrame(cmdBlock, side[1].Raw)) // beside the chain, and no room
		s.write(rawFrame(cmdBlock, all[299].Raw))
		s.sync()
		if n.chain.confirmed() != 4 || len(n.chain.put) != 1 {
			t.Errorf("at %d, took %v", n.chain.confirmed(), n.chain.put)
		}
	})
}

// Each answer of notfound lets the block be asked of another.
func TestNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 1, 1)
		n := start(t, newFakeChain())
		a := play(t, n, "192.0.2.1:1000").shake()
		a.send(headersOf(all[0].Raw))
		get := expect[*wire.MsgGetData](a)
		b := play(t, n, "192.0.2.2:1000").shake()
		b.send(headersOf(all[0].Raw))
		b.sync()
		none := wire.NewMsgNotFound()
		hash := chainhash.Hash(all[0].Hash)
		_ = none.AddInvVect(wire.NewInvVect(get.InvList[0].Type, &hash))
		a.send(none)
		expect[*wire.MsgGetData](b)
		b.write(rawFrame(cmdBlock, all[0].Raw))
		b.sync()
		if n.chain.confirmed() != 1 {
			t.Errorf("at %d", n.chain.confirmed())
		}
	})
}

// A fault of our own blames nobody, and the block is asked for again.
func TestOwnFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		n.chain.fault = errors.New("disk on fire")
		all := blocks(chaintest.Genesis(), 1, 1)
		s := play(t, n, "192.0.2.1:1000").shake()
		s.send(headersOf(all[0].Raw))
		for range 2 {
			expect[*wire.MsgGetData](s)
			s.write(rawFrame(cmdBlock, all[0].Raw))
		}
		s.sync()
		if n.chain.confirmed() != 1 || len(n.Bans()) != 0 || !n.logged("disk on fire") {
			t.Errorf("at %d, bans %v, log %s", n.chain.confirmed(), n.Bans(), n.log())
		}
	})
}

// A peer that has headers and no blocks is left for one that has them, in seconds.
func TestHeadersWithoutBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 40, 1)
		n := start(t, newFakeChain())
		s := play(t, n, "192.0.2.1:1000").shake()
		s.send(headersOf(raws(all)...))
		expect[*wire.MsgGetData](s)
		var net pipes
		source := start(t, newFakeChain().with(all...))
		net.listen("198.51.100.1:18444", source.Accept)
		n.dialer.dial = net.dial
		n.AddNode("198.51.100.1")
		settled(30 * time.Second)
		if n.chain.confirmed() != 40 {
			t.Errorf("at %d of 40, %+v", n.chain.confirmed(), n.Downloads())
		}
	})
}

// settling is a node that takes its time.
type settling struct {
	*fakeChain
	waits atomic.Int64
}

func (c *settling) Settle(ctx context.Context) error {
	c.waits.Add(1)
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A pong says that what came before the ping has been dealt with; only while there is no end to it, it does not wait.
func TestPongWaits(t *testing.T) {
	for _, initial := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &settling{fakeChain: newFakeChain()}
			c.initial = initial
			n := start(t, c.fakeChain, func(cfg *Config) { cfg.Chain = c })
			s := play(t, n, "192.0.2.1:1000").shake()
			s.sync()
			began := time.Now()
			s.write(rawFrame(cmdBlock, chaintest.Genesis().Next(1).Raw))
			s.sync()
			s.sync() // nothing to wait for
			want := 3 * time.Second
			if initial {
				want = settleTimeInitial
			}
			if d := time.Since(began); d != want || c.waits.Load() != 1 {
				t.Errorf("initial %v: waited %v, %d times", initial, d, c.waits.Load())
			}
		})
	}
}
