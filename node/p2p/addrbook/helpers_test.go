package addrbook

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// begin is the hand of every test's clock: in 2026, far from the ends of 32 bits.
const begin = 1_780_000_000

// hand is a clock that stands until it is moved.
type hand struct{ seconds int64 }

func (h *hand) now() time.Time       { return time.Unix(h.seconds, 0) }
func (h *hand) move(d time.Duration) { h.seconds += int64(d / time.Second) }

func options(h *hand, seed byte) Options {
	return Options{Magic: 0xdab5bffa, Now: h.now, Seed: &[32]byte{seed}}
}

func newBook(seed byte) (*Book, *hand) {
	h := &hand{begin}
	return New(options(h, seed)), h
}

// v4 makes an address of a /16 and a number within it.
func v4(group, n int) Address {
	return fromBytes(IPv4, []byte{byte(20 + group>>8), byte(group), byte(n >> 8), byte(n)}, 8333)
}

// heard is an address that was seen some time before now.
func heard(a Address, h *hand, ago time.Duration) Known {
	return Known{Address: a, Services: 9, Seen: h.now().Add(-ago)}
}

// broken says which of the invariants of the package comment does not hold, by looking at everything.
func (b *Book) broken() error {
	slots := 0
	var count [networks][2]int
	for i := range b.entries {
		e := &b.entries[i]
		if n, ok := b.index[e.addr]; !ok || int(n) != i {
			return fmt.Errorf("%v is entry %d, the index says %d", e.addr, i, n)
		}
		if !e.addr.Routable() {
			return fmt.Errorf("%v cannot be called", e.addr)
		}
		if e.inTried {
			count[e.addr.Net][1]++
			if s := b.triedSlot(e.addr); e.refs != 0 || e.slots[0] != s || b.tried[s] != cellOf(uint32(i), e.addr.Net) {
				return fmt.Errorf("%v is in tried with %d refs, at %d", e.addr, e.refs, e.slots[0])
			}
			continue
		}
		count[e.addr.Net][0]++
		own := slices.Sorted(slices.Values(e.slots[:e.refs]))
		if len(own) == 0 || len(own) > maxRefs || len(slices.Compact(own)) != int(e.refs) {
			return fmt.Errorf("%v is in new at %v", e.addr, e.slots[:e.refs])
		}
		for _, s := range own {
			if b.fresh[s] != cellOf(uint32(i), e.addr.Net) || s != b.slotIn(tagNewSlot, s/bucketSlots, e.addr) {
				return fmt.Errorf("%v has slot %d, where entry %d stands", e.addr, s, b.fresh[s].entry())
			}
		}
		slots += len(own)
	}
	if used(b.fresh[:]) != slots || len(b.index) != len(b.entries) || count != b.count || len(b.pending) > maxPending {
		return fmt.Errorf("%d slots of new, entries have %d; index %d, entries %d; counts %v, %v; %d wait",
			used(b.fresh[:]), slots, len(b.index), len(b.entries), b.count, count, len(b.pending))
	}
	tried := 0
	for n := range count {
		tried += count[n][1]
	}
	if used(b.tried[:]) != tried {
		return fmt.Errorf("%d slots of tried for %d entries", used(b.tried[:]), tried)
	}
	return nil
}

// used counts the slots of a table that are taken.
func used(table []cell) (n int) {
	for _, taken := range table {
		if taken != 0 {
			n++
		}
	}
	return n
}

func check(t testing.TB, b *Book) {
	t.Helper()
	if err := b.broken(); err != nil {
		t.Fatal(err)
	}
}

// same says how two books differ in what is saved.
func same(a, b *Book) error {
	switch {
	case a.key != b.key || a.magic != b.magic || a.lastGood != b.lastGood:
		return fmt.Errorf("key, magic or last success differ")
	case a.fresh != b.fresh || a.tried != b.tried || a.count != b.count || !slices.Equal(a.pending, b.pending):
		return fmt.Errorf("tables, counts or waiting differ")
	case len(a.entries) != len(b.entries):
		return fmt.Errorf("%d entries, %d", len(a.entries), len(b.entries))
	}
	for i := range a.entries {
		x, y := a.entries[i], b.entries[i]
		own := x.refs
		if x.inTried {
			own = 1
		}
		clear(x.slots[own:]) // what is left of slots it had
		clear(y.slots[own:])
		if x != y {
			return fmt.Errorf("entry %d: %+v, %+v", i, x, y)
		}
	}
	return nil
}
