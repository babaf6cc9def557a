package node

import (
	"context"
	"errors"
	"sync"
)

// ErrStopped says that a node does not run, or not any more.
var ErrStopped = errors.New("the node has stopped")

// inbox is where goroutines leave what only the writer may do. There is no bound: who asks waits for the answer, or has
// been told before how much there is room for (Node.Room).
type inbox struct {
	mu     sync.Mutex
	asks   []func()
	quiet  []func() error // wait until nothing is in flight
	closed bool
	wake   chan struct{} // of one: there is something
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// leave leaves something for the writer; false when nobody will come for it.
func (b *inbox) leave(ask func(), quiet func() error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	if ask != nil {
		b.asks = append(b.asks, ask)
	}
	if quiet != nil {
		b.quiet = append(b.quiet, quiet)
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// take empties the inbox of what may be done at any time.
func (b *inbox) take(spare []func()) []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	asks := b.asks
	b.asks = spare[:0]
	return asks
}

// takeQuiet empties it of what may be done when nothing is in flight.
func (b *inbox) takeQuiet() []func() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	quiet := b.quiet
	b.quiet = nil
	return quiet
}

// waits reports whether there is anything in it.
func (b *inbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asks)+len(b.quiet) > 0
}

func (b *inbox) waitsForQuiet() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.quiet) > 0
}

// close turns all that come later away, and drops what was left.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.asks, b.quiet = true, nil, nil
}

// ask has the writer do something and waits until it is done, or the node has stopped, or ctx ends; in the last case it
// may still be done.
func (n *Node) ask(ctx context.Context, do func()) error {
	done := make(chan struct{})
	if !n.inbox.leave(func() { do(); close(done) }, nil) {
		return ErrStopped
	}
	return n.await(ctx, done)
}

// askQuiet is ask for what wants nothing in flight. An error of do ends the node, as one of the store would.
func (n *Node) askQuiet(ctx context.Context, do func() error) error {
	done := make(chan struct{})
	if !n.inbox.leave(nil, func() error { defer close(done); return do() }) {
		return ErrStopped
	}
	return n.await(ctx, done)
}

// await waits for what was left for the writer.
func (n *Node) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-n.stopped:
		return ErrStopped
	}
}
