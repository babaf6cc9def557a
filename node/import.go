package node

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"stele/chain"
	"stele/node/blockfile"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
)

const (
	// checkpointEvery is what a kill costs at most, in time: half a minute of work against some 20 ms for the syncs.
	checkpointEvery = 30 * time.Second
	// checkpointBytes bounds the deltas that wait for a checkpoint to be merged: 256 MiB of blocks have about half a
	// million transactions and 1.3 million outputs, at some 30 bytes each.
	checkpointBytes = 256 << 20
	publishEvery    = time.Second
	progressEvery   = 100 * time.Millisecond
)

// importer is one import: the writer's state. Its methods run on the goroutine that called Import.
type importer struct {
	t       *tables.Tables
	o       ImportOptions
	ctx     context.Context
	set     *blockfile.Set
	batch   *batch // of the stream being read
	tree    *tree
	bodies  bodies
	waiters []waiter // scratch of take
	confirm *confirm.Confirmer
	window  *window
	route   route
	home    tables.HeaderLink // best tip so far, while a reorganisation is below it; else none
	report  ImportReport

	pending int64 // bytes of pending blocks
	full    bool  // no more of them are kept in this round

	start, published, saved, shown time.Time
	visible                        tables.HeaderLink // tip of the last publication
	unsaved                        int64             // wire bytes archived since the last checkpoint
	done, total                    int64             // see Progress
	watch                          stopwatch
	stage                          int // that the writer's time counts for
}

// Import reads blocks from files and streams into a store, of which it is the only writer meanwhile. Readers see the
// chain grow about every second. It returns when the input was read to its end, and has checkpointed then.
//
// Seekable input is indexed first, so that the order of blocks in it does not matter. Streams are organised as they come,
// in batches. The same input gives the same chain and the same report, times apart, whatever the number of threads; only a
// stream that stalls may leave other stale blocks in the archive than one that does not.
//
// A cancelled context ends it after the block in hand: the report says so, and the error is nil. Errors, each with the
// report of what was done until then, and that checkpointed where it could be: *store.DiskFull (resumable), *store.Fault,
// *store.Damaged, *blockfile.ReadError; and before anything was done: *blockfile.ForeignNetwork,
// blockfile.ErrNoBlocks, fs.ErrNotExist and the like of a path. No error says anything about a block.
func Import(ctx context.Context, t *tables.Tables, o ImportOptions) (*ImportReport, error) {
	m := &importer{t: t, o: o, ctx: ctx, home: none, stage: stageConfirm}
	m.defaults()
	m.report = ImportReport{Network: t.Params().Name, Rejected: []Rejected{}}
	m.start = time.Now()
	m.watch.mark, m.published, m.saved = m.start, m.start, m.start
	set, err := blockfile.Open(o.Paths, m.fileOptions())
	if err != nil {
		return m.finish(err)
	}
	m.set = set
	err = store.Guard(m.run)
	return m.finish(errors.Join(err, set.Close()))
}

func (m *importer) defaults() {
	o := &m.o
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = checkpointEvery
	}
	if o.CheckpointBytes <= 0 {
		o.CheckpointBytes = checkpointBytes
	}
	if o.publishEvery <= 0 {
		o.publishEvery = publishEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.limits = o.limits.fill(o.Threads)
}

func (m *importer) fileOptions() blockfile.Options {
	o := blockfile.Options{Magic: m.t.Params().Magic, Note: m.o.Note, Stdin: m.o.Stdin}
	for _, p := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet(), chain.Regtest()} {
		o.Foreign = append(o.Foreign, blockfile.Network{Name: p.Name, Magic: p.Magic})
	}
	return o
}

// run is the import proper.
func (m *importer) run() error {
	m.tree = growTree(m.t, m.o.StopHeight, m.o.Now)
	m.confirm = confirm.New(m.t)
	m.visible, _ = m.t.Tip()
	m.window = newWindow(m.t.Params(), m.o.Threads, m.o.limits, m.set.ReadBlock)
	m.window.waited = func() { m.watch.lap(stageWait) }
	m.window.lap = m.lap
	defer m.window.close()
	if err := m.loadPending(); err != nil {
		return err
	}
	if err := m.index(); err != nil {
		return err
	}
	if err := m.settle(); err != nil {
		return err
	}
	for _, s := range m.set.Streams() {
		if err := m.drink(s); err != nil {
			return err
		}
	}
	return nil
}

