package node

import (
	"sync"
	"sync/atomic"
	"time"

	"stele/store"
)

// chunk is what is handed to a worker at once: blocks that follow each other, and a buffer for their bytes.
type chunk struct {
	slots []slot
	n     int // slots in use
	bytes int // to be read
	buf   []byte
	fault error
	done  chan struct{} // the worker's word that the chunk is the writer's again
}

// window prepares blocks on workers ahead of the writer, and gives them to it in order. run belongs to the writer; a
// chunk belongs to its worker from when it is sent until done.
type window struct {
	limits limits
	jobs   chan *chunk
	free   []*chunk
	ahead  []*chunk // sent, oldest first
	held   slot     // its job was taken from the source, but did not fit into the last chunk
	holds  bool
	self   preparer     // the writer's own
	waited func()       // called when a chunk came back, before its blocks have their turn
	lap    func() error // called after every chunk
	idle   func() error // called now and then while no chunk comes back
	timer  *time.Timer  // of idle
	busy   atomic.Int64
	wg     sync.WaitGroup
}

// newWindow starts as many workers as threads. self makes a preparer for each of them and for the writer.
func newWindow(threads int, l limits, self func() preparer) *window {
	w := &window{
		limits: l, jobs: make(chan *chunk, l.chunks), self: self(), timer: time.NewTimer(time.Hour),
	}
	w.timer.Stop()
	for range l.chunks {
		w.free = append(w.free, &chunk{slots: make([]slot, l.chunkBlocks), done: make(chan struct{}, 1)})
	}
	for range threads {
		w.wg.Go(func() {
			own := self()
			for c := range w.jobs {
				w.work(c, &own)
			}
		})
	}
	return w
}

// close ends the workers. No run may be under way.
func (w *window) close() {
	close(w.jobs)
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
	c.done <- struct{}{}
}

// errand is what a run is for: where its jobs come from, and what happens to each block when its turn comes. Both are
// called by the goroutine that runs.
type errand interface {
	next(j *job) bool
	turn(s *slot) error
}

// run takes an errand's jobs until there are none, and gives each block its turn, in the same order. The first
// error ends it; then, too, no worker is at any of the window's chunks when it returns.
func (w *window) run(e errand) error {
	w.holds = false
	err := w.loop(e)
	for _, c := range w.ahead {
		<-c.done
		w.free = append(w.free, c)
	}
	w.ahead = w.ahead[:0]
	return err
}

func (w *window) loop(e errand) error {
	for more := true; more || len(w.ahead) > 0; {
		for more && len(w.free) > 0 {
			more = w.send(e)
		}
		if len(w.ahead) == 0 {
			return nil
		}
		c := w.ahead[0]
		if err := w.await(c); err != nil {
			return err
		}
		w.waited()
		w.ahead = append(w.ahead[:0], w.ahead[1:]...)
		w.free = append(w.free, c)
		if c.fault != nil {
			return c.fault
		}
		for i := range c.slots[:c.n] {
			if err := e.turn(&c.slots[i]); err != nil {
				return err
			}
		}
		if err := w.lap(); err != nil {
			return err
		}
	}
	return nil
}

// await returns when a chunk is the writer's again. An error is idle's; then the chunk is still its worker's.
func (w *window) await(c *chunk) error {
	select {
	case <-c.done:
		return nil
	default:
	}
	defer w.timer.Stop()
	for {
		w.timer.Reset(idleEvery)
		select {
		case <-c.done:
			return nil
		case <-w.timer.C:
			if err := w.idle(); err != nil {
				return err
			}
		}
	}
}

// send fills a chunk and hands it to the workers; false when there are no more jobs.
func (w *window) send(e errand) (more bool) {
	c := w.free[len(w.free)-1]
	c.n, c.bytes = 0, 0
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
	w.jobs <- c // never blocks: it has room for all chunks
	return more
}
