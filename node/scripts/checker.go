package scripts

import (
	"context"
	"sync"

	"stele/validate/script"
)

// Options say how scripts are run.
type Options struct {
	Verifier script.Verifier // nil: the default one
	Threads  int             // 0: one
	Deferred bool            // checks of signatures are collected and verified in groups
	Group    int             // checks in a group; 0: 128
}

// defaultGroup fills the lanes of a group verifier several times over, and is verified in about a millisecond.
const defaultGroup = 128

// Checker runs scripts on goroutines of its own. Its methods may be called by any number of goroutines.
type Checker struct {
	o     Options
	queue chan *Block // a token for each worker that a block can keep busy
	wg    sync.WaitGroup
}

// New starts the workers of a checker.
func New(o Options) *Checker {
	if o.Verifier == nil {
		o.Verifier = script.Default()
	}
	o.Threads = max(o.Threads, 1)
	if o.Group <= 0 {
		o.Group = defaultGroup
	}
	c := &Checker{o: o, queue: make(chan *Block, 16*o.Threads)}
	for range o.Threads {
		w := newWorker(&c.o)
		c.wg.Go(func() { w.run(c.queue) })
	}
	return c
}

// Close ends the workers. Every block that was started must have been waited for.
func (c *Checker) Close() {
	close(c.queue)
	c.wg.Wait()
}

// Start begins to do a job, of which b is the handle until it is done. It waits where many blocks are on their way already.
// Done or Wait must be waited for.
func (c *Checker) Start(b *Block, j Job) {
	if b.done == nil {
		b.done = make(chan struct{}, 1)
	}
	tokens := b.load(&j, c.o.Threads)
	if tokens == 0 {
		b.done <- struct{}{}
	}
	for range tokens {
		c.queue <- b
	}
}

// Wait returns the verdict on a block's scripts. When ctx is cancelled first, what is left of the block is dropped, and
// the error is the context's; that says nothing of the block.
func (c *Checker) Wait(ctx context.Context, b *Block) (Failure, error) {
	select {
	case <-b.done:
	default:
		select {
		case <-b.done:
		case <-ctx.Done():
			b.Cancel()
			<-b.done
			b.Result()
			return Failure{}, ctx.Err()
		}
	}
	return b.Result(), nil
}
