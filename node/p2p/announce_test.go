package p2p

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/chaintest"
)

// extend gives a node blocks of its own, which it announces.
func extend(n *node, add ...*chaintest.Block) {
	for _, b := range add {
		h, _ := chain.ParseHeader(b.Raw)
		_, _ = n.chain.PutHeaders(n.ctx, []chain.Header{h}, false)
	}
	for _, b := range slices.Backward(add) { // the lowest last: the tip moves once
		_ = n.chain.PutBlock(&b.Hash, b.Raw, 0)
	}
	settled(time.Second)
}

// The rules of Core's functional test p2p_sendheaders.py.
func TestAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 60, 1)
		n := start(t, newFakeChain().with(all[:20]...))
		asks := func(s *script, from *chaintest.Block) { // as a peer that has what we have
			ask := wire.NewMsgGetHeaders()
			_ = ask.AddBlockLocatorHash(hashPointer(from))
			s.send(ask)
		}
		plain, wants := play(t, n, "192.0.2.1:1").shake(), play(t, n, "192.0.2.2:1").shake()
		wants.send(wire.NewMsgSendHeaders())
		for _, s := range []*script{plain, wants} {
			asks(s, all[18])
			expect[*wire.MsgHeaders](s)
			s.sync()
		}
		inv := func(s *script, b *chaintest.Block) {
			t.Helper()
			if got := expect[*wire.MsgInv](s).InvList; len(got) != 1 || got[0].Hash != *hashPointer(b) {
				t.Errorf("inv %v", got)
			}
		}
		headers := func(first *chaintest.Block, count int) {
			t.Helper()
			if got := expect[*wire.MsgHeaders](wants).Headers; len(got) != count || got[0].BlockHash() != *hashPointer(first) {
				t.Errorf("%d headers", len(got))
			}
		}
		extend(n, all[20])
		inv(plain, all[20])
		headers(all[20], 1)
		fork := blocks(all[18], 4, 2) // takes two blocks off
		extend(n, fork...)
		inv(plain, fork[3])
		headers(fork[0], 4)
		long := blocks(all[17], 9, 3) // too long to be told by headers
		extend(n, long...)
		inv(plain, long[8])
		inv(wants, long[8])
		// It has not said that it has what that stands on, so the next is told by inv as well, until it asks.
		next := long[8].Next(3)
		extend(n, next)
		inv(wants, next)
		asks(wants, long[8])
		headers(next, 1)
		last := next.Next(3)
		extend(n, last)
		headers(last, 1)
		// Who told us of a block is not told of it.
		own := last.Next(3)
		wants.send(headersOf(own.Raw))
		wants.sync()
		extend(n, own)
		wants.sync()
		inv(plain, next)
		inv(plain, last)
		inv(plain, own)
	})
}

// Nothing is announced before we have caught up.
func TestInitialIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		n.chain.initial = true
		s := play(t, n, "192.0.2.1:1").shake()
		extend(n, chaintest.Genesis().Next(1))
		s.sync()
		for len(s.in) > 0 {
			if msg, is := (<-s.in).(*wire.MsgInv); is {
				t.Errorf("announced %v", msg.InvList)
			}
		}
	})
}

// After the machine has slept a connection must show that it lives.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		mute(t, n)
		play(t, n, "192.0.2.2:1").shake()
		settled(time.Second)
		n.probe()
		settled(probeTime + time.Second)
		if p := n.Peers(); len(p) != 1 || p[0].Address != "192.0.2.2:1" {
			t.Errorf("peers %+v", p)
		}
	})
}
