package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"stele/chain"
	"stele/node/p2p/addrbook"
)

// Kind is why there is a connection.
type Kind uint8

// Kinds of connections.
const (
	Inbound   Kind = iota // opened to us
	Full                  // one of ours: headers, blocks, addresses
	BlockOnly             // one of ours that takes no part in gossip, so that gossip does not give it away
	Manual                // one that the user named
	Feeler                // a look whether an address is good; ends after the handshake
	AddrFetch             // a question for addresses; ends after the answer
)

// String is the name that Core has for the kind.
func (k Kind) String() string {
	return [...]string{"inbound", "outbound-full-relay", "block-relay-only", "manual", "feeler", "addr-fetch"}[k]
}

// Times and sizes of a connection.
const (
	handshakeTime  = time.Minute
	pingInterval   = 2 * time.Minute
	pingTime       = 20 * time.Minute // without pong (Core: TIMEOUT_INTERVAL)
	probeTime      = 30 * time.Second // the same where there is reason to doubt
	inactivityTime = 20 * time.Minute // without a byte

	// replyQueue is how many bytes may wait to be sent before the reader stops, so that who asks without reading hears
	// no more; postQueue ends the connection, as what is posted does not wait.
	replyQueue = 1 << 20
	postQueue  = 8 << 20

	// servedAhead is how many blocks may be asked of us and not be sent yet. An entry is 36 bytes.
	servedAhead = maxInv
)

// banScore is what a peer may cost before it is cut off.
const banScore = 100

// peer is a connection. The reader's goroutine runs the handlers, in the order of the messages, and owns what says so;
// the writer's sends. Either ends when ctx does, and close ends that.
type peer struct {
	id        PeerID
	kind      Kind
	m         *Manager
	conn      *meter
	link      transport // set before the goroutines begin
	encrypted bool
	addr      addrbook.Address // of the other side; zero where it is no address of a network
	remote    string
	since     time.Time
	ctx       context.Context
	fail      context.CancelCauseFunc

	// Set by the handshake, before anyone but the two goroutines sees the peer.
	version     uint32
	services    uint64
	agent       string
	startHeight int32
	addrV2      bool
	nonce       uint64 // ours to it

	wantsHeaders atomic.Bool
	latency      atomic.Int64 // of the last pong, nanoseconds; zero: none yet
	minLatency   atomic.Int64
	lastBlock    atomic.Int64  // when it last gave us a block that we had asked for, unix nanoseconds
	whole        atomic.Int64  // bytes of the connection when its last message was read
	presync      atomic.Uint32 // height of a chain of headers that has not shown enough work; zero: none
	received     atomic.Int64  // bytes of such blocks
	lastNews     atomic.Int64  // when it last told of a block that was new to us, unix nanoseconds

	mu     sync.Mutex
	score  int
	queue  []outgoing
	queued int       // bytes
	asked  []request // blocks that it wants, oldest first
	ping   struct {
		nonce uint64
		sent  time.Time // zero: none on its way
	}
	wake chan struct{} // the writer has something to do
	room chan struct{} // the queue has become shorter

	tips   tips
	gossip gossip
	in     reading
}

// outgoing is a message that waits to be sent; buf has headroom bytes before its payload.
type outgoing struct {
	command string
	buf     []byte
}

// request is a block that the peer asked for.
type request struct {
	hash    chain.Hash
	witness bool
}

