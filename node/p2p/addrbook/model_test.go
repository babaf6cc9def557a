package addrbook

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fact is what the model remembers of an address, told in other words than the book's.
type fact struct {
	services uint64
	good     bool // ever, since it came in
	failures int  // held against it since the last success
	blamed   bool // for the present run of failures: since the last success of anybody
	called   int64
	answered int64
}

// machine drives a book beside facts. The pool is small and its groups are few, so that slots of both tables collide.
type machine struct {
	book  *Book
	clock *hand
	facts map[Address]*fact // of what the book held last
}

func (m *machine) address(t *rapid.T) Address {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return fromBytes(TorV3, []byte{1, byte(rapid.IntRange(0, 99).Draw(t, "n"))}, 8333)
	case 1:
		return fromBytes(I2P, []byte{1, byte(rapid.IntRange(0, 99).Draw(t, "n"))}, 0)
	}
	return v4(rapid.IntRange(0, 1).Draw(t, "group"), rapid.IntRange(0, 299).Draw(t, "n"))
}

// add tells of addresses one by one, since an address that another pushes out has forgotten all when it comes again.
func (m *machine) add(t *rapid.T) {
	source := v4(rapid.IntRange(1, 12).Draw(t, "source"), 7)
	penalty := time.Duration(rapid.IntRange(0, 2).Draw(t, "penalty")) * time.Hour
	for range rapid.IntRange(1, 12).Draw(t, "many") {
		ago := time.Duration(rapid.IntRange(-20, 40*24*60).Draw(t, "ago")) * time.Minute
		k := Known{m.address(t), 1 << rapid.IntRange(0, 12).Draw(t, "services"), m.clock.now().Add(-ago)}
		before := m.book.Len()
		if m.book.Add([]Known{k}, source, penalty) == 0 && m.book.Len() != before {
			t.Fatalf("none added, from %d to %d", before, m.book.Len())
		}
		if m.facts[k.Address] == nil {
			m.facts[k.Address] = &fact{called: -1, answered: -1}
		}
		m.facts[k.Address].services |= k.Services
		m.forget()
		if found, ok := m.book.Look(k.Address); ok && found.Services != m.facts[k.Address].services {
			t.Fatalf("%v has services %x, told were %x", k.Address, found.Services, m.facts[k.Address].services)
		}
	}
}

// forget drops the facts of what the book does not hold any more.
func (m *machine) forget() {
	for a := range m.facts {
		if _, ok := m.book.Look(a); !ok {
			delete(m.facts, a)
		}
	}
}

func (m *machine) attempt(t *rapid.T) {
	a, count := m.address(t), rapid.Bool().Draw(t, "count")
	m.book.Attempt(a, count)
	if f := m.facts[a]; f != nil {
		f.called = m.clock.seconds
		if count && !f.blamed {
			f.failures, f.blamed = f.failures+1, true
		}
	}
}

func (m *machine) good(t *rapid.T) {
	a := m.address(t)
	m.clock.move(time.Second) // a success is after whatever was blamed before it
	moved := m.book.Good(a)
	for _, f := range m.facts {
		f.blamed = false
	}
	f := m.facts[a]
	if f == nil {
		if moved {
			t.Fatalf("%v moved from nowhere", a)
		}
		return
	}
	f.called, f.answered, f.failures, f.good = m.clock.seconds, m.clock.seconds, 0, true
	if found, _ := m.book.Look(a); moved && !found.Tried {
		t.Fatalf("%v moved, but not to tried", a)
	}
	m.clock.move(time.Second) // and before whatever will be
}

