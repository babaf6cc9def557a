package p2p

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/chaintest"
)

// mute is a peer that shook hands and answers nothing from then on, pings included.
func mute(t *testing.T, n *node) *meter {
	t.Helper()
	ours, theirs := pair(t)
	n.Accept(at(theirs.Conn, "192.0.2.1:1000"))
	s := scripted(t, ours.Conn)
	s.shake()
	s.mute.Store(true)
	return ours
}

func TestPingTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		began := time.Now()
		conn := mute(t, n)
		settled(time.Second)
		for len(n.Peers()) > 0 {
			_, _ = conn.Write(rawFrame("whatever", nil)) // it lives, but does not answer
			time.Sleep(time.Minute)
		}
		if d := time.Since(began); d < pingTime || d > pingTime+2*pingInterval+time.Minute {
			t.Errorf("left after %v", d)
		}
		if !n.logged("no answer to a ping") {
			t.Error(n.log())
		}
	})
}

func TestInactivityTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		mute(t, n)
		settled(inactivityTime + 2*pingInterval)
		if len(n.Peers()) > 0 || !n.logged("no byte for") && !n.logged("no answer to a ping") {
			t.Error(n.log())
		}
	})
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		s := play(t, n, "192.0.2.1:1000")
		s.delay.Store(int64(30 * time.Millisecond))
		s.shake()
		settled(time.Second)
		if p := n.Peers()[0]; p.Latency != 30*time.Millisecond || p.MinLatency != p.Latency || p.PingWaiting != 0 {
			t.Errorf("latency %v, least %v", p.Latency, p.MinLatency)
		}
		s.send(wire.NewMsgPong(12345)) // which nobody asked for
		s.delay.Store(int64(50 * time.Millisecond))
		settled(pingInterval + time.Second)
		if p := n.Peers()[0]; p.Latency != 50*time.Millisecond || p.MinLatency != 30*time.Millisecond {
			t.Errorf("latency %v, least %v", p.Latency, p.MinLatency)
		}
	})
}

// Who asks for blocks and does not read them has one held in memory, beside what is gathered for a write, and is left when
// it takes nothing for long.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 500, 1)
		n := start(t, newFakeChain().with(all...))
		s := play(t, n, "192.0.2.1:1000").shake()
		s.sync()
		s.stuck.Store(true)
		s.send(wire.NewMsgGetAddr()) // wakes the reader out of its present read
		s.send(getBlocks(all...))
		s.send(wire.NewMsgPing(1))
		settled(time.Second)
		p := n.Peers()[0]
		gathered := int64(gatherMost/len(all[0].Raw)) + 3
		if int64(p.Asked) < int64(len(all))-gathered || n.Totals().BlocksServed > gathered {
			t.Errorf("%d blocks wait, %d were served", p.Asked, n.Totals().BlocksServed)
		}
		settled(writeTime + time.Second)
		if len(n.Peers()) != 0 || !n.logged("timeout") {
			t.Errorf("log %s", n.log())
		}
	})
}

// getBlocks is a getdata message.
func getBlocks(all ...*chaintest.Block) *wire.MsgGetData {
	msg := wire.NewMsgGetData()
	for _, b := range all {
		hash := chainhash.Hash(b.Hash)
		_ = msg.AddInvVect(wire.NewInvVect(wire.InvTypeWitnessBlock, &hash))
	}
	return msg
}

// inventory is an inv, getdata or notfound payload with n entries of no meaning.
func inventory(n int, kind uint32) []byte {
	b := chain.AppendCompactSize(nil, uint64(n))
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, kind)
		b = append(b, bytes.Repeat([]byte{byte(i)}, 32)...)
	}
	return b
}

func TestGetDataFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain().with(blocks(chaintest.Genesis(), 1, 1)...))
		s := play(t, n, "192.0.2.1:1000").shake()
		s.sync()
		s.stuck.Store(true)
		s.send(wire.NewMsgPing(1), wire.NewMsgPing(2))
		for range 3 {
			s.write(rawFrame(cmdGetData, inventory(maxInv, invBlock)))
		}
		settled(time.Second)
		if len(n.Peers()) != 0 || len(n.Bans()) != 1 || !n.logged("getdata for") {
			t.Errorf("bans %v, log %s", n.Bans(), n.log())
		}
	})
}

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := blocks(chaintest.Genesis(), 2600, 1)
		n := start(t, newFakeChain().with(all...))
		s := play(t, n, "192.0.2.1:1000").shake()
		ask := wire.NewMsgGetHeaders()
		genesis := chainhash.Hash(chaintest.Genesis().Hash)
		_ = ask.AddBlockLocatorHash(&genesis)
		s.send(ask)
		hs := expect[*wire.MsgHeaders](s).Headers
		if len(hs) != 2000 || chain.Hash(hs[1999].BlockHash()) != all[1999].Hash {
			t.Errorf("%d headers", len(hs))
		}
		ask.BlockLocatorHashes[0] = hashPointer(all[2597])
		s.send(ask)
		if hs = expect[*wire.MsgHeaders](s).Headers; len(hs) != 2 {
			t.Errorf("%d headers above 2598", len(hs))
		}
		ask.BlockLocatorHashes, ask.HashStop = nil, chainhash.Hash(all[4].Hash)
		s.send(ask)
		if hs = expect[*wire.MsgHeaders](s).Headers; len(hs) != 1 || chain.Hash(hs[0].BlockHash()) != all[4].Hash {
			t.Errorf("%d headers by their hash", len(hs))
		}
		list := wire.NewMsgGetBlocks(&chainhash.Hash{})
		_ = list.AddBlockLocatorHash(&genesis)
		s.send(list)
		if inv := expect[*wire.MsgInv](s).InvList; len(inv) != maxBlockHashes || inv[499].Hash != *hashPointer(all[499]) {
			t.Errorf("%d hashes", len(inv))
		}
		get := getBlocks(all[0], all[2599])
		_ = get.AddInvVect(wire.NewInvVect(wire.InvTypeTx, &genesis))
		_ = get.AddInvVect(wire.NewInvVect(wire.InvTypeBlock, &chainhash.Hash{9}))
		s.send(get)
		if none := expect[*wire.MsgNotFound](s).InvList; len(none) != 1 || none[0].Type != wire.InvTypeTx {
			t.Errorf("not found %v", none)
		}
		for _, b := range []*chaintest.Block{all[0], all[2599]} {
			if got := expect[*wire.MsgBlock](s).BlockHash(); chain.Hash(got) != b.Hash {
				t.Errorf("block %s", got)
			}
		}
		if none := expect[*wire.MsgNotFound](s).InvList; len(none) != 1 || none[0].Type != wire.InvTypeBlock {
			t.Errorf("not found %v", none)
		}
	})
}

