package node

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/node/blockfile"
	"stele/store"
	"stele/tables"
	"stele/validate"
)

// flat is regtest without its rule for late blocks: every header has the easiest target.
func flat() *chain.Params {
	p := *chain.Regtest()
	p.MinDifficulty = false
	return &p
}

// roomy is a store in memory for thousands of headers.
func roomy(t fataler, p *chain.Params) *rig {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(4 << 20)
	return newRig(t, d, p)
}

func gateOf(t fataler, p *chain.Params, min chain.Work, held int) *headerPool {
	t.Helper()
	tr := growTree(roomy(t, p).t, -1, func() time.Time { return time.Unix(1<<31, 0) })
	return newHeaderPool(tr, min, held, nil)
}

// mined appends n headers on one, of regtest's target.
func mined(hs []chain.Header, on chain.Header, n, salt int) []chain.Header {
	for range n {
		h := chain.Header{Version: 0x20000000, Prev: on.Hash(), Time: on.Time + 600, Bits: on.Bits}
		h.Merkle[0], h.Merkle[1], h.Merkle[2] = byte(salt), byte(salt>>8), byte(salt>>16)
		mine(&h)
		hs, on = append(hs, h), h
	}
	return hs
}

func genesisOf(g *headerPool) chain.Header { return g.tr.t.WireHeader(0) }

// send puts headers, which must be without fault.
func (g *headerPool) send(t fataler, hs []chain.Header) headersResult {
	t.Helper()
	r, err := g.put(hs, false)
	if err != nil || r.Unconnected || !r.Verdict.OK() || r.Taken != len(hs) && r.Gone == 0 {
		t.Fatalf("%d headers: %+v, %v", len(hs), r, err)
	}
	return r
}

// A million headers of the least work, in long chains and as children of genesis, in messages of all sizes: the pool
// holds no more than it may, allocates nothing, and nothing is stored. Then an honest chain comes through.
func TestHeaderFlood(t *testing.T) {
	const held = 4000
	g := gateOf(t, flat(), chain.BlockWork(0x207fffff).MulUint32(3000), held)
	flood := 1_000_000
	if testing.Short() {
		flood = 100_000
	}
	buffer := make([]chain.Header, 0, 2*headersRun)
	var slots, mallocs, most uint64
	var m runtime.MemStats
	calls := uint64(0)
	for sent, n := 0, 0; sent < flood; n++ {
		size := []int{2000, 1, 700, 2990}[n%4]
		on := genesisOf(g)
		hs := buffer[:0]
		if n%8 < 4 {
			hs = mined(hs, on, size, n) // one chain
		}
		for len(hs) < size { // children of genesis
			hs = mined(hs, on, 1, n+len(hs)<<8)
		}
		sent += size
		runtime.ReadMemStats(&m)
		before := m.Mallocs
		r := g.send(t, hs)
		runtime.ReadMemStats(&m)
		if calls++; calls > 1 {
			mallocs += m.Mallocs - before
		} else {
			slots = uint64(cap(g.pool.slots))
		}
		most = max(most, uint64(g.held()))
		if r.Added != 0 || r.Held+r.Gone > size {
			t.Fatalf("message %d: %+v", n, r)
		}
	}
	if most > held || uint64(cap(g.pool.slots)) != slots || slots != held+headersRun {
		t.Fatalf("%d headers held in %d slots, want %d in %d", most, cap(g.pool.slots), held, slots)
	}
	if mallocs > 8*calls {
		t.Fatalf("%d allocations in %d messages", mallocs, calls)
	}
	if g.tr.t.Headers() != 1 || len(g.tr.refused) != 0 || len(g.tr.vertices) != 1 {
		t.Fatalf("%d headers were stored, %d are remembered", g.tr.t.Headers(), len(g.tr.refused))
	}
	honest := mined(nil, genesisOf(g), 3500, 1<<23)
	g.send(t, honest[:1500])
	r := g.send(t, honest[1500:])
	if r.Height != 3500 || r.Added != 3500 || r.Link == none || g.tr.t.Headers() != 3501 {
		t.Fatalf("the honest chain did not come through: %+v", r)
	}
}

