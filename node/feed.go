package node

import (
	"errors"
	"io"
	"sync"
	"time"

	"stele/chain"
	"stele/node/blockfile"
)

// batch is some blocks of a stream, one behind the other.
type batch struct {
	buf   []byte
	items []item
}

// item is one record of a stream. Where it is damaged it has no bytes, and a header only where that could be read.
type item struct {
	header  chain.Header
	off     int64
	size    uint32
	headed  bool
	damaged bool
}

func (b *batch) bytes(p blockfile.Place) []byte {
	return b.buf[p.Off : p.Off+int64(p.Len) : p.Off+int64(p.Len)]
}

// newBatch has room for as many early blocks as a batch has at most; one of larger blocks grows.
func newBatch() *batch { return &batch{buf: make([]byte, 0, 1<<20), items: make([]item, 0, 1024)} }

func (b *batch) reset() { b.buf, b.items = b.buf[:0], b.items[:0] }

// patience is how long a batch that is not full waits for more blocks while the writer has nothing to do: who pipes
// blocks as they are found wants each of them organised at once, who pipes a file wants large batches.
const patience = 200 * time.Millisecond

// feed reads a stream in a goroutine of its own, which owns the stream and its batch; the writer takes full batches
// from full, and a part of one from under the lock when it has been waiting.
type feed struct {
	stream *blockfile.Stream
	limits limits
	full   chan *batch // closed at the end of the stream; then err holds
	free   chan *batch
	stop   chan struct{}
	done   chan struct{}
	err    error
	closed bool // the writer's: close was called

	mu  sync.Mutex
	cur *batch // nil while a full one is being handed over
}

// batches that are being filled, handed over and organised.
const batches = 3

func newFeed(s *blockfile.Stream, l limits) *feed {
	f := &feed{
		stream: s, limits: l, cur: newBatch(),
		full: make(chan *batch), free: make(chan *batch, batches), stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range batches - 1 {
		f.free <- newBatch()
	}
	go func() {
		defer close(f.done)
		defer close(f.full)
		f.err = f.read()
	}()
	return f
}

// read fills batches until the stream ends.
func (f *feed) read() error {
	var r blockfile.Record
	var b chain.Block
	for {
		raw, err := f.stream.Next(&r)
		if err != nil {
			f.flush()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		one := item{damaged: r.Err != nil}
		if !one.damaged {
			one.headed = true
			one.header, _ = chain.ParseHeader(raw)
			if one.damaged = b.Decode(raw) != nil; one.damaged {
				f.stream.Reject()
				raw = nil
			}
		}
		if f.put(one, raw) && !f.flush() {
			return nil
		}
	}
}

// put adds a record to the batch and reports whether that is full now.
func (f *feed) put(one item, raw []byte) (full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.cur
	one.off, one.size = int64(len(b.buf)), uint32(len(raw))
	b.buf = append(b.buf, raw...)
	b.items = append(b.items, one)
	return len(b.items) >= f.limits.batchBlocks || len(b.buf) >= f.limits.batchBytes
}

// flush hands the batch over and begins the next; false when nobody wants it any more.
func (f *feed) flush() bool {
	f.mu.Lock()
	b := f.cur
	f.cur = nil
	f.mu.Unlock()
	if len(b.items) > 0 {
		select {
		case f.full <- b:
		case <-f.stop:
			return false
		}
		select {
		case b = <-f.free:
		case <-f.stop:
			return false
		}
	}
	f.mu.Lock()
	f.cur = b
	f.mu.Unlock()
	return true
}

// take waits for a batch. It returns nil when there was none for a while, and with more false when the stream ended or
// cancel was closed.
func (f *feed) take(cancel <-chan struct{}) (b *batch, more bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case b, more = <-f.full:
		return b, more
	case <-cancel:
		return nil, false
	case <-timer.C:
		return f.part(), true
	}
}

// part takes what there is of a batch that is not full.
func (f *feed) part() *batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.cur
	if b == nil || len(b.items) == 0 {
		return nil
	}
	select {
	case f.cur = <-f.free:
		return b
	default:
		return nil
	}
}

// give returns a batch that was organised.
func (f *feed) give(b *batch) {
	b.reset()
	f.free <- b
}

// grace is how long close waits for a reader that is inside a read which cannot be interrupted.
const grace = 100 * time.Millisecond

// close ends the reading goroutine, and tells whether it did and what ended the stream. A read that blocks for
// longer than a moment, as one of a terminal does, cannot be ended from outside: its goroutine is left behind then,
// touches nothing but the stream and its own batch, and ends when the read does.
//
// halt is close for whoever has another reason to stop, or has closed it already.
func (f *feed) close() (ended bool, err error) {
	f.closed = true
	close(f.stop)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-f.done:
		return true, f.err
	case <-timer.C:
		return false, nil
	}
}

func (f *feed) halt() {
	if !f.closed {
		_, _ = f.close()
	}
}
