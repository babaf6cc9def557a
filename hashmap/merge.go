package hashmap

import (
	"errors"
	"fmt"
	"math"

	"stele/store"
)

// Loads, in per cent of the slots of the home lines. The table in the package comment decided them.
const (
	loadLimit = 80 // a merge that would pass it builds a new generation
	loadFull  = 92 // where that finds no room on the disk, the old generation is filled this far
	// growthLoad is the load of a new generation, so that it holds twice its rows before the next.
	growthLoad = loadLimit / 2
)

const (
	// firstLines is the number of lines of the first generations: with the header page a file of 64 KiB.
	firstLines = (64<<10 - headerSize) / lineSize
	// spareLines end every file. Where what spills off the last bucket finds none of them, a new generation is built.
	spareLines = 32
)

// errSpare says that an entry found no empty slot up to the last spare line.
var errSpare = errors.New("the spare lines are full")

// Seal sets the rows below `to` apart to be merged: views taken from now on hold them in the sealed delta, and rows
// inserted from now on go into a new active one. Only the writer calls it. It does nothing while an earlier seal is
// not merged, or where all rows below `to` are in the lines.
//
// Only rows that a durable manifest covers may be sealed.
func (m *Map) Seal(to uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rows := m.rows.count(); uint64(to) > rows {
		return fmt.Errorf("%s: cannot merge to row %d of %d", m.spec.Name, to, rows)
	}
	v := *m.view.Load()
	if v.sealed != nil || uint64(to) <= m.state.Watermark {
		return nil
	}
	// The sealed delta keeps what it has of rows beyond `to`: a row found twice is the same row.
	v.active, v.sealed = v.active.from(uint64(to)), v.active
	m.sealedTo = uint64(to)
	m.view.Store(&v)
	return nil
}

// Merge puts all rows below `to` into the lines and syncs them. Only the writer calls it, with rows that a durable
// manifest covers. After an error (*store.DiskFull among others) nothing has changed for lookups, the rows stay in
// memory, and Merge may be called again.
func (m *Map) Merge(to uint32) error {
	for m.now().Watermark < uint64(to) {
		if err := m.Seal(to); err != nil {
			return err
		}
		if err := m.MergeSealed(); err != nil {
			return err
		}
	}
	return nil
}

// MergeSealed merges what was sealed. It may run on a goroutine of its own beside the writer's Insert, State and View
// and any lookups.
func (m *Map) MergeSealed() error {
	m.merging.Lock()
	defer m.merging.Unlock()
	m.mu.Lock()
	st, to, v := m.state, m.sealedTo, *m.view.Load()
	m.mu.Unlock()
	if v.sealed == nil {
		return nil
	}
	return store.Guard(func() error { return m.merge(st, v.gen, to) })
}

// merge chooses between the lines that serve and a new generation. Where the disk has no room for a new one, the old
// one takes more rows than it should.
func (m *Map) merge(st State, gen *generation, to uint64) error {
	if gen != nil && fits(to, st.Buckets, loadLimit) {
		err := m.mergeInPlace(gen, st.Watermark, to)
		if !errors.Is(err, errSpare) {
			return m.finish(gen, to, err)
		}
	}
	grown, err := m.build(to)
	var full *store.DiskFull
	if errors.As(err, &full) && gen != nil && fits(to, st.Buckets, loadFull) {
		inPlace := m.mergeInPlace(gen, st.Watermark, to)
		if !errors.Is(inPlace, errSpare) {
			return m.finish(gen, to, inPlace)
		}
	}
	return m.finish(grown, to, err)
}

// fits tells whether that many rows stay within a load of the buckets, in per cent.
func fits(rows, buckets, load uint64) bool { return rows*100 <= buckets*lineSlots*load }

// finish makes the merged lines what views see, unless the merge failed.
func (m *Map) finish(gen *generation, to uint64, err error) error {
	if err != nil {
		return fmt.Errorf("merge of %s: %w", m.spec.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := *m.view.Load()
	if v.gen != nil && v.gen != gen {
		m.old = append(m.old, v.gen)
	}
	v.gen, v.sealed = gen, nil
	m.view.Store(&v)
	m.state = State{Generation: gen.number, Buckets: gen.buckets, Watermark: to, Entries: to}
	return nil
}

// bucketsFor returns the number of buckets of a new generation for that many rows.
func (m *Map) bucketsFor(rows uint64) uint64 {
	n := uint64(math.Ceil(float64(rows) * 100 / (lineSlots * growthLoad)))
	return min(max(n, m.leastBuckets), maxBuckets)
}
