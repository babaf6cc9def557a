package hashmap

import "unsafe"

// groupSize is the number of lookups whose cache misses overlap. Processors have 10 to 16 buffers for misses a core; 32
// gains hardly more than 16 (measured).
const groupSize = 16

// group is the state of a group of lookups between its phases.
type group struct {
	window [groupSize]uint64
	tag    [groupSize]uint32
	sole   [groupSize]uint32 // link of the only row that can be the answer if it has the key; else NoLink
}

// Prefetch asks for the cache line at p, for who goes through rows in groups as FindGroup does. It never faults.
func Prefetch(p unsafe.Pointer) { prefetch(p) }

// FindGroup is Find for many keys: dst[i] becomes the link of keys[i], or NoLink. dst must be as long as keys. A group
// goes through its phases together, so that it waits for memory about twice instead of twice a key: the slots and lines
// of all are asked for, then the rows that they name, then the answers are found in what has arrived. No allocation.
func (v MapView) FindGroup(keys [][32]byte, below uint32, dst []uint32) {
	dst = dst[:len(keys)]
	var g group
	for len(keys) > 0 {
		n := min(groupSize, len(keys))
		v.touchLines(&g, keys[:n])
		v.touchRows(&g, keys[:n], below)
		var c Counters
		for i := range keys[:n] {
			if l := g.sole[i]; l != NoLink && v.m.rows.holds(l, &keys[i]) {
				dst[i] = l
				continue
			}
			dst[i] = v.findPlaced(g.window[i], g.tag[i], &keys[i], below, &c) - 1
		}
		keys, dst = keys[n:], dst[n:]
	}
}

// touchLines asks for the first delta slots and the home line of every key.
func (v *MapView) touchLines(g *group, keys [][32]byte) {
	for i := range keys {
		window, tag := v.m.place.of(&keys[i])
		g.window[i], g.tag[i] = window, tag
		v.active.touch(window)
		if v.sealed != nil {
			v.sealed.touch(window)
		}
		if v.gen != nil {
			prefetch(unsafe.Add(v.gen.base, bucketOf(window, v.gen.buckets)*lineSize))
		}
	}
}

// touch asks for the home slot.
func (d *delta) touch(window uint64) {
	if t := d.table.Load(); t != nil {
		prefetch(unsafe.Pointer(&t.slots[t.home(uint32(window>>32))]))
	}
}

// touchRows asks for the first row that each key's slots or line name; most keys have no other.
func (v *MapView) touchRows(g *group, keys [][32]byte, below uint32) {
	for i := range keys {
		g.sole[i] = NoLink
		link := v.active.candidate(g.window[i], below)
		if link == NoLink && v.sealed != nil {
			link = v.sealed.candidate(g.window[i], below)
		}
		if link == NoLink && v.gen != nil {
			var sole bool
			if link, sole = v.gen.candidate(g.window[i], g.tag[i], below); sole {
				g.sole[i] = link
			}
		}
		if link != NoLink {
			key := v.m.rows.key(link)
			prefetch(unsafe.Pointer(&key[0]))
			prefetch(unsafe.Pointer(&key[31])) // may lie in the next cache line
		}
	}
}

// candidate returns the first link of the home line whose tag agrees, or NoLink, and whether it is the answer if its row
// has the key: no other entry of the line agrees, and no twin passed the line.
func (g *generation) candidate(window uint64, tag, below uint32) (link uint32, sole bool) {
	p := unsafe.Add(g.base, bucketOf(window, g.buckets)*lineSize)
	w1 := loadWord(p, 1)
	for m := matchTags(loadWord(p, 0), w1, tag); m != 0; m &= m - 1 {
		slot := slotOf(m)
		if highBits(w1, slot) != tag>>8 {
			continue
		}
		if link := loadStored(p, slot) - 1; link < below {
			return link, m&(m-1) == 0 && byte(w1>>metaShift)&metaTwin == 0
		}
	}
	return NoLink, false
}
