package hashmap

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Counters are the work of one lookup.
type Counters struct {
	Slots     uint32 // delta slots read, empty ones included
	Lines     uint32 // lines read, of 64 bytes each
	TagPasses uint32 // entries whose tag agreed and whose link was below the limit
	Rows      uint32 // rows whose key was compared
}

// Find returns the newest row with the key among links below the limit. Warm and with empty deltas a hit reads one
// line, at times the lines that it spilled to, and one row; an absent key nearly always one line and no row.
func (v MapView) Find(key *[32]byte, below uint32) (link uint32, ok bool) {
	var c Counters
	stored := v.find(key, below, &c)
	return stored - 1, stored != 0
}

// Probe is Find that tells what it cost.
func (v MapView) Probe(key *[32]byte, below uint32) (link uint32, ok bool, c Counters) {
	stored := v.find(key, below, &c)
	return stored - 1, stored != 0, c
}

// FindAll appends the links of all rows with the key below the limit to dst, newest first.
func (v MapView) FindAll(dst []uint32, key *[32]byte, below uint32) []uint32 {
	window, tag := v.m.place.of(key)
	start := len(dst)
	dst = v.active.findAll(dst, &v.m.rows, window, key, below)
	if v.sealed != nil {
		dst = v.sealed.findAll(dst, &v.m.rows, window, key, below)
	}
	if v.gen != nil {
		dst = v.gen.findAll(dst, &v.m.rows, window, tag, key, below)
	}
	// A row may be found twice: in a delta and in the lines it was merged into, or in two lines after a torn merge.
	found := dst[start:]
	slices.Sort(found)
	found = slices.Compact(found)
	slices.Reverse(found)
	return dst[:start+len(found)]
}

// find returns the link plus one, or zero. The active delta holds newer rows than the sealed one, and that newer ones
// than the lines; what lines hold of rows beyond the watermark is in a delta as well. So the first that knows the key
// has the newest row.
func (v MapView) find(key *[32]byte, below uint32, c *Counters) (stored uint32) {
	window, tag := v.m.place.of(key)
	return v.findPlaced(window, tag, key, below, c)
}

// findPlaced is find for a key whose window and tag are known.
func (v *MapView) findPlaced(window uint64, tag uint32, key *[32]byte, below uint32, c *Counters) (stored uint32) {
	if stored = v.active.find(&v.m.rows, window, key, below, c); stored != 0 {
		return stored
	}
	if v.sealed != nil {
		if stored = v.sealed.find(&v.m.rows, window, key, below, c); stored != 0 {
			return stored
		}
	}
	if v.gen == nil {
		return 0
	}
	return v.gen.find(&v.m.rows, window, tag, key, below, c)
}

// holds compares a row's whole key, in place.
func (r *Rows) holds(link uint32, key *[32]byte) bool {
	have := r.key(link)
	return binary.LittleEndian.Uint64(have[:]) == binary.LittleEndian.Uint64(key[:]) &&
		binary.LittleEndian.Uint64(have[8:]) == binary.LittleEndian.Uint64(key[8:]) &&
		binary.LittleEndian.Uint64(have[16:]) == binary.LittleEndian.Uint64(key[16:]) &&
		binary.LittleEndian.Uint64(have[24:]) == binary.LittleEndian.Uint64(key[24:])
}

// find looks for the newest row with the key: in the home line, and in the lines after it as long as such a tag passed,
// but no further than a line with a hit that no twin passed.
func (g *generation) find(rows *Rows, window uint64, tag uint32, key *[32]byte, below uint32, c *Counters) uint32 {
	best := uint32(0)
	mark := passMark(tag)
	for i := bucketOf(window, g.buckets); i < g.lines; i++ {
		p := unsafe.Add(g.base, i*lineSize)
		w1 := loadWord(p, 1)
		hit := false
		c.Lines++
		for m := matchTags(loadWord(p, 0), w1, tag); m != 0; m &= m - 1 {
			slot := slotOf(m)
			if highBits(w1, slot) != tag>>8 {
				continue
			}
			stored := loadStored(p, slot)
			if stored-1 >= below {
				continue // empty slots too: zero minus one is beyond every limit
			}
			c.TagPasses++
			if stored <= best {
				continue
			}
			c.Rows++
			if rows.holds(stored-1, key) {
				best, hit = stored, true
			}
		}
		if meta := byte(w1 >> metaShift); meta&mark == 0 || hit && meta&metaTwin == 0 {
			break
		}
	}
	return best
}

// findAll appends all rows with the key, in no order, perhaps one twice.
func (g *generation) findAll(
	dst []uint32, rows *Rows, window uint64, tag uint32, key *[32]byte, below uint32,
) []uint32 {
	for i := bucketOf(window, g.buckets); i < g.lines; i++ {
		p := unsafe.Add(g.base, i*lineSize)
		w1 := loadWord(p, 1)
		for m := matchTags(loadWord(p, 0), w1, tag); m != 0; m &= m - 1 {
			slot := slotOf(m)
			if highBits(w1, slot) != tag>>8 {
				continue
			}
			if link := loadStored(p, slot) - 1; link < below && rows.holds(link, key) {
				dst = append(dst, link)
			}
		}
		if byte(w1>>metaShift)&passMark(tag) == 0 {
			break
		}
	}
	return dst
}

// find looks through the run of slots from the home to the first empty one. Growth may change the order of a run, so
// all of it is read; a row is touched only where it could be a newer one.
func (d *delta) find(rows *Rows, window uint64, key *[32]byte, below uint32, c *Counters) uint32 {
	t := d.table.Load()
	if t == nil {
		return 0
	}
	best := uint32(0)
	fragment := uint32(window >> 32)
	for i := t.home(fragment); ; {
		slot := atomic.LoadUint64(&t.slots[i])
		c.Slots++
		if slot == 0 {
			return best
		}
		if stored := uint32(slot); uint32(slot>>32) == fragment && stored-1 < below {
			c.TagPasses++
			if stored > best {
				c.Rows++
				if rows.holds(stored-1, key) {
					best = stored
				}
			}
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}

// findAll appends all rows with the key, in no order.
func (d *delta) findAll(dst []uint32, rows *Rows, window uint64, key *[32]byte, below uint32) []uint32 {
	t := d.table.Load()
	if t == nil {
		return dst
	}
	fragment := uint32(window >> 32)
	for i := t.home(fragment); ; {
		slot := atomic.LoadUint64(&t.slots[i])
		if slot == 0 {
			return dst
		}
		if link := uint32(slot) - 1; uint32(slot>>32) == fragment && link < below && rows.holds(link, key) {
			dst = append(dst, link)
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}
