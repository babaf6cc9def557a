package download

import (
	"slices"
	"testing"
	"time"

	"stele/chain"
)

// desk is a scheduler with a clock, for tests of single rules.
type desk struct {
	t   *testing.T
	s   *Scheduler
	now time.Time
}

func newDesk(t *testing.T, o Options, blocks int, peers ...Peer) *desk {
	d := &desk{t, New(o), time.Unix(1e9, 0)}
	d.s.Refill(wantsOf(1, blocks))
	for i, p := range peers {
		d.s.Join(d.now, PeerID(i+1), p)
	}
	return d
}

func wantsOf(from, to int) (ws []Want) {
	for i := from; i <= to; i++ {
		ws = append(ws, Want{hashOf(i), uint32(i)})
	}
	return ws
}

// plan lets some time go by and gives the numbers of the blocks that each peer is asked for.
func (d *desk) plan(after time.Duration) (map[PeerID][]int, Plan) {
	d.now = d.now.Add(after)
	p := d.s.Plan(d.now, 1<<40, 0)
	asks := map[PeerID][]int{}
	for _, r := range p.Requests {
		for _, h := range r.Hashes {
			for i := range 2000 {
				if hashOf(i) == h {
					asks[r.Peer] = append(asks[r.Peer], i)
				}
			}
		}
	}
	consistent(d.t, d.s)
	return asks, p
}

func (d *desk) block(id PeerID, n int) Arrival {
	h := hashOf(n)
	return d.s.Block(d.now, id, &h, 1000)
}

// TestWhoHasWhat: a peer is asked for what it has, and a limited one for its last 286 blocks (BIP159, Core's margin).
func TestWhoHasWhat(t *testing.T) {
	d := newDesk(t, Options{Bulk: 2000, TipWithin: 1}, 1000, Peer{Height: 3}, Peer{Height: 600, Limited: true})
	d.s.size = mean{1000, 64}
	d.s.peers[0].rate, d.s.peers[1].rate = 1e9, 1e9
	asks, _ := d.plan(0)
	if got := asks[1]; !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("peer of 3 blocks was asked for %v", got)
	}
	var want []int
	for i := 315; i <= 600; i++ {
		want = append(want, i)
	}
	if got := asks[2]; !slices.Equal(got, want) {
		t.Errorf("limited peer was asked for %v", got)
	}
	d.s.Has(1, 5)
	if asks, _ = d.plan(0); !slices.Equal(asks[1], []int{4, 5}) {
		t.Errorf("asked for %v as its chain grew by 2", asks[1])
	}
}

// TestAtTip: few wanted blocks mean 16 in flight from a peer at most (Core's number).
func TestAtTip(t *testing.T) {
	d := newDesk(t, Options{}, 100, Peer{Height: 100})
	d.s.size = mean{1000, 64}
	if asks, _ := d.plan(0); len(asks[1]) != 16 {
		t.Fatalf("asked for %d", len(asks[1]))
	}
	d.block(1, 1)
	if asks, _ := d.plan(0); !slices.Equal(asks[1], []int{17}) {
		t.Errorf("then asked for %v", asks[1])
	}
}

// TestAnnounced: the block is asked of who announced it, though another peer is faster; a branch beside the best chain
// only of those.
func TestAnnounced(t *testing.T) {
	d := newDesk(t, Options{}, 0, Peer{Height: 9}, Peer{Height: 9}, Peer{Height: 9})
	d.s.peers[0].rate = 1e9
	d.s.Announce(d.now, 2, wantsOf(10, 10))
	d.s.Refill(wantsOf(10, 10))
	d.s.Announce(d.now, 3, wantsOf(500, 501)) // beside
	asks, _ := d.plan(0)
	if !slices.Equal(asks[2], []int{10}) || !slices.Equal(asks[3], []int{500, 501}) || len(asks[1]) != 0 {
		t.Fatalf("asked %v", asks)
	}
	for i, n := range []int{500, 501} {
		if a := d.block(3, n); a != Take {
			t.Errorf("%d: %v", i, a)
		}
	}
	if a := d.block(3, 501); a != Unasked {
		t.Errorf("a second time: %v", a)
	}
	d.s.Leave(d.now, 2) // before it sent
	d.s.Has(1, 10)
	if asks, _ = d.plan(0); !slices.Equal(asks[1], []int{10}) {
		t.Errorf("then asked %v", asks)
	}
}

