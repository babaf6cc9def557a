package p2p

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/v2transport"
	"github.com/btcsuite/btcd/wire/v2"
)

// pair is two ends of a connection, each metered.
func pair(t *testing.T) (a, b *meter) {
	t.Helper()
	x, y := net.Pipe()
	t.Cleanup(func() { _, _ = x.Close(), y.Close() })
	return &meter{Conn: x}, &meter{Conn: y}
}

type result struct {
	link transport
	err  error
}

func beside(f func() (transport, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		link, err := f()
		c <- result{link, err}
	}()
	return c
}

// ours is two of our own ends that shook hands.
func ours(t *testing.T, encrypted bool) (dialed, accepted transport) {
	t.Helper()
	a, b := pair(t)
	other := beside(func() (transport, error) { return acceptTransport(b, true, testMagic) })
	dialed, err := dialTransport(a, encrypted, testMagic)
	if err != nil {
		t.Fatal(err)
	}
	if !encrypted { // it shows its first bytes only with its first message
		sent := make(chan error, 1)
		go func() { sent <- dialed.write(cmdVersion, make([]byte, headroom+100)) }()
		r := <-other
		if r.err != nil {
			t.Fatal(r.err)
		}
		if m, err := r.link.read(); err != nil || m.command != cmdVersion || <-sent != nil {
			t.Fatal(m, err)
		}
		return dialed, r.link
	}
	r := <-other
	if r.err != nil {
		t.Fatal(r.err)
	}
	return dialed, r.link
}

