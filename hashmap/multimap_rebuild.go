package hashmap

import (
	"fmt"

	"stele/store"
)

// Rebuild replaces the lines by a new generation with that many buckets, for growth or repair. Lines do not keep whole
// keys, so it is built from the log: each is called once, and yields all pairs of the log up to its mark to, which is
// the watermark, in the log's order. Pairs since then are in the deltas and stay there.
//
// It may run beside the writer and beside readers, whose views keep the old generation; merges wait for it. The pairs
// are collected in memory, MergePairs at a time, and each batch is merged in one pass, so that a rebuild writes
// sequentially. The old file serves on until Retire; on an error, *store.DiskFull among them, nothing has changed.
func (m *Multimap) Rebuild(buckets uint64, each func(to uint64, yield func(key, value uint64)) error) error {
	if buckets == 0 || buckets > multiMaxLines {
		return fmt.Errorf("%s: %d buckets, want 1 to %d", m.spec.Name, buckets, multiMaxLines)
	}
	m.merging.Lock()
	defer m.merging.Unlock()
	g, err := m.newFile(buckets)
	if err != nil {
		return err
	}
	m.mu.Lock()
	to := m.state.Watermark
	m.mu.Unlock()
	err = store.Guard(func() error { return m.build(g, to, each) })
	if err != nil {
		m.discard(g)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := *m.view.Load()
	if v.file != nil {
		m.old = append(m.old, v.file)
	}
	m.stamp = cellsStamp{to: to}
	m.half, m.busy, m.mendTo = false, false, 0
	m.state = State{Generation: g.number, Buckets: buckets, Watermark: to, Entries: g.written.Load()}
	v.file, v.lines, v.mending = g, m.state.Entries, false
	m.view.Store(&v)
	return nil
}

// build fills the lines of a new generation and syncs them.
func (m *Multimap) build(g *multiFile, to uint64, each func(uint64, func(key, value uint64)) error) error {
	w := newMultiMerge(g, 0, m.spec.MergePairs, !m.spec.Once)
	batch := make([]multiPair, 0, min(m.spec.MergePairs, 1<<12))
	var failed error
	err := each(to, func(key, value uint64) {
		if value > MaxMultiValue {
			failed = fmt.Errorf("%s: value %d is beyond 40 bits", m.spec.Name, value)
		}
		if failed != nil {
			return
		}
		batch = append(batch, newMultiPair(m.mix(key), value, 0))
		if len(batch) == m.spec.MergePairs {
			failed = w.run(batch)
			batch = batch[:0]
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = w.run(batch)
	}
	if err == nil {
		err = cellsStamp{to: to}.write(g.file)
	}
	if err == nil {
		err = g.file.Sync()
	}
	if err == nil {
		err = m.files.disk.Sync()
	}
	return err
}
