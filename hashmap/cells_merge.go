package hashmap

import (
	"encoding/binary"

	"stele/internal/fault"
	"stele/store"
)

// cellsEnd returns the size in bytes of a file of that many cells: the header page, then cells in whole words.
//
//	| header page, 4096 | cell 0 | cell 1 | ... of 4 bytes, little-endian; a last odd one is followed by 4 zero bytes |
func cellsEnd(count uint64) int64 { return store.PageSize + int64(count+count&1)*cellSize }

const (
	// The file is merged in windows of 1 MiB: what is written at once, and the unit in which values are sorted.
	cellsWindowSize = 1 << 20
	cellsWindowBits = 18 // log2 of the cells in it

	// cellsSortMax is how many values are sorted at a time, 8 bytes each: 32 MiB. A larger delta is read as many times
	// as it holds this many, front to back, which costs less than memory for all of it.
	cellsSortMax = 1 << 22
)

// cellsWindow is a part of a file that is read, changed and written back in whole pages: those that were asked for.
// Other pages are neither read nor written. Its place is a multiple of its size behind the header page.
type cellsWindow struct {
	file    store.File
	off     int64  // of the window in the file
	size    int    // bytes of it that may be read and written
	buf     []byte // cellsWindowSize
	touched [cellsWindowSize / store.PageSize / 64]uint64
}

// move takes the window to another part. What was changed must have been written.
func (w *cellsWindow) move(number uint64, size int) {
	w.off = store.PageSize + int64(number)*cellsWindowSize
	w.size = size
	w.touched = [len(w.touched)]uint64{}
}

// at returns the bytes of the window from i to the end of i's page, to be read and changed.
func (w *cellsWindow) at(i int) []byte {
	page := i / store.PageSize
	end := min((page+1)*store.PageSize, w.size)
	if w.touched[page/64]>>(page%64)&1 == 0 {
		w.touched[page/64] |= 1 << (page % 64)
		from := page * store.PageSize
		copy(w.buf[from:end], w.file.Mapping().Bytes()[w.off+int64(from):w.off+int64(end)])
	}
	return w.buf[i:end]
}

// write puts the pages that were asked for back, a run of neighbours at a time.
func (w *cellsWindow) write() error {
	pages := (w.size + store.PageSize - 1) / store.PageSize
	asked := func(page int) bool { return page < pages && w.touched[page/64]>>(page%64)&1 != 0 }
	for page := 0; page < pages; page++ {
		from := page
		for asked(page) {
			page++
		}
		if page == from {
			continue
		}
		run := w.buf[from*store.PageSize : min(page*store.PageSize, w.size)]
		if fault.On(fault.CellsChangedOnly) && w.inFile(run, from) {
			continue
		}
		if err := w.file.Rewrite(run, w.off+int64(from)*store.PageSize); err != nil {
			return err
		}
	}
	return nil
}

// inFile reports whether the file shows these bytes from a page of the window on.
func (w *cellsWindow) inFile(run []byte, page int) bool {
	at := w.off + int64(page)*store.PageSize
	return string(w.file.Mapping().Bytes()[at:at+int64(len(run))]) == string(run)
}

// cellsParts returns the next windows whose values are sorted together: from the first at or after from that has any,
// as many as have no more than max values in all, but at least that one.
func cellsParts(counts []uint32, from, max int) (first, end, total int) {
	for from < len(counts) && counts[from] == 0 {
		from++
	}
	for end = from; end < len(counts); end++ {
		if total > 0 && total+int(counts[end]) > max {
			break
		}
		total += int(counts[end])
	}
	return from, end, total
}