// loadPending puts the blocks that earlier imports kept to the tree, in the order of their hashes: no other one is known.
func (m *importer) loadPending() error {
	type one struct {
		hash chain.Hash
		size int
	}
	var all []one
	m.t.EachPending(func(hash, _ chain.Hash, size int) bool {
		all = append(all, one{hash, size})
		return true
	})
	slices.SortFunc(all, func(a, b one) int { return slices.Compare(a.hash[:], b.hash[:]) })
	for i := range all {
		m.pending += int64(all[i].size)
		raw, _ := m.t.Pending(&all[i].hash)
		h, err := chain.ParseHeader(raw)
		if err != nil || h.Hash() != all[i].hash {
			m.t.DropPending(&all[i].hash)
			m.report.Lost++
			continue
		}
		n := m.bodies.add(blockfile.Place{File: inPending, Len: uint32(all[i].size)})
		if _, err := m.take(&h, &all[i].hash, n); err != nil {
			return err
		}
	}
	return nil
}

// index takes the records of all files.
func (m *importer) index() error {
	var failed error
	n := 0
	err := m.set.Index(func(r *blockfile.Record) bool {
		if n++; n%1024 == 0 {
			m.done, m.total = m.set.Done(), m.set.Size()
			m.show("index", false)
			if m.stopped() {
				failed = errStopped
				return false
			}
		}
		failed = m.indexed(r)
		return failed == nil
	})
	m.watch.lap(stageIndex)
	m.done, m.total = 0, 0
	m.readCounts()
	return errors.Join(failed, err)
}

func (m *importer) indexed(r *blockfile.Record) error {
	if r.Err != nil {
		m.report.Records++
		m.report.reject(nil, -1, reasonEncoding)
		return nil
	}
	h, err := chain.ParseHeader(r.Header[:])
	if err != nil {
		return err
	}
	return m.record(&h, r.Place)
}

// readCounts copies what the reader counted. It may be called while no stream is being read.
func (m *importer) readCounts() {
	r := m.set.Report()
	m.report.Cut, m.report.Garbage = r.Cut, r.Skipped
}

// resync takes the records inside one that is no block.
func (m *importer) resync(place blockfile.Place) error {
	var failed error
	err := m.set.Resync(place, func(r *blockfile.Record) bool {
		failed = m.indexed(r)
		return failed == nil
	})
	return errors.Join(failed, err)
}

