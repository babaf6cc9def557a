package addrbook

import (
	"sync"
	"testing"
	"time"
	"unsafe"
)

// TestEclipse floods a book in which 2,000 honest addresses stand. The bounds are those that follow from the design
// (Core's ADDRMAN_NEW_BUCKETS_PER_SOURCE_GROUP, ADDRMAN_TRIED_BUCKETS_PER_GROUP).
func TestEclipse(t *testing.T) {
	b, clock := newBook(1)
	honest := make(map[Address]bool)
	for i := range 2000 {
		a := v4(1000+i, i)
		if b.Add([]Known{heard(a, clock, 20*24*time.Hour)}, v4(4000+i, 1), 0) == 1 {
			honest[a] = true
		}
	}
	if len(honest) < 1900 {
		t.Fatalf("only %d of 2000 found room in an empty book", len(honest))
	}
	attacker := v4(3, 0)
	var list []Known
	for i := range 60_000 { // of 5,000 groups, as fresh as can be, each told again and again
		list = append(list, heard(v4(6000+i%5000, i), clock, 0))
	}
	for round := range 2 {
		b.Add(list, v4(3, round), 0) // any address of the attacker's group
	}
	check(t, b)
	buckets, slots := make(map[int]bool), 0
	for slot, taken := range b.fresh {
		if taken != 0 && b.entries[taken.entry()].source.Group() == attacker.Group() {
			buckets[slot/bucketSlots] = true
			slots++
		}
	}
	if len(buckets) > 64 || slots > 64*64 || slots < 3000 {
		t.Errorf("the flood has %d slots in %d buckets, at most 64 × 64", slots, len(buckets))
	}
	for a := range honest {
		if _, ok := b.Look(a); !ok {
			t.Errorf("%v was pushed out", a)
		}
	}
	t.Logf("60,000 addresses of one source: %d slots in %d buckets", slots, len(buckets))
}

// TestEclipseOneGroup floods with addresses of one group. Told by one group they share a bucket of new. Told by all, and
// all answering, they go to at most 8 buckets of tried, and turn out nobody there.
func TestEclipseOneGroup(t *testing.T) {
	b, clock := newBook(2)
	var before []Address
	for i := range 3000 {
		a := v4(1000+i, 1)
		b.Add([]Known{heard(a, clock, time.Hour)}, a, 0)
		if b.Good(a) {
			before = append(before, a)
		}
	}
	buckets := func(inTried bool) int {
		seen := make(map[uint16]bool)
		for i := range b.entries {
			e := &b.entries[i]
			if e.addr.Group() == v4(5, 0).Group() && e.inTried == inTried {
				for _, slot := range e.slots[:max(1, e.refs)] {
					seen[slot/bucketSlots] = true
				}
			}
		}
		return len(seen)
	}
	for i := range 5000 {
		b.Add([]Known{heard(v4(5, i), clock, 0)}, v4(6, 1), 0)
	}
	if n := buckets(false); n != 1 {
		t.Errorf("%d buckets of new", n)
	}
	moved := 0
	for i := range 5000 {
		b.Add([]Known{heard(v4(5, i), clock, 0)}, v4(i, 1), 0)
		if b.Good(v4(5, i)) {
			moved++
		}
		b.Resolve()
	}
	check(t, b)
	if n := buckets(true); n > 8 || moved > 8*bucketSlots || moved < 300 {
		t.Errorf("%d moved to %d buckets of tried", moved, n)
	}
	for _, a := range before {
		if f, ok := b.Look(a); !ok || !f.Tried {
			t.Errorf("%v was turned out of tried", a)
		}
	}
}

// TestToldOften: each slot more is half as likely as the last. 100 addresses are told by 7 more groups each; the mean
// number of slots is 2.6 by the odds, and would be 8 without them.
func TestToldOften(t *testing.T) {
	b, clock := newBook(13)
	for i := range 100 {
		for told := range 8 {
			b.Add([]Known{heard(v4(i, 1), clock, time.Duration(9-told)*time.Minute)}, v4(told*100+i, 1), 0)
		}
	}
	check(t, b)
	if n := used(b.fresh[:]); n < 200 || n > 330 {
		t.Errorf("%d slots for %d addresses", n, b.Len())
	}
}

