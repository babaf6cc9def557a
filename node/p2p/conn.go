package p2p

import (
	"bufio"
	"bytes"
	"net"
	"sync/atomic"
	"time"
)

const (
	readBuffer = 32 << 10

	// A peer has to take writeChunk bytes within writeTime. Slower ones would hold a block in our memory for minutes.
	writeChunk = 64 << 10
	writeTime  = 30 * time.Second
)

// meter is a connection that counts its bytes and gives every chunk that it writes its time.
type meter struct {
	net.Conn
	since   time.Time
	in, out atomic.Int64 // bytes
	lastIn  atomic.Int64 // nanoseconds after since, by a clock that nobody sets; zero: nothing yet
	lastOut atomic.Int64

	// Of the one who writes: small writes are gathered in held until there is nothing more to write, then flushed.
	gathers bool
	held    []byte
}

// gatherMost is how much is gathered before it is written, and half of it what is not worth gathering.
const gatherMost = 32 << 10

func (c *meter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.in.Add(int64(n))
		c.lastIn.Store(int64(time.Since(c.since)))
	}
	return n, err
}

func (c *meter) Write(b []byte) (int, error) {
	if c.gathers && len(b) < gatherMost/2 {
		c.held = append(c.held, b...)
		if len(c.held) < gatherMost {
			return len(b), nil
		}
		return len(b), c.flush()
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.send(b)
}

// flush writes what was gathered.
func (c *meter) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.send(c.held)
	c.held = c.held[:0]
	return err
}

func (c *meter) send(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(b[written:min(len(b), written+writeChunk)])
		written += n
		c.out.Add(int64(n))
		c.lastOut.Store(int64(time.Since(c.since)))
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// transport moves whole messages over a connection. read belongs to one goroutine, write to another. The buffer of
// write begins with headroom bytes before the payload, and is spoilt there.
type transport interface {
	read() (message, error)
	write(command string, buf []byte) error
}

// v1 is the transport without encryption.
type v1 struct {
	in    *bufio.Reader
	out   *meter
	magic [4]byte
}

func (c *v1) read() (message, error) { return readFrame(c.in, c.magic) }

func (c *v1) write(command string, buf []byte) error {
	sealFrame(buf, command, c.magic)
	_, err := c.out.Write(buf)
	return err
}

// dialTransport begins a connection that we opened.
func dialTransport(c *meter, encrypted bool, magic [4]byte) (transport, error) {
	in := bufio.NewReaderSize(c, readBuffer)
	if !encrypted {
		return &v1{in, c, magic}, nil
	}
	return handshakeV2(in, c, true, magic)
}

// acceptTransport begins a connection that was opened to us: the first bytes tell which transport it is. Those of
// the first one are the header of a version message.
func acceptTransport(c *meter, encrypted bool, magic [4]byte) (transport, error) {
	in := bufio.NewReaderSize(c, readBuffer)
	if !encrypted {
		return &v1{in, c, magic}, nil
	}
	prefix := append(magic[:len(magic):len(magic)], versionCommand[:]...)
	for n := 1; n <= len(prefix); n++ {
		seen, err := in.Peek(n)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(seen, prefix[:n]) {
			return handshakeV2(in, c, false, magic)
		}
	}
	return &v1{in, c, magic}, nil
}
