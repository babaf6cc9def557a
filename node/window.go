package node

import (
	"sync"
	"sync/atomic"
	"time"

	"stele/store"
)

// chunk is what is handed on at once: blocks that follow each other, and a buffer for their bytes.
type chunk struct {
	slots []slot
	n     int // slots in use
	bytes int // to be read
	buf   []byte
	fault error
	at    int // slot whose turn is next

	e        errand
	beside   bool          // the taker takes it
	prepared chan struct{} // of one: the worker's word to the taker
	ready    chan struct{} // of one: the word of whoever had it before the writer
}

// window is the way of blocks through their phases, in chunks: sent to a worker, which prepares them; taken, in order;
// and given their turn, in order, one by one, when what take began for them is done. A chunk is free again when the last
// of its blocks had its turn, which bounds what is on its way. There is no other barrier: the window slides.
//
// run belongs to the writer. A chunk belongs to its worker from when it is sent, then to the taker where the run has it
// beside the writer, else to the writer, which has it in the end in any case.
type window struct {
	limits limits
	jobs   chan *chunk
	order  chan *chunk // to the taker
	free   []*chunk
	ahead  []*chunk // sent, oldest first
	taken  int      // so many of them are the writer's again
	held   slot     // its job was taken from the source, but did not fit into the last chunk
	holds  bool
	waited func(forScripts bool) // called when a wait ended
	lap    func() error          // called after every chunk
	idle   func() error          // called now and then while nothing comes back
	poll   <-chan struct{}       // yields when an errand that had no more jobs may have some; nil: never
	hear   func()                // called when it has
	timer  *time.Timer           // of idle
	busy   atomic.Int64
	wg     sync.WaitGroup
}

// newWindow starts as many workers as threads, and the taker. self makes a preparer for each worker.
func newWindow(threads int, l limits, self func() preparer) *window {
	w := &window{
		limits: l, jobs: make(chan *chunk, l.chunks), order: make(chan *chunk, l.chunks),
		timer: time.NewTimer(time.Hour),
	}
	w.timer.Stop()
	for range l.chunks {
		w.free = append(w.free, &chunk{
			slots: make([]slot, l.chunkBlocks), prepared: make(chan struct{}, 1), ready: make(chan struct{}, 1),
		})
	}
	for range threads {
		w.wg.Go(func() {
			own := self()
			for c := range w.jobs {
				w.work(c, &own)
			}
		})
	}
	w.wg.Go(w.taker)
	return w
}

// taker takes chunks in order, as many at once as are prepared: a large window costs less than small ones.
func (w *window) taker() {
	var group []*chunk
	var next *chunk // was sent, and not prepared yet when it was looked at
	for {
		c, ok := next, true
		if next = nil; c == nil {
			c, ok = <-w.order
		}
		if !ok {
			return
		}
		<-c.prepared
		group = append(group[:0], c)
		for next == nil && len(group) < takenAtOnce && len(w.order) > 0 { // nobody else receives from it
			c := <-w.order
			select {
			case <-c.prepared:
				group = append(group, c)
			default:
				next = c
			}
		}
		take(group)
		for _, c := range group {
			c.ready <- struct{}{}
		}
	}
}

// takenAtOnce bounds what is taken at once, so that the scripts of the first block do not wait long for the last.
const takenAtOnce = 32

// close ends the goroutines. No run may be under way.
func (w *window) close() {
	close(w.jobs)
	close(w.order)
	w.wg.Wait()
}

func (w *window) work(c *chunk, p *preparer) {
	start := time.Now()
	c.fault = store.Guard(func() error {
		if cap(c.buf) < c.bytes {
			c.buf = make([]byte, max(c.bytes, w.limits.chunkBytes))
		}
		rest := c.buf[:cap(c.buf)]
		for i := range c.slots[:c.n] {
			rest = p.prepare(&c.slots[i], rest)
		}
		return nil
	})
	w.busy.Add(int64(time.Since(start)))
	if c.beside {
		c.prepared <- struct{}{}
	} else {
		c.ready <- struct{}{}
	}
}

// take has the errand take chunks. A fault is the first one's.
func take(group []*chunk) {
	err := store.Guard(func() error {
		group[0].e.take(group)
		return nil
	})
	if group[0].fault == nil {
		group[0].fault = err
	}
}

// errand is what a run is for.
type errand interface {
	// next gives the next job; false: there is none, for now. The writer's.
	next(j *job) bool
	// take is called for chunks in the order of jobs, once they are prepared, by the taker or by the writer. A chunk may have
	// met a fault: nothing of it may be looked at then.
	take(group []*chunk)
	// done yields when what take began for a block is done; nil: its turn may come at once. The writer's.
	done(s *slot) <-chan struct{}
	// turn is called for each block in order, by the writer.
	turn(s *slot) error
	// halt tells that a turn failed, so that no more need be taken. The writer's, while the taker may be at a chunk.
	halt()
	// back undoes what take did for blocks that get no turn any more: all that are in chunks, oldest first. The writer's.
	back(chunks []*chunk) error
}