// TestNumbers: entries change their numbers when another goes. What moves is found again, in either table and while it is
// being placed.
func TestNumbers(t *testing.T) {
	b, clock := newBook(14)
	source := v4(1, 1)
	victim, mover := v4(2, 1), v4(2, 2)
	for i := 2; b.newSlot(mover, source.Group()) != b.newSlot(victim, source.Group()); i++ {
		mover = v4(2, i)
	}
	b.Add([]Known{heard(victim, clock, 0)}, source, 0)
	clock.move(31 * 24 * time.Hour)                       // the victim is terrible now
	b.Add([]Known{heard(mover, clock, 0)}, v4(9, 1), 0)   // last, elsewhere
	for i := 1; b.entries[b.index[mover]].refs < 2; i++ { // until the odds let it take the victim's slot
		if i > 100 {
			t.Fatal("never took a second slot")
		}
		clock.move(time.Second)
		b.Add([]Known{heard(mover, clock, 0)}, source, 0)
	}
	check(t, b)
	if _, ok := b.Look(victim); ok || b.Len() != 1 {
		t.Error("the victim is still there")
	}
	last := v4(3, 3)
	b.Add([]Known{heard(last, clock, 0)}, source, 0)
	b.Good(last)
	for b.entries[0].refs > 0 && b.entries[0].addr == mover {
		b.clearNew(b.entries[0].slots[0])
	}
	check(t, b)
	if f, ok := b.Look(last); !ok || !f.Tried || b.Len() != 1 {
		t.Errorf("%+v, %v", f, ok)
	}
}

// TestBounded fills the book from everywhere. It stops at its sizes.
func TestBounded(t *testing.T) {
	b, clock := newBook(3)
	for i := range 150_000 {
		b.Add([]Known{heard(v4(i%20000, i), clock, 0)}, v4(i%9973, 1), 0)
	}
	check(t, b)
	if n := b.Len(); n > newBuckets*bucketSlots || n < newBuckets*bucketSlots*8/10 {
		t.Errorf("%d addresses", n)
	}
	if size := unsafe.Sizeof(entry{}); size > 128 {
		t.Errorf("an entry has %d bytes", size)
	}
	if raw := b.encode(nil); len(raw) > maxFile {
		t.Errorf("a file of %d bytes, %d at most", len(raw), maxFile)
	}
}

// TestKeyed: where an address stands is not to be known from outside.
func TestKeyed(t *testing.T) {
	a, _ := newBook(1)
	b, _ := newBook(2)
	other := New(Options{})
	differ, random := 0, 0
	for i := range 1000 {
		if x := v4(i, i); a.newSlot(x, x.Group()) != b.newSlot(x, x.Group()) && a.triedSlot(x) != b.triedSlot(x) {
			differ++
		}
		if x := v4(i, i); other.newSlot(x, x.Group()) != a.newSlot(x, x.Group()) {
			random++
		}
	}
	if differ < 990 || random < 990 {
		t.Errorf("%d and %d places of 1000 differ under another key", differ, random)
	}
}

