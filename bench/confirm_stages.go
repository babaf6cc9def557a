package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	gen "stele/bench/chain"
	"stele/tables/confirm"
	"stele/utxo"
	"stele/validate"
)

// Stages of a block. Those from wait on are of the goroutine that confirms; prepare is the time of all threads around
// it together.
const (
	stPrepare    = iota // decode, check, accept, encode
	stWait              // for the window's blocks to be prepared
	stHeaders           // put into the tree
	stTake              // coins, order's rules
	stConnect           // amounts and signature operations, over the coins
	stPut               // rows, marks, log
	stPublish           // a view for readers
	stCheckpoint        // what was appended made durable, indexes merged
	stElapsed           // all of it by the clock
	stages
)

var stageNames = [stages]string{"prepare", "wait", "headers", "take", "connect", "put", "publish", "checkpoint", "elapsed"}

// The chain of the sweep at scale 1, its spans of heights, and how often the store is published and checkpointed.
const (
	stageBlocks    = 500
	stageTxs       = 600
	heightSpans    = 10
	stagePublish   = 32       // blocks; a multiple of the window
	stageSave      = 64 << 20 // wire bytes
	windowsInQueue = 4        // of prepared blocks
)

// stageTimes is seconds by span of heights and stage.
type stageTimes [heightSpans][stages]float64

// staging runs one chain through all stages, with a number of threads around the confirming goroutine.
type staging struct {
	o      *Options
	blocks []*prepared // bytes, hash and place; what is prepared is made again in every run
	slots  []*prepared
	start  time.Time
	times  stageTimes
	mu     sync.Mutex // of the prepare column
}

// confirmStages tells what confirmation costs by stage and height, with one thread to twice as many as there are cores
// around it. Every run has a new store, and a set that holds nothing else; numbers of threads take turns.
func (r *Result) confirmStages(ctx context.Context, o *Options) error {
	s := &staging{o: o}
	blocks := max(leastBlocks, int(stageBlocks*o.Scale))
	c := gen.Options{
		Seed: seed, Blocks: uint32(blocks - blocks%heightSpans), Txs: max(10, int(stageTxs*min(o.Scale, 1))), Mix: gen.Mainnet,
	}
	o.Note(fmt.Sprintf("making %d blocks of %d transactions for the stages", c.Blocks, c.Txs))
	f, err := newHeaderFeed(c)
	if err != nil {
		return err
	}
	s.blocks = newPrepared(int(c.Blocks))
	for _, p := range s.blocks {
		if _, err := f.next(p); err != nil {
			return err
		}
	}
	s.slots = newPrepared(windowsInQueue * confirmWindow)
	most := 2 * runtime.GOMAXPROCS(0)
	all := make([][]stageTimes, most)
	for run := range o.Runs + 1 {
		for threads := 1; threads <= most; threads++ {
			o.Note(fmt.Sprintf("stages with %d threads around, run %d", threads, run))
			if err := s.run(ctx, threads); err != nil {
				return err
			}
			if run > 0 { // the first one warms up
				all[threads-1] = append(all[threads-1], s.times)
			}
		}
	}
	for i := range all {
		r.stageRows(i+1, s.blocks, all[i])
	}
	return nil
}

// stageRows makes a row of each stage: its seconds by height, the median of the runs span by span.
func (r *Result) stageRows(threads int, blocks []*prepared, runs []stageTimes) {
	for st, name := range stageNames {
		row := Row{Name: fmt.Sprintf("stage.%d.%s", threads, name), Unit: "s"}
		sum := Number(0)
		for span := range heightSpans {
			var steps []Number
			for i := range runs {
				steps = append(steps, Number(runs[i][span][st]))
			}
			step := middle(steps)
			sum += step
			height := blocks[spanEnd(span, len(blocks))-1].place.Height
			row.Points = append(row.Points, Point{Height: height, Step: step, Sum: sum})
		}
		row.Value = sum
		if st == stElapsed {
			row.Note = fmt.Sprintf("%d blocks, %d threads around the goroutine that confirms", len(blocks), threads)
		}
		r.add(row)
	}
}

// spanEnd is where a span of heights ends.
func spanEnd(span, blocks int) int { return (span + 1) * blocks / heightSpans }

// spanOf is the span that block i is in.
func (s *staging) spanOf(i int) int { return i * heightSpans / len(s.blocks) }

// run confirms the whole chain into a new store.
func (s *staging) run(ctx context.Context, threads int) (err error) {
	set := utxo.New(utxo.Options{Salt: seed})
	defer set.Close()
	c, err := s.o.newConfirming("stages", set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(), os.RemoveAll(filepath.Join(s.o.Dir, "stages"))) }()
	s.times = stageTimes{}
	runtime.GC()
	w := s.around(ctx, threads)
	err = s.confirm(ctx, c, w)
	w.end()
	return err
}

