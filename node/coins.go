package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"stele/node/coinset"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/utxo"
)

// coinKeeper is how the set of unspent outputs comes to be, stays level with the chain, and goes. The writer's, as is the
// set between runs; during a run the set is the taker's.
//
//	loading ──▶ rolling ──▶ in use ──▶ image
//	(a goroutine, over    (to the tip: by the     (confirm takes      (at the end, and every so
//	the view of the       writer, or by a         coins from it)       many inputs)
//	start)                goroutine while the
//	                      tip is far off)
//
// Until it is in use, and after it was dropped for want of memory, blocks are confirmed from the tables alone. A change
// from one to the other happens between two runs, for which the run in hand is let end: nothing is in flight then.
type coinKeeper struct {
	loader    *coinset.Loader // nil: the set was taken from it
	view      *tables.View    // whose tip the loader's set, or the rolled one, is as after
	roll      *rolling        // nil: none on its way
	coins     *utxo.Set       // in use; nil: none is
	coinBytes atomic.Int64    // of the set in use, as its user last saw it
	inputs    uint64          // report.Inputs when since was set
	since     uint64          // inputs from the last image, or the one that the set came from, to where inputs counts from
	rounds    int             // times that the set was rolled by a goroutine
	heapLimit int64           // see limitHeap
}

// rolling is a set on its way to a later block, on a goroutine of its own.
type rolling struct {
	set    *utxo.Set
	cancel context.CancelFunc
	done   chan struct{} // closed at the end; then err holds
	err    error
}

const (
	// nearInputs is how far the tip may be from the set for the writer to wait until it is rolled there: a second or so.
	nearInputs = 1_000_000
	// mostRounds bounds how often a goroutine rolls the set towards a tip that runs away from it.
	mostRounds = 4
)

// startCoins begins to load the set, and waits for it where that takes no time. Before this nothing may be appended.
func (m *writer) startCoins() (err error) {
	if m.o.TablesAlone {
		return nil
	}
	m.view = m.t.View()
	m.loader, err = coinset.Start(m.view, m.t.Disk(), coinset.Options{
		Salt: rand.Uint64(), Memory: m.o.limits.set, Threads: m.o.Threads, Roll: confirm.Roll,
		Heap: m.o.heap, Reserve: m.o.reserve,
		Progress: m.o.Coins,
		Damaged: func(image string, why error) {
			m.remark(fmt.Sprintf("the image %s of the unspent outputs is not used: %v", image, why))
		},
	})
	if err == nil && m.o.times.loaded == nil && m.view.Cut().Outs <= nearInputs {
		select {
		case <-m.loader.Ready():
		case <-m.ctx.Done():
		}
	}
	m.watch.lap(stageCoins)
	return err
}

// stopCoins ends what is left of the keeper's goroutines and gives all memory back.
func (m *writer) stopCoins() {
	if m.loader != nil {
		m.loader.Close()
		m.loader = nil
	}
	if r := m.roll; r != nil {
		r.cancel()
		<-r.done
		r.set.Close()
		m.roll = nil
	}
	if m.coins != nil { // nothing is confirmed any more, so confirm need not be told
		m.tellUsing(nil)
		m.coins.Close()
		m.coins = nil
	}
}

// coinsWait reports whether the run in hand is to end, as something is to be arranged that needs nothing in flight.
func (m *writer) coinsWait() bool {
	switch {
	case m.coins != nil:
		return m.coinsLarge() || m.imageDue()
	case m.loader != nil:
		return closed(m.loader.Ready()) && (m.o.times.loaded == nil || m.o.times.loaded())
	case m.roll != nil:
		return closed(m.roll.done)
	}
	return false
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *writer) coinsLarge() bool { return m.coinBytes.Load() > m.o.limits.set }

// imageDue reports whether an image is to be made. Below the chain that readers see there can be none.
func (m *writer) imageDue() bool {
	tip, _ := m.t.Tip()
	if m.moreWork(m.visible, tip) {
		return false
	}
	if every := m.o.times.images; every > 0 {
		return m.sinceImage() >= every
	}
	return coinset.Due(m.sinceImage(), m.coinBytes.Load())
}

// sinceImage is how many inputs lie between the last image and the tip; coinset.NoImage where there is none.
func (m *writer) sinceImage() uint64 {
	if m.since == coinset.NoImage {
		return m.since
	}
	return m.since + m.report.Inputs - m.inputs
}