// TestUnasked: a block that was not asked of this peer is taken if it is wanted and fits the window, not else.
func TestUnasked(t *testing.T) {
	d := newDesk(t, Options{Window: 2500}, 9, Peer{})
	if a := d.block(1, 4); a != Take {
		t.Errorf("wanted: %v", a)
	}
	if a := d.block(1, 5); a != Take {
		t.Errorf("wanted, within the window: %v", a)
	}
	if a := d.block(1, 6); a != Unasked {
		t.Errorf("wanted, beyond the window: %v", a)
	}
	if a := d.block(1, 1); a != Take {
		t.Errorf("the front: %v", a)
	}
	if a := d.block(1, 900); a != Unasked {
		t.Errorf("unknown: %v", a)
	}
	if a := d.block(77, 2); a != Take {
		t.Errorf("of a peer that left: %v", a)
	}
	if st := d.s.Stats(); st.Taken != 4 || st.Unasked != 2 || st.WaitingBytes != 2000 {
		t.Errorf("%+v", st)
	}
}

// TestMutant: the sender of a mutated body is dropped; another is asked, and the first never again, even if the node's
// verdict comes when the block is forgotten and the peer was kept.
func TestMutant(t *testing.T) {
	d := newDesk(t, Options{}, 1, Peer{Height: 1})
	d.plan(0)
	if a := d.block(1, 1); a != Take {
		t.Fatal(a)
	}
	d.s.Refill(nil)
	h := hashOf(1)
	d.s.Refused(d.now, &h, 1, Mutated)
	d.s.Refill(wantsOf(1, 1))
	asks, p := d.plan(0)
	if len(asks) != 0 || len(p.Drops) != 1 || p.Drops[0] != (Drop{1, SentMutant}) {
		t.Fatalf("asked %v, dropped %v", asks, p.Drops)
	}
	d.s.Join(d.now, 1, Peer{Height: 1})
	if asks, _ = d.plan(time.Second); len(asks) != 0 {
		t.Fatalf("asked %v", asks)
	}
	if a := d.block(1, 1); a != Unasked {
		t.Errorf("a second body: %v", a)
	}
	d.s.Join(d.now, 2, Peer{Height: 1})
	if asks, _ = d.plan(time.Second); !slices.Equal(asks[2], []int{1}) {
		t.Fatalf("asked %v", asks)
	}
}

// TestCondemned: the block and all above it are wanted no more; what is on its way may come.
func TestCondemned(t *testing.T) {
	d := newDesk(t, Options{}, 4, Peer{Height: 9}, Peer{Height: 9})
	d.plan(0)
	holder := d.s.order[2].holders[0]
	if a := d.block(d.s.order[1].holders[0], 2); a != Take {
		t.Fatal(a)
	}
	h := hashOf(2)
	d.s.Refused(d.now, &h, 1, Condemned)
	if st := d.s.Stats(); st.FrontHeight != 1 || len(d.s.order) != 1 || st.WaitingBytes != 0 {
		t.Errorf("%+v", st)
	}
	if a := d.block(holder, 3); a != Take {
		t.Errorf("one that was on its way: %v", a)
	}
	if _, p := d.plan(0); len(p.Drops) != 0 {
		t.Errorf("dropped %v: who sent it is the caller's to judge", p.Drops)
	}
}

// TestHedge: the front is late; a second peer is asked, its answer counts, the silent first one is relieved of all else,
// and its own answer is a duplicate.
func TestHedge(t *testing.T) {
	d := newDesk(t, Options{AtTip: 2}, 4, Peer{Height: 4}, Peer{Height: 4})
	d.s.size = mean{1000, 64}
	asks, _ := d.plan(0)
	first := asks[1]
	if len(first) != 2 || len(asks[2]) != 2 {
		t.Fatalf("asked %v", asks)
	}
	d.now = d.now.Add(200 * time.Millisecond)
	for _, n := range asks[2] {
		d.block(2, n)
	}
	asks, p := d.plan(time.Second)
	if !slices.Equal(asks[2], first) || len(p.Drops) != 0 {
		t.Fatalf("asked %v, dropped %v; first %v", asks, p.Drops, first)
	}
	d.now = d.now.Add(100 * time.Millisecond)
	if a := d.block(2, first[0]); a != Take {
		t.Fatal(a)
	}
	_, p = d.plan(0)
	back := []chain.Hash{hashOf(first[1])}
	if len(p.Cancelled) != 1 || p.Cancelled[0].Peer != 1 || !slices.Equal(p.Cancelled[0].Hashes, back) {
		t.Errorf("cancelled %v", p.Cancelled)
	}
	if a := d.block(1, first[0]); a != Duplicate {
		t.Errorf("the loser's: %v", a)
	}
	if st := d.s.Stats(); st.Hedged != 2 || st.HedgesWon != 1 || st.Duplicates != 1 || st.Relieved != 1 {
		t.Errorf("%+v", st)
	}
}

