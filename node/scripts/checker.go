package scripts

import (
	"context"
	"sync"

	"stele/chain"
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

// Start begins to run the scripts of all inputs of a block but its coinbase's, over the coins that they spend: one an
// entry of block.Ins. It waits where many blocks are on their way already. Wait must be called for it.
func (c *Checker) Start(b *Block, block *chain.Block, coins []chain.Coin, flags script.Flags) {
	tokens := b.load(block, coins, flags, c.o.Threads)
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
	defer b.unload()
	select {
	case <-b.done:
	default:
		select {
		case <-b.done:
		case <-ctx.Done():
			b.cancelled.Store(true)
			<-b.done
			return Failure{}, ctx.Err()
		}
	}
	return b.result(), nil
}
