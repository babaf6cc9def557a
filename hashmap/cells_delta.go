package hashmap

import (
	"math/bits"
	"sync/atomic"
)

// cellsDelta holds the newest value of the cells that were set since some moment: open addressing by lines, without
// pointers, for one writer and many readers. Nothing is ever removed.
//
// Readers of a table that grew meanwhile see it as it was when it did; the next lookup takes the new one.
type cellsDelta struct {
	table atomic.Pointer[cellsTable]
	count atomic.Uint64 // numbers that are in it
	end   uint64        // the largest of them plus one; the writer's, and the merge's once sealed
}

// cellsLine is one cache line of 7 entries: a number of 40 bits and a value of 32, so 9.1 bytes an entry.
//
//	0                            8                    36                  64
//	| high number bytes 7 | used 1 | low numbers 7 x 4 | values 7 x 4 |
//
// Entries fill from 0 upwards. The writer stores number and value first, then meta with one more entry used; a reader
// loads meta first, so it sees whole entries only. A value may change at any time, by one atomic store.
type cellsLine struct {
	meta   atomic.Uint64
	low    [cellsSlots]uint32
	values [cellsSlots]atomic.Uint32
}

const (
	cellsSlots     = 7
	cellsUsedShift = 56 // of the entries used in meta
	cellsMinLines  = 16
)

type cellsTable struct {
	lines []cellsLine // a power of two, so that a line begins a cache line
	shift uint        // that leaves a line's number of a mixed word
	limit uint64      // entries at which it grows
}

func newCellsTable(lines uint64) *cellsTable {
	return &cellsTable{
		lines: make([]cellsLine, lines),
		shift: uint(64 - bits.TrailingZeros64(lines)),
		limit: cellsLimit(lines),
	}
}

// cellsLimit is five eighths of the slots: a number that is there reads 1.00 to 1.04 lines, one that is not 1.02 to
// 1.26 (at three quarters it would be 1.85, measured), and an entry takes 15 to 29 bytes.
func cellsLimit(lines uint64) uint64 { return lines * cellsSlots * 5 / 8 }

// newCellsDelta makes a delta that holds that many numbers before it grows.
func newCellsDelta(numbers uint64) *cellsDelta {
	d := &cellsDelta{}
	lines := uint64(cellsMinLines)
	for cellsLimit(lines) < numbers {
		lines *= 2
	}
	d.table.Store(newCellsTable(lines))
	return d
}

// home returns the first line for a number. Numbers come in runs and at strides, so they are mixed; nobody can choose
// them freely, so the mixing needs no secret.
func (t *cellsTable) home(n uint64) uint64 { return Mix64(n, 0) >> t.shift }

// find returns where number n is, or, with found false, the line and slot where it would be entered, and how many lines
// it read. Lines are full on the way to an entry, and a table is never full, so the first line with room ends the
// search.
func (t *cellsTable) find(n uint64) (l *cellsLine, slot, read int, found bool) {
	low, high := uint32(n), uint8(n>>32)
	for at := t.home(n); ; at++ {
		l = &t.lines[at&uint64(len(t.lines)-1)]
		read++
		meta := l.meta.Load()
		used := int(meta >> cellsUsedShift)
		for slot = 0; slot < used && slot < cellsSlots; slot++ {
			if l.low[slot] == low && uint8(meta>>(8*slot)) == high {
				return l, slot, read, true
			}
		}
		if used < cellsSlots {
			return l, used, read, false
		}
	}
}

// enter puts a number that is absent into the slot that find returned.
func (l *cellsLine) enter(slot int, n uint64, v uint32) {
	l.low[slot] = uint32(n)
	l.values[slot].Store(v)
	meta := l.meta.Load()&(1<<cellsUsedShift-1) | n>>32<<(8*slot) | uint64(slot+1)<<cellsUsedShift
	l.meta.Store(meta)
}

// set gives number n a value. Only the writer calls it.
func (d *cellsDelta) set(n uint64, v uint32) {
	t := d.table.Load()
	l, slot, _, found := t.find(n)
	if found {
		l.values[slot].Store(v)
		return
	}
	count := d.count.Load()
	if count >= t.limit {
		t = t.grown()
		d.table.Store(t)
		l, slot, _, _ = t.find(n)
	}
	l.enter(slot, n, v)
	d.count.Store(count + 1)
	d.end = max(d.end, n+1)
}

// grown returns a table of twice the size with the same entries. The writer makes it, so they hold still.
func (t *cellsTable) grown() *cellsTable {
	g := newCellsTable(2 * uint64(len(t.lines)))
	t.each(func(n uint64, v uint32) {
		l, slot, _, _ := g.find(n)
		l.enter(slot, n, v)
	})
	return g
}

// each calls f for every entry, in no order.
func (t *cellsTable) each(f func(n uint64, v uint32)) {
	for i := range t.lines {
		l := &t.lines[i]
		meta := l.meta.Load()
		for slot := range int(meta >> cellsUsedShift) {
			f(uint64(uint8(meta>>(8*slot)))<<32|uint64(l.low[slot]), l.values[slot].Load())
		}
	}
}

// bytes returns the memory of the table.
func (d *cellsDelta) bytes() int64 { return int64(len(d.table.Load().lines)) * lineSize }
