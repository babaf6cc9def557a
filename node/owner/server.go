package owner

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Options of a server. Zero fields take the defaults.
type Options struct {
	Version string // who asks must be the same program
	Running int    // requests answered at a time; 0: 8
	Waiting int    // connections beyond those; 0: 56

	Beat     time.Duration // between two signs of life; 0: a second
	Patience time.Duration // for a client that does not read, or does not say what it wants; 0: 30 s

	// Answer does what a request says, writes to the reply and returns the exit code. It is called by a goroutine of
	// the request's own, must end soon after ctx does, and may be running several times at once.
	Answer func(ctx context.Context, q *Request, w *Reply) (code int)
}

func (o Options) withDefaults() Options {
	if o.Running <= 0 {
		o.Running = 8
	}
	if o.Waiting <= 0 {
		o.Waiting = 56
	}
	if o.Beat <= 0 {
		o.Beat = time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	return o
}

// Server answers the requests of other processes until it is closed.
type Server struct {
	options Options
	l       *net.UnixListener
	ctx     context.Context
	cancel  context.CancelFunc
	conns   chan struct{} // a place for each connection
	running chan struct{} // a place for each request that is answered
	wg      sync.WaitGroup
}

// Listen begins to answer for a store's folder, whose lock the caller has. previous is the socket that the last owner
// noted, which goes if it was left behind; empty: none.
func Listen(folder, previous string, o Options) (*Server, error) {
	RemoveStale(previous)
	l, err := listen(folder)
	if err != nil {
		return nil, fmt.Errorf("no socket for other processes: %w", err)
	}
	s := &Server{options: o.withDefaults(), l: l}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.conns = make(chan struct{}, s.options.Running+s.options.Waiting)
	s.running = make(chan struct{}, s.options.Running)
	s.wg.Go(s.accept)
	return s, nil
}

// Path returns the socket's path.
func (s *Server) Path() string { return s.l.Addr().String() }

// Close ends every request, and returns when none is left and the socket's file is gone.
func (s *Server) Close() {
	s.cancel()
	_ = s.l.Close()
	s.wg.Wait()
}

// accept takes connections until the listener is closed.
func (s *Server) accept() {
	for {
		c, err := s.l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptors, no memory: it will pass
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.ctx.Done():
				return
			}
			continue
		}
		select {
		case s.conns <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-s.conns }()
				s.serve(c)
			})
		default:
			_ = c.SetDeadline(time.Now().Add(time.Second))
			refuse(c, Refused{Why: Busy})
			_ = c.Close()
		}
	}
}

// refuse says why a request is not answered. What it writes fits into the buffer of a connection that was not written
// to yet.
func refuse(c *net.UnixConn, r Refused) {
	b, err := json.Marshal(r)
	if err == nil {
		_, _ = c.Write(appendFrame(nil, kindRefused, b))
	}
}

// serve answers one connection.
func (s *Server) serve(c *net.UnixConn) {
	ctx, cancel := context.WithCancel(s.ctx)
	past := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // ends what is being read or written
	var beside sync.WaitGroup
	defer beside.Wait()
	defer c.Close()
	defer past()
	defer cancel()
	_ = c.SetDeadline(time.Now().Add(s.options.Patience))
	if uid, known, err := peer(c); err != nil || known && uid != os.Geteuid() {
		refuse(c, Refused{Why: OtherUser})
		return
	}
	q, err := readRequest(c)
	switch {
	case errors.Is(err, errFrame):
		refuse(c, Refused{Senseless, err.Error()})
		return
	case err != nil:
		return
	case q.Version != s.options.Version:
		refuse(c, Refused{OtherVersion, s.options.Version})
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if s.ctx.Err() != nil {
		return // the deadline may have been set after the server's end had set it
	}
	w := &Reply{c: c, patience: s.options.Patience, ctx: ctx, lost: cancel}
	beside.Go(func() { // a client says nothing more: this returns when it hangs up
		_, _ = c.Read(make([]byte, 1))
		cancel()
	})
	beside.Go(func() { w.beat(ctx, s.options.Beat) })
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return
	}
	code := s.options.Answer(ctx, q, w)
	if ctx.Err() == nil {
		_ = w.frame(kindExit, binary.LittleEndian.AppendUint32(nil, uint32(code)))
	}
}

// Reply is where the answer to a request goes. Its methods may be called by several goroutines, until the answering
// one has returned.
type Reply struct {
	patience time.Duration
	ctx      context.Context // of the request
	lost     func()          // ends it

	mu  sync.Mutex // held while a frame is written
	c   *net.UnixConn
	buf []byte
	err error // of the first write that failed
}

// frame writes one frame. A client that does not take it in time is given up.
func (w *Reply) frame(kind byte, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = appendFrame(w.buf[:0], kind, payload)
	_ = w.c.SetWriteDeadline(time.Now().Add(w.patience))
	if w.err = w.ctx.Err(); w.err != nil { // looked at now, as its end sets a deadline that has just been moved
		return w.err
	}
	if _, w.err = w.c.Write(w.buf); w.err != nil {
		w.lost()
	}
	return w.err
}

// beat says alive until ctx ends.
func (w *Reply) beat(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if w.frame(kindAlive, nil) != nil {
				return
			}
		}
	}
}

// Progress sends a note on how far the work has come, of at most 64 KiB.
func (w *Reply) Progress(note []byte) error {
	if len(note) > maxFrame {
		return errFrame
	}
	return w.frame(kindProgress, note)
}

// Stdout returns the client's standard output.
func (w *Reply) Stdout() Stream { return Stream{w, kindStdout} }

// Stderr returns the client's standard error.
func (w *Reply) Stderr() Stream { return Stream{w, kindStderr} }

// Stream is an io.Writer into a reply.
type Stream struct {
	w    *Reply
	kind byte
}

func (s Stream) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), maxFrame)]
		if err := s.w.frame(s.kind, piece); err != nil {
			return n, err
		}
		n, p = n+len(piece), p[len(piece):]
	}
	return n, nil
}