func hashPointer(b *chaintest.Block) *chainhash.Hash { return (*chainhash.Hash)(&b.Hash) }

func TestMalformedMessages(t *testing.T) {
	locator := binary.LittleEndian.AppendUint32(nil, ourVersion)
	locator = append(chain.AppendCompactSize(locator, 102), make([]byte, 103*32)...)
	for name, c := range map[string]struct {
		frame []byte
		times int
	}{
		"inv cut":            {rawFrame(cmdInv, inventory(2, invBlock)[:40]), 5},
		"inv too long":       {rawFrame(cmdInv, chain.AppendCompactSize(nil, maxInv+1)), 5},
		"getdata cut":        {rawFrame(cmdGetData, inventory(2, invBlock)[:40]), 5},
		"notfound cut":       {rawFrame(cmdNotFound, inventory(2, invBlock)[:40]), 5},
		"getheaders cut":     {rawFrame(cmdGetHeaders, make([]byte, 3)), 5},
		"getblocks cut":      {rawFrame(cmdGetBlocks, make([]byte, 20)), 5},
		"addr cut":           {rawFrame(cmdAddr, []byte{1, 0}), 5},
		"addrv2 cut":         {rawFrame(cmdAddrV2, []byte{1, 0}), 5},
		"headers cut":        {rawFrame(cmdHeaders, []byte{1, 0}), 5},
		"block cut":          {rawFrame(cmdBlock, make([]byte, 79)), 5},
		"locator too long":   {rawFrame(cmdGetHeaders, locator), 1},
		"too many headers":   {rawFrame(cmdHeaders, chain.AppendCompactSize(nil, 2001)), 1},
		"checksum":           {append(rawFrame(cmdPing, make([]byte, 8))[:31], 1), 4},
		"ping of great size": {rawFrame(cmdPing, make([]byte, 65)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := start(t, newFakeChain())
				s := play(t, n, "192.0.2.1:1000").shake()
				for i := range c.times {
					if i > 0 { // it is there still
						s.sync()
					}
					s.write(c.frame)
				}
				s.gone()
				synctest.Wait()
				if len(n.Bans()) != 1 {
					t.Errorf("bans %v, log %s", n.Bans(), n.log())
				}
			})
		})
	}
}

// What means nothing to us is read over, and costs no memory.
func TestReadsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, newFakeChain())
		s := play(t, n, "192.0.2.1:1000").shake()
		for _, command := range []string{"tx", "cmpctblock", "mempool", "filterload", "reject", "feefilter", "", "whatever"} {
			s.write(rawFrame(command, make([]byte, 100_000)))
		}
		s.write(rawFrame(cmdInv, inventory(maxInv, invTx)))
		s.write(rawFrame(cmdPing, nil)) // of before BIP31
		s.sync()
		if p := n.Peers(); len(p) != 1 || p[0].Score != 0 {
			t.Errorf("peers %+v", p)
		}
	})
}

// FuzzHandle feeds payloads to every handler: none may panic, or take a fault of the other side for one of ours.
func FuzzHandle(f *testing.F) {
	all := blocks(chaintest.Genesis(), 3, 1)
	commands := []string{cmdPing, cmdPong, cmdAddr, cmdAddrV2, cmdGetAddr, cmdInv, cmdGetData, cmdNotFound, cmdGetBlocks,
		cmdGetHeaders, cmdHeaders, cmdBlock, cmdVersion}
	f.Add(uint8(11), all[0].Raw)
	f.Add(uint8(5), inventory(3, invBlock))
	f.Add(uint8(9), appendLocator(nil, []chain.Hash{all[1].Hash}, chain.Hash{}))
	f.Add(uint8(10), encodeHeaders([]chain.Header{{}})[headroom:])
	f.Add(uint8(12), frame(f, version(1, 9))[frameHeader:])
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		n := start(t, newFakeChain().with(all[:2]...))
		a, b := pair(t)
		go func() {
			buf := make([]byte, 4096)
			for {
				if _, err := b.Conn.Read(buf); err != nil {
					return
				}
			}
		}()
		p := n.newPeer(a.Conn, Inbound, addressOf(a.RemoteAddr()))
		p.link, p.version = &v1{out: p.conn, magic: testMagic}, ourVersion
		if err := n.sync.join(p); err != nil {
			t.Fatal(err)
		}
		if command := commands[int(which)%len(commands)]; command == cmdVersion {
			_ = p.gotVersion(payload)
		} else {
			_ = p.handle(message{command, payload})
		}
		n.sync.leave(p)
		p.close(errDone)
		if n.logged("block ") || n.logged("headers: ") {
			t.Error(n.log())
		}
	})
}