// Who gives way: the branch of least work, from its end, and the result says what is left of the run.
func TestHeaderRoom(t *testing.T) {
	g := gateOf(t, flat(), chain.BlockWork(0x207fffff).MulUint32(1000), 10)
	genesis := genesisOf(g)
	old := mined(nil, genesis, 6, 1)
	if r := g.send(t, old); r.Held != 6 || r.Height != 6 || r.Link != none {
		t.Fatalf("%+v", r)
	}
	other := mined(nil, genesis, 7, 2)
	r := g.send(t, other) // 13 for 10
	if r.Held != 7 || r.Gone != 0 || g.held() != 10 || r.Hash != other[6].Hash() {
		t.Fatalf("%+v, %d held", r, g.held())
	}
	if hash := old[2].Hash(); !g.has(&hash) {
		t.Fatal("more of the older branch went than had to")
	}
	if r, _ := g.put(old[4:], false); !r.Unconnected || r.Taken != 0 || !r.Hash.IsZero() {
		t.Fatalf("a header whose parent gave way is connected: %+v", r)
	}
	short := mined(nil, genesis, 2, 3)
	r = g.send(t, short) // it has less work than all others, but is the newest
	if hash := old[1].Hash(); r.Held != 2 || g.held() != 10 || g.has(&hash) {
		t.Fatalf("%+v, %d held", r, g.held())
	}
	one := mined(nil, genesis, 1, 4)
	long := mined(nil, one[0], 12, 5)
	r = g.send(t, append(one, long...))
	if r.Gone != 3 || r.Height != 10 || r.Hash != long[8].Hash() || g.held() != 10 {
		t.Fatalf("%+v, %d held", r, g.held())
	}
}

// What is wrong with a header, and what is remembered of it.
func TestHeaderVerdicts(t *testing.T) {
	p := flat()
	now := time.Unix(1<<31, 0)
	g := gateOf(t, p, chain.BlockWork(p.PowLimitBits).MulUint32(50), 100)
	g.tr.now = func() time.Time { return now }
	hs := mined(nil, genesisOf(g), 8, 1)
	want := func(reason string, taken int, hs ...chain.Header) {
		t.Helper()
		r, err := g.put(hs, false)
		if err != nil || r.Verdict.Reason != reason || r.Taken != taken || r.Unconnected {
			t.Fatalf("%q, %+v, %v", reason, r, err)
		}
	}
	want("", 5, hs[:5]...)
	bad := hs[5]
	bad.Bits = 0x207ffffe
	mine(&bad)
	want(validate.ReasonBadDiffBits, 0, bad)
	want(validate.ReasonDuplicateInvalid, 0, bad)
	child := mined(nil, bad, 1, 1)
	want(validate.ReasonBadPrev, 0, child...)
	want(validate.ReasonBadPrev, 0, mined(nil, child[0], 1, 1)...)
	weak := hs[5]
	for hash := weak.Hash(); chain.HashMeetsTarget(&hash, p.PowLimit); hash = weak.Hash() {
		weak.Nonce++
	}
	want(validate.ReasonHighHash, 0, weak)
	want(validate.ReasonHighHash, 0, weak)
	early := hs[5]
	early.Time = hs[0].Time
	mine(&early)
	want(validate.ReasonTimeTooOld, 0, early)

	now = time.Unix(int64(hs[6].Time)-7200, 0) // hs[7] is ten minutes too early
	want(validate.ReasonTimeTooNew, 2, hs[5:8]...)
	now = now.Add(10 * time.Minute)
	want("", 1, hs[7])
	now = time.Unix(1<<31, 0)

	stored := mined(nil, hs[7], 60, 2)
	r := g.send(t, stored)
	if r.Added != 68 || g.held() != 0 {
		t.Fatalf("%+v, %d held", r, g.held())
	}
	held := mined(nil, hs[3], 3, 3) // on one that is in the tree
	want("", 3, held...)
	root := hs[2].Hash()
	l, _ := g.tr.t.FindHeader(&root)
	g.tr.invalidate(l, func(tables.HeaderLink) {})
	want(validate.ReasonDuplicateInvalid, 0, stored[3])
	want(validate.ReasonBadPrev, 0, mined(nil, stored[59], 1, 4)...)
	want(validate.ReasonBadPrev, 0, mined(nil, held[2], 1, 5)...)
	g.min = chain.Work{} // now they would be credible, and turn out to be lost
	want(validate.ReasonBadPrev, 0, held[1])
	if g.held() != 0 || g.tr.t.Headers() != 69 {
		t.Fatalf("%d held, %d stored", g.held(), g.tr.t.Headers())
	}
}