// windowWork is the blocks of one window: each is prepared by some thread, which tells.
type windowWork struct {
	at     int // of its first block
	slots  []*prepared
	todo   sync.WaitGroup
	failed error
}

// around is the threads around the confirming goroutine.
type around struct {
	ready   chan *windowWork
	free    chan []*prepared
	stop    context.CancelFunc
	threads sync.WaitGroup
}

// around starts threads that prepare the chain's blocks, as far ahead as there are slots.
func (s *staging) around(ctx context.Context, threads int) *around {
	ctx, stop := context.WithCancel(ctx)
	windows := (len(s.blocks) + confirmWindow - 1) / confirmWindow
	a := &around{ready: make(chan *windowWork, windows), free: make(chan []*prepared, windowsInQueue), stop: stop}
	for i := range windowsInQueue {
		a.free <- s.slots[i*confirmWindow:][:confirmWindow]
	}
	type one struct {
		w *windowWork
		i int
	}
	todo := make(chan one, windowsInQueue*confirmWindow)
	a.threads.Go(func() {
		defer close(todo)
		defer close(a.ready)
		for at := 0; at < len(s.blocks); at += confirmWindow {
			select {
			case <-ctx.Done():
				return
			case slots := <-a.free:
				w := &windowWork{at: at, slots: slots[:min(confirmWindow, len(s.blocks)-at)]}
				w.todo.Add(len(w.slots))
				a.ready <- w
				for i := range w.slots {
					todo <- one{w, i}
				}
			}
		}
	})
	for range threads {
		a.threads.Go(func() {
			for x := range todo {
				s.prepare(x.w, x.i)
			}
		})
	}
	return a
}

// end stops the threads and waits for them.
func (a *around) end() {
	a.stop()
	a.threads.Wait()
}

// prepare prepares one block of a window in its slot.
func (s *staging) prepare(w *windowWork, i int) {
	defer w.todo.Done()
	start := time.Now()
	from, p := s.blocks[w.at+i], w.slots[i]
	p.raw, p.hash, p.place, p.mtp = append(p.raw[:0], from.raw...), from.hash, from.place, from.mtp
	err := p.prepare(from.place.Params)
	took := time.Since(start).Seconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[s.spanOf(w.at+i)][stPrepare] += took
	w.failed = errors.Join(w.failed, err)
}

// lap adds what passed since the last one to a stage.
func (s *staging) lap(block, stage int) {
	now := time.Now()
	took := now.Sub(s.start).Seconds()
	s.start = now
	s.mu.Lock()
	s.times[s.spanOf(block)][stage] += took
	s.times[s.spanOf(block)][stElapsed] += took
	s.mu.Unlock()
}

// confirm does all that has an order, and the amounts, which could be anywhere.
func (s *staging) confirm(ctx context.Context, c *confirming, a *around) error {
	bytes := 0
	s.start = time.Now()
	for w := range a.ready {
		w.todo.Wait()
		if err := errors.Join(w.failed, ctx.Err()); err != nil {
			return err
		}
		s.lap(w.at, stWait)
		if err := s.window(c, w); err != nil {
			return err
		}
		end := w.at + len(w.slots)
		for _, p := range w.slots {
			bytes += len(p.raw)
		}
		if end%stagePublish == 0 || end == len(s.blocks) {
			if err := c.t.Publish(); err != nil {
				return err
			}
			s.lap(end-1, stPublish)
		}
		if bytes >= stageSave || end == len(s.blocks) {
			if err := c.t.Checkpoint(); err != nil {
				return err
			}
			s.lap(end-1, stCheckpoint)
			bytes = 0
		}
		a.free <- w.slots[:confirmWindow]
	}
	if _, tip := c.t.Tip(); int(tip) != len(s.blocks) {
		return errors.Join(ctx.Err(), fmt.Errorf("the tip is at height %d of %d", tip, len(s.blocks)))
	}
	return nil
}

// window takes, connects and puts one window of blocks. What the threads around may not use meanwhile is its own.
func (s *staging) window(c *confirming, w *windowWork) error {
	ws, err := c.works(w.slots, func(p *prepared) *confirm.Work { return &p.work })
	if err != nil {
		return err
	}
	s.lap(w.at, stHeaders)
	if err := c.take(ws); err != nil {
		return err
	}
	s.lap(w.at, stTake)
	for i, p := range w.slots {
		if _, v := validate.Connect(&p.place, &p.block, p.txids, ws[i].Coins, nil); !v.OK() {
			return errors.New("a block of the generator breaks a rule: " + v.String())
		}
	}
	s.lap(w.at, stConnect)
	for i, p := range w.slots {
		if err := c.c.Put(ws[i], &p.rows); err != nil {
			return err
		}
		s.lap(w.at+i, stPut)
	}
	return nil
}
