package node

import (
	"time"

	"stele/tables"
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

// lap is called after every chunk.
func (m *importer) lap() error {
	m.watch.lap(m.stage)
	m.show("import", false)
	return m.tell(m.o.publishEvery)
}

// tell makes durable what was archived, when that is due, and shows readers the tip where they have not seen a new
// one for a while.
//
// While a reorganisation is below the best chain that there was, readers keep that one. A checkpoint would show
// them the lower one, so it waits, unless the memory for what it would merge is used up.
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
