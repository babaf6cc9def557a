package hashmap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"stele/internal/fault"
	"stele/store"
)

const multiWindowBits = 14 // log2 of the lines in a window of 1 MiB

// MergeSealed merges the sealed delta, if there is one, and syncs. It may run beside the writer. After an error the
// delta is sealed still, and MergeSealed may be called again. ErrUnsettled is returned between State and Retire.
func (m *Multimap) MergeSealed() error {
	m.merging.Lock()
	defer m.merging.Unlock()
	v, next, settled, err := m.begin()
	if err != nil || v.sealed == nil {
		return err
	}
	if n := v.sealed.count.Load(); n > 0 {
		pairs := v.sealed.table.Load().pairs[:n]
		if err := store.Guard(func() error { return m.mergeFile(&v, pairs, settled, &next) }); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.sealed, m.busy = next, false, false
	v.active, v.sealed, v.lines = m.view.Load().active, nil, next.Entries
	v.mending = v.mending && next.Watermark < m.mendTo
	m.view.Store(&v)
	return nil
}

// mergeFile puts pairs into the lines and completes the state; v is given the first file where there was none.
func (m *Multimap) mergeFile(v *MultiView, pairs []multiPair, settled uint64, next *State) error {
	g := v.file
	if g == nil {
		var err error
		if g, err = m.newFile(m.spec.Buckets); err != nil {
			return err
		}
		m.mu.Lock()
		m.stamp = cellsStamp{} // another attempt may have raised its own
		m.mu.Unlock()
	}
	whole := !m.spec.Once || v.mending || m.half
	m.half = true
	err := m.raise(g, cellsStamp{to: next.Watermark, base: settled})
	if err == nil {
		err = newMultiMerge(g, settled, m.spec.MergePairs, whole).run(pairs)
	}
	if err == nil && !fault.On(fault.MultiNotSynced) {
		err = g.file.Sync()
	}
	if err == nil {
		m.half = false
		v.file = g
		next.Generation, next.Buckets, next.Entries = g.number, g.buckets, g.written.Load()
	} else if v.file == nil {
		m.half = false
		m.discard(g)
	}
	return err
}

// discard removes the file of a generation that came to nothing. What stays is removed by the next Retire.
func (m *Multimap) discard(g *multiFile) {
	g.file.Close()
	_ = m.files.disk.Remove(g.file.Name())
}

// newFile makes the file of a new generation.
func (m *Multimap) newFile(buckets uint64) (*multiFile, error) {
	number, err := m.files.next(m.state.Generation)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.building = number
	m.mu.Unlock()
	file, err := m.files.create(number, buckets, multiEnd(buckets, 0))
	if err != nil {
		return nil, err
	}
	return newMultiFile(file, number, buckets, 0), nil
}

// raise makes the stamp durable, and with it the name of the file.
func (m *Multimap) raise(g *multiFile, s cellsStamp) error {
	s.to = max(s.to, m.stamp.to)
	if err := s.write(g.file); err != nil {
		return err
	}
	m.mu.Lock()
	m.stamp = s
	m.mu.Unlock()
	if err := g.file.Sync(); err != nil {
		return err
	}
	return m.files.disk.Sync()
}

// multiMerge is one pass over the home lines in their order, and over those overflow lines that gain entries.
//
// Write order, a window of home lines at a time: new overflow lines; written; overflow lines that gained entries; home
// lines. So readers never follow a link to what is not there, and a merge that fails on its way leaves no line with
// room behind another. On the disk the lines need no order (see multimap_line.go), so nothing is synced before the end.
//
// The overflow lines of one merge lie in the order of their buckets, so those that gain entries are written in as many
// ascending runs as there were merges.
type multiMerge struct {
	file    *multiFile
	start   uint64 // overflow lines in the file before this merge
	settled uint64 // those of them that a durable manifest covers
	whole   bool   // look for equal pairs in whole chains
	max     int    // pairs sorted at a time

	counts []uint32     // pairs a window
	rough  []multiEntry // pairs of some windows, by window
	sorted []uint64     // entries of one window, by bucket, in the order in which they were added
	starts []uint32     // where the entries of each bucket of the window begin
	homes  cellsWindow  // the window
	others cellsWindow  // for overflow lines
	fresh  []byte       // new overflow lines that are not in the file yet
	held   []multiHeld  // overflow lines of earlier merges that gain entries
	looked int          // overflow lines of earlier merges that were read
}

type multiEntry struct {
	bucket uint64
	entry  uint64 // as in a line
}

// multiHeld is an overflow line as it is going to be.
type multiHeld struct {
	number uint64
	line   [lineSize]byte
}

func newMultiMerge(g *multiFile, settled uint64, max int, whole bool) *multiMerge {
	return &multiMerge{
		file: g, settled: settled, max: max, whole: whole,
		starts: make([]uint32, 1<<multiWindowBits+1),
		homes:  cellsWindow{file: g.file, buf: make([]byte, cellsWindowSize)},
		others: cellsWindow{file: g.file, buf: make([]byte, cellsWindowSize)},
	}
}

// run merges the pairs, which are in the order in which they were added.
func (w *multiMerge) run(pairs []multiPair) error {
	if fault.On(fault.MultiLineReused) {
		w.file.written.Store(w.settled)
	}
	w.start = w.file.written.Load()
	w.counts = make([]uint32, (w.file.buckets+1<<multiWindowBits-1)>>multiWindowBits)
	for i := range pairs {
		bucket, _ := w.file.place(pairs[i].key())
		w.counts[bucket>>multiWindowBits]++
	}
	for done := 0; done < len(w.counts); {
		first, end, total := cellsParts(w.counts, done, w.max)
		starts := w.gather(pairs, first, end, total)
		for i := first; i < end; i++ {
			if w.counts[i] == 0 {
				continue
			}
			if err := w.merge(uint64(i), w.rough[starts[i-first]:starts[i-first+1]]); err != nil {
				return err
			}
		}
		done = end
	}
	return nil
}

// gather collects the pairs of windows first to end-1. Those of window first+i are from starts[i] to starts[i+1], in
// the order in which they were added.
func (w *multiMerge) gather(pairs []multiPair, first, end, total int) (starts []int) {
	if cap(w.rough) < total {
		w.rough = make([]multiEntry, total)
	}
	w.rough = w.rough[:total]
	starts = make([]int, end-first+1)
	at := 0
	for i := first; i < end; i++ {
		at += int(w.counts[i])
		starts[i-first+1] = at
	}
	free := slices.Clone(starts)
	for i := range pairs {
		bucket, tag := w.file.place(pairs[i].key())
		if n := int(bucket >> multiWindowBits); n >= first && n < end {
			w.rough[free[n-first]] = multiEntry{bucket, tag<<multiTagShift | pairs[i].value() + 1}
			free[n-first]++
		}
	}
	return starts
}

// sort brings the pairs of a window into the order of their buckets, keeping that in which they were added.
func (w *multiMerge) sort(entries []multiEntry) {
	if cap(w.sorted) < len(entries) {
		w.sorted = make([]uint64, len(entries))
	}
	w.sorted = w.sorted[:len(entries)]
	clear(w.starts)
	const mask = 1<<multiWindowBits - 1
	for _, e := range entries {
		w.starts[e.bucket&mask+1]++
	}
	for i := 1; i <= mask+1; i++ {
		w.starts[i] += w.starts[i-1]
	}
	for _, e := range entries {
		at := &w.starts[e.bucket&mask]
		w.sorted[*at] = e.entry
		*at++
	}
	// Each start has become the next one's.
	copy(w.starts[1:], w.starts)
	w.starts[0] = 0
}

// merge puts the pairs of one window of home lines into their chains.
func (w *multiMerge) merge(number uint64, entries []multiEntry) error {
	w.sort(entries)
	first := number << multiWindowBits
	lines := min(w.file.buckets-first, 1<<multiWindowBits)
	w.homes.move(number, int(lines*lineSize))
	for i := range lines {
		from, to := w.starts[i], w.starts[i+1]
		if from == to {
			continue
		}
		home := w.homes.at(int(i * lineSize))[:lineSize]
		if err := w.insert(first+i, home, w.sorted[from:to]); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.release(); err != nil {
		return err
	}
	return w.homes.write()
}

// insert puts entries into one bucket: into its line that has room, then into new overflow lines.
func (w *multiMerge) insert(bucket uint64, home []byte, entries []uint64) error {
	links := binary.LittleEndian.Uint64(home[multiLinks:])
	newest := w.file.newest(bucket, links, w.start)
	settled := links >> 32
	if newest <= w.settled || fault.On(fault.MultiSettledEarly) {
		settled = newest // by (3): a chain that no crash can undo
	}
	if w.whole {
		entries = w.missing(bucket, home, newest, entries)
	}
	if newest == 0 {
		entries = multiFill(home, entries)
	} else if len(entries) > 0 {
		if line := w.copyLine(newest - 1); binary.LittleEndian.Uint64(line[multiLinks-8:]) == 0 {
			entries = multiFill(line[:], entries)
			w.held = append(w.held, multiHeld{newest - 1, line})
		}
	}
	for len(entries) > 0 {
		number := w.file.written.Load() + uint64(len(w.fresh)/lineSize)
		if fault.On(fault.MultiLineTwice) {
			number = max(number, 1) - 1
		}
		if number >= multiMaxLines {
			return fmt.Errorf("%s: no more overflow lines can be numbered", w.file.file.Name())
		}
		var line [lineSize]byte
		entries = multiFill(line[:], entries)
		binary.LittleEndian.PutUint64(line[multiLinks:], newest|bucket<<32)
		w.fresh = append(w.fresh, line[:]...)
		newest = number + 1
	}
	binary.LittleEndian.PutUint64(home[multiLinks:], newest|settled<<32)
	return nil
}

// missing returns the entries that are not in the bucket's chain yet, each once. Lines that have one are written again.
func (w *multiMerge) missing(bucket uint64, home []byte, newest uint64, entries []uint64) []uint64 {
	order := make([]int, len(entries)) // of the entries by value, equal ones as they were added
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(entries[a], entries[b]) })
	have := make([]bool, len(entries))
	for i := 1; i < len(order); i++ {
		have[order[i]] = entries[order[i]] == entries[order[i-1]]
	}
	mark := func(line []byte) (found bool) {
		for at := 0; at < multiLinks; at += 8 {
			entry := binary.LittleEndian.Uint64(line[at:])
			i, ok := slices.BinarySearchFunc(order, entry, func(a int, e uint64) int { return cmp.Compare(entries[a], e) })
			if ok {
				have[order[i]], found = true, true
			}
		}
		return found
	}
	mark(home)
	for link := newest; link != 0; {
		_, older, ok := w.file.overflow(bucket, link, w.start)
		if !ok {
			break
		}
		if line := w.copyLine(link - 1); mark(line[:]) && !fault.On(fault.MultiFoundNotWritten) {
			w.held = append(w.held, multiHeld{link - 1, line})
		}
		if older >= link {
			break
		}
		link = older
	}
	var missing []uint64
	for i, e := range entries {
		if !have[i] {
			missing = append(missing, e)
		}
	}
	return missing
}

