package utxo

import (
	"math"
	"sync/atomic"
	"unsafe"

	"stele/internal/offheap"
)

// shards is the number of shards: a shard is a txid's first byte, so shards in their order are txids in theirs.
const shards = 256

// A shard is an index and a slab. Only a commit, an undo or a load changes it; readers look at it between (see Set).
//
// Its index grows by an eighth. All shards fill alike, so their sizes are spread over that eighth: at any time a few of
// them are about to grow, not all at once.
type shard struct {
	index index
	slab  slab
	salt  uint64
	id    uint32

	records uint64
	outputs uint64
	payload uint64 // bytes of the records

	touched atomic.Int64 // bytes of memory in use; kept by weigh

	heap     bool   // memory comes from slices of the heap
	reserve  int    // bytes of the slab
	expected uint64 // records that the first index is made for
}

func (s *shard) record(handle uint32) unsafe.Pointer {
	return unsafe.Add(s.slab.base, uintptr(handle))
}

// hashAt returns the hash of the record with that handle.
func (s *shard) hashAt(handle uint32) uint64 {
	return mix(load64(unsafe.Add(s.record(handle), 1)), s.salt)
}

// count takes changes of the shard's counts in.
func (s *shard) count(records, outputs, payload int) {
	s.records += uint64(records)
	s.outputs += uint64(outputs)
	s.payload += uint64(payload)
}

// weigh counts the memory that is in use, after it changed.
func (s *shard) weigh() {
	if n := int64(s.slab.bytes()) + int64(len(s.index.mem)); n != s.touched.Load() {
		s.touched.Store(n)
	}
}

// memory returns n zeroed bytes.
func (s *shard) memory(n int) ([]byte, error) {
	if s.heap {
		return make([]byte, n), nil
	}
	b, err := offheap.Map(n)
	if err != nil {
		return nil, &FullError{Shard: int(s.id), Err: err}
	}
	return b, nil
}

func (s *shard) giveBack(b []byte) {
	if !s.heap {
		// What cannot be unmapped is leaked: there is nothing else to do about it.
		_ = offheap.Free(b)
	}
}

// openSlab reserves the memory of the records, once.
func (s *shard) openSlab() error {
	if s.slab.base != nil {
		return nil
	}
	b, err := s.newSlab()
	if err == nil {
		s.slab = b
	}
	return err
}

func (s *shard) newSlab() (slab, error) {
	mem, err := s.memory(s.reserve)
	if err != nil {
		return slab{}, err
	}
	b := slab{
		base: unsafe.Pointer(&mem[0]), mem: mem, used: 1,
		size: uint32(min(uint64(s.reserve-RecordSlack), math.MaxUint32)),
	}
	if s.heap {
		b.huge = math.MaxInt // the heap's pages are the runtime's
	}
	return b, nil
}

// linesFor returns how many lines hold that many records: whole pages of them, and the first of a row of sizes that is
// the shard's own.
func (s *shard) linesFor(records uint64) uint64 {
	const step, page = 1.125, pageSize / lineSize
	size := page * math.Pow(step, float64(s.id)/shards)
	for size*lineSlots*loadTenths/10 < float64(records) {
		size *= step
	}
	return uint64(math.Ceil(size/page)) * page
}

func (s *shard) newIndex(lines uint64) (index, error) {
	mem, err := s.memory(int(lines) * lineSize)
	if err != nil {
		return index{}, err
	}
	if !s.heap {
		offheap.WantHuge(mem)
	}
	return index{base: unsafe.Pointer(&mem[0]), lines: lines, mem: mem}, nil
}

// grown returns an index for that many records with all entries of the one in use, which serves on meanwhile.
func (s *shard) grown(records uint64) (index, error) {
	x, err := s.newIndex(s.linesFor(records))
	if err != nil {
		return x, err
	}
	for i := range s.index.lines {
		p := s.index.line(i)
		for slot := range uintptr(lineSlots) {
			offheap.Prefetch(unsafe.Add(s.slab.base, uintptr(handleAt(p, slot))))
		}
		for slot := range uintptr(lineSlots) {
			if h := handleAt(p, slot); h != 0 {
				x.insert(s.hashAt(h), h)
			}
		}
	}
	return x, nil
}

// room makes room for that many entries more where nobody looks at the index.
func (s *shard) room(more uint64) error {
	if s.records+more <= s.index.capacity() {
		return nil
	}
	x, err := s.grown(max(s.records+more, s.expected))
	if err != nil {
		return err
	}
	if s.index.mem != nil {
		s.giveBack(s.index.mem)
	}
	s.index = x
	return nil
}

// sparse tells whether so much of the slab is free that it is worth packing: an eighth, and 64 KiB.
func (s *shard) sparse() bool {
	return s.slab.hole > 64<<10 && s.slab.hole > uint64(s.slab.used)/8
}

// packed returns a slab without free cells, and the index over it; those in use serve on meanwhile.
func (s *shard) packed() (slab, index, error) {
	b, err := s.newSlab()
	if err != nil {
		return b, index{}, err
	}
	x, err := s.newIndex(s.linesFor(s.records))
	if err != nil {
		s.giveBack(b.mem)
		return b, x, err
	}
	s.index.each(func(_ uint64, _ uintptr, h uint32) {
		p := s.record(h)
		n := recordSize(p)
		to := b.alloc(uint32(n))
		b.write(to, unsafe.Slice((*byte)(p), n))
		x.insert(s.hashAt(h), to)
	})
	return b, x, nil
}

// close gives all memory back.
func (s *shard) close() {
	if s.index.mem != nil {
		s.giveBack(s.index.mem)
	}
	if s.slab.mem != nil {
		s.giveBack(s.slab.mem)
	}
	s.index, s.slab = index{}, slab{}
	s.records, s.outputs, s.payload = 0, 0, 0
	s.weigh()
}