// MergeSealed merges the sealed delta, if there is one, and syncs. It may run beside the writer. After an error the
// delta is sealed still, and MergeSealed may be called again.
//
// Order: allocate all, raise the stamp, sync; change cells, sync; only then the new state. Cells at or beyond the old
// count are looked at by nobody, and whatever a torn merge left there is written anew from the first to the last. Of
// the cells below it, a torn merge leaves any subset changed. All of them were set by the log between the watermark and
// the stamp, so a replay from the watermark sets every one of them again, and until it is merged the delta hides the
// cell. Values are written whether or not the cell has them already: what was read may be in memory only.
func (c *Cells) MergeSealed() error {
	c.merging.Lock()
	defer c.merging.Unlock()
	c.mu.Lock()
	v, st := *c.view.Load(), c.state
	count, mark, sealed := c.count, c.mark, c.sealed
	c.mu.Unlock()
	if !sealed {
		return nil
	}
	next := st
	next.Watermark = mark
	if v.sealed.count.Load() > 0 { // else the file stays as short as it is: what is beyond its end is zero
		next.Entries = count
		err := store.Guard(func() (err error) {
			next.Generation, err = c.mergeFile(v.sealed.table.Load(), st, next)
			return err
		})
		if err != nil {
			return err
		}
		v.base = c.file.Mapping()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.sealed = next, false
	v.active, v.sealed, v.count = c.view.Load().active, nil, next.Entries
	c.view.Store(&v)
	return nil
}

// mergeFile brings the file from state old to state next and returns its generation.
func (c *Cells) mergeFile(delta *cellsTable, old, next State) (uint32, error) {
	if c.file == nil {
		number, err := c.files.next(old.Generation)
		if err != nil {
			return 0, err
		}
		c.mu.Lock()
		c.number = number
		c.mu.Unlock()
		if c.file, err = c.files.create(number, 0, store.PageSize); err != nil {
			return 0, err
		}
	}
	if err := c.file.Allocate(cellsEnd(next.Entries)); err != nil {
		return 0, err
	}
	if err := c.raise(cellsStamp{to: next.Watermark}); err != nil {
		return 0, err
	}
	m := cellsMerge{
		delta: delta, old: old.Entries, count: next.Entries,
		window: cellsWindow{file: c.file, buf: make([]byte, cellsWindowSize)},
	}
	if err := m.run(); err != nil {
		return 0, err
	}
	if fault.On(fault.CellsNotSynced) {
		return c.number, nil
	}
	return c.number, c.file.Sync()
}

// raise makes the stamp durable, with the room that was allocated and the file's name.
func (c *Cells) raise(s cellsStamp) error {
	s.to = max(s.to, c.stamp.to)
	if fault.On(fault.CellsStampNotRaised) {
		s.to = c.stamp.to
	}
	if err := s.write(c.file); err != nil {
		return err
	}
	c.mu.Lock()
	c.stamp = s
	c.mu.Unlock()
	if err := c.file.Sync(); err != nil {
		return err
	}
	return c.files.disk.Sync()
}

// cellsMerge is one pass over the file.
type cellsMerge struct {
	delta      *cellsTable
	old, count uint64   // cells before and after
	counts     []uint32 // values a window
	sorted     []uint64 // values of some windows, window after window: cell in its window << 32 | value
	window     cellsWindow
}

// run changes all cells that the delta has, and fills those from the old count to the new one.
func (m *cellsMerge) run() error {
	m.counts = make([]uint32, (m.count+1<<cellsWindowBits-1)>>cellsWindowBits)
	m.delta.each(func(n uint64, _ uint32) { m.counts[n>>cellsWindowBits]++ })
	done := 0
	for done < len(m.counts) {
		first, end, total := cellsParts(m.counts, done, cellsSortMax)
		if err := m.fill(done, first); err != nil {
			return err
		}
		starts := m.sort(first, end, total)
		for i := first; i < end; i++ {
			if err := m.merge(uint64(i), m.sorted[starts[i-first]:starts[i-first+1]]); err != nil {
				return err
			}
		}
		done = end
	}
	return nil
}

// fill fills windows that have new cells but no values.
func (m *cellsMerge) fill(from, to int) error {
	for i := max(from, int(m.old>>cellsWindowBits)); i < to; i++ {
		if err := m.merge(uint64(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// sort gathers the values of windows first to end-1 out of the delta. Those of window first+i are from starts[i] to
// starts[i+1], in no order.
func (m *cellsMerge) sort(first, end, total int) (starts []int) {
	if cap(m.sorted) < total {
		m.sorted = make([]uint64, total)
	}
	m.sorted = m.sorted[:total]
	starts = make([]int, end-first+1)
	at := 0
	for i := first; i < end; i++ {
		at += int(m.counts[i])
		starts[i-first+1] = at
	}
	free := append([]int(nil), starts...)
	m.delta.each(func(n uint64, v uint32) {
		if i := int(n >> cellsWindowBits); i >= first && i < end {
			m.sorted[free[i-first]] = n&(1<<cellsWindowBits-1)<<32 | uint64(v)
			free[i-first]++
		}
	})
	return starts
}

// merge writes the values of one window. Up to the word that the last old cell is in, readers may be looking: pages
// with a change are rewritten. The rest is new: zeros and values.
func (m *cellsMerge) merge(number uint64, values []uint64) error {
	first := number << cellsWindowBits
	size := int(min(m.count+m.count&1-first, 1<<cellsWindowBits)) * cellSize
	old := 0
	if m.old > first {
		old = int(min(m.old+m.old&1-first, uint64(size/cellSize))) * cellSize
	}
	w := &m.window
	w.move(number, old)
	fresh := w.buf[old:size]
	clear(fresh)
	if fault.On(fault.CellsGrowthNotZeroed) {
		copy(fresh, w.file.Mapping().Bytes()[w.off+int64(old):])
	}
	if m.old&1 != 0 && m.old > first && m.old < m.count && old > int(m.old-first)*cellSize {
		binary.LittleEndian.PutUint32(w.at(int(m.old-first)*cellSize), 0) // the new cell in the last old one's word
	}
	for _, v := range values {
		i := int(v>>32) * cellSize
		if i < old {
			if fault.On(fault.CellsZeroOnly) && binary.LittleEndian.Uint32(w.at(i)) != 0 {
				continue
			}
			binary.LittleEndian.PutUint32(w.at(i), uint32(v))
		} else {
			binary.LittleEndian.PutUint32(w.buf[i:], uint32(v))
		}
	}
	if err := w.write(); err != nil {
		return err
	}
	if len(fresh) == 0 {
		return nil
	}
	return w.file.WriteAt(fresh, w.off+int64(old))
}