// plain is what an errand has that takes nothing.
type plain struct{}

func (plain) take([]*chunk)              {}
func (plain) done(*slot) <-chan struct{} { return nil }
func (plain) halt()                      {}
func (plain) back([]*chunk) error        { return nil }

// run takes an errand's jobs until there are none, and gives each block its turn, in the same order. The first
// error ends it; then, too, nobody else is at any of the window's chunks when it returns, and what was taken but had no
// turn is undone. Where that fails, its error is the one returned.
func (w *window) run(e errand, beside bool) error {
	w.holds = false
	err := w.loop(e, beside)
	if len(w.ahead) == 0 {
		return err
	}
	e.halt()
	for _, c := range w.ahead[w.taken:] {
		<-c.ready
	}
	failed := e.back(w.ahead)
	w.free = append(w.free, w.ahead...)
	w.ahead, w.taken = w.ahead[:0], 0
	if failed != nil {
		return failed
	}
	return err
}

func (w *window) loop(e errand, beside bool) error {
	for more := true; ; {
		for more && len(w.free) > 0 {
			more = w.send(e, beside)
		}
		if len(w.ahead) == 0 {
			return nil
		}
		again, err := w.step()
		if err != nil {
			return err
		}
		more = more || again
	}
}

// step does what comes first: has a chunk taken that is prepared, gives a block its turn, or waits for either. more tells
// that the errand is to be asked for jobs again.
func (w *window) step() (more bool, err error) {
	select {
	case <-w.poll:
		w.hear()
		return true, nil
	default:
	}
	if w.taken < len(w.ahead) {
		select {
		case <-w.ahead[w.taken].ready:
			w.receive()
			return false, nil
		default:
		}
	}
	if w.taken == 0 {
		return w.wait(nil)
	}
	c := w.ahead[0]
	if c.fault != nil {
		return false, c.fault
	}
	s := &c.slots[c.at]
	if done := c.e.done(s); done != nil {
		select {
		case <-done:
		default:
			return w.wait(done)
		}
	}
	return false, w.give()
}

// receive makes the oldest chunk that was not taken the writer's, which has it taken if nobody else did, with those that
// are ready behind it.
func (w *window) receive() {
	beside, n := w.ahead[w.taken].beside, w.taken+1
	for more := !beside; more && n < len(w.ahead) && n-w.taken < takenAtOnce; {
		select {
		case <-w.ahead[n].ready:
			n++
		default:
			more = false
		}
	}
	if !beside {
		take(w.ahead[w.taken:n])
	}
	w.taken = n
}

// give gives the next block its turn.
func (w *window) give() error {
	c := w.ahead[0]
	if err := c.e.turn(&c.slots[c.at]); err != nil {
		return err
	}
	if c.at++; c.at < c.n {
		return nil
	}
	w.ahead = append(w.ahead[:0], w.ahead[1:]...)
	w.taken--
	w.free = append(w.free, c)
	return w.lap()
}

// wait waits for a chunk, for the block whose turn is next (done; nil: there is none), or for jobs. It gives that block
// its turn.
func (w *window) wait(done <-chan struct{}) (more bool, err error) {
	var ready <-chan struct{}
	if w.taken < len(w.ahead) {
		ready = w.ahead[w.taken].ready
	}
	defer w.timer.Stop()
	for {
		w.timer.Reset(idleEvery)
		select {
		case <-done:
			w.waited(true)
			return false, w.give()
		case <-ready:
			w.waited(done != nil)
			w.receive()
			return false, nil
		case <-w.poll:
			w.waited(done != nil)
			w.hear()
			return true, nil
		case <-w.timer.C:
			if err := w.idle(); err != nil {
				return false, err
			}
		}
	}
}

// send fills a chunk and hands it to the workers; false when there are no more jobs.
func (w *window) send(e errand, beside bool) (more bool) {
	c := w.free[len(w.free)-1]
	c.n, c.bytes, c.at, c.e, c.beside = 0, 0, 0, e, beside
	more = true
	for bytes := 0; c.n < len(c.slots); c.n++ {
		if !w.holds && !e.next(&w.held.job) {
			more = false
			break
		}
		if c.n > 0 && bytes+int(w.held.place.Len) > w.limits.chunkBytes {
			if !w.holds {
				w.held.keep()
			}
			w.holds = true
			break
		}
		w.holds = false
		s := &c.slots[c.n]
		s.job = w.held.job
		bytes += int(w.held.place.Len)
		s.keep()
		if s.raw == nil && !s.archived {
			c.bytes += int(s.place.Len)
		}
	}
	if c.n == 0 {
		return more
	}
	w.free = w.free[:len(w.free)-1]
	w.ahead = append(w.ahead, c)
	w.jobs <- c // never blocks, nor does the next: they have room for all chunks
	if beside {
		w.order <- c
	}
	return more
}