func (m *machine) pick(t *rapid.T) {
	newOnly := rapid.Bool().Draw(t, "new only")
	some := rapid.SampledFrom([]Network{IPv4, IPv6, TorV3, I2P})
	nets := rapid.SliceOfNDistinct(some, 0, 3, rapid.ID[Network]).Draw(t, "nets")
	fresh, tried := m.book.Count(nets...)
	f, ok := m.book.Select(newOnly, nets...)
	if ok != (fresh > 0 || tried > 0 && !newOnly) {
		t.Fatalf("picked: %v of %d and %d", ok, fresh, tried)
	}
	if ok && (m.facts[f.Address] == nil || newOnly && f.Tried) {
		t.Fatalf("picked %+v, new only: %v", f, newOnly)
	}
	for _, n := range nets {
		if f.Net == n {
			return
		}
	}
	if ok && len(nets) > 0 {
		t.Fatalf("picked %v, not of %v", f.Address, nets)
	}
}

func (m *machine) settle(t *rapid.T) {
	if f, ok := m.book.SelectTriedCollision(); ok {
		if !f.Tried {
			t.Fatalf("%v is to be tested, but is not in tried", f.Address)
		}
		if rapid.Bool().Draw(t, "answers") {
			m.clock.move(time.Second)
			m.book.Good(f.Address)
			for _, other := range m.facts {
				other.blamed = false
			}
			of := m.facts[f.Address]
			of.called, of.answered, of.failures = m.clock.seconds, m.clock.seconds, 0
			m.clock.move(time.Second)
		} else {
			m.book.Attempt(f.Address, false)
			m.facts[f.Address].called = m.clock.seconds
		}
	}
	m.clock.move(time.Duration(rapid.IntRange(0, 300).Draw(t, "wait")) * time.Minute)
	m.book.Resolve()
}

func (m *machine) sample(t *rapid.T) {
	most, pct := rapid.IntRange(0, 50).Draw(t, "max"), rapid.IntRange(0, 100).Draw(t, "pct")
	list := m.book.Sample(most, pct)
	if most > 0 && len(list) > most || pct > 0 && len(list) > m.book.Len()*pct/100 {
		t.Fatalf("%d of %d, at most %d and %d %%", len(list), m.book.Len(), most, pct)
	}
	twice := make(map[Address]bool)
	for _, k := range list {
		if twice[k.Address] || m.facts[k.Address] == nil {
			t.Fatalf("%v is told twice or from nowhere", k.Address)
		}
		twice[k.Address] = true
	}
}

// reopen goes on with what a file of the book says.
func (m *machine) reopen(t *rapid.T) {
	b := New(options(m.clock, byte(rapid.IntRange(0, 255).Draw(t, "seed"))))
	if err := b.decode(m.book.encode(nil)); err != nil {
		t.Fatal(err)
	}
	if err := same(m.book, b); err != nil {
		t.Fatal(err)
	}
	m.book = b
}

// TestModel drives a book through everything at random. After every step all invariants hold, and every entry says what
// happened to it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, clock := newBook(byte(rapid.IntRange(0, 255).Draw(t, "seed")))
		m := &machine{book: b, clock: clock, facts: make(map[Address]*fact)}
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "add more": m.add, "attempt": m.attempt, "good": m.good, "pick": m.pick,
			"settle": m.settle, "sample": m.sample, "reopen": m.reopen,
			"time":      func(t *rapid.T) { clock.move(time.Duration(rapid.IntRange(1, 10*24).Draw(t, "hours")) * time.Hour) },
			"connected": func(t *rapid.T) { m.book.Connected(m.address(t)) },
			"":          m.compare,
		})
	})
}

func (m *machine) compare(t *rapid.T) {
	if err := m.book.broken(); err != nil {
		t.Fatal(err)
	}
	m.forget()
	if m.book.Len() != len(m.facts) {
		t.Fatalf("%d entries, %d known of", m.book.Len(), len(m.facts))
	}
	for a, f := range m.facts {
		found, _ := m.book.Look(a)
		if found.Attempts != f.failures || found.Tried && !f.good {
			t.Fatalf("%v: %+v, want %+v", a, found, f)
		}
		if !sameMoment(found.Called, f.called) || !sameMoment(found.Answered, f.answered) {
			t.Fatalf("%v: %+v, want %+v", a, found, f)
		}
	}
}

func sameMoment(t time.Time, seconds int64) bool {
	if seconds < 0 {
		return t.IsZero()
	}
	return t.Unix() == seconds
}