// settle brings the chain to the best branch of what is known, and puts away what is left over.
func (m *importer) settle() error {
	for again := true; again; {
		err := m.organise()
		if err == nil {
			again, err = m.leftovers()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drink takes the blocks of a stream, batch after batch.
func (m *importer) drink(s *blockfile.Stream) error {
	f := newFeed(s, m.o.limits)
	for {
		b, more := f.take(m.ctx.Done())
		m.watch.lap(stageWait)
		var err error
		switch {
		case b != nil:
			m.batch = b
			err = m.drinkBatch(b)
			f.give(b)
		case more:
			err = m.tell(0)
		}
		if err != nil {
			_, _ = f.close() // the reason to stop came first
			return err
		}
		if more {
			continue
		}
		ended, err := f.close()
		if ended {
			m.readCounts()
		}
		if m.stopped() {
			return errStopped
		}
		return err
	}
}

func (m *importer) drinkBatch(b *batch) error {
	for i := range b.items {
		one := &b.items[i]
		if !one.damaged {
			if err := m.record(&one.header, blockfile.Place{File: inBatch, Off: one.off, Len: one.size}); err != nil {
				return err
			}
			continue
		}
		if err := m.damaged(one); err != nil {
			return err
		}
	}
	m.watch.lap(stageIndex)
	return m.settle()
}

// damaged puts a record of a stream that is no block on record. If it has a header, that counts as one in a file does.
func (m *importer) damaged(one *item) error {
	m.report.Records++
	if !one.headed {
		m.report.reject(nil, -1, reasonEncoding)
		return nil
	}
	hash := one.header.Hash()
	f, err := m.take(&one.header, &hash, m.bodies.add(blockfile.Place{File: gone}))
	switch f {
	case refused:
	case derived:
		m.report.Descendants++
	default:
		m.report.reject(&hash, m.tree.heightUnder(&one.header.Prev), reasonEncoding)
	}
	return err
}

// stopped reports whether the context was cancelled.
func (m *importer) stopped() bool {
	select {
	case <-m.ctx.Done():
		return true
	default:
		return false
	}
}

// lap is called after every chunk.
func (m *importer) lap() error {
	m.watch.lap(m.stage)
	m.show("import", false)
	return m.tell(m.o.publishEvery)
}

// tell makes durable what was archived, when that is due, and shows readers the tip where they have not seen a new one for
// a while.
//
// While a reorganisation is below the best chain that there was, readers keep that one. A checkpoint would show them the
// lower one, so it waits, unless the memory for what it would merge is used up.
func (m *importer) tell(after time.Duration) error {
	now := m.watch.mark
	tip, _ := m.t.Tip()
	up := !m.moreWork(m.visible, tip)
	if m.unsaved >= m.o.CheckpointBytes || up && now.Sub(m.saved) >= m.o.CheckpointEvery {
		if err := m.t.Checkpoint(); err != nil {
			return err
		}
		m.visible, m.unsaved = tip, 0
		m.watch.lap(stageCheckpoint)
		m.saved, m.published = m.watch.mark, m.watch.mark
		return nil
	}
	if up && tip != m.visible && now.Sub(m.published) >= after {
		if err := m.t.Publish(); err != nil {
			return err
		}
		m.visible = tip
		m.watch.lap(stagePublish)
		m.published = m.watch.mark
	}
	return nil
}

// show tells how far the import has come.
func (m *importer) show(stage string, force bool) {
	if m.o.Progress == nil {
		return
	}
	now := time.Now()
	if !force && now.Sub(m.shown) < progressEvery {
		return
	}
	m.shown = now
	_, height := m.t.Tip()
	m.o.Progress(Progress{
		Stage: stage, Height: height, Done: m.done, Total: m.total,
		Blocks: m.report.Blocks, Txs: m.report.Txs, Inputs: m.report.Inputs, Elapsed: now.Sub(m.start),
	})
}

// bytesOf adds up the wire bytes of the blocks that are still to be archived, where somebody asks.
func (m *importer) bytesOf(path []tables.HeaderLink) (sum int64) {
	if m.o.Progress == nil {
		return 0
	}
	for _, l := range path {
		if n, ok := m.bodies.first(&m.tree.vertices[l]); ok {
			sum += int64(m.bodies.all[n].place.Len)
		}
	}
	return sum
}

// finish checkpoints and closes the report.
func (m *importer) finish(err error) (*ImportReport, error) {
	if errors.Is(err, errStopped) {
		m.report.Interrupted, err = true, nil
	}
	m.watch.lap(m.stage)
	err = m.save(err)
	m.watch.lap(stageCheckpoint)
	r := new(ImportReport) // not a part of m, which holds the tree
	*r = m.report
	l, height := m.t.Tip()
	r.Tip = Tip{Height: height, Hash: m.t.Header(l).Hash()}
	if m.window != nil {
		m.watch.spent[stageCheck] = time.Duration(m.window.busy.Load())
	}
	r.Stages = m.watch.report()
	r.Seconds = time.Since(m.start).Seconds()
	m.show("import", true)
	return r, err
}

// save goes back to the best chain if need be and makes everything durable. After a fault of the store neither is done:
// what is in memory may be half of something, and the last checkpoint is whole. A fault that shows only now is what is
// returned; else the error that ended the import is.
func (m *importer) save(err error) error {
	if broken(err) {
		return err
	}
	late := store.Guard(func() error { return errors.Join(m.retreat(), m.t.Checkpoint()) })
	if err == nil || broken(late) {
		return late
	}
	return err
}

// broken reports whether an error is one after which the store's memory is not to be trusted.
func broken(err error) bool {
	var fault *store.Fault
	var damaged *store.Damaged
	return errors.As(err, &fault) || errors.As(err, &damaged)
}