// TestTerrible has each rule of Core's IsTerrible, at its edge.
func TestTerrible(t *testing.T) {
	const now = begin
	for _, c := range []struct {
		name string
		e    entry
		want bool
	}{
		{"just seen", entry{seen: now}, false},
		{"10 minutes ahead", entry{seen: now + 600}, false},
		{"more", entry{seen: now + 601}, true},
		{"30 days ago", entry{seen: now - 30*day}, false},
		{"more", entry{seen: now - 30*day - 1}, true},
		{"more, but being called", entry{seen: now - 31*day, called: now - 60}, false},
		{"more, called before", entry{seen: now - 31*day, called: now - 61}, true},
		{"failed twice", entry{seen: now, attempts: 2}, false},
		{"failed three times", entry{seen: now, attempts: 3}, true},
		{"failed nine times, answered long ago", entry{seen: now, attempts: 9, answered: now - 8*day}, false},
		{"ten times", entry{seen: now, attempts: 10, answered: now - 8*day}, true},
		{"ten times, answered this week", entry{seen: now, attempts: 10, answered: now - 7*day}, false},
	} {
		if got := c.e.terrible(now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestChance(t *testing.T) {
	for _, c := range []struct {
		e    entry
		want float64
	}{
		{entry{}, 1},
		{entry{called: begin - 600}, 1},
		{entry{called: begin - 599}, 0.01},
		{entry{attempts: 1}, 0.66},
		{entry{attempts: 8}, 0.0360041},
		{entry{attempts: 1000}, 0.0360041},
	} {
		if got := c.e.chance(begin); got < c.want*0.9999 || got > c.want*1.0001 {
			t.Errorf("%+v: %v, want %v", c.e, got, c.want)
		}
	}
}

// TestTimes has the rules for the time that is told: penalty, what is no time, and how closely it is followed.
func TestTimes(t *testing.T) {
	b, clock := newBook(4)
	source, a := v4(1, 1), v4(2, 2)
	seen := func(x Address) time.Duration {
		f, ok := b.Look(x)
		if !ok {
			t.Fatalf("%v is not there", x)
		}
		return clock.now().Sub(f.Seen)
	}
	want := func(x Address, ago time.Duration) {
		t.Helper()
		if got := seen(x); got != ago {
			t.Errorf("seen %v ago, want %v", got, ago)
		}
	}
	b.Add([]Known{heard(a, clock, 48*time.Hour)}, source, 2*time.Hour)
	want(a, 50*time.Hour)
	b.Add([]Known{heard(a, clock, 25*time.Hour)}, source, 2*time.Hour) // a day's step is too short
	want(a, 50*time.Hour)
	b.Add([]Known{heard(a, clock, 23*time.Hour)}, source, 2*time.Hour) // online: an hour's step does
	want(a, 25*time.Hour)
	b.Add([]Known{heard(a, clock, 0)}, source, 0)
	want(a, 0)
	clock.move(20 * time.Minute)
	b.Connected(a)
	want(a, 20*time.Minute)
	clock.move(time.Second)
	b.Connected(a)
	want(a, 0)
	for i, when := range []time.Time{{}, time.Unix(0, 0), time.Unix(oldest, 0), clock.now().Add(601 * time.Second)} {
		x := v4(3, i)
		b.Add([]Known{{Address: x, Seen: when}}, source, 0)
		want(x, 5*24*time.Hour)
	}
	x := v4(9, 9)
	b.Add([]Known{heard(x, clock, time.Hour)}, fromBytes(IPv4, x.Bytes(), 1), time.Hour) // of itself, from another port
	want(x, time.Hour)
	check(t, b)
}

// TestAttempts: a node that is cut off from everything holds only one failure against each.
func TestAttempts(t *testing.T) {
	b, clock := newBook(5)
	a, other := v4(1, 1), v4(2, 2)
	b.Add([]Known{heard(a, clock, 0), heard(other, clock, 0)}, v4(3, 3), 0)
	for range 5 {
		clock.move(time.Hour)
		b.Attempt(a, true)
		b.Attempt(v4(8, 8), true) // nobody
	}
	if f, _ := b.Look(a); f.Attempts != 1 || !f.Called.Equal(clock.now()) {
		t.Errorf("%+v", f)
	}
	clock.move(time.Second)
	b.Good(other)
	clock.move(time.Second)
	b.Attempt(a, false)
	if f, _ := b.Look(a); f.Attempts != 1 {
		t.Errorf("%+v: held against it though not to be counted", f)
	}
	b.Attempt(a, true)
	if f, _ := b.Look(a); f.Attempts != 2 {
		t.Errorf("%+v: not held against it", f)
	}
	b.Good(a)
	b.SetServices(a, 1033)
	if f, _ := b.Look(a); f.Attempts != 0 || !f.Tried || f.Services != 1033 {
		t.Errorf("%+v", f)
	}
	if b.Good(a) || b.Good(v4(8, 8)) {
		t.Error("moved twice, or from nowhere")
	}
	check(t, b)
}

// TestNewYields: a slot of new is taken over from what is terrible or stands elsewhere too, from nothing else.
func TestNewYields(t *testing.T) {
	b, clock := newBook(6)
	source := v4(1, 1)
	told := source.Group()
	first, rival := v4(2, 0), Address{}
	for i := 1; ; i++ { // one group, one source: one bucket, so one of 64 shares the slot
		if rival = v4(2, i); b.newSlot(rival, told) == b.newSlot(first, told) {
			break
		}
	}
	tell := func(a, source Address, want int) {
		t.Helper()
		if got := b.Add([]Known{heard(a, clock, 0)}, source, 0); got != want {
			t.Fatalf("%v: %d added, want %d", a, got, want)
		}
	}
	tell(first, source, 1)
	tell(rival, source, 0)
	clock.move(31 * 24 * time.Hour) // not seen for a month
	tell(rival, source, 1)
	if _, ok := b.Look(first); ok {
		t.Error("both stand in one slot")
	}
	tell(first, v4(3, 1), 1)
	for i := 4; b.entries[b.index[rival]].refs < 2; i++ { // told by others: stands elsewhere too
		clock.move(time.Second)
		b.Add([]Known{heard(rival, clock, 0)}, v4(i, 1), 0)
	}
	clock.move(time.Second)
	elsewhere := v4(2, 1)
	for i := 2; elsewhere == rival || elsewhere == first || b.newSlot(elsewhere, told) != b.newSlot(rival, told); i++ {
		elsewhere = v4(2, i)
	}
	tell(elsewhere, source, 1)
	if _, ok := b.Look(rival); !ok {
		t.Error("lost one slot of two, and is forgotten")
	}
	check(t, b)
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	b, clock := newBook(7)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				a := v4(i%40, i)
				b.Add([]Known{heard(a, clock, time.Minute)}, v4(g, 1), 0)
				b.Attempt(a, true)
				if i%3 == 0 {
					b.Good(a)
				}
				b.Select(i%2 == 0)
				b.SelectTriedCollision()
				b.Resolve()
				b.Count(IPv4)
				if i%50 == 0 {
					b.Sample(1000, 23)
				}
			}
		})
	}
	wg.Wait()
	check(t, b)
}
