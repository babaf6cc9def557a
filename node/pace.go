package node

import (
	"time"

	"stele/tables"
)

const (
	// checkpointEvery is what a power cut costs at most, in time.
	checkpointEvery = 30 * time.Second
	// checkpointBytes bounds the same in wire bytes, for imports that are faster than a few megabytes a second.
	checkpointBytes = 256 << 20
	// publishEvery is how old the readers' view, and what a kill leaves, may be, to which comes the time of a chunk. A
	// publication costs 36 µs (BenchmarkPublish: nine tails go to their files, which they would sooner or later), so
	// that ten a second are less than a thousandth of the time.
	publishEvery  = 100 * time.Millisecond
	idleEvery     = 50 * time.Millisecond // how often the writer looks at the clock while it waits for workers
	progressEvery = 100 * time.Millisecond
)

// pace is what an importer keeps of the times and places of its publications and checkpoints.
type pace struct {
	published, saved, shown time.Time
	visible                 tables.HeaderLink // tip of the last publication
	covered                 extent            // what the last checkpoint covers
	saving                  *saving           // a checkpoint on its way; nil: none
}

// extent tells whether there is something to make durable: it differs where anything was archived, pushed, popped,
// parked or judged meanwhile.
type extent struct {
	headers              uint32
	tip                  tables.HeaderLink
	blocks, popped, park uint64
	rejected             int
	wire                 uint64 // bytes archived
}

func (m *writer) extent() extent {
	tip, _ := m.t.Tip()
	r := &m.report
	return extent{
		headers: m.t.Headers(), tip: tip, wire: r.WireBytes, blocks: r.Blocks, popped: r.Popped, park: r.Parked,
		rejected: len(r.Rejected),
	}
}

// lap is called after every chunk.
func (m *writer) lap() error {
	m.watch.lap(m.stage)
	m.limitHeap()
	m.show("import", false)
	return m.tell(m.o.publishEvery)
}

// wait is called every now and then while the writer waits for workers.
func (m *writer) wait() error {
	m.watch.lap(stageWait)
	if m.stopped() {
		return errStopped
	}
	return m.tell(m.o.publishEvery)
}

// tell makes durable what was archived, when that is due, and shows readers the tip where they have not seen a new one
// for a while. The stopwatch must have been read just before: its mark is the time of now.
//
// While a reorganisation is below the best chain that there was, readers keep that one. A checkpoint shows them the
// lower one when it ends, so neither its end nor the begin of another is due, unless the memory is used up.
func (m *writer) tell(after time.Duration) error {
	if m.o.Between != nil {
		m.o.Between(m.t, m.checkpoint)
		m.watch.lap(stageAsked)
	}
	tip, _ := m.t.Tip()
	up := m.tree.vertices[m.visible].invalid || !m.moreWork(m.visible, tip)
	if err := m.followCheckpoint(up); err != nil {
		return err
	}
	if due, merge := m.checkpointDue(up); m.saving == nil && due {
		if err := m.beginCheckpoint(merge); err != nil {
			return err
		}
	}
	if tip == m.visible || !up || m.watch.mark.Sub(m.published) < after {
		return nil
	}
	if err := m.t.Publish(); err != nil {
		return err
	}
	m.watch.lap(stagePublish)
	m.watch.count[stagePublish]++
	m.published = m.watch.mark
	m.see(tip)
	return nil
}

// see notes that readers see a tip.
func (m *writer) see(tip tables.HeaderLink) {
	was := m.visible
	m.visible = tip
	if tip != was {
		m.moved(was, tip)
	}
}

// checkpointDue reports whether a checkpoint is to begin, because there is much to merge, or much that a power cut would
// cost. Only the former is a reason to merge: a merge rewrites large parts of the indexes however little is new, and with
// one every 256 MiB a sync of mainnet would write several times the archive.
func (m *writer) checkpointDue(up bool) (due, merge bool) {
	deltas := m.t.DeltaBytes()
	if !up {
		return deltas >= m.deltaLimit(), true
	}
	now := m.extent()
	if deltas >= min(m.o.limits.merge, m.deltaLimit()/2) && now != m.covered {
		return true, true
	}
	return int64(now.wire-m.covered.wire) >= m.o.CheckpointBytes ||
		m.watch.mark.Sub(m.saved) >= m.o.CheckpointEvery && now != m.covered, false
}

// deltaLimit is what the deltas may take of the budget: what the set of unspent outputs leaves.
func (m *writer) deltaLimit() int64 {
	l := &m.o.limits
	if m.coins == nil {
		return l.deltas
	}
	return max(min(l.deltas, l.shared-m.coinBytes.Load()), l.leastDeltas)
}

// show tells how far the import has come.
func (m *writer) show(stage string, force bool) {
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
func (m *writer) bytesOf(path []tables.HeaderLink) (sum int64) {
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
