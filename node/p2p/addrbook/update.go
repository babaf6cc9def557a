package addrbook

import (
	"slices"
	"time"
)

// Add takes in addresses that source told of, and returns how many of them took a slot. Their times are set back by
// penalty, so that what is passed on and on grows old, except for what a source says of itself. A time before 1973 or
// ahead of the clock by ten minutes counts as five days ago (as Core). What is not routable is passed over.
func (b *Book) Add(list []Known, source Address, penalty time.Duration) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, added := b.now(), 0
	source.Port = 0
	told := source.Group()
	for i := range list {
		if list[i].Routable() && b.add(&list[i], source, told, max(0, int64(penalty/time.Second)), now) {
			added++
		}
	}
	return added
}

const oldest = 100_000_000 // seconds: an earlier time was never set

func (b *Book) add(k *Known, source Address, told Group, penalty, now int64) bool {
	seen := k.Seen.Unix()
	if seen <= oldest || seen > now+10*minute {
		seen = now - 5*day
	}
	if self := k.Address; self.Net == source.Net && self.Host == source.Host {
		penalty = 0
	}
	i, exists := b.index[k.Address]
	if exists && !b.again(&b.entries[i], k.Services, seen, penalty, now) {
		return false
	}
	slot := b.newSlot(k.Address, told)
	if exists {
		return b.takeNew(i, slot, now)
	}
	if taken := b.fresh[slot]; taken != 0 {
		// It yields where it is terrible, or has other slots while the newcomer has none.
		if e := &b.entries[taken.entry()]; !e.terrible(now) && e.refs == 1 {
			return false
		}
		b.clearNew(slot)
	}
	b.putNew(b.create(k, source, clamp(seen-penalty)), slot)
	return true
}

// again notes what was told of an entry and says whether it may take one more slot.
func (b *Book) again(e *entry, services uint64, seen, penalty, now int64) bool {
	interval := int64(day)
	if now-seen < day { // it is online: its time may be followed more closely
		interval = hour
	}
	news := seen > int64(e.seen)
	if int64(e.seen) < seen-interval-penalty {
		e.seen = clamp(seen - penalty)
		b.changed = true
	}
	if e.services|services != e.services {
		e.services |= services
		b.changed = true
	}
	// Each slot more is half as likely as the last, so that telling often gains little.
	return news && !e.inTried && e.refs < maxRefs && b.rng.Uint32N(1<<e.refs) == 0
}

// takeNew gives entry i one more slot, where that is free or its owner terrible.
func (b *Book) takeNew(i uint32, slot uint16, now int64) bool {
	switch taken := b.fresh[slot]; {
	case taken.entry() == i:
		return false
	case taken != 0 && !b.entries[taken.entry()].terrible(now):
		return false
	case taken != 0:
		a := b.entries[i].addr
		b.clearNew(slot)
		i = b.index[a]
	}
	b.putNew(i, slot)
	return true
}

// create makes an entry without a slot and returns its number.
func (b *Book) create(k *Known, source Address, seen uint32) uint32 {
	i := uint32(len(b.entries))
	b.entries = append(b.entries, entry{addr: k.Address, source: source, services: k.Services, seen: seen})
	b.index[k.Address] = i
	b.count[k.Net][0]++
	return i
}

// putNew gives entry i a free slot of table new.
func (b *Book) putNew(i uint32, slot uint16) {
	e := &b.entries[i]
	e.slots[e.refs] = slot
	e.refs++
	b.fresh[slot] = cellOf(i, e.addr.Net)
	b.changed = true
}

// clearNew frees a slot of table new. An entry that loses its last slot is forgotten, and then the last entry takes its
// number: numbers that the caller holds are void.
func (b *Book) clearNew(slot uint16) {
	taken := b.fresh[slot]
	if taken == 0 {
		return
	}
	b.fresh[slot] = 0
	b.changed = true
	e := &b.entries[taken.entry()]
	for j := range e.refs {
		if e.slots[j] == slot {
			e.refs--
			e.slots[j] = e.slots[e.refs]
			break
		}
	}
	if e.refs == 0 {
		b.forget(taken.entry())
	}
}

