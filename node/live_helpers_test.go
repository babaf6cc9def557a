package node

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"stele/chain"
	"stele/node/p2p"
)

// liveRig is a node that runs over a store.
type liveRig struct {
	*rig
	n      *Node
	cancel context.CancelFunc
	done   chan struct{}
	report *ImportReport
	err    error
	events []p2p.Event // that take has read
}

// live starts a node. Its blocks may have any time.
func (r *rig) live(o Options) *liveRig {
	ctx, cancel := context.WithCancel(context.Background())
	if o.Verifier == nil {
		o.Verifier = verifier
	}
	l := &liveRig{rig: r, n: New(r.t, o), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.report, l.err = l.n.Run(ctx)
	}()
	return l
}

// stop ends the node and waits for it.
func (l *liveRig) stop(t fataler) *ImportReport {
	t.Helper()
	l.cancel()
	<-l.done
	if l.err != nil {
		t.Fatalf("run: %v", l.err)
	}
	return l.report
}

// end ends the node, however the test does.
func (l *liveRig) end() {
	l.cancel()
	<-l.done
}

// settle waits until all that was put before is dealt with, and reads the events.
func (l *liveRig) settle(t fataler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.n.Settle(ctx); err != nil {
		t.Fatalf("settle: %v, run: %v", err, l.err)
	}
	l.take()
}

func (l *liveRig) take() {
	for {
		select {
		case e := <-l.n.Events():
			l.events = append(l.events, e)
		default:
			return
		}
	}
}

// refused takes the events that refuse a block out of what was read.
func (l *liveRig) refused() (all []p2p.Event) {
	for _, e := range l.events {
		if e.Kind == p2p.Refused {
			all = append(all, e)
		}
	}
	l.events = nil
	return all
}

// header puts one, and tells whether its parent was known.
func (l *liveRig) header(t fataler, block []byte) bool {
	t.Helper()
	h, err := chain.ParseHeader(block)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.n.PutHeaders(context.Background(), []chain.Header{h}, true)
	if err != nil {
		t.Fatal(err)
	}
	return !got.Unconnected
}

func (l *liveRig) block(t fataler, block []byte, from p2p.PeerID) {
	t.Helper()
	hash := hashOf(block)
	if err := l.n.PutBlock(&hash, block, from); err != nil {
		t.Fatal(err)
	}
}

// give puts headers and blocks in their order.
func (l *liveRig) give(t fataler, blocks ...[]byte) {
	t.Helper()
	for _, b := range blocks {
		if !l.header(t, b) {
			t.Fatalf("the parent of %v is not known", hashOf(b))
		}
		l.block(t, b, 1)
	}
}

// heldBytes is what the writer has in memory of blocks.
func (l *liveRig) heldBytes(t fataler) (bytes int64, bodies int) {
	t.Helper()
	if err := l.n.ask(context.Background(), func() { bytes, bodies = l.n.w.heldBytes, len(l.n.w.held) }); err != nil {
		t.Fatal(err)
	}
	return bytes, bodies
}

// scatter has several goroutines put blocks, each its share in the order given; a block whose parent is not known yet
// is put back for later.
func (l *liveRig) scatter(t *testing.T, rng *rand.Rand, hands int, blocks [][]byte) {
	t.Helper()
	shares := make([][][]byte, hands)
	for _, b := range blocks {
		n := rng.IntN(hands)
		shares[n] = append(shares[n], b)
	}
	var wg sync.WaitGroup
	for n, share := range shares {
		wg.Go(func() {
			ctx := context.Background()
			for len(share) > 0 {
				var later [][]byte
				for _, b := range share {
					h, err := chain.ParseHeader(b)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := l.n.PutHeaders(ctx, []chain.Header{h}, true)
					switch {
					case err != nil || got.Invalid != "":
						t.Error(err, got.Invalid)
						return
					case got.Unconnected:
						later = append(later, b)
						continue
					}
					hash := h.Hash()
					if err := l.n.PutBlock(&hash, b, p2p.PeerID(n+1)); err != nil {
						t.Error(err)
						return
					}
				}
				share = later
			}
		})
	}
	wg.Wait()
}
