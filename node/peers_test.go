package node

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/node/p2p"
)

// hostile is a peer that a test plays: an unencrypted connection of its own to the node.
type hostile struct {
	t    *testing.T
	conn net.Conn
	core *coreChain
	net  wire.BitcoinNet
}

// play connects and shakes hands.
func play(t *testing.T, addr string, c *coreChain) *hostile {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	magic := chain.Regtest().Magic
	h := &hostile{t: t, conn: conn, core: c, net: wire.BitcoinNet(binary.LittleEndian.Uint32(magic[:]))}
	me := wire.NewNetAddressIPPort(net.IPv4(127, 0, 0, 1), 1, wire.SFNodeNetwork|wire.SFNodeWitness)
	v := wire.NewMsgVersion(me, me, 77, 1000)
	v.Services, v.ProtocolVersion = wire.SFNodeNetwork|wire.SFNodeWitness, int32(wire.ProtocolVersion)
	h.send(v)
	for h.read() != wire.CmdVerAck {
	}
	h.send(wire.NewMsgVerAck())
	return h
}

// send writes messages; that the node has hung up is for the test to see elsewhere.
func (h *hostile) send(all ...wire.Message) {
	for _, m := range all {
		_ = wire.WriteMessage(h.conn, m, wire.ProtocolVersion, h.net)
	}
}

// read returns the next message's command; empty when there is none for a while or the node has hung up.
func (h *hostile) read() string {
	_ = h.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	_, m, _, err := wire.ReadMessageWithEncodingN(h.conn, wire.ProtocolVersion, h.net, wire.WitnessEncoding)
	if err != nil || m == nil {
		return ""
	}
	if ask, ok := m.(*wire.MsgGetData); ok {
		h.asked(ask)
	}
	return m.Command()
}

// asked answers a getdata with other bodies than the headers promise.
func (h *hostile) asked(m *wire.MsgGetData) {
	for _, inv := range m.InvList {
		for _, raw := range h.core.best {
			if hashOf(raw) == chain.Hash(inv.Hash) {
				h.block(damagedBody(raw))
			}
		}
	}
}

func (h *hostile) block(raw []byte) {
	var b wire.MsgBlock
	if err := b.Deserialize(bytes.NewReader(raw)); err != nil {
		h.t.Fatal(err)
	}
	h.send(&b)
}

// headers announces the chain.
func (h *hostile) headers() {
	m := wire.NewMsgHeaders()
	for _, raw := range h.core.best {
		var b wire.BlockHeader
		if err := b.Deserialize(bytes.NewReader(raw)); err != nil {
			h.t.Fatal(err)
		}
		_ = m.AddBlockHeader(&b)
	}
	h.send(m)
}

// frame writes a message's header and what follows it as they are.
func (h *hostile) frame(magic uint32, command string, length, checksum uint32, payload []byte) {
	var b [24]byte
	binary.LittleEndian.PutUint32(b[:], magic)
	copy(b[4:16], command)
	binary.LittleEndian.PutUint32(b[16:], length)
	binary.LittleEndian.PutUint32(b[20:], checksum)
	_, _ = h.conn.Write(append(b[:], payload...))
}

// flood sends branches of headers that have less work than a chain must have to be kept.
func (h *hostile) flood() {
	genesis := chain.Regtest().GenesisHash
	for branch := range uint32(12) {
		m, prev := wire.NewMsgHeaders(), genesis
		for i := range uint32(200) {
			x := chain.Header{Version: 4, Prev: prev, Time: 1_400_000_000 + 600*i + branch, Bits: 0x207fffff}
			mine(&x)
			prev = x.Hash()
			_ = m.AddBlockHeader(&wire.BlockHeader{
				Version: x.Version, PrevBlock: chainhash.Hash(x.Prev), Timestamp: time.Unix(int64(x.Time), 0), Bits: x.Bits,
				Nonce: x.Nonce,
			})
		}
		h.send(m)
	}
	for h.read() != "" {
	}
}

// hostilities are what peers do to a node.
var hostilities = []struct {
	name string
	act  func(h *hostile)
}{
	{"wrong magic", func(h *hostile) { h.frame(0x01020304, "ping", 8, 0, make([]byte, 8)) }},
	{"oversized message", func(h *hostile) { h.frame(uint32(h.net), "block", 1<<30, 0, make([]byte, 1000)) }},
	{"truncated message", func(h *hostile) { h.frame(uint32(h.net), "headers", 5000, 0, make([]byte, 100)); h.conn.Close() }},
	{"wrong checksum", func(h *hostile) { h.frame(uint32(h.net), "headers", 1, 12345, []byte{0}) }},
	{"headers of low work", (*hostile).flood},
	{"headers without blocks", func(h *hostile) { h.headers() }},
	{"mutated bodies", func(h *hostile) {
		h.headers()
		for h.read() != "" {
		}
	}},
	{"blocks that nobody asked for", func(h *hostile) {
		for _, raw := range [][]byte{h.core.best[300], h.core.best[1], h.core.best[1], h.core.best[2]} {
			h.block(raw)
		}
	}},
	{"a flood of questions, never read", func(h *hostile) {
		m := wire.NewMsgGetDataSizeHint(wire.MaxInvPerMsg)
		for range wire.MaxInvPerMsg {
			hash := chainhash.Hash(hashOf(h.core.best[1]))
			_ = m.AddInvVect(wire.NewInvVect(wire.InvTypeWitnessBlock, &hash))
		}
		h.send(m, m)
	}},
}

// TestHostilePeers: whatever a peer does, the node comes to the tip of the honest one, holds no block back, and has
// stored no header but those of the honest chain.
func TestHostilePeers(t *testing.T) {
	c := core(t)
	source := memRig(t, chain.Regtest())
	source.load(t, c.best...)
	honest := joined(t, source.t, p2p.Config{Listen: []string{"127.0.0.1:0"}}, func(o *Options) { o.Verifier = verifier })
	defer honest.close(t)
	for _, x := range hostilities {
		t.Run(x.name, func(t *testing.T) {
			r := memRig(t, chain.Regtest())
			us := joined(t, r.t, p2p.Config{Listen: []string{"127.0.0.1:0"}}, func(o *Options) {
				o.Verifier, o.MinimumChainWork = verifier, source.work()
			})
			h := play(t, us.m.Addrs()[0].String(), c)
			x.act(h)
			us.m.AddNode(honest.m.Addrs()[0].String())
			us.reach(t, uint32(len(c.best)))
			if err := us.n.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if us.n.Room() != us.n.room {
				t.Errorf("room for %d bytes, and %d at the beginning", us.n.Room(), us.n.room)
			}
			us.close(t)
			if n := int(r.t.Headers()); n != len(c.best)+1 {
				t.Errorf("%d headers are stored, %d are the chain's and genesis", n, len(c.best)+1)
			}
		})
	}
}
