package utxo

import (
	"fmt"
	"unsafe"

	"stele/internal/offheap"
)

// A slab is the memory of a shard's records: cells side by side, without anything between them. A cell has exactly as
// many bytes as its record, which follow from the record itself, so a cell has no head; a handle is the offset of one.
//
//	| byte 0, not used | cell | cell | free cell | cell | ...  used |      reserved, never touched      |
//
//	free cell     +0 handle of the next free cell of the same size 4      (no record is smaller than 41 bytes; what is
//	                                                                        left of a cut cell may be: it is lost until
//	                                                                        the slab is packed)
//
// A cell that became free is used again for a record of its own size. Large ones are listed outside and are cut. What
// is free grows beyond an eighth of the slab only until the shard is packed into a new one (see shard.packed).
const (
	smallCells = 1024 // sizes in bytes below which free cells are chained
	pageSize   = 4096 // memory is counted in pages
	largeTries = 32   // large free cells that are looked at for one record

	// DefaultReserve is the address space of a shard's slab: 1 GiB. It costs nothing until it is used.
	DefaultReserve = 1 << 30
)

// FullError says that a shard's records do not fit into the memory reserved for them.
type FullError struct {
	Shard int
	Err   error // of the system, where it gave no memory
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("shard %d of the unspent outputs gets no memory: %v", e.Shard, e.Err)
	}
	return fmt.Sprintf("shard %d of the unspent outputs is full", e.Shard)
}

func (e *FullError) Unwrap() error { return e.Err }

type slab struct {
	base  unsafe.Pointer
	used  uint32 // bytes that were ever handed out, byte 0 included
	size  uint32 // bytes that are reserved, RecordSlack apart
	hole  uint64 // bytes that are free
	huge  int    // bytes from the front that were moved into huge pages
	mem   []byte
	free  []uint32 // first free cell by size; as long as the largest that ever became free
	large []cell
}

type cell struct{ handle, size uint32 }

// alloc returns a cell, or zero where the slab is full.
func (b *slab) alloc(size uint32) uint32 {
	if int(size) < len(b.free) {
		if h := b.free[size]; h != 0 {
			next := load32(b.at(h))
			b.free[size] = next
			b.prefetch(next)
			b.hole -= uint64(size)
			return h
		}
	} else if size >= smallCells {
		if h := b.allocLarge(size); h != 0 {
			return h
		}
	}
	if size > b.size-b.used {
		return 0
	}
	h := b.used
	b.used += size
	b.prefetch(b.used + lineSize)
	return h
}

// touchSizes are the sizes of nearly all records.
const touchSizes = 256

// touch asks for the cells that are handed out next.
func (b *slab) touch() {
	for _, h := range b.free[:min(len(b.free), touchSizes)] {
		if h != 0 {
			b.prefetch(h)
		}
	}
	b.prefetch(b.used)
}

// prefetch asks for the two lines from a handle on.
func (b *slab) prefetch(handle uint32) {
	if int(handle)+lineSize < len(b.mem) {
		prefetchRecord(b.at(handle))
	}
}

// allocLarge cuts a cell out of a large free one, the newest that fits.
func (b *slab) allocLarge(size uint32) uint32 {
	for i := len(b.large) - 1; i >= max(0, len(b.large)-largeTries); i-- {
		c := b.large[i]
		if c.size < size {
			continue
		}
		b.large[i] = b.large[len(b.large)-1]
		b.large = b.large[:len(b.large)-1]
		b.hole -= uint64(c.size)
		if rest := c.size - size; rest > 0 {
			b.release(c.handle+size, rest)
		}
		return c.handle
	}
	return 0
}

// release makes a cell free.
func (b *slab) release(handle, size uint32) {
	b.hole += uint64(size)
	switch {
	case size >= smallCells:
		b.large = append(b.large, cell{handle, size})
		return
	case size < 4:
		return // no room for a link
	case int(size) >= len(b.free):
		b.free = append(b.free, make([]uint32, int(size)+1-len(b.free))...)
	}
	store32(b.at(handle), b.free[size])
	b.free[size] = handle
}

func (b *slab) at(handle uint32) unsafe.Pointer { return unsafe.Add(b.base, uintptr(handle)) }

// write puts a record into a cell of its size.
func (b *slab) write(handle uint32, rec []byte) {
	copy(unsafe.Slice((*byte)(b.at(handle)), len(rec)), rec)
}

// bytes is the memory that the slab's pages take.
func (b *slab) bytes() uint64 {
	if b.used <= 1 {
		return 0
	}
	return (uint64(b.used) + pageSize - 1) / pageSize * pageSize
}

// gather moves what was filled since the last call into huge pages, a huge page at a time.
func (b *slab) gather() {
	if full := int(b.used); full-b.huge >= 2*offheap.HugePage {
		offheap.Huge(b.mem[b.huge:full])
		b.huge = full / offheap.HugePage * offheap.HugePage
	}
}
