package hashmap

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A line is one cache line of a generation file: twelve entries of its own bucket or of full lines before it.
//
//	0                12       15     16                                              64
//	| 12 tags of 1   | high 3 | meta | 12 links of 4, stored plus one, 0: empty slot |     little-endian
//
// high holds two more tag bits a slot, slot s at bits 2s. In words of eight bytes:
//
//	word 0: tags 0-7     word 1: tags 8-11 | high (24 bits) | meta (8 bits)     words 2-7: two links each
//
// Slots fill from 0 upwards; an entry never moves and never leaves. So the bytes of an entry never change again, and a
// line only ever gains entries and meta bits.
const (
	lineSize  = 64
	lineSlots = 12
	lineHigh  = 12 // offset of the high tag bits
	lineMeta  = 15 // offset of the meta byte
	lineLinks = 16 // offset of the links

	// metaPassed are seven marks: an entry found this line full and went on to the next, and its tag was in the
	// first, second, ... seventh part of all tags. A lookup goes on only where its own tag's mark is set; with a
	// single mark an absent key would read 1.58 lines where it reads 1.14 (at 80 per cent load).
	metaPassed = 0x7f
	// metaTwin: such an entry had the very tag of one that is here. Where it is clear, a lookup that found its row
	// here need not go on: entries with equal keys have equal tags and pass a line in the order in which they were
	// merged, so no newer one lies beyond.
	metaTwin = 0x80

	metaShift = 56 // of the meta byte in word 1
	highShift = 32 // of the high tag bits in word 1
)

type line [lineSize]byte

// put enters a link (stored plus one) or finds it entered, and reports false when the line is full of others; it then
// leaves the marks that lead lookups onward. All it does is idempotent. The tag is written again where the link is
// there already, so that a replay mends an entry whose link survived a crash without its tag.
func (l *line) put(tag, stored uint32) bool {
	for s := 0; s < lineSlots; s++ {
		at := l[lineLinks+4*s:]
		have := binary.LittleEndian.Uint32(at)
		if have != 0 && have != stored {
			continue
		}
		l.setTag(s, tag)
		binary.LittleEndian.PutUint32(at, stored)
		return true
	}
	l[lineMeta] |= passMark(tag)
	if l.hasTag(tag) {
		l[lineMeta] |= metaTwin
	}
	return false
}

// passMark returns the mark that an entry with that tag leaves on lines that it passes.
func passMark(tag uint32) byte { return 1 << (tag * 7 >> tagBits) }

// hasTag tells whether an entry of a full line has that tag.
func (l *line) hasTag(tag uint32) bool {
	w0, w1 := l.words()
	for m := matchTags(w0, w1, tag); m != 0; m &= m - 1 {
		if highBits(w1, slotOf(m)) == tag>>8 {
			return true
		}
	}
	return false
}

// slotWith returns the slot of a link (stored plus one), or -1.
func (l *line) slotWith(stored uint32) int {
	for s := 0; s < lineSlots; s++ {
		if l.stored(s) == stored {
			return s
		}
	}
	return -1
}

// setTag writes the ten tag bits of a slot.
func (l *line) setTag(slot int, tag uint32) {
	l[slot] = byte(tag)
	b, shift := lineHigh+slot/4, 2*(slot%4)
	l[b] = l[b]&^(3<<shift) | byte(tag>>8)<<shift
}

// tag returns the ten tag bits of a slot.
func (l *line) tag(slot int) uint32 {
	_, w1 := l.words()
	return uint32(l[slot]) | highBits(w1, uint(slot))<<8
}

// stored returns a slot's link plus one.
func (l *line) stored(slot int) uint32 { return binary.LittleEndian.Uint32(l[lineLinks+4*slot:]) }

// words returns words 0 and 1.
func (l *line) words() (w0, w1 uint64) {
	return binary.LittleEndian.Uint64(l[:]), binary.LittleEndian.Uint64(l[8:])
}

// highBits returns the two high tag bits of a slot, out of word 1.
func highBits(w1 uint64, slot uint) uint32 { return uint32(w1>>(highShift+2*slot)) & 3 }

// matchTags compares the low eight tag bits of all slots at once. The result has one bit a slot that agrees: bit 7 of
// byte s for slots 0-7, bit 6 of byte s-8 for slots 8-11. Empty slots may agree; their link says so.
func matchTags(w0, w1 uint64, tag uint32) uint64 {
	const low7, ones = 0x7f7f7f7f7f7f7f7f, 0x0101010101010101
	t := uint64(tag&0xff) * ones
	a, b := w0^t, w1^t
	// A byte is zero exactly if adding 0x7f to its low seven bits leaves bit 7 clear and it was clear before; sums of
	// seven bits do not carry into the next byte.
	a = ^((a&low7 + low7) | a | low7)
	b = ^((b&low7 + low7) | b | low7) & 0x80808080
	return a | b>>1
}

// slotOf returns the slot of the lowest bit of a match.
func slotOf(m uint64) uint {
	tz := uint(bits.TrailingZeros64(m))
	return tz>>3 + (tz&1^1)<<3
}

// loadWord reads word w of the line at p, whole, at the same time as a merge may write it. On amd64 and arm64 it is a
// plain load.
func loadWord(p unsafe.Pointer, w uint) uint64 {
	return fromDisk(atomic.LoadUint64((*uint64)(unsafe.Add(p, 8*w))))
}

// loadStored reads a slot's link plus one from the line at p.
func loadStored(p unsafe.Pointer, slot uint) uint32 {
	return uint32(loadWord(p, lineLinks/8+slot>>1) >> (32 * (slot & 1)))
}

// line copies line i word by word, so that scans may look at it beside a merge.
func (g *generation) line(i uint64) (l line) {
	p := unsafe.Add(g.base, i*lineSize)
	for w := uint(0); w < lineSize/8; w++ {
		binary.LittleEndian.PutUint64(l[8*w:], loadWord(p, w))
	}
	return l
}
