package node

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"stele/chain"
	"stele/node/blockfile"
	"stele/node/scripts"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
	"stele/validate/script"
)

// writer is the state of whoever moves the chain: an import, or a Node. Its methods run on the goroutine that called
// Import or Node.Run.
type writer struct {
	t       *tables.Tables
	o       ImportOptions
	ctx     context.Context
	set     *blockfile.Set
	batch   *batch // of the stream being read
	tree    *tree
	bodies  bodies
	waiters []waiter // scratch of take
	confirm *confirm.Confirmer
	scripts *scripts.Checker
	assumed tables.HeaderLink // o.AssumeValid; none: not known yet
	window  *window
	route   route
	home    tables.HeaderLink // best tip so far, while a reorganisation is below it; else none
	report  ImportReport

	coinKeeper
	live          // of a Node; zero in an import
	pending int64 // bytes of pending blocks
	full    bool  // no more of them are kept in this round

	pace
	start       time.Time
	done, total int64 // see Progress
	watch       stopwatch
	stage       int // that the writer's time counts for
}

// Import reads blocks from files and streams into a store, of which it is the only writer meanwhile. Readers see the
// chain grow ten times a second. It returns when the input was read to its end, and has checkpointed then.
//
// Seekable input is indexed first, so that the order of blocks in it does not matter. Streams are organised as they
// come, in batches. The same input gives the same chain and the same report, times apart, whatever the number of
// threads; only a stream that stalls may leave other stale blocks in the archive than one that does not.
//
// A cancelled context ends it after the block in hand: the report says so, and the error is nil. Errors, each with
// the report of what was done until then, and that checkpointed where it could be: *store.DiskFull (resumable),
// *blockfile.ReadError, *store.Fault and *store.Damaged (after these two the store writes nothing any more: see
// tables.Stop); and before anything was done: *blockfile.ForeignNetwork, blockfile.ErrNoBlocks, fs.ErrNotExist and the
// like of a path. No error says anything about a block.
func Import(ctx context.Context, t *tables.Tables, o ImportOptions) (*ImportReport, error) {
	m := newWriter(ctx, t, o)
	return m.work(func() error {
		set, err := blockfile.Open(o.Paths, m.fileOptions())
		if err != nil {
			return err
		}
		m.set = set
		return errors.Join(store.Guard(m.run), set.Close())
	})
}

func newWriter(ctx context.Context, t *tables.Tables, o ImportOptions) *writer {
	m := &writer{t: t, o: o, ctx: ctx, home: none, assumed: none, stage: stageConfirm}
	m.defaults()
	m.report = ImportReport{Network: t.Params().Name, Rejected: []Rejected{}}
	m.start = time.Now()
	m.watch.mark, m.published, m.saved = m.start, m.start, m.start
	return m
}

// work does what a writer is for, and ends it, by finish or where it panics by abandon.
func (m *writer) work(do func() error) (*ImportReport, error) {
	ended := false
	defer func() {
		if !ended {
			m.abandon()
		}
	}()
	r, err := m.finish(do())
	ended = true
	return r, err
}

func (m *writer) defaults() {
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
	if o.times.near == 0 {
		o.times.near = nearInputs
	}
	if o.times.patience == 0 {
		o.times.patience = fullPatience
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Verifier == nil {
		o.Verifier = script.Default()
	}
	o.limits = o.limits.fill(o.Threads, Memory(o.Memory))
}

func (m *writer) fileOptions() blockfile.Options {
	o := blockfile.Options{Magic: m.t.Params().Magic, Note: m.o.Note, Stdin: m.o.Stdin}
	for _, p := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet(), chain.Regtest()} {
		o.Foreign = append(o.Foreign, blockfile.Network{Name: p.Name, Magic: p.Magic})
	}
	return o
}

// run is the import proper.
func (m *writer) run() error {
	if err := m.open(m.set.ReadBlock); err != nil {
		return err
	}
	defer m.shut()
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

// open makes everything ready that blocks pass through. read reads a block of a file.
func (m *writer) open(read func(blockfile.Place, []byte) ([]byte, error)) error {
	m.tree = growTree(m.t, m.o.StopHeight, m.o.Now)
	m.confirm = confirm.New(m.t)
	m.visible, _ = m.t.View().Tip()
	m.covered = m.extent()
	if err := m.startCoins(); err != nil {
		return err
	}
	m.scripts = newScripts(&m.o)
	m.window = newWindow(m.o.Threads, m.o.limits, func() preparer {
		return newPreparer(m.t.Params(), m.o.Verifier, read)
	})
	m.window.waited = func(forScripts bool) {
		if forScripts {
			m.watch.lap(stageScripts)
		} else {
			m.watch.lap(stageWait)
		}
	}
	m.window.lap, m.window.idle = m.lap, m.wait
	err := m.loadPending()
	if err != nil {
		m.shut()
	}
	return err
}

// shut ends the goroutines that open began. Nothing is in flight.
func (m *writer) shut() {
	m.window.close()
	m.scripts.Close()
}

// loadPending puts the blocks that earlier imports kept to the tree, in the order of their hashes: no other one is
// known.
func (m *writer) loadPending() error {
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
func (m *writer) index() error {
	var failed error
	n := 0
	err := m.set.Index(func(r *blockfile.Record) bool {
		if n++; n%1024 == 0 {
			m.done, m.total = m.set.Done(), m.set.Size()
			m.show("index", false)
			m.watch.lap(stageIndex)
			if failed = m.tell(m.o.publishEvery); failed != nil {
				return false
			}
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

func (m *writer) indexed(r *blockfile.Record) error {
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
func (m *writer) readCounts() {
	r := m.set.Report()
	m.report.Cut, m.report.Garbage = r.Cut, r.Skipped
}

// resync takes the records inside one that is no block.
func (m *writer) resync(place blockfile.Place) error {
	var failed error
	err := m.set.Resync(place, func(r *blockfile.Record) bool {
		failed = m.indexed(r)
		return failed == nil
	})
	return errors.Join(failed, err)
}

// settle brings the chain to the best branch of what is known, and puts away what is left over.
func (m *writer) settle() error {
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

// stopped reports whether the context was cancelled.
func (m *writer) stopped() bool {
	select {
	case <-m.ctx.Done():
		return true
	default:
		return false
	}
}

// finish checkpoints and closes the report.
func (m *writer) finish(err error) (*ImportReport, error) {
	if errors.Is(err, errStopped) {
		m.report.Interrupted, err = true, nil
	}
	m.watch.lap(m.stage)
	err = m.save(err)
	m.watch.lap(stageCheckpoint)
	if err == nil {
		r := &m.report
		if r.Coins = "tables"; m.coins != nil {
			r.Coins = "set"
		}
		err = store.Guard(m.keepCoins)
	}
	m.stopCoins()
	m.watch.lap(stageCoins)
	r := new(ImportReport) // not a part of m, which holds the tree
	*r = m.report
	err = errors.Join(err, store.Guard(func() error {
		l, height := m.t.Tip()
		r.Tip = Tip{Height: height, Hash: m.t.Header(l).Hash()}
		return nil
	}))
	if m.window != nil {
		m.watch.spent[stageCheck] = time.Duration(m.window.busy.Load())
		m.watch.spent[stageTake] = time.Duration(m.route.took.Load())
	}
	r.Stages = m.watch.report()
	r.Seconds = time.Since(m.start).Seconds()
	m.show("import", true)
	return r, err
}
