package utxo

import (
	"unsafe"

	"stele/internal/offheap"
)

// Report is what a set holds and what that costs, in bytes.
type Report struct {
	Records uint64
	Outputs uint64

	Payload   uint64 // the records' own bytes
	Slack     uint64 // slabs beside that: free cells, the rest of the last page
	Index     uint64
	Fixed     uint64 // of the set, whatever it holds
	Accounted uint64 // all of it

	Largest  uint64 // records of the shard that has most
	Resident uint64 // memory of the whole process; zero where the system does not tell
}

// Report counts the set. It waits for a commit under way.
func (s *Set) Report() Report {
	s.writer.Lock()
	defer s.writer.Unlock()
	r := Report{Fixed: uint64(unsafe.Sizeof(*s)), Resident: offheap.Resident()}
	var slabs uint64
	for i := range s.shards {
		sh := &s.shards[i]
		r.Records += sh.records
		r.Outputs += sh.outputs
		r.Payload += sh.payload
		r.Index += uint64(len(sh.index.mem))
		r.Largest = max(r.Largest, sh.records)
		r.Fixed += uint64(cap(sh.slab.large))*uint64(unsafe.Sizeof(cell{})) + 4*uint64(cap(sh.slab.free))
		slabs += sh.slab.bytes()
	}
	r.Slack = slabs - r.Payload
	r.Accounted = slabs + r.Index + r.Fixed
	return r
}

// Len is the number of unspent outputs.
func (s *Set) Len() uint64 {
	s.gate.RLock()
	defer s.gate.RUnlock()
	var n uint64
	for i := range s.shards {
		n += s.shards[i].outputs
	}
	return n
}

// Bytes is the memory in use, within a page a shard: slabs as far as they were ever used, and indexes. It waits for
// nothing and reads 256 words: while a commit or a load is under way it is what they have come to.
func (s *Set) Bytes() int64 {
	n := int64(unsafe.Sizeof(*s))
	for i := range s.shards {
		n += s.shards[i].touched.Load()
	}
	return n
}
