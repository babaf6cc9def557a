package addrbook

import (
	"slices"
	"time"
)

// Found is what the book knows of an address.
type Found struct {
	Known
	Called   time.Time // the last attempt; zero: never
	Answered time.Time // the last success; zero: never
	Attempts int       // failures held against it since
	Tried    bool      // it stands in table tried
}

func (e *entry) found() Found {
	return Found{Known: e.known(), Called: moment(e.called), Answered: moment(e.answered),
		Attempts: int(e.attempts), Tried: e.inTried}
}

func moment(seconds uint32) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// Look returns what the book knows of a.
func (b *Book) Look(a Address) (Found, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.index[a]
	if !ok {
		return Found{}, false
	}
	return b.entries[i].found(), true
}

// Select picks an address to call, by chance: of tried or of new with even odds (of new alone where newOnly is set, for
// feelers), then a bucket, then one of its entries, which a recent or failed attempt makes less likely. Without networks
// all count. ok is false where the book has none.
func (b *Book) Select(newOnly bool, nets ...Network) (f Found, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh, tried := b.counts(nets)
	if newOnly {
		tried = 0
	}
	if fresh+tried == 0 {
		return Found{}, false
	}
	table := b.fresh[:]
	if fresh == 0 || tried > 0 && b.rng.Uint32N(2) == 0 {
		table = b.tried[:]
	}
	now := b.now()
	for factor := 1.0; ; { // grows with every refusal, so that it ends
		e := b.draw(table, nets)
		if e == nil {
			continue // the bucket has none of these networks; another has
		}
		if b.rng.Float64() < factor*e.chance(now) {
			return e.found(), true
		}
		factor *= 1.2
	}
}

// draw picks a bucket, and in it the first entry of the networks at or after a place picked as well.
func (b *Book) draw(table []cell, nets []Network) *entry {
	at := int(b.rng.Uint32N(uint32(len(table))))
	bucket := table[at&^(bucketSlots-1):][:bucketSlots]
	for j := range bucketSlots {
		taken := bucket[(at+j)%bucketSlots]
		if taken != 0 && (len(nets) == 0 || slices.Contains(nets, taken.network())) {
			return &b.entries[taken.entry()]
		}
	}
	return nil
}

// SelectTriedCollision returns an owner of a tried slot for which a newcomer waits: it should be called (a feeler), so
// that Resolve knows which of the two to keep. ok is false where none waits.
func (b *Book) SelectTriedCollision() (f Found, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		return Found{}, false
	}
	at := b.rng.IntN(len(b.pending))
	if i, known := b.index[b.pending[at]]; known && !b.entries[i].inTried {
		if taken := b.tried[b.triedSlot(b.pending[at])]; taken != 0 {
			return b.entries[taken.entry()].found(), true
		}
	}
	return Found{}, false // Resolve will see to it
}

// Resolve settles what it can of the newcomers that wait: the owner of the slot stays where it answered within four
// hours; it yields where it was called within them, the call is over (a minute) and found nobody; and where nobody
// called it for 40 minutes since the newcomer answered.
func (b *Book) Resolve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	waiting := b.pending[:0]
	for _, a := range b.pending {
		i, known := b.index[a]
		if !known || b.entries[i].inTried {
			continue
		}
		taken := b.tried[b.triedSlot(a)]
		if taken == 0 {
			b.promote(a)
			continue
		}
		owner := &b.entries[taken.entry()]
		switch {
		case now-int64(owner.answered) < replacement:
		case now-int64(owner.called) < replacement:
			if now-int64(owner.called) <= callTime {
				waiting = append(waiting, a)
				continue
			}
			b.promote(a)
		case now-int64(b.entries[i].answered) > testWindow:
			b.promote(a)
		default:
			waiting = append(waiting, a)
			continue
		}
	}
	if len(waiting) != len(b.pending) {
		b.changed = true
	}
	b.pending = waiting
}

// Sample picks addresses by chance, to answer getaddr with: at most max of them and at most pct percent of the book (0:
// no bound), without the terrible ones. Core answers with at most 1,000 and 23 percent, the same ones for a day, so that
// asking often does not read the book out.
func (b *Book) Sample(max, pct int, nets ...Network) []Known {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.entries)
	if pct > 0 {
		n = n * min(pct, 100) / 100
	}
	if max > 0 {
		n = min(n, max)
	}
	order := make([]uint32, len(b.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	now, list := b.now(), make([]Known, 0, n)
	for i := 0; i < len(order) && len(list) < n; i++ {
		j := i + b.rng.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
		e := &b.entries[order[i]]
		if (len(nets) == 0 || slices.Contains(nets, e.addr.Net)) && !e.terrible(now) {
			list = append(list, e.known())
		}
	}
	return list
}
