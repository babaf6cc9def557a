package hashmap

import (
	"math/bits"
	"sync/atomic"
)

// delta holds the rows that are not in lines yet: open addressing without pointers, for one writer and many readers.
//
//	slot of 8 bytes: | 32 upper bits of the window | link plus one |     0: empty
//
// The home slot is the same 32 bits scaled to the table, so a table grows without looking at a row, and the window's
// order is roughly the table's. Slots are atomic words that go from zero to their value once, and nothing is removed:
// a reader that meets a slot sees all of it or an empty one. A table that grew takes the old one's place by one atomic
// pointer. A reader that still looks at the old table misses only rows that were inserted after the growth; it learned
// its limit before, so these lie beyond it.
type delta struct {
	table atomic.Pointer[deltaTable] // nil: empty
	_     [56]byte                   // readers look at the table's cache line only, which seldom changes
	count atomic.Uint64              // slots in use; changes with every insert
}

type deltaTable struct {
	slots []uint64
	limit uint64 // slots that may be in use before it grows
}

// minDelta is the number of slots of a new table: 512 bytes.
const minDelta = 64

// newDelta makes a delta with room for that many rows; one of none has no table yet.
func newDelta(rows uint64) *delta {
	d := &delta{}
	if rows > 0 {
		d.table.Store(newDeltaTable(max(minDelta, rows*8/5+1)))
	}
	return d
}

// newDeltaTable makes a table that fills to five eighths: a row costs 12.8 to 25.6 bytes, and a key that is absent
// meets 4 slots at the most on average, mostly in one cache line.
func newDeltaTable(slots uint64) *deltaTable {
	return &deltaTable{slots: make([]uint64, slots), limit: slots / 8 * 5}
}

// home returns the first slot of a fragment.
func (t *deltaTable) home(fragment uint32) uint64 {
	hi, _ := bits.Mul64(uint64(fragment)<<32, uint64(len(t.slots)))
	return hi
}

// put fills the first empty slot from the home.
func (t *deltaTable) put(slot uint64) {
	i := t.home(uint32(slot >> 32))
	for t.slots[i] != 0 {
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
	atomic.StoreUint64(&t.slots[i], slot)
}

// insert adds a row. Only the writer calls it; it allocates when the table grows, doubling it.
func (d *delta) insert(window uint64, link uint32) {
	t := d.table.Load()
	n := d.count.Load()
	switch {
	case t == nil:
		t = newDeltaTable(minDelta)
		d.table.Store(t)
	case n >= t.limit:
		grown := newDeltaTable(2 * uint64(len(t.slots)))
		for _, slot := range t.slots {
			if slot != 0 {
				grown.put(slot)
			}
		}
		d.table.Store(grown)
		t = grown
	}
	t.put(window&^0xffffffff | uint64(link+1))
	d.count.Store(n + 1)
}

// from returns a new delta of the rows with links at or beyond first.
func (d *delta) from(first uint64) *delta {
	t := d.table.Load()
	if t == nil {
		return newDelta(0)
	}
	n := uint64(0)
	for _, slot := range t.slots {
		if slot != 0 && slot&0xffffffff > first {
			n++
		}
	}
	kept := newDelta(n)
	for _, slot := range t.slots {
		if slot != 0 && slot&0xffffffff > first {
			kept.table.Load().put(slot)
		}
	}
	kept.count.Store(n)
	return kept
}

// bytes returns the memory of the table.
func (d *delta) bytes() int64 {
	if t := d.table.Load(); t != nil {
		return int64(len(t.slots)) * 8
	}
	return 0
}

// candidate returns the first link of the home run whose fragment agrees, or NoLink.
func (d *delta) candidate(window uint64, below uint32) uint32 {
	t := d.table.Load()
	if t == nil {
		return NoLink
	}
	fragment := uint32(window >> 32)
	for i := t.home(fragment); ; {
		slot := atomic.LoadUint64(&t.slots[i])
		if slot == 0 {
			return NoLink
		}
		if link := uint32(slot) - 1; uint32(slot>>32) == fragment && link < below {
			return link
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}
