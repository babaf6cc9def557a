package utxo

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"stele/chain"
)

// The index of a shard is an array of lines, each a cache line: entries whose home it is, and such as found their own
// lines full.
//
//	0           12        16                       64
//	| 12 tags 1 | passed 4 | 12 handles of 4, 0: none |     little-endian
//
//	tag         1-255, of the hash's low byte; 0: no entry
//	handle      where the record begins in the shard's slab, in bytes from its front
//	passed      eight counts of 4 bits: how many entries passed this full line on their way to another, by the three
//	            hash bits above the tag's
//
// The hash is a salted product of the eight bytes behind the txid's first, which the shard has used up: a table whose
// places came from the byte that chose the shard would begin all its searches in the same 256th part. The salt is the
// store's secret, so nobody can choose txids that share a line. The line is the hash's high bits scaled to the number
// of lines, so that can be any number. Behind a full line comes the one of the next hash, a step of a generator of full
// period, and not the neighbour: full neighbours would grow into runs that all of their searches have to cross (at a
// load of 0.82, after half of the entries were replaced: 1.38 lines a miss and 42 at the most).
//
// A search ends at the first line that no entry of its kind passed. Entries leave: a deletion counts down what its
// entry counted up, so the counts stay exact and old deletions cost later searches nothing. A count that reached 15
// stays there until the index is built anew; then reach, the most lines that any entry needed, ends the search.
const (
	lineSize    = 64
	lineSlots   = 12
	linePassed  = 12
	lineHandles = 16

	passedFull  = 15
	passedShift = 32 // of the counts in word 1

	loadTenths = 9 // the index holds at most this many tenths of its slots
)

// hashFactor is odd, and about half of its bits are ones.
const hashFactor = 0xd6e8feb86659fd93

// hashStep makes nextHash reach every number before it comes back: it is one more than a multiple of four.
const hashStep = 0x5851f42d4c957f2d

// hashOf returns the hash of a txid.
func hashOf(txid *chain.Hash, salt uint64) uint64 {
	return mix(binary.LittleEndian.Uint64(txid[1:9]), salt)
}

func mix(x, salt uint64) uint64 {
	hi, lo := bits.Mul64(x^salt, hashFactor)
	return hi ^ lo
}

func tagByte(hash uint64) byte { return byte((hash&0xff)*255>>8) + 1 }

// passedAt returns how far to shift word 1 for the count that is the hash's.
func passedAt(hash uint64) uint { return passedShift + 4*uint(hash>>8&7) }

// index is the lines of a shard. The zero value holds nothing.
type index struct {
	base  unsafe.Pointer
	lines uint64
	reach uint64
	mem   []byte
}

// capacity is how many entries the index may hold.
func (x *index) capacity() uint64 { return x.lines * lineSlots * loadTenths / 10 }

func (x *index) home(hash uint64) uint64 {
	line, _ := bits.Mul64(hash, x.lines)
	return line
}

func (x *index) line(i uint64) unsafe.Pointer { return unsafe.Add(x.base, i*lineSize) }

// nextHash returns the hash whose home comes behind that of h.
func nextHash(h uint64) uint64 { return h*hashStep + 1 }

// matchTags marks the slots whose tags are this one: bit 7 of byte s for slots 0-7, bit 6 of byte s-8 for slots 8-11.
func matchTags(w0, w1 uint64, tag byte) uint64 {
	t := uint64(tag) * ones
	return zeroBytes(w0^t) | zeroBytes(w1^t)&0x80808080>>1
}

// slotOf returns the slot of the lowest bit of a match.
func slotOf(m uint64) uintptr {
	tz := uintptr(bits.TrailingZeros64(m))
	return tz>>3 + (tz&1^1)<<3
}

func handleAt(line unsafe.Pointer, slot uintptr) uint32 {
	return load32(unsafe.Add(line, lineHandles+4*slot))
}