// copyLine returns an overflow line as it is in the file.
func (w *multiMerge) copyLine(number uint64) (line [lineSize]byte) {
	w.looked++
	at := multiEnd(w.file.buckets, number)
	copy(line[:], w.file.mapping.Bytes()[at:at+lineSize])
	return line
}

// flush writes the new overflow lines, and lets readers follow links to them.
func (w *multiMerge) flush() error {
	if len(w.fresh) == 0 {
		return nil
	}
	written := w.file.written.Load()
	at := multiEnd(w.file.buckets, written)
	if err := w.file.file.Allocate(at + int64(len(w.fresh))); err != nil {
		return err
	}
	if err := w.file.file.WriteAt(w.fresh, at); err != nil {
		return err
	}
	w.file.written.Store(written + uint64(len(w.fresh)/lineSize))
	w.fresh = w.fresh[:0]
	return nil
}

// release writes the held overflow lines in their order. Of two that are the same, the later has all of the earlier.
func (w *multiMerge) release() error {
	slices.SortStableFunc(w.held, func(a, b multiHeld) int { return cmp.Compare(a.number, b.number) })
	place := func(h *multiHeld) uint64 { return w.file.buckets + h.number }
	end := w.file.buckets + w.file.written.Load()
	for i := 0; i < len(w.held); {
		number := place(&w.held[i]) >> multiWindowBits
		w.others.move(number, int(min(end-number<<multiWindowBits, 1<<multiWindowBits))*lineSize)
		for ; i < len(w.held) && place(&w.held[i])>>multiWindowBits == number; i++ {
			copy(w.others.at(int(place(&w.held[i])&(1<<multiWindowBits-1))*lineSize), w.held[i].line[:])
		}
		if err := w.others.write(); err != nil {
			return err
		}
	}
	w.held = w.held[:0]
	return nil
}
