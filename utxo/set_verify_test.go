package utxo

import (
	"fmt"
	"slices"
	"unsafe"
)

// verify returns what is wrong with the inside of a set: every entry is found again, the counts of passing entries are
// exact, cells lie side by side without gaps, and all counters are right.
func (s *Set) verify() error {
	for i := range s.shards {
		sh := &s.shards[i]
		if err := sh.verifyIndex(); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		if err := sh.verifySlab(); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return nil
}

func (s *shard) verifyIndex() error {
	passed := make([][8]int, s.index.lines)
	var records, outputs, payload uint64
	var wrong error
	s.index.each(func(line uint64, slot uintptr, h uint32) {
		var r Record
		decode(byte(s.id), s.record(h), &r, nil)
		hash := hashOf(&r.Txid, s.salt)
		var w Work
		if at := s.find(&r.Txid, hash, &w); at != (place{uint32(line), uint32(slot), h}) {
			wrong = fmt.Errorf("%v is at %d:%d and found at %+v", r.Txid, line, slot, at)
		}
		for h := hash; s.index.home(h) != line; h = nextHash(h) {
			passed[s.index.home(h)][hash>>8&7]++
		}
		rec, err := AppendRecord(nil, &r)
		n := recordSize(s.record(h))
		if err != nil || string(rec) != string(unsafe.Slice((*byte)(s.record(h)), n)) {
			wrong = fmt.Errorf("%v has another spelling (%v)", r.Txid, err)
		}
		records++
		outputs += uint64(len(r.Outs))
		payload += uint64(n)
	})
	if records != s.records || outputs != s.outputs || payload != s.payload {
		return fmt.Errorf("%d records, %d outputs, %d bytes; counted %d, %d, %d",
			records, outputs, payload, s.records, s.outputs, s.payload)
	}
	for i := range s.index.lines {
		w1 := load64(unsafe.Add(s.index.line(i), 8))
		for k, n := range passed[i] {
			if have := int(w1 >> (passedShift + 4*k) & passedFull); have != n && have != passedFull {
				return fmt.Errorf("line %d: %d passed, counted %d", i, n, have)
			}
		}
	}
	return wrong
}

func (s *shard) verifySlab() error {
	if s.slab.base == nil {
		return nil
	}
	var all []cell
	s.index.each(func(_ uint64, _ uintptr, h uint32) {
		all = append(all, cell{h, uint32(recordSize(s.record(h)))})
	})
	hole := uint64(0)
	for size, h := range s.slab.free {
		for ; h != 0; h = load32(s.slab.at(h)) {
			all = append(all, cell{h, uint32(size)})
			hole += uint64(size)
		}
	}
	for _, c := range s.slab.large {
		all = append(all, c)
		hole += uint64(c.size)
	}
	// What was left of cut cells may be too small for a link.
	if hole > s.slab.hole {
		return fmt.Errorf("%d bytes are free, counted %d", hole, s.slab.hole)
	}
	slices.SortFunc(all, func(a, b cell) int { return int(int64(a.handle) - int64(b.handle)) })
	next, lost := uint32(1), uint64(0)
	for _, c := range all {
		lost += uint64(c.handle - next)
		if c.handle < next || c.handle-next > 3 {
			return fmt.Errorf("a cell begins at %d and not at %d", c.handle, next)
		}
		next = c.handle + c.size
	}
	if lost += uint64(s.slab.used - next); next > s.slab.used || s.slab.used-next > 3 {
		return fmt.Errorf("cells end at %d and not at %d", next, s.slab.used)
	}
	if hole+lost != s.slab.hole {
		return fmt.Errorf("%d bytes are free and %d lost, counted %d", hole, lost, s.slab.hole)
	}
	return nil
}
