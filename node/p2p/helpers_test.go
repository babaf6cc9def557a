package p2p

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
)

// node is a manager over a fake chain.
type node struct {
	*Manager
	chain *fakeChain
	mu    sync.Mutex
	lines []string
}

// start makes a node that calls nobody but who is named.
func start(t testing.TB, c *fakeChain, change ...func(*Config)) *node {
	t.Helper()
	n := &node{chain: c}
	cfg := Config{Chain: c, FullOut: -1, BlockOut: -1, NoSeeds: true, Log: func(line string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lines = append(n.lines, line)
	}}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Manager = m
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

// logged tells whether a line with these words was logged.
func (n *node) logged(words string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.lines, "\n"), words)
}

func (n *node) log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// pipes is a network of pipes: an address is the node that listens there.
type pipes struct {
	mu    sync.Mutex
	nodes map[string]func(net.Conn)
}

func (p *pipes) listen(address string, accept func(net.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes == nil {
		p.nodes = map[string]func(net.Conn){}
	}
	p.nodes[address] = accept
}

func (p *pipes) dial(_ context.Context, address string) (net.Conn, error) {
	p.mu.Lock()
	accept := p.nodes[address]
	p.mu.Unlock()
	if accept == nil {
		return nil, fmt.Errorf("%s: nobody listens", address)
	}
	ours, theirs := net.Pipe()
	accept(at(theirs, "192.0.2.77:5000"))
	return at(ours, address), nil
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	remote *net.TCPAddr
}

func (a *addressed) RemoteAddr() net.Addr { return a.remote }

// at gives a connection the address of its other side.
func at(conn net.Conn, address string) net.Conn {
	remote, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		panic(err)
	}
	return &addressed{conn, remote}
}

// script is a peer that the test plays, by btcd's messages over the first transport.
type script struct {
	t    testing.TB
	conn net.Conn
	in   chan wire.Message // what the node sends but pings; closed at the end of the connection
	raw  sync.Mutex

	mute  atomic.Bool  // pings are not answered
	stuck atomic.Bool  // nothing is read any more
	delay atomic.Int64 // nanoseconds before a ping is answered
}

// play opens a connection to the node from an address, without a handshake.
func play(t testing.TB, n *node, from string) *script {
	t.Helper()
	ours, theirs := net.Pipe()
	n.Accept(at(theirs, from))
	return scripted(t, ours)
}

func scripted(t testing.TB, conn net.Conn) *script {
	s := &script{t: t, conn: conn, in: make(chan wire.Message, 4096)}
	t.Cleanup(func() { _ = conn.Close() })
	go s.read()
	return s
}

func (s *script) read() {
	defer close(s.in)
	for {
		if s.stuck.Load() {
			<-s.t.Context().Done()
			return
		}
		_, msg, _, err := wire.ReadMessageWithEncodingN(s.conn, ourVersion, wire.TestNet, wire.WitnessEncoding)
		if err != nil {
			if errors.Is(err, wire.ErrUnknownMessage) {
				continue
			}
			return
		}
		if ping, ok := msg.(*wire.MsgPing); ok {
			if s.mute.Load() {
				continue
			}
			time.Sleep(time.Duration(s.delay.Load()))
			s.send(wire.NewMsgPong(ping.Nonce))
			continue
		}
		s.in <- msg
	}
}

// send writes a message; that the node hung up is no error here.
func (s *script) send(msgs ...wire.Message) {
	for _, msg := range msgs {
		var b bytes.Buffer
		if _, err := wire.WriteMessageWithEncodingN(&b, msg, ourVersion, wire.TestNet, wire.WitnessEncoding); err != nil {
			s.t.Errorf("script: %v", err)
			return
		}
		s.write(b.Bytes())
	}
}

func (s *script) write(b []byte) {
	s.raw.Lock()
	defer s.raw.Unlock()
	_, _ = s.conn.Write(b)
}

// version is a version message of a node with everything.
func version(nonce uint64, services wire.ServiceFlag) *wire.MsgVersion {
	return &wire.MsgVersion{ProtocolVersion: 70016, Services: services, Timestamp: time.Unix(1.7e9, 0), Nonce: nonce,
		UserAgent: "/script:1/"}
}

const allServices = serviceNetwork | serviceWitness

// shake does the handshake from the side that opened the connection.
func (s *script) shake() *script {
	s.t.Helper()
	s.send(version(1, allServices))
	expect[*wire.MsgVersion](s)
	expect[*wire.MsgVerAck](s)
	s.send(wire.NewMsgVerAck())
	return s
}

// expect waits for a message of a kind, and reads over others.
func expect[M wire.Message](s *script) M {
	s.t.Helper()
	late := time.NewTimer(time.Hour) // of the bubble, or never
	defer late.Stop()
	for {
		select {
		case msg, ok := <-s.in:
			if !ok {
				s.t.Fatalf("the node hung up before %T", *new(M))
			}
			if m, is := msg.(M); is {
				return m
			}
		case <-late.C:
			s.t.Fatalf("no %T", *new(M))
		}
	}
}

// gone waits until the node hangs up.
func (s *script) gone() {
	s.t.Helper()
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	for {
		select {
		case _, ok := <-s.in:
			if !ok {
				return
			}
		case <-late.C:
			s.t.Fatal("the node does not hang up")
		}
	}
}

// sync waits until the node has handled everything that was sent.
func (s *script) sync() {
	s.t.Helper()
	s.send(wire.NewMsgPing(99))
	for expect[*wire.MsgPong](s).Nonce != 99 {
	}
}

// headersOf is a headers message of these blocks' headers.
func headersOf(raws ...[]byte) *wire.MsgHeaders {
	msg := wire.NewMsgHeaders()
	for _, raw := range raws {
		var h wire.BlockHeader
		if err := h.Deserialize(bytes.NewReader(raw)); err != nil {
			panic(err)
		}
		msg.Headers = append(msg.Headers, &h)
	}
	return msg
}

// until waits for a condition, without a bubble: real sockets take their time.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