// newPeer does not start anything.
func (m *Manager) newPeer(conn net.Conn, kind Kind, addr addrbook.Address) *peer {
	p := &peer{
		id: PeerID(m.lastID.Add(1)), kind: kind, m: m, addr: addr, since: time.Now(),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	p.conn = &meter{Conn: conn, since: p.since}
	if a := conn.RemoteAddr(); a != nil {
		p.remote = a.String()
	}
	p.ctx, p.fail = context.WithCancelCause(m.ctx)
	p.in.addrs.start(time.Now())
	return p
}

// errDone ends a connection that has served its purpose.
var errDone = errors.New("done")

// close ends the connection; the first reason counts.
func (p *peer) close(reason error) {
	p.fail(reason)
	_ = p.conn.Close() // nothing is lost that the reason does not say
}

// run leads the connection from its first byte to its end, and returns why it ended. ready is called when the
// handshake is done; where it errs, that is the end.
func (p *peer) run(begin func(c *meter) (transport, error), ready func() error) error {
	stop := context.AfterFunc(p.ctx, func() { _ = p.conn.Close() })
	defer stop()
	late := time.AfterFunc(handshakeTime, func() { p.close(errors.New("handshake took too long")) })
	defer late.Stop()
	link, err := begin(p.conn)
	if err != nil {
		p.punish(err)
		p.close(err)
		return context.Cause(p.ctx)
	}
	p.link = link
	_, p.encrypted = link.(*v2)
	written := make(chan struct{})
	go func() {
		defer close(written)
		p.close(p.writeLoop())
	}()
	if err = p.handshake(); err == nil {
		late.Stop()
		if err = ready(); err == nil {
			err = p.readLoop()
		}
	}
	p.punish(err)
	p.close(err)
	<-written
	return context.Cause(p.ctx)
}

// readLoop handles messages until the connection fails.
func (p *peer) readLoop() error {
	for {
		msg, err := p.link.read()
		if errors.Is(err, errChecksum) {
			if p.misbehaved(25, msg.command+" with a wrong checksum") {
				return errors.New("too many wrong checksums")
			}
			continue
		}
		if err != nil {
			return err
		}
		p.whole.Store(p.conn.in.Load())
		if err := p.handle(msg); err != nil {
			return err
		}
	}
}

// punish puts the blame for a breach on the other side.
func (p *peer) punish(err error) {
	var breach *ProtocolError
	if errors.As(err, &breach) {
		p.misbehaved(breach.Score, breach.Reason)
	}
}

// misbehaved adds to the peer's score and tells whether it is full. Then the address is banned, unless the user named
// it or it is of this machine: others may be behind that one.
func (p *peer) misbehaved(score int, reason string) bool {
	p.mu.Lock()
	before := p.score
	p.score += score
	full := p.score >= banScore
	p.mu.Unlock()
	if full && before < banScore {
		p.m.bans.punish(p, reason)
		p.close(fmt.Errorf("misbehaved: %s", reason))
	}
	return full
}

// send queues a reply. It waits while too much is queued, and so stops the reader.
func (p *peer) send(command string, buf []byte) error {
	for {
		p.mu.Lock()
		if p.queued < replyQueue {
			p.push(command, buf)
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
}

// post queues a message of somebody who cannot wait.
func (p *peer) post(command string, buf []byte) {
	p.mu.Lock()
	full := p.queued > postQueue
	if !full {
		p.push(command, buf)
	}
	p.mu.Unlock()
	if full {
		p.close(errors.New("reads too slowly: the queue is full"))
	}
}

func (p *peer) push(command string, buf []byte) {
	p.queue = append(p.queue, outgoing{command, buf})
	p.queued += len(buf)
	signal(p.wake)
}

// serve puts blocks on the list of what the peer is sent.
func (p *peer) serve(blocks []request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked)+len(blocks) > servedAhead {
		return breach(banScore, "getdata for %d blocks that were not sent yet", len(p.asked)+len(blocks))
	}
	p.asked = append(p.asked, blocks...)
	signal(p.wake)
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take gives the writer its next task: a message, or else a block that was asked for.
func (p *peer) take() (out outgoing, block request, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		out, p.queue[0] = p.queue[0], outgoing{}
		if p.queue = p.queue[1:]; len(p.queue) == 0 {
			p.queue = nil // the array is as long as the queue ever was
		}
		p.queued -= len(out.buf)
		signal(p.room)
		return out, block, true
	}
	if len(p.asked) > 0 {
		block = p.asked[0]
		if p.asked = p.asked[1:]; len(p.asked) == 0 {
			p.asked = nil
		}
		return out, block, true
	}
	return out, block, false
}

// writeLoop sends what is queued and then blocks that were asked for, one at a time: no more than one is in memory.
func (p *peer) writeLoop() error {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	p.conn.gathers = true // nobody else writes from here on
	for {
		out, block, some := p.take()
		var err error
		switch {
		case !some:
			if err = p.conn.flush(); err != nil {
				return err
			}
			select {
			case <-p.wake:
			case <-ticker.C:
				err = p.beat()
			case <-p.ctx.Done():
				return context.Cause(p.ctx)
			}
		case out.command != "":
			err = p.link.write(out.command, out.buf)
		default:
			err = p.sendBlock(&block)
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C: // also while there is always something to send
			err = p.beat()
		default:
		}
		if err != nil {
			return err
		}
	}
}

// beat looks whether the other side is alive, and asks it.
func (p *peer) beat() error {
	now := time.Now()
	if now.Sub(p.since)-time.Duration(p.conn.lastIn.Load()) > inactivityTime {
		return fmt.Errorf("no byte for %v", inactivityTime)
	}
	p.mu.Lock()
	waiting := p.ping.sent
	p.mu.Unlock()
	if waiting.IsZero() {
		return p.sendPing()
	}
	if now.Sub(waiting) > pingTime {
		return fmt.Errorf("no answer to a ping for %v", pingTime)
	}
	return nil
}