// The ancestry of a held header, down the pool and into the tree, asked for heights in any order.
func TestHeldAncestry(t *testing.T) {
	p := flat()
	g := gateOf(t, p, chain.BlockWork(p.PowLimitBits).MulUint32(21), 100)
	hs := mined([]chain.Header{genesisOf(g)}, genesisOf(g), 20, 1)
	g.send(t, hs[1:])
	g.min = g.min.MulUint32(10)
	hs = mined(hs, hs[20], 15, 1)
	if r := g.send(t, hs[21:]); r.Held != 15 || g.tr.t.Headers() != 21 {
		t.Fatalf("%+v, %d stored", r, g.tr.t.Headers())
	}
	last := hs[35].Hash()
	e := pooled{on: none, parent: g.pool.find(&last)}
	g.line.start(&e)
	for _, height := range []uint32{35, 3, 34, 20, 21, 0, 20, 25, 24, 35} {
		if time, bits := g.line.At(height); time != hs[height].Time || bits != hs[height].Bits {
			t.Fatalf("header %d has time %d and bits %x, want those of %d", height, time, bits, hs[height].Time)
		}
	}
}

// Headers that were proven to be of a credible chain are stored at once, with held ones that they stand on.
func TestProvenHeaders(t *testing.T) {
	g := gateOf(t, flat(), chain.BlockWork(0x207fffff).MulUint32(1000), 10)
	hs := mined(nil, genesisOf(g), 30, 1)
	if r := g.send(t, hs[:5]); r.Held != 5 {
		t.Fatalf("%+v", r)
	}
	r, err := g.put(hs[3:], true)
	if err != nil || r.Added != 30 || r.Held != 0 || r.Taken != 27 || r.Height != 30 || g.held() != 0 {
		t.Fatalf("%+v, %v, %d held", r, err, g.held())
	}
	if r := g.send(t, mined(nil, hs[29], 3, 1)); r.Held != 3 || r.Added != 0 {
		t.Fatalf("%+v", r)
	}
}

// The index of the pool against a map.
func TestPoolAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pool
		p.reserve(40)
		all := map[chain.Hash]uint32{}
		for range 300 {
			hash := chain.Hash{byte(rapid.IntRange(0, 70).Draw(t, "hash"))}
			n, ok := all[hash]
			switch {
			case p.find(&hash) != n:
				t.Fatalf("%v is found at %d, want %d", hash[0], p.find(&hash), n)
			case ok:
				p.drop(n)
				delete(all, hash)
			case p.used < 40:
				all[hash] = p.put(&pooled{hash: hash})
			}
		}
		for hash, n := range all {
			if p.find(&hash) != n || p.used != len(all) {
				t.Fatalf("%v is found at %d, want %d, of %d", hash[0], p.find(&hash), n, p.used)
			}
		}
	})
}

