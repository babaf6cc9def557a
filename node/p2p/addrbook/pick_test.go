package addrbook

import (
	"testing"
	"time"
)

// crowd makes a book in which a newcomer waits for the tried slot of an owner. Both answered at the clock's time.
func crowd(t *testing.T) (b *Book, clock *hand, owner, newcomer Address) {
	t.Helper()
	b, clock = newBook(8)
	for i := 0; len(b.pending) == 0; i++ {
		a := v4(1, i)
		b.Add([]Known{heard(a, clock, time.Hour)}, v4(i, 1), 0)
		b.Good(a)
		newcomer = a
	}
	owner = b.entries[b.tried[b.triedSlot(newcomer)].entry()].addr
	return b, clock, owner, newcomer
}

func inTried(b *Book, a Address) bool {
	f, _ := b.Look(a)
	return f.Tried
}

// TestResolve has each way that a collision in tried may end (Core's ResolveCollisions).
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name   string
		before time.Duration // since both answered, until the owner is called
		call   bool
		after  time.Duration // since the call, until Resolve
		answer bool          // the owner's
		moves  bool          // the newcomer does
		waits  bool          // still
	}{
		{name: "the owner answered just now"},
		{name: "the owner answered within four hours", before: 4*time.Hour - time.Second},
		{name: "the owner is being called", before: 5 * time.Hour, call: true, after: time.Minute, waits: true},
		{name: "the owner does not answer", before: 5 * time.Hour, call: true, after: 61 * time.Second, moves: true},
		{name: "the owner answers", before: 5 * time.Hour, call: true, after: 61 * time.Second, answer: true},
		{name: "nobody calls the owner", before: 5 * time.Hour, moves: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, clock, owner, newcomer := crowd(t)
			clock.move(c.before)
			if f, ok := b.SelectTriedCollision(); !ok || f.Address != owner {
				t.Fatalf("%+v is to be tested, want %v", f, owner)
			}
			if c.call {
				b.Attempt(owner, false)
			}
			if c.answer {
				b.Good(owner)
			}
			clock.move(c.after)
			b.Resolve()
			check(t, b)
			if inTried(b, newcomer) != c.moves || inTried(b, owner) == c.moves || (len(b.pending) > 0) != c.waits {
				t.Errorf("newcomer in tried %v, owner %v, %d wait", inTried(b, newcomer), inTried(b, owner), len(b.pending))
			}
			e := b.entries[b.index[owner]]
			if c.moves && (e.addr != owner || e.refs != 1 || e.slots[0] != b.newSlot(owner, e.source.Group())) {
				t.Errorf("the owner should be back in new where its source put it: %+v", e)
			}
		})
	}
}

// TestResolveVoid: newcomers that moved or are forgotten meanwhile wait no more, and a slot that got free is taken.
func TestResolveVoid(t *testing.T) {
	b, clock, owner, newcomer := crowd(t)
	b.mu.Lock()
	b.demote(owner, b.triedSlot(owner))
	b.mu.Unlock()
	if f, ok := b.SelectTriedCollision(); ok {
		t.Errorf("%+v is to be tested in a free slot", f)
	}
	b.Resolve()
	if !inTried(b, newcomer) || len(b.pending) != 0 {
		t.Error("the slot is free, and not taken")
	}
	b.pending = append(b.pending, newcomer, v4(77, 77))
	clock.move(5 * time.Hour)
	for range 20 {
		if f, ok := b.SelectTriedCollision(); ok {
			t.Errorf("%+v is to be tested for nobody", f)
		}
	}
	b.Resolve()
	if len(b.pending) != 0 {
		t.Errorf("%v wait", b.pending)
	}
	check(t, b)
}

func TestSelectNothing(t *testing.T) {
	b, clock := newBook(9)
	if _, ok := b.Select(false); ok {
		t.Error("found in an empty book")
	}
	b.Add([]Known{heard(v4(1, 1), clock, 0)}, v4(1, 1), 0)
	if f, ok := b.Select(true); !ok || f.Address != v4(1, 1) || f.Services != 9 || !f.Called.IsZero() {
		t.Errorf("%+v, %v", f, ok)
	}
	b.Good(v4(1, 1))
	if _, ok := b.Select(true); ok {
		t.Error("one that was tried is called new")
	}
	if _, ok := b.Select(false, TorV3); ok {
		t.Error("found of another network")
	}
	if _, ok := b.Select(false, TorV3, IPv4); !ok {
		t.Error("not found")
	}
}