// arrangeCoins does what coinsWait waits for. Nothing is in flight.
func (m *writer) arrangeCoins() error {
	if !m.coinsWait() {
		return nil
	}
	m.watch.lap(m.stage)
	defer m.watch.lap(stageCoins)
	switch {
	case m.coins != nil && m.coinsLarge():
		return m.dropCoins(&coinset.TooLarge{Wanted: m.coinBytes.Load(), Memory: m.o.limits.set})
	case m.coins != nil:
		return m.image()
	case m.loader != nil:
		set, _, err := m.loader.Result()
		m.since, m.inputs = m.loader.Since(), 0
		m.loader = nil
		return m.advance(set, err)
	}
	r := m.roll
	m.roll = nil
	return m.advance(r.set, r.err)
}

// advance brings a set that is as after the tip of m.view to the tip, or sets it on its way there.
func (m *writer) advance(set *utxo.Set, err error) error {
	if err != nil {
		return m.without(set, err)
	}
	view, err := m.t.Snapshot()
	if err != nil {
		return m.without(set, err)
	}
	from, _ := m.view.Tip()
	far := view.Cut().Ins-m.view.Cut().Ins > m.o.times.near
	m.view = view
	if far && m.rounds < mostRounds {
		m.rounds++
		ctx, cancel := context.WithCancel(m.ctx)
		r := &rolling{set: set, cancel: cancel, done: make(chan struct{})}
		m.roll = r
		go func() {
			defer close(r.done)
			defer cancel()
			r.err = store.Guard(func() error { return confirm.Roll(ctx, view, set, from, nil) })
		}()
		return nil
	}
	if err := confirm.Roll(m.ctx, view, set, from, nil); err != nil {
		return m.without(set, err)
	}
	m.coins, m.view, m.rounds = set, nil, 0
	m.coinBytes.Store(set.Bytes())
	m.use(set)
	return nil
}

// use has confirm take coins from a set, or from the tables alone.
func (m *writer) use(set *utxo.Set) {
	m.confirm.Use(set)
	m.tellUsing(set)
}

func (m *writer) tellUsing(set *utxo.Set) {
	if m.o.Using != nil {
		m.o.Using(set)
	}
}

// without goes on from the tables alone, where it was memory that a set did not have; every other error is returned.
func (m *writer) without(set *utxo.Set, err error) error {
	if set != nil {
		set.Close()
	}
	m.view = nil
	var large *coinset.TooLarge
	var full *utxo.FullError
	switch {
	case errors.Is(err, context.Canceled):
		return errStopped
	case errors.As(err, &large), errors.As(err, &full):
		m.remarkAlone(err)
		return nil
	}
	return err
}

// dropCoins goes on without the set that was in use. What it may have had in flight is dropped with it.
func (m *writer) dropCoins(why error) error {
	if why != nil {
		m.remarkAlone(why)
	}
	m.use(nil)
	m.coins.Close()
	m.coins = nil
	m.coinBytes.Store(0)
	return nil
}

// image makes the tip durable and the set an image of it. A full disk costs the image alone.
func (m *writer) image() error {
	err := m.checkpoint()
	if err == nil {
		err = coinset.Save(m.ctx, m.t.View(), m.t.Disk(), m.coins, m.o.Threads, m.imageProgress)
	}
	m.since, m.inputs = 0, m.report.Inputs // also where there was no room: it is tried again as late as the next would be
	return m.unkept(err)
}

// unkept passes over what keeps an image from being written but does not matter to the store.
func (m *writer) unkept(err error) error {
	full, other := store.NoRoom(err)
	if full != nil {
		m.remark(fmt.Sprintf("no image of the unspent outputs: %v", full))
	}
	if errors.Is(other, context.Canceled) {
		return nil
	}
	return other
}

// keepCoins leaves an image behind at the end, where loading it beats making the set anew. The tip is durable.
func (m *writer) keepCoins() error {
	if m.coins == nil || m.o.times.images == 0 && !coinset.DueAtStop(m.sinceImage(), m.t.View().Cut().Outs) {
		return nil
	}
	ctx := context.WithoutCancel(m.ctx) // a stop that was asked for is a clean one
	return m.unkept(coinset.Save(ctx, m.t.View(), m.t.Disk(), m.coins, m.o.Threads, m.imageProgress))
}

func (m *writer) imageProgress(done, total uint64) {
	if m.o.Coins != nil {
		m.o.Coins("image", done, total)
	}
}

func (m *writer) remarkAlone(why error) {
	m.remark(fmt.Sprintf("going on from the tables alone: %v", why))
}

// remark tells what happened to something that an import goes on without.
func (m *writer) remark(text string) {
	if m.o.Remark != nil {
		m.o.Remark(text)
	}
}