// forget removes entry i, which has no slot.
func (b *Book) forget(i uint32) {
	b.count[b.entries[i].addr.Net][0]--
	delete(b.index, b.entries[i].addr)
	last := uint32(len(b.entries) - 1)
	if i != last {
		b.entries[i] = b.entries[last]
		e := &b.entries[i]
		b.index[e.addr] = i
		if e.inTried {
			b.tried[e.slots[0]] = cellOf(i, e.addr.Net)
		}
		for _, slot := range e.slots[:e.refs] {
			b.fresh[slot] = cellOf(i, e.addr.Net)
		}
	}
	b.entries[last] = entry{}
	b.entries = b.entries[:last]
}

// Attempt notes that a is being called. The failure is held against it (until Good says otherwise) where count is set,
// once for each time that any call succeeds: a node that is offline itself must not forget the network.
func (b *Book) Attempt(a Address, count bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.index[a]
	if !ok {
		return
	}
	e := &b.entries[i]
	e.called = uint32(b.now())
	if count && e.counted < b.lastGood {
		e.counted = e.called
		e.attempts++
	}
	b.changed = true
}

// Good notes that a node of the network answered at a, and moves a into table tried where its slot is free. Where it
// is not, a waits for Resolve. It tells whether a moved.
func (b *Book) Good(a Address) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := uint32(b.now())
	b.lastGood = max(now, 1)
	i, ok := b.index[a]
	if !ok {
		return false
	}
	e := &b.entries[i]
	e.called, e.answered, e.attempts = now, now, 0
	b.changed = true
	if e.inTried {
		return false
	}
	if b.tried[b.triedSlot(a)] != 0 {
		b.wait(a)
		return false
	}
	b.promote(a)
	return true
}

// wait puts a on the list for Resolve, while there is room.
func (b *Book) wait(a Address) {
	if len(b.pending) < maxPending && !slices.Contains(b.pending, a) {
		b.pending = append(b.pending, a)
	}
}

// promote moves an entry from new to tried. The owner of its slot goes back to new, to where its first source put it.
func (b *Book) promote(a Address) {
	e := &b.entries[b.index[a]]
	for _, slot := range e.slots[:e.refs] {
		b.fresh[slot] = 0
	}
	b.count[a.Net][0]--
	b.count[a.Net][1]++
	slot := b.triedSlot(a)
	if taken := b.tried[slot]; taken != 0 {
		b.demote(b.entries[taken.entry()].addr, slot)
	}
	i := b.index[a] // demote may have changed it
	e = &b.entries[i]
	e.refs, e.inTried, e.slots[0] = 0, true, slot
	b.tried[slot] = cellOf(i, a.Net)
	b.changed = true
}

// demote moves the owner of a tried slot back to new, over whatever stands there.
func (b *Book) demote(a Address, from uint16) {
	b.tried[from] = 0
	b.count[a.Net][1]--
	b.count[a.Net][0]++
	i := b.index[a]
	b.entries[i].inTried = false
	slot := b.newSlot(a, b.entries[i].source.Group())
	b.clearNew(slot)
	b.putNew(b.index[a], slot)
}

// Connected notes, when a connection ends, that a was reachable until now. It is not said while the connection lasts, so
// that answers to getaddr do not tell whom we are connected to.
func (b *Book) Connected(a Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, ok := b.index[a]; ok {
		if now := b.now(); now-int64(b.entries[i].seen) > 20*minute {
			b.entries[i].seen = uint32(now)
			b.changed = true
		}
	}
}

// SetServices notes the services that the node at a itself names.
func (b *Book) SetServices(a Address, services uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, ok := b.index[a]; ok && b.entries[i].services != services {
		b.entries[i].services = services
		b.changed = true
	}
}