func TestTransportsCarryMessages(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		a, b := ours(t, encrypted)
		if _, is := b.(*v2); is != encrypted {
			t.Fatalf("accepted as %T", b)
		}
		if encrypted && a.(*v2).session != b.(*v2).session {
			t.Error("sessions differ")
		}
		for i, c := range []struct {
			command string
			length  int
		}{{cmdPing, 8}, {cmdVersion, 100}, {cmdVerack, 0}, {cmdBlock, 1_500_000}, {cmdHeaders, 162_003}, {cmdPong, 8}} {
			for _, way := range [][2]transport{{a, b}, {b, a}} {
				payload := bytes.Repeat([]byte{byte(i + 1)}, c.length)
				sent := make(chan error, 1)
				go func() { sent <- way[0].write(c.command, append(make([]byte, headroom), payload...)) }()
				m, err := way[1].read()
				if err != nil || m.command != c.command || !bytes.Equal(m.payload, payload) {
					t.Fatalf("%s: %q with %d bytes, %v", c.command, m.command, len(m.payload), err)
				}
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// Rekeying comes after 224 packets.
func TestEncryptedLongRun(t *testing.T) {
	a, b := ours(t, true)
	go func() {
		for i := range 1000 {
			if a.write(cmdPing, append(make([]byte, headroom), byte(i), 0, 0, 0, 0, 0, 0, 0)) != nil {
				return
			}
		}
	}()
	for i := range 1000 {
		if m, err := b.read(); err != nil || m.payload[0] != byte(i) {
			t.Fatalf("message %d: %v, %v", i, m, err)
		}
	}
}

// other drives btcd's implementation over one end.
func other(conn net.Conn, initiator bool, garbage int, decoys []int) (*v2transport.Peer, error) {
	p := v2transport.NewPeer()
	p.UseReadWriter(conn)
	const magic = v2transport.BitcoinNet(wire.TestNet)
	if initiator {
		if err := p.InitiateV2Handshake(garbage); err != nil {
			return nil, err
		}
	} else if err := p.RespondV2Handshake(garbage, magic); err != nil {
		return nil, err
	}
	return p, p.CompleteHandshake(initiator, decoys, magic)
}

func TestEncryptedWithBtcd(t *testing.T) {
	for _, initiator := range []bool{false, true} {
		for _, garbage := range []int{0, 1, 15, 16, 17, 4094} {
			l, err := net.Listen("tcp", "127.0.0.1:0") // btcd's side blocks in writes of a pipe
			if err != nil {
				t.Fatal(err)
			}
			x, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			y, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
			exchange(t, x, y, initiator, garbage)
			_, _ = x.Close(), y.Close()
		}
	}
}

// exchange shakes hands with btcd, which sends decoys as well, and sends a message each way.
func exchange(t *testing.T, x, y net.Conn, initiator bool, garbage int) {
	t.Helper()
	ours := beside(func() (transport, error) {
		if initiator {
			return acceptTransport(&meter{Conn: y}, true, testMagic)
		}
		return dialTransport(&meter{Conn: y}, true, testMagic)
	})
	theirs, err := other(x, initiator, garbage, []int{0, 100, 5})
	if err != nil {
		t.Fatalf("btcd initiates %v, garbage %d: %v", initiator, garbage, err)
	}
	r := <-ours
	if r.err != nil {
		t.Fatalf("btcd initiates %v, garbage %d: ours: %v", initiator, garbage, r.err)
	}
	var b bytes.Buffer
	for _, msg := range []wire.Message{wire.NewMsgPing(7), wire.NewMsgVerAck()} { // a short and a long command
		b.Reset()
		if _, err := wire.WriteV2MessageN(&b, msg, ourVersion, wire.WitnessEncoding); err != nil {
			t.Fatal(err)
		}
		if _, _, err := theirs.V2EncPacket(b.Bytes(), nil, false); err != nil {
			t.Fatal(err)
		}
		if m, err := r.link.read(); err != nil || m.command != msg.Command() {
			t.Fatalf("from btcd: %q, %v", m.command, err)
		}
		if err := r.link.write(msg.Command(), encode(msg)); err != nil {
			t.Fatal(err)
		}
		text, err := theirs.V2ReceivePacket(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := wire.ReadV2MessageN(text, ourVersion, wire.WitnessEncoding)
		if err != nil || back.Command() != msg.Command() {
			t.Fatalf("to btcd: %v, %v", back, err)
		}
	}
}

func TestEncryptedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		send []byte
		want string
	}{
		"version of mainnet": {append([]byte{0xf9, 0xbe, 0xb4, 0xd9}, append(versionCommand[:], make([]byte, 80)...)...),
			"of another network"},
		"end within the key": {make([]byte, 40), "EOF"},
		"no terminator":      {make([]byte, keySize+maxGarbage+terminatorSize), "no end to the garbage"},
	} {
		a, b := pair(t)
		ours := beside(func() (transport, error) { return acceptTransport(b, true, testMagic) })
		go func() {
			buf := make([]byte, 1<<16)
			for {
				if _, err := a.Conn.Read(buf); err != nil {
					return
				}
			}
		}()
		_, _ = a.Write(c.send) // it may be refused before its end
		if len(c.send) < keySize {
			_ = a.Close()
		}
		if r := <-ours; r.err == nil || !strings.Contains(r.err.Error(), c.want) {
			t.Errorf("%s: %v", name, r.err)
		}
	}
}

// A packet that was changed on its way ends the connection.
func TestEncryptedTampered(t *testing.T) {
	a, b := ours(t, true)
	sender := a.(*v2)
	length, sealed := sender.seal(append([]byte{0, 18}, make([]byte, 8)...), nil)
	sealed[3] ^= 1
	go func() { _, _ = sender.out.Write(append(length, sealed...)) }()
	var breach *ProtocolError
	if _, err := b.read(); !errors.As(err, &breach) {
		t.Errorf("read: %v", err)
	}
}

// Who hangs up on our key without a byte knows the first transport alone.
func TestEncryptedNotSpoken(t *testing.T) {
	a, b := pair(t)
	ours := beside(func() (transport, error) { return dialTransport(a, true, testMagic) })
	buf := make([]byte, 24)
	if _, err := b.Conn.Read(buf); err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
	if r := <-ours; !errors.Is(r.err, errNotV2) {
		t.Errorf("dial: %v", r.err)
	}
}
