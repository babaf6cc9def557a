package hashmap

import (
	"sync/atomic"
	"unsafe"

	"stele/store"
)

// CellsView is an array of cells as it was when the view was taken: an immutable value that any number of goroutines
// may use at the same time and keep for as long as the cells are open.
//
// Values that are set later may show in it (it shares the delta until that is sealed), and merges bring the file below
// it forward. What it never does is lose a value: a number that had one in a delta of the view has one there for ever.
// So the caller must be able to tell a value that is too new for it, as a spender's link does by its block.
type CellsView struct {
	active *cellsDelta    // what was set since the last seal
	sealed *cellsDelta    // what is being merged; nil: nothing
	base   *store.Mapping // the file; nil: none
	count  uint64         // cells in it that merges have filled
}

// CellsCounters are the work of one lookup.
type CellsCounters struct {
	Lines int // lines of deltas read, of 64 bytes each
	Cells int // cells of the file read: one page, one cache line
}

// Get returns the newest value of cell n in memory and the one in the file, each zero where there is none. They are two
// because the newer may be too new for the caller. A cell that was cleared since the merge has neither.
//
// It costs a line of the active delta (1.1 on average), one of the sealed delta while there is one, and one cell.
func (v CellsView) Get(n uint64) (delta, base uint32) {
	delta, base, _ = v.Probe(n)
	return delta, base
}

// Probe is Get that tells what it cost.
func (v CellsView) Probe(n uint64) (delta, base uint32, c CellsCounters) {
	l, slot, read, found := v.active.table.Load().find(n)
	c.Lines = read
	if !found && v.sealed != nil {
		l, slot, read, found = v.sealed.table.Load().find(n)
		c.Lines += read
	}
	if found {
		if delta = l.values[slot].Load(); delta == 0 {
			return 0, 0, c
		}
	}
	if n < v.count {
		c.Cells = 1
		base = v.cell(n)
	}
	return delta, base, c
}

// cell reads a cell of the file as half of an aligned word, which merges store whole.
func (v *CellsView) cell(n uint64) uint32 {
	word := atomic.LoadUint64((*uint64)(v.word(n)))
	return uint32(fromDisk(word) >> (32 * (n & 1)))
}

// word returns the place of the aligned 8 bytes that cell n is in.
func (v *CellsView) word(n uint64) unsafe.Pointer {
	return unsafe.Pointer(&v.base.Bytes()[store.PageSize+n/2*8])
}

// cellsGroup is how many lookups overlap: about as many misses as a core has on the way at once. In tables of 1 and 8
// GiB groups of 32 gained hardly more.
const cellsGroup = 16

// GetGroup is Get for many numbers: deltas[i] and bases[i] are what Get(ns[i]) returns. The cache misses of a group
// overlap: all lines and cells are asked for before the first is looked at.
func (v CellsView) GetGroup(ns []uint64, deltas, bases []uint32) {
	deltas, bases = deltas[:len(ns)], bases[:len(ns)]
	for from := 0; from < len(ns); from += cellsGroup {
		to := min(from+cellsGroup, len(ns))
		v.ask(ns[from:to])
		for i := from; i < to; i++ {
			deltas[i], bases[i], _ = v.Probe(ns[i])
		}
	}
}

// Expect says which numbers will be set next: their places in memory are asked for, so that the misses of a group overlap.
// A dozen or so at a time are worth it. Only the writer calls it.
func (c *Cells) Expect(ns []uint64) {
	active := c.view.Load().active.table.Load()
	for _, n := range ns {
		prefetch(unsafe.Pointer(&active.lines[active.home(n)]))
	}
}

// ask prefetches what lookups of the numbers will read.
func (v *CellsView) ask(ns []uint64) {
	active := v.active.table.Load()
	for _, n := range ns {
		prefetch(unsafe.Pointer(&active.lines[active.home(n)]))
		if n < v.count {
			prefetch(v.word(n))
		}
	}
	if v.sealed == nil {
		return
	}
	sealed := v.sealed.table.Load()
	for _, n := range ns {
		prefetch(unsafe.Pointer(&sealed.lines[sealed.home(n)]))
	}
}
