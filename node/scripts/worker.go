package scripts

import "stele/validate/script"

// worker runs units on one goroutine.
type worker struct {
	o      *Options
	engine *script.Engine
	tx     script.Tx

	batch script.Batch // deferred checks; Check.Input is an index of asked
	asked []asked
	held  []held // units that wait for the group
}

// asked is an input with checks in the group.
type asked struct {
	b      *Block
	tx, in uint32
}

// held is how many units of a block wait for the group.
type held struct {
	b     *Block
	units int32
}

func newWorker(o *Options) *worker {
	return &worker{o: o, engine: script.NewEngine(o.Verifier)}
}

// run works until the queue is closed. What the group holds is verified before the worker waits: to look at the queue and
// then to receive would not do, as another worker may have taken the last token in between.
func (w *worker) run(queue <-chan *Block) {
	for {
		select {
		case b, ok := <-queue:
			if !ok {
				w.flush()
				return
			}
			w.drain(b)
			continue
		default:
		}
		w.flush()
		b, ok := <-queue
		if !ok {
			return
		}
		w.drain(b)
	}
}

// drain works at a block until all its units are taken, which uses up one token.
func (w *worker) drain(b *Block) {
	defer b.finish(1)
	for {
		u, ok := b.take()
		if !ok {
			return
		}
		if u == (unit{}) {
			if !b.cancelled.Load() {
				b.aside()
			}
			b.finish(1)
			continue
		}
		if !w.o.Deferred {
			w.unit(b, u)
			b.finish(1)
			continue
		}
		w.unit(b, u)
		w.hold(b)
		if len(w.batch.Checks) >= w.o.Group {
			w.flush()
		}
	}
}

// hold keeps a unit unfinished until the group is verified.
func (w *worker) hold(b *Block) {
	if n := len(w.held); n > 0 && w.held[n-1].b == b {
		w.held[n-1].units++
		return
	}
	w.held = append(w.held, held{b, 1})
}

// unit runs the inputs of one unit.
func (w *worker) unit(b *Block, u unit) {
	tx := u.tx
	for in := u.from; in < u.to; tx++ {
		t := &b.block.Txs[tx]
		end := min(u.to, t.FirstIn+t.Ins)
		if in == end || b.moot(in) {
			in = max(in, end)
			continue
		}
		w.tx.Reset(b.block, int(tx), b.coins[t.FirstIn:t.FirstIn+t.Ins])
		for ; in < end; in++ {
			if b.moot(in) {
				continue
			}
			w.input(b, tx, in)
		}
	}
}

// input runs one input, of the transaction that w.tx is.
func (w *worker) input(b *Block, tx, in uint32) {
	index := int(in - b.block.Txs[tx].FirstIn)
	if w.o.Deferred {
		w.batch.Input = uint32(len(w.asked))
		checks := len(w.batch.Checks)
		err, sure := w.engine.Defer(&w.tx, index, b.flags, &w.batch)
		if sure {
			if err != script.OK {
				b.fail(in, err)
			} else if len(w.batch.Checks) > checks {
				w.asked = append(w.asked, asked{b, tx, in})
			}
			return
		}
		w.batch.Checks = w.batch.Checks[:checks]
	}
	if err := w.engine.Verify(&w.tx, index, b.flags); err != script.OK {
		b.fail(in, err)
	}
}

// flush verifies the group, runs the inputs of false checks again, and finishes the units that waited for it.
func (w *worker) flush() {
	last := -1
	w.batch.Verify(w.o.Verifier, func(input uint32) {
		if int(input) == last { // one input may have several false checks
			return
		}
		last = int(input)
		w.again(&w.asked[input])
	})
	w.batch.Reset()
	clear(w.asked)
	w.asked = w.asked[:0]
	for _, h := range w.held {
		h.b.finish(h.units)
	}
	clear(w.held)
	w.held = w.held[:0]
}

// again runs an input with every check made at once.
func (w *worker) again(a *asked) {
	if a.b.moot(a.in) {
		return
	}
	t := &a.b.block.Txs[a.tx]
	w.tx.Reset(a.b.block, int(a.tx), a.b.coins[t.FirstIn:t.FirstIn+t.Ins])
	if err := w.engine.Verify(&w.tx, int(a.in-t.FirstIn), a.b.flags); err != script.OK {
		a.b.fail(a.in, err)
	}
}