// Ties: of equal branches the one that was complete first is best; after it was invalid and is reconsidered, the one
// that took its place stays, and revived ones keep their order among themselves.
func TestReconsiderTies(t *testing.T) {
	tr := growTree(memRig(t, chain.Regtest()).t, -1, time.Now)
	branch := func(nonce uint32) tables.HeaderLink {
		h := chain.Header{Prev: tr.p.GenesisHash, Bits: 0x207fffff, Nonce: nonce}
		l := unruled(t, tr, &h, 0)
		h = chain.Header{Prev: tr.t.Header(l).Hash(), Bits: 0x207fffff, Nonce: nonce}
		return unruled(t, tr, &h, l)
	}
	a, b, c := branch(1), branch(2), branch(3)
	want := func(l tables.HeaderLink) {
		t.Helper()
		if got := tr.best().l; got != l {
			t.Fatalf("best is %d, want %d", got, l)
		}
	}
	set := func(s tables.State, at ...tables.HeaderLink) {
		t.Helper()
		for _, l := range at {
			if err := tr.t.SetState(l, s); err != nil {
				t.Fatal(err)
			}
			tr.invalidate(l, func(tables.HeaderLink) {})
		}
	}
	revive := func(l tables.HeaderLink) {
		t.Helper()
		clear := func(root tables.HeaderLink) error { return tr.t.SetState(root, tables.StateUnknown) }
		if err := tr.reconsider(l, clear); err != nil {
			t.Fatal(err)
		}
	}
	want(a)
	set(tables.StateRejected, a)
	want(b)
	revive(a)
	want(b)
	set(tables.StateRejected, b)
	want(c)
	set(tables.StateInvalid, c)
	want(a)
	set(tables.StateInvalid, tr.vertices[a].parent)
	revive(0) // all causes stand on genesis: b was complete before c, and both before a was again
	want(b)
}

// What is missing, as branches overtake each other.
func TestMissingFollowsTheHeaviest(t *testing.T) {
	tr := growTree(memRig(t, chain.Regtest()).t, -1, time.Now)
	bare := func(on tables.HeaderLink, n int, nonce uint32) (all []tables.HeaderLink) {
		for range n {
			h := chain.Header{Prev: tr.t.Header(on).Hash(), Bits: 0x207fffff, Nonce: nonce}
			hash := h.Hash()
			l, err := tr.t.PutHeader(&h, &hash, on, 0)
			if err != nil {
				t.Fatal(err)
			}
			tr.add(on, tr.vertices[on].height+1)
			tr.weigh(l)
			all, on = append(all, l), l
		}
		return all
	}
	want := func(from uint32, max int, want ...tables.HeaderLink) {
		t.Helper()
		if got := tr.missing(from, nil, max); !slices.Equal(got, want) {
			t.Fatalf("missing from %d: %v, want %v", from, got, want)
		}
	}
	want(0, 10)
	a := bare(0, 3, 1)
	want(0, 2, a[:2]...)
	want(2, 9, a[1:]...)
	want(4, 9)
	for _, l := range a {
		arrive(tr, l)
	}
	want(0, 9)
	b := bare(a[0], 3, 2) // overtakes a at the fork's third
	want(0, 9, b...)
	arrive(tr, b[1])
	want(0, 9, b[0], b[2])
	tr.stop = 3
	want(0, 9, b[0])
	tr.stop = -1
	more := bare(a[2], 2, 3)
	want(0, 9, more...)
	tr.vertices[a[1]].body = 0
	tr.withdraw(a[1])
	want(0, 9, append([]tables.HeaderLink{a[1]}, more...)...)
	tr.invalidate(a[1], func(tables.HeaderLink) {})
	want(0, 9, b[0], b[2])
}

// unruled puts a header that no rule has seen to the tree, with its block.
func unruled(t fataler, tr *tree, h *chain.Header, on tables.HeaderLink) tables.HeaderLink {
	hash := h.Hash()
	l, err := tr.t.PutHeader(h, &hash, on, 0)
	if err != nil {
		t.Fatal(err)
	}
	tr.add(on, tr.vertices[on].height+1)
	tr.weigh(l)
	arrive(tr, l)
	return l
}

// arrive gives a header a body.
func arrive(tr *tree, l tables.HeaderLink) {
	var b bodies
	b.attach(&tr.vertices[l], l, b.add(blockfile.Place{}))
	tr.settle(l)
}
