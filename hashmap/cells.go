package hashmap

import (
	"fmt"
	"sync"
	"sync/atomic"

	"stele/store"
)

// MaxCells bounds the numbers of cells: they have 40 bits.
const MaxCells = uint64(1) << 40

// cellSize is the width of a cell in bytes.
const cellSize = 4

// CellsSpec declares an array of cells.
type CellsSpec struct {
	Name    string // of the table: its files are NAME.cells-GENERATION; at most 32 bytes
	Reserve int64  // bytes of address space to map, and so the largest size of the file; 0: store.DefaultReserve
}

// Cells is an array of 4-byte values by number, mutable behind a watermark. Zero is the value of a cell that was never
// set. The file holds what the log said up to the watermark; what it said since lies in memory, in one or two deltas:
//
//	Set -> active delta --Seal--> sealed delta --MergeSealed--> file, State, next manifest
//
// One goroutine, the writer, calls Set and Seal. MergeSealed may run in another one meanwhile. View may be called, and
// views may be read, by any number of goroutines.
//
// Values need not arrive in the log's order of anything but themselves: the last Set of a number wins. Setting the same
// again is a no-op, so after a crash the log is replayed from State().Watermark by the same calls.
type Cells struct {
	files cellsFiles
	view  atomic.Pointer[CellsView] // what View hands out; replaced whole

	merging sync.Mutex // one merge at a time; taken before mu
	file    store.File // nil: no merge made it yet; guarded by merging

	mu     sync.Mutex // guards what follows and replacements of view; held for moments only, never over I/O
	state  State
	given  State      // what State returned last
	number uint32     // generation of the file, from before it is made
	stamp  cellsStamp // as in the file; raised by the merge
	sealed bool       // a sealed delta is in view; it is what the log says up to
	mark   uint64     // this mark, when
	count  uint64     // this many cells exist
}

// OpenCells opens the cells at the state that the manifest names; with the zero State they have no file yet, and all
// are zero. The caller then sets again what its log says from State().Watermark on. A file that does not fit the state
// is *store.Damaged, one of another store *store.Foreign.
func OpenCells(d store.Disk, id [16]byte, spec CellsSpec, st State) (*Cells, error) {
	c := &Cells{
		files: cellsFiles{disk: d, id: id, name: spec.Name, suffix: cellsSuffix, magic: cellsMagic, reserve: spec.Reserve},
		state: st, given: st,
	}
	if err := c.files.check(); err != nil {
		return nil, err
	}
	v := &CellsView{active: newCellsDelta(0), count: st.Entries}
	switch {
	case st.Buckets != 0 || st.Entries > MaxCells || st.Generation == 0 && st.Entries != 0:
		return nil, c.files.damaged(st.Generation, "has a state that no cells can have: %+v", st)
	case st.Generation != 0:
		var err error
		if c.file, c.stamp, err = c.files.open(st.Generation, 0, cellsEnd(st.Entries)); err != nil {
			return nil, err
		}
		c.number, v.base = st.Generation, c.file.Mapping()
	}
	c.view.Store(v)
	return c, nil
}

// Set gives cell n a value; zero clears it. Only the writer calls it. It allocates only when the delta grows. A number
// beyond MaxCells is a mistake of the caller and panics: numbers are links, which are checked where they are made.
func (c *Cells) Set(n uint64, v uint32) {
	if n >= MaxCells {
		panic(fmt.Sprintf("hashmap: cell %d of %s is beyond 40 bits", n, c.files.name))
	}
	c.view.Load().active.set(n, v)
}

// View returns the cells as they are now.
func (c *Cells) View() CellsView { return *c.view.Load() }

// Len returns how many values wait in memory for a merge.
func (c *Cells) Len() int {
	v := c.View()
	n := v.active.count.Load()
	if v.sealed != nil {
		n += v.sealed.count.Load()
	}
	return int(n)
}

// State returns what the next manifest must say of the cells: the state of the last merge that was synced. Once that
// manifest is durable, call Retire.
func (c *Cells) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = c.state
	return c.state
}

// MergingTo returns the mark that merges have put values into the file up to, perhaps in part: the watermark after a
// clean one, more after a crash in a merge. Beyond the log that the adopted manifest covers, it means that values of a
// future which was lost may be in the file: open with the zero State and replay the whole log.
func (c *Cells) MergingTo() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stamp.to
}

// Seal freezes what was set so far, and begins a new delta: it is what the log says up to mark (a length of the log),
// when cells 0 to count-1 exist. Only the writer calls it. A delta that is sealed already must be merged first.
func (c *Cells) Seal(count, mark uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := *c.view.Load()
	switch {
	case c.sealed:
		return fmt.Errorf("%s: a sealed delta is still to be merged", c.files.name)
	case mark < c.state.Watermark || count < c.state.Entries || count > MaxCells:
		return fmt.Errorf("%s: merge of %d cells to %d below the %d cells at %d", c.files.name, count, mark,
			c.state.Entries, c.state.Watermark)
	case v.active.end > count:
		return fmt.Errorf("%s: cell %d is set, beyond the %d that exist", c.files.name, v.active.end-1, count)
	}
	v.sealed = v.active
	v.active = newCellsDelta(v.sealed.count.Load())
	c.count, c.mark, c.sealed = count, mark, true
	c.view.Store(&v)
	return nil
}

// Merge brings the file level with all that was set: Seal and MergeSealed, after what an earlier merge left. The log up
// to mark must be durable, and covered by a durable manifest. On an error, *store.DiskFull among them, the values stay
// in memory, the watermark stays where it was, and Merge may be called again.
func (c *Cells) Merge(count, mark uint64) error {
	if err := c.MergeSealed(); err != nil {
		return err
	}
	if err := c.Seal(count, mark); err != nil {
		return err
	}
	return c.MergeSealed()
}

// Retire removes files that no manifest names any more. Call it once a manifest with what State returned is durable.
func (c *Cells) Retire() error {
	return c.files.retire(func() []uint32 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return []uint32{c.state.Generation, c.given.Generation, c.number}
	})
}

// CellsStats says how large an array of cells is.
type CellsStats struct {
	State
	Bytes      int64 // of the file
	Delta      int   // values in memory
	DeltaBytes int64 // that they take
}

// Stats returns the sizes of now.
func (c *Cells) Stats() CellsStats {
	c.mu.Lock()
	s := CellsStats{State: c.state}
	c.mu.Unlock()
	v := c.View()
	s.Delta, s.DeltaBytes = c.Len(), v.active.bytes()
	if v.sealed != nil {
		s.DeltaBytes += v.sealed.bytes()
	}
	if c.merging.TryLock() { // a merge under way is making the file longer: its length is not interesting then
		defer c.merging.Unlock()
		if c.file != nil {
			s.Bytes = c.file.Size()
		}
	} else {
		s.Bytes = cellsEnd(s.Entries)
	}
	return s
}

// Close closes the file. No view may be used any more; what was not merged is given up.
func (c *Cells) Close() error {
	c.merging.Lock()
	defer c.merging.Unlock()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