// TestStallTimeout: 2 s at first, and doubled for the next (Core); a peer that is the only one is given 64 s.
func TestStallTimeout(t *testing.T) {
	d := newDesk(t, Options{}, 1, Peer{Height: 1}, Peer{Height: 1}, Peer{Height: 1})
	at := map[PeerID]time.Duration{}
	for now := time.Duration(0); now < 100*time.Second; now += 100 * time.Millisecond {
		_, p := d.plan(100 * time.Millisecond)
		for _, r := range p.Drops {
			at[r.Peer] = now
			if want := map[int]Reason{1: Stalled, 2: Stalled, 3: Silent}[len(at)]; r.Reason != want {
				t.Errorf("peer %d: %v at %v", r.Peer, r.Reason, now)
			}
		}
	}
	var times []time.Duration
	for _, a := range at {
		times = append(times, a)
	}
	slices.Sort(times)
	if len(times) != 3 || times[0] != 2*time.Second || times[1] != 6*time.Second || times[2] < 64*time.Second {
		t.Errorf("dropped at %v", at)
	}
}

// TestRejoin: a peer that was dropped and is kept all the same is asked for the same again.
func TestRejoin(t *testing.T) {
	d := newDesk(t, Options{}, 1, Peer{Height: 1})
	d.plan(0)
	d.s.Leave(d.now, 1)
	d.s.Join(d.now, 1, Peer{Height: 1})
	if asks, _ := d.plan(0); !slices.Equal(asks[1], []int{1}) {
		t.Errorf("asked %v", asks)
	}
}

// TestDeviation: of four peers one is an eighth as fast: relieved. Two speeds of many each: none is slow.
func TestDeviation(t *testing.T) {
	for _, c := range []struct {
		rates []int64
		slow  []PeerID
	}{
		{[]int64{100, 100, 100, 12}, []PeerID{4}},
		{[]int64{100, 100, 12}, nil}, // too few to say
		{[]int64{100, 100, 100, 10, 10, 10}, nil},
		{[]int64{100, 90, 110, 95, 60}, nil}, // far off in deviations, but above half
		{[]int64{100, 90, 110, 95, 45}, []PeerID{5}},
	} {
		d := newDesk(t, Options{}, 0)
		for i, r := range c.rates {
			id := PeerID(i + 1)
			d.s.Join(d.now, id, Peer{})
			p := d.s.byID[id]
			p.add(0, &chain.Hash{byte(i)}, 1)
			d.s.blocks[chain.Hash{byte(i)}] = &block{Want: Want{Hash: chain.Hash{byte(i)}}, state: asked, side: true,
				owers: 1, holders: []PeerID{id}}
			d.s.flight++
			p.busy, p.got = 10*time.Second, 10*r
		}
		d.s.now = 10 * time.Second
		d.s.compare()
		var slow []PeerID
		for _, p := range d.s.peers {
			if p.resting {
				slow = append(slow, p.id)
			}
		}
		if !slices.Equal(slow, c.slow) {
			t.Errorf("%v: slow are %v", c.rates, slow)
		}
	}
}

