package p2p

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
)

const (
	// ourVersion is 70016, the first with addrv2 (BIP155); we relay no transactions, so that nothing later concerns us.
	ourVersion = 70016
	// minVersion is the first with headers (Core: MIN_PEER_PROTO_VERSION).
	minVersion         = 31800
	sendHeadersVersion = 70012 // BIP130

	// handshakeMessages is how many messages may come before verack.
	handshakeMessages = 64
)

// Services that nodes offer.
const (
	serviceNetwork = 1 << 0
	serviceWitness = 1 << 3
	serviceLimited = 1 << 10 // the last 288 blocks (BIP159)
	serviceV2      = 1 << 11 // the encrypted transport (BIP324)
)

// The reasons why a handshake ends that say something of the address.
var (
	errSelf     = errors.New("connected to ourselves")
	errObsolete = errors.New("obsolete version")
	errServices = errors.New("not the services that are needed")
)

// handshake exchanges versions. We speak first on connections that we opened. What is not of the handshake is read over
// until it is done: protocols to come may put messages there.
func (p *peer) handshake() error {
	p.nonce = p.m.nonces.add()
	defer p.m.nonces.remove(p.nonce)
	if p.kind != Inbound {
		if err := p.sendVersion(); err != nil {
			return err
		}
	}
	for range handshakeMessages {
		msg, err := p.link.read()
		if errors.Is(err, errChecksum) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case msg.command == cmdVersion && p.version == 0:
			err = p.gotVersion(msg.payload)
		case msg.command == cmdSendAddrV2:
			p.addrV2 = p.version != 0
		case msg.command == cmdSendHeaders:
			p.wantsHeaders.Store(p.version != 0)
		case msg.command == cmdVerack && p.version != 0:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return breach(banScore, "%d messages and no verack", handshakeMessages)
}

func (p *peer) sendVersion() error {
	status := p.m.chain.Status()
	you := wire.NetAddress{Services: 0, IP: net.IPv6zero}
	if ap, ok := p.addr.AddrPort(); ok {
		ip := ap.Addr().As16()
		you.IP, you.Port = ip[:], ap.Port()
	}
	v := wire.MsgVersion{
		ProtocolVersion: ourVersion, Services: wire.ServiceFlag(p.m.services()), Timestamp: time.Now(),
		AddrYou: you, AddrMe: wire.NetAddress{Services: wire.ServiceFlag(p.m.services()), IP: net.IPv6zero},
		Nonce: p.nonce, UserAgent: p.m.cfg.UserAgent, LastBlock: int32(status.Confirmed.Height), DisableRelayTx: true,
	}
	return p.sendMessage(&v)
}

// gotVersion judges the other side's version, and answers.
func (p *peer) gotVersion(payload []byte) error {
	var v wire.MsgVersion
	if err := v.BtcDecode(bytes.NewBuffer(payload), ourVersion, wire.BaseEncoding); err != nil {
		return breach(banScore, "version: %v", err)
	}
	if p.kind == Inbound && p.m.nonces.has(v.Nonce) {
		return errSelf
	}
	if v.ProtocolVersion < minVersion {
		return fmt.Errorf("%w %d", errObsolete, v.ProtocolVersion)
	}
	p.version, p.services, p.agent, p.startHeight =
		uint32(v.ProtocolVersion), uint64(v.Services), v.UserAgent, v.LastBlock
	if (p.kind == Full || p.kind == BlockOnly) && !p.m.serves(p.services) {
		return fmt.Errorf("%w: %x", errServices, p.services)
	}
	if p.kind == Inbound {
		if err := p.sendVersion(); err != nil {
			return err
		}
	}
	if p.version >= ourVersion {
		if err := p.sendMessage(wire.NewMsgSendAddrV2()); err != nil {
			return err
		}
	}
	return p.sendMessage(wire.NewMsgVerAck())
}

// serves tells whether blocks can be downloaded from a node with these services: all of them, or the last ones while
// we need no others.
func (m *Manager) serves(services uint64) bool {
	if services&serviceWitness == 0 {
		return false
	}
	return services&serviceNetwork != 0 || services&serviceLimited != 0 && !m.chain.Status().Initial
}

// sendMessage queues one of wire's messages as a reply.
func (p *peer) sendMessage(msg wire.Message) error { return p.send(msg.Command(), encode(msg)) }

// encode writes a message of our own making behind headroom.
func encode(msg wire.Message) []byte {
	b := bytes.NewBuffer(make([]byte, headroom, headroom+256))
	if err := msg.BtcEncode(b, ourVersion, wire.WitnessEncoding); err != nil {
		panic(err) // a buffer does not fail, and we make no message that is too large
	}
	return b.Bytes()
}

// sendPing asks for a pong. A pong to an earlier ping counts no more.
func (p *peer) sendPing() error {
	nonce := rand.Uint64()
	p.mu.Lock()
	p.ping.nonce, p.ping.sent = nonce, time.Now()
	p.mu.Unlock()
	p.post(cmdPing, encode(wire.NewMsgPing(nonce)))
	return nil
}

// gotPong takes the time; a pong that nobody asked for means nothing.
func (p *peer) gotPong(nonce uint64) {
	p.mu.Lock()
	sent := p.ping.sent
	ours := !sent.IsZero() && p.ping.nonce == nonce
	if ours {
		p.ping.sent = time.Time{}
	}
	p.mu.Unlock()
	if !ours {
		return
	}
	took := max(int64(time.Since(sent)), 1)
	p.latency.Store(took)
	if least := p.minLatency.Load(); least == 0 || took < least {
		p.minLatency.Store(took) // the reader alone writes
	}
}

// probe asks for a pong that must come soon: the machine may have slept, and the connection be gone for long.
func (p *peer) probe() {
	_ = p.sendPing() // it posts, and cannot fail
	p.mu.Lock()
	nonce := p.ping.nonce
	p.mu.Unlock()
	time.AfterFunc(probeTime, func() {
		p.mu.Lock()
		waits := !p.ping.sent.IsZero() && p.ping.nonce == nonce
		p.mu.Unlock()
		if waits {
			p.close(errors.New("no answer after the machine slept"))
		}
	})
}