// TestSelectShares: tried and new get even odds whatever their numbers, and what failed is picked less often. The bounds
// are six standard deviations of the counts that the weights give.
func TestSelectShares(t *testing.T) {
	b, clock := newBook(10)
	for i := range 1000 {
		b.Add([]Known{heard(v4(i, 1), clock, 0)}, v4(i, 1), 0)
	}
	for i := range 20 {
		b.Good(v4(i, 1))
	}
	clock.move(time.Hour)
	tried := 0
	for range 4000 {
		if f, _ := b.Select(false); f.Tried {
			tried++
		}
	}
	if tried < 2000-190 || tried > 2000+190 {
		t.Errorf("%d of 4000 from tried", tried)
	}
	// Two alone in the book, one of them called just now: it has a hundredth of the weight.
	b, clock = newBook(11)
	fair, called := v4(1, 1), v4(2, 2)
	b.Add([]Known{heard(fair, clock, 0), heard(called, clock, 0)}, v4(3, 3), 0)
	b.Attempt(called, false)
	n := 0
	for range 1000 {
		if f, _ := b.Select(true); f.Address == called {
			n++
		}
	}
	if n > 60 {
		t.Errorf("%d of 1000 are the one that was called just now", n)
	}
}

// TestSample: Core's answer to getaddr is at most 23 percent and 1,000, without what is terrible.
func TestSample(t *testing.T) {
	b, clock := newBook(12)
	if got := b.Sample(1000, 23); len(got) != 0 {
		t.Errorf("%d from an empty book", len(got))
	}
	for i := range 6000 {
		b.Add([]Known{heard(v4(i, 1), clock, 0)}, v4(i, 1), 0)
	}
	onion := fromBytes(TorV3, []byte{1}, 8333)
	b.Add([]Known{heard(onion, clock, 0)}, v4(1, 1), 0)
	n := b.Len()
	for _, c := range []struct{ most, pct, want int }{
		{1000, 23, 1000}, {0, 23, n * 23 / 100}, {10, 0, 10}, {0, 0, n}, {0, 200, n},
	} {
		if got := b.Sample(c.most, c.pct); len(got) != c.want {
			t.Errorf("max %d, %d %%: %d, want %d", c.most, c.pct, len(got), c.want)
		}
	}
	if got := b.Sample(0, 0, TorV3); len(got) != 1 || got[0].Address != onion {
		t.Errorf("onions: %v", got)
	}
	clock.move(31 * 24 * time.Hour)
	b.Add([]Known{heard(v4(9999, 1), clock, 0)}, v4(9999, 1), 0)
	if got := b.Sample(0, 0); len(got) != 1 {
		t.Errorf("%d, but all but one are a month old", len(got))
	}
}

func BenchmarkAdd(b *testing.B) {
	book, clock := newBook(1)
	list := make([]Known, 1000)
	for i := range b.N {
		for j := range list {
			n := i*1000 + j
			list[j] = heard(v4(n*7919%40000, n), clock, time.Hour)
		}
		book.Add(list, v4(i%5000, 1), 0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/address")
}

// BenchmarkSelectRare picks the only address of its network out of a full book: the worst case.
func BenchmarkSelectRare(b *testing.B) {
	book, clock := newBook(1)
	for i := range 300_000 {
		book.Add([]Known{heard(v4(i%20000, i), clock, 0)}, v4(i%9973, 1), 0)
	}
	for i := 0; ; i++ {
		a := fromBytes(CJDNS, []byte{0xfc, byte(i)}, 8333)
		if book.Add([]Known{heard(a, clock, 0)}, v4(i, 1), 0) == 1 {
			book.Attempt(a, true)
			break
		}
	}
	for b.Loop() {
		if _, ok := book.Select(false, CJDNS); !ok {
			b.Fatal("not found")
		}
	}
}