// TestUnits: single blocks near the front, longer runs far out, and neighbours near the front with different peers.
func TestUnits(t *testing.T) {
	d := newDesk(t, Options{}, 1500, Peer{Height: 1500}, Peer{Height: 1500}, Peer{Height: 1500})
	d.s.size = mean{1 << 20, 64}
	for _, p := range d.s.peers {
		p.rate = 20 << 20
	}
	asks, _ := d.plan(0)
	owner := map[int]PeerID{}
	for id, blocks := range asks {
		for _, n := range blocks {
			owner[n] = id
		}
	}
	for n := 1; n < 100; n++ {
		if owner[n] == 0 || owner[n] == owner[n+1] {
			t.Fatalf("blocks %d and %d are both of peer %d", n, n+1, owner[n])
		}
	}
	if owner[130] != owner[131] && owner[131] != owner[132] {
		t.Errorf("far out: %d, %d, %d", owner[130], owner[131], owner[132])
	}
}

// TestCountedAgain: the only peer with the front was relieved of it; it is counted upon again, without being asked twice.
func TestCountedAgain(t *testing.T) {
	d := newDesk(t, Options{}, 2, Peer{Height: 2})
	d.plan(0)
	d.s.relieve(d.s.peers[0])
	asks, p := d.plan(0)
	if len(asks) != 0 || len(p.Cancelled) != 1 || !slices.Equal(d.s.order[0].holders, []PeerID{1}) {
		t.Errorf("asked %v, cancelled %v, holders %v", asks, p.Cancelled, d.s.order[0].holders)
	}
	d.s.Join(d.now, 1, Peer{Height: 2}) // there already
	for n := 1; n <= 2; n++ {
		if a := d.block(1, n); a != Take {
			t.Errorf("%d: %v", n, a)
		}
	}
	if d.s.peers[0].resting {
		t.Error("rests when it owes nothing")
	}
}

// TestCondemnedAbove: what lies below the condemned block, arrived or not, stays as it is.
func TestCondemnedAbove(t *testing.T) {
	d := newDesk(t, Options{}, 9, Peer{Height: 9}, Peer{Height: 9})
	d.plan(0)
	for _, n := range []int{1, 2, 4, 6, 8} {
		if a := d.block(1, n); a != Take {
			t.Errorf("%d: %v", n, a)
		}
	}
	h := hashOf(6)
	d.s.Refused(d.now, &h, 1, Condemned)
	if st := d.s.Stats(); st.FrontHeight != 3 || st.WaitingBytes != 1000 {
		t.Errorf("%+v", st)
	}
	d.plan(0)
	d.s.Refill(append(wantsOf(3, 5), wantsOf(5, 5)...)) // one named twice
	if st := d.s.Stats(); st.FrontHeight != 3 || st.WaitingBytes != 1000 || len(d.s.order) != 3 {
		t.Errorf("%+v", st)
	}
	d.plan(0)
}

// TestNotFound: another peer is asked; a full peer may be without a block twice (its chain may have changed), not thrice.
func TestNotFound(t *testing.T) {
	d := newDesk(t, Options{}, 3, Peer{Height: 3})
	d.plan(0)
	for n := 1; n <= 3; n++ {
		h := hashOf(n)
		d.s.NotFound(d.now, 1, &h)
		d.s.NotFound(d.now, 1, &h) // says it twice
		d.s.NotFound(d.now, 9, &h) // of a peer that is not there
		_, p := d.plan(0)
		if dropped := len(p.Drops) == 1 && p.Drops[0] == (Drop{1, LacksBlock}); dropped != (n == 3) {
			t.Errorf("after %d: %v", n, p.Drops)
		}
	}
	d.s.Announce(d.now, 1, wantsOf(4, 4)) // it is gone
	d.s.Join(d.now, 2, Peer{Height: 4})
	if asks, _ := d.plan(0); !slices.Equal(asks[2], []int{1, 2, 3}) {
		t.Errorf("asked %v", asks)
	}
}

// TestClock: a day goes by between two calls, and back again; only the step that is allowed counts, so nobody is blamed.
func TestClock(t *testing.T) {
	d := newDesk(t, Options{MaxStep: time.Second}, 2, Peer{Height: 2}, Peer{Height: 2})
	d.plan(0)
	for _, jump := range []time.Duration{24 * time.Hour, -48 * time.Hour} {
		if _, p := d.plan(jump); len(p.Drops) != 0 {
			t.Errorf("%v: dropped %v", jump, p.Drops)
		}
	}
	_, p := d.plan(time.Second)
	if len(p.Drops) != 1 || p.Drops[0].Reason != Stalled { // two seconds in all
		t.Errorf("dropped %v", p.Drops)
	}
}