// place is an entry: where it is, and the record that it names.
type place struct {
	line   uint32
	slot   uint32
	handle uint32 // 0: there is none
}

// find looks for the record of a txid: one line and one record where it is there, in nearly all cases, and one line
// where it is not.
func (s *shard) find(txid *chain.Hash, hash uint64, w *Work) place {
	tag, passed := tagByte(hash), passedAt(hash)
	for range s.index.reach {
		at := s.index.home(hash)
		p := s.index.line(at)
		w.Lines++
		w0, w1 := load64(p), load64(unsafe.Add(p, 8))
		for m := matchTags(w0, w1, tag); m != 0; m &= m - 1 {
			slot := slotOf(m)
			h := handleAt(p, slot)
			w.Compares++
			if sameTxid(s.record(h), txid) {
				return place{line: uint32(at), slot: uint32(slot), handle: h}
			}
		}
		if w1>>passed&passedFull == 0 {
			break
		}
		hash = nextHash(hash)
	}
	return place{}
}

// sameTxid compares the 31 bytes that a record keeps.
func sameTxid(rec unsafe.Pointer, txid *chain.Hash) bool {
	q := unsafe.Pointer(txid)
	return load64(unsafe.Add(rec, 1))^load64(unsafe.Add(q, 1))|
		load64(unsafe.Add(rec, 9))^load64(unsafe.Add(q, 9))|
		load64(unsafe.Add(rec, 17))^load64(unsafe.Add(q, 17))|
		load64(unsafe.Add(rec, 24))^load64(unsafe.Add(q, 24)) == 0
}

// candidate returns the handle of the first entry of the home line whose tag agrees, or zero.
func (x *index) candidate(hash uint64) uint32 {
	if x.lines == 0 {
		return 0
	}
	p := x.line(x.home(hash))
	m := matchTags(load64(p), load64(unsafe.Add(p, 8)), tagByte(hash))
	if m == 0 {
		return 0
	}
	return handleAt(p, slotOf(m))
}

// insert adds an entry. There must be room (see capacity), and no entry for the same txid.
func (x *index) insert(hash uint64, handle uint32) {
	tag, shift := tagByte(hash), passedAt(hash)
	for lines := uint64(1); ; lines++ {
		p := x.line(x.home(hash))
		w1 := load64(unsafe.Add(p, 8))
		if m := matchTags(load64(p), w1, 0); m != 0 {
			slot := slotOf(m)
			*(*byte)(unsafe.Add(p, slot)) = tag
			store32(unsafe.Add(p, lineHandles+4*slot), handle)
			x.reach = max(x.reach, lines)
			return
		}
		if w1>>shift&passedFull != passedFull {
			store64(unsafe.Add(p, 8), w1+1<<shift)
		}
		hash = nextHash(hash)
	}
}

// remove takes the entry at a place out.
func (x *index) remove(hash uint64, at place) {
	p := x.line(uint64(at.line))
	*(*byte)(unsafe.Add(p, uintptr(at.slot))) = 0
	store32(unsafe.Add(p, lineHandles+4*uintptr(at.slot)), 0)
	shift := passedAt(hash)
	for i := x.home(hash); i != uint64(at.line); i = x.home(hash) {
		p := unsafe.Add(x.line(i), 8)
		if w1 := load64(p); w1>>shift&passedFull != passedFull {
			store64(p, w1-1<<shift)
		}
		hash = nextHash(hash)
	}
}

// replace lets an entry name another record of the same txid.
func (x *index) replace(at place, handle uint32) {
	store32(unsafe.Add(x.line(uint64(at.line)), lineHandles+4*uintptr(at.slot)), handle)
}

// each calls f with every entry.
func (x *index) each(f func(line uint64, slot uintptr, handle uint32)) {
	for i := range x.lines {
		p := x.line(i)
		for slot := range uintptr(lineSlots) {
			if h := handleAt(p, slot); h != 0 {
				f(i, slot, h)
			}
		}
	}
}
