package confirm

import (
	"encoding/binary"
	"math/bits"

	"stele/chain"
	"stele/tables"
)

// What blocks in flight make and take is found through two tables of open addressing, at most half full. An entry that
// goes leaves no mark: those behind it in its run move up. They allocate when they grow, and never shrink.

// txids finds the transactions of blocks in flight. It holds no txid: who asks compares with that of the place found.
//
//	slot of 8 bytes: | 32 bits of the mixed txid, the lowest set | sequence number of the block 16 | position in it 16 |
//
// Zero is an empty slot. The home slot is what the upper bits say. Txids are mixed with a secret of the process, so that
// nobody can grind them into one run.
type txids struct {
	slots  []uint64
	used   int
	shift  uint // of 32 bits, to a slot
	secret uint64
}

// maxFlight is how many blocks may be in flight, and maxPosition how many transactions a block may have: the least one
// has 60 bytes, so that 16,666 are within the weight limit.
const (
	maxFlight   = 1 << 16
	maxPosition = 1 << 16
)

const minSlots = 64

func (x *txids) hash(txid *chain.Hash) uint64 {
	return binary.LittleEndian.Uint64(txid[8:])*x.secret>>32 | 1
}

func place(hash uint64, seq uint16, position int) uint64 {
	return hash<<32 | uint64(seq)<<16 | uint64(position)
}

// room makes the table ready for n more entries.
func (x *txids) room(n int) {
	size := max(minSlots, len(x.slots))
	for 2*(x.used+n) > size {
		size *= 2
	}
	if size == len(x.slots) {
		return
	}
	old := x.slots
	x.slots, x.shift = make([]uint64, size), uint(32-bits.TrailingZeros(uint(size)))
	for _, s := range old {
		if s != 0 {
			x.put(s)
		}
	}
}

func (x *txids) put(slot uint64) {
	mask := uint64(len(x.slots) - 1)
	at := slot >> 32 >> x.shift
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = slot
}

// add enters a transaction, for which there is room.
func (x *txids) add(txid *chain.Hash, seq uint16, position int) {
	x.put(place(x.hash(txid), seq, position))
	x.used++
}

// remove takes an entry out that is there.
func (x *txids) remove(txid *chain.Hash, seq uint16, position int) {
	slot := place(x.hash(txid), seq, position)
	mask := uint64(len(x.slots) - 1)
	at := slot >> 32 >> x.shift
	for x.slots[at] != slot {
		at = (at + 1) & mask
	}
	x.used--
	for next := (at + 1) & mask; x.slots[next] != 0; next = (next + 1) & mask {
		home := x.slots[next] >> 32 >> x.shift
		if (next-home)&mask >= (next-at)&mask {
			x.slots[at] = x.slots[next]
			at = next
		}
	}
	x.slots[at] = 0
}

// numbers is a set of output numbers: those that blocks in flight spend. A slot holds a number plus one.
type numbers struct {
	slots []uint64
	used  int
	shift uint // of a mixed number of 64 bits, to a slot
}

func (s *numbers) home(slot uint64) uint64 { return slot * 0x9e3779b97f4a7c15 >> s.shift }

func (s *numbers) room(n int) {
	size := max(minSlots, len(s.slots))
	for 2*(s.used+n) > size {
		size *= 2
	}
	if size == len(s.slots) {
		return
	}
	old := s.slots
	s.slots, s.shift = make([]uint64, size), uint(64-bits.TrailingZeros(uint(size)))
	s.used = 0
	for _, slot := range old {
		if slot != 0 {
			s.add(tables.OutputLink(slot - 1))
		}
	}
}

// find returns where a number is, or the empty slot where it would be.
func (s *numbers) find(slot uint64) (at uint64, ok bool) {
	mask := uint64(len(s.slots) - 1)
	for at = s.home(slot); s.slots[at] != 0; at = (at + 1) & mask {
		if s.slots[at] == slot {
			return at, true
		}
	}
	return at, false
}

// add enters a number, for which there is room, and reports whether it was not there before.
func (s *numbers) add(o tables.OutputLink) bool {
	at, ok := s.find(uint64(o) + 1)
	if !ok {
		s.slots[at] = uint64(o) + 1
		s.used++
	}
	return !ok
}

func (s *numbers) has(o tables.OutputLink) bool {
	if s.used == 0 {
		return false
	}
	_, ok := s.find(uint64(o) + 1)
	return ok
}

// remove takes a number out that is there.
func (s *numbers) remove(o tables.OutputLink) {
	mask := uint64(len(s.slots) - 1)
	at, _ := s.find(uint64(o) + 1)
	s.used--
	for next := (at + 1) & mask; s.slots[next] != 0; next = (next + 1) & mask {
		if (next-s.home(s.slots[next]))&mask >= (next-at)&mask {
			s.slots[at] = s.slots[next]
			at = next
		}
	}
	s.slots[at] = 0
}
