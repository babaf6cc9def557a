package node

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/node/blockfile"
	"stele/tables"
)

// naive is the header tree as plain as it can be: every question walks.
type naive struct {
	parent []int // -1: genesis
	work   []chain.Work
	body   []bool
	root   []bool // is invalid itself
	bad    []bool // it, or one below it
	order  []int  // when all its blocks were here, 0: they are not
	clock  int
}

func (n *naive) add(parent int, work chain.Work) {
	n.parent = append(n.parent, parent)
	n.work = append(n.work, work)
	n.body, n.root, n.order = append(n.body, false), append(n.root, false), append(n.order, 0)
	n.bad = append(n.bad, parent >= 0 && n.bad[parent])
}

// walk lists i and what stands on it: parents first, and children in the order in which they came.
func (n *naive) walk(i int) []int {
	all := []int{i}
	for at := 0; at < len(all); at++ {
		for c, p := range n.parent {
			if p == all[at] {
				all = append(all, c)
			}
		}
	}
	return all
}

// settle gives an order to what is complete on i, itself included, and has none.
func (n *naive) settle(i int) {
	for _, c := range n.walk(i) {
		if p := n.parent[c]; n.order[c] == 0 && n.body[c] && !n.bad[c] && (p < 0 || n.order[p] != 0) {
			n.clock++
			n.order[c] = n.clock
		}
	}
}

func (n *naive) withdraw(i int) {
	n.body[i] = false
	for _, c := range n.walk(i) {
		n.order[c] = 0
	}
}

// derive finds out which headers are invalid, and lists those that are not any more.
func (n *naive) derive() (revived []int) {
	for i, p := range n.parent { // parents stand before their children
		bad := n.root[i] || p >= 0 && n.bad[p]
		if n.bad[i] && !bad {
			revived = append(revived, i)
		}
		n.bad[i] = bad
	}
	return revived
}

// reconsider clears the causes at i, below it and on it.
func (n *naive) reconsider(i int) {
	for _, j := range append(n.line(i), n.walk(i)...) {
		n.root[j] = false
	}
	revived := n.derive()
	old := slices.DeleteFunc(slices.Clone(revived), func(j int) bool { return n.order[j] == 0 })
	slices.SortFunc(old, func(a, b int) int { return n.order[a] - n.order[b] })
	for _, j := range old {
		n.clock++
		n.order[j] = n.clock
	}
	for _, j := range n.walk(0) {
		if slices.Contains(revived, j) {
			n.settle(j)
		}
	}
}

// restart forgets what is in memory only: bodies and orders.
func (n *naive) restart() {
	clear(n.body)
	clear(n.order)
	n.body[0], n.order[0], n.clock = true, 1, 1
}

// line lists i and what is below it, down to genesis.
func (n *naive) line(i int) (all []int) {
	for ; i >= 0; i = n.parent[i] {
		all = append(all, i)
	}
	return all
}

func (n *naive) best() int {
	best := 0
	for i := range n.parent {
		if n.order[i] == 0 || n.bad[i] {
			continue
		}
		if c := n.work[i].Cmp(n.work[best]); c > 0 || c == 0 && n.order[i] < n.order[best] {
			best = i
		}
	}
	return best
}

// heaviest is the first one of most work.
func (n *naive) heaviest() int {
	most := 0
	for i := range n.parent {
		if !n.bad[i] && n.work[i].Cmp(n.work[most]) > 0 {
			most = i
		}
	}
	return most
}

// missing lists the blocks that are not here of the heaviest chain.
func (n *naive) missing(from, most int) (all []tables.HeaderLink) {
	line := n.line(n.heaviest())
	slices.Reverse(line)
	for height, i := range line {
		if height >= from && !n.body[i] && len(all) < most {
			all = append(all, tables.HeaderLink(i))
		}
	}
	return all
}

func (n *naive) fork(a, b int) int {
	for _, x := range n.line(a) {
		for _, y := range n.line(b) {
			if x == y {
				return x
			}
		}
	}
	return -1
}

// tips is what getchaintips says while genesis is the tip: highest first.
func (n *naive) tips(hash func(i int) chain.Hash) (all []ChainTip) {
	for i := range n.parent {
		tip := ChainTip{Height: uint32(len(n.line(i)) - 1), Hash: hash(i), Status: TipHeadersOnly}
		tip.BranchLen = tip.Height
		switch {
		case i == 0:
			tip.Status = TipActive
		case slices.Contains(n.parent, i):
			continue
		case n.bad[i]:
			tip.Status = TipInvalid
		case n.order[i] != 0:
			tip.Status = TipValidHeaders
		}
		all = append(all, tip)
	}
	slices.SortStableFunc(all, func(a, b ChainTip) int { return int(b.Height) - int(a.Height) })
	return all
}

// forest is a tree and its gate under test, and what they should hold.
type forest struct {
	naive
	r     *rig
	tr    *tree
	gate  *headerPool
	store bodies
	min   chain.Work
	made  []madeHeader // genesis first
}

// madeHeader is one header of the network's, with its place in the naive tree: -1 while it is not in there.
type madeHeader struct {
	header chain.Header
	hash   chain.Hash
	parent int
	height uint32
	work   chain.Work
	link   int
	held   bool
}

// hilly is a network whose difficulty changes every four blocks, so that branches differ in work.
func hilly() *chain.Params {
	p := *chain.Regtest()
	p.NoRetarget, p.MinDifficulty = false, false
	p.TargetTimespan = 4 * p.TargetSpacing
	return &p
}

func newForest(t fataler, min chain.Work) *forest {
	f := &forest{r: memRig(t, hilly()), min: min}
	f.add(-1, f.r.t.Header(0).Work())
	f.made = []madeHeader{{header: f.r.t.WireHeader(0), hash: f.r.p.GenesisHash, parent: -1, work: f.work[0]}}
	f.grow()
	return f
}

func (f *forest) grow() {
	f.tr = growTree(f.r.t, -1, func() time.Time { return time.Unix(1<<31, 0) })
	f.gate = newHeaderPool(f.tr, f.min, 0, nil)
	f.store = bodies{}
	f.naive.restart()
	for i := range f.made {
		f.made[i].held = false
	}
}

// make mines a header, so many seconds after its parent.
func (f *forest) make(parent int, seconds uint32) {
	p := &f.made[parent]
	h := chain.Header{Version: 0x20000000, Prev: p.hash, Time: p.header.Time + seconds, Bits: p.header.Bits}
	if height := p.height + 1; height%4 == 0 {
		first := p
		for range 3 {
			first = &f.made[first.parent]
		}
		target, _, _ := chain.CompactToTarget(p.header.Bits)
		span := min(max(p.header.Time-first.header.Time, 600), 9600)
		if target = target.MulUint32(span).DivUint32(2400); target.Cmp(f.r.p.PowLimit) > 0 {
			target = f.r.p.PowLimit
		}
		h.Bits = chain.TargetToCompact(target)
	}
	h.Merkle[0], h.Merkle[1] = byte(len(f.made)), byte(len(f.made)>>8)
	target, _, _ := chain.CompactToTarget(h.Bits)
	hash := h.Hash()
	for ; !chain.HashMeetsTarget(&hash, target); hash = h.Hash() {
		h.Nonce++
	}
	f.made = append(f.made, madeHeader{header: h, hash: hash, parent: parent, height: p.height + 1,
		work: p.work.Add(chain.BlockWork(h.Bits)), link: -1})
}

// put gives a run of made headers, each on the one before, to the gate, and works out what should become of it.
func (f *forest) put(t fataler, run []int) {
	var want headersResult
	var hs []chain.Header
	stopped := false
	for _, i := range run {
		m := &f.made[i]
		hs = append(hs, m.header)
		if stopped {
			continue
		}
		if ok := f.expect(m, &want); !ok {
			stopped = true
			continue
		}
		want.Taken++
		want.Hash, want.Work, want.Height = m.hash, m.work, m.height
	}
	for _, i := range run {
		if f.made[i].held {
			want.Held++
		}
	}
	before := f.gate.held()
	got, err := f.gate.put(hs, false)
	if err != nil {
		t.Fatal(err)
	}
	if got.Taken != want.Taken || got.Added != want.Added || got.Hash != want.Hash || got.Work != want.Work ||
		got.Height != want.Height || got.Unconnected != want.Unconnected || got.Verdict.Reason != want.Verdict.Reason {
		t.Fatalf("run %v: got %+v, want %+v", run, got, want)
	}
	if f.gate.held() != f.held() || got.Held > want.Held || got.Gone != 0 || f.gate.held()-before > got.Held {
		t.Fatalf("run %v: %d are held, want %d: %+v", run, f.gate.held(), f.held(), got)
	}
}

func (f *forest) held() (n int) {
	for i := range f.made {
		if f.made[i].held {
			n++
		}
	}
	return n
}

// expect is what should become of one header; false: the run ends here.
func (f *forest) expect(m *madeHeader, want *headersResult) bool {
	if m.link >= 0 {
		if f.bad[m.link] {
			want.Verdict.Reason = "duplicate-invalid"
		}
		return !f.bad[m.link]
	}
	if m.held {
		return true
	}
	if _, ok := f.tr.refused[m.hash]; ok {
		want.Verdict.Reason = "duplicate-invalid"
		return false
	}
	line := []*madeHeader{m} // of held ones, down to the tree
	p := &f.made[m.parent]
	for ; p.held; p = &f.made[p.parent] {
		line = append(line, p)
	}
	_, never := f.tr.refused[p.hash]
	switch {
	case never, p.link >= 0 && f.bad[p.link]:
		want.Verdict.Reason = "bad-prevblk"
		return false
	case p.link < 0:
		want.Unconnected = true
		return false
	case m.work.Cmp(f.min) < 0:
		m.held = true
		return true
	}
	for _, x := range slices.Backward(line) {
		x.held, x.link = false, len(f.parent)
		f.add(f.made[x.parent].link, x.work)
		want.Added++
	}
	return true
}

// check compares every answer of the tree with the naive one.
func (f *forest) check(t *rapid.T) {
	if got, want := f.tr.best(), f.best(); int(got.l) != want {
		t.Fatalf("best is %d, want %d", got.l, want)
	}
	if got, want := int(f.tr.heaviest), f.heaviest(); got != want {
		t.Fatalf("heaviest is %d, want %d", got, want)
	}
	for i := range f.parent {
		if v := &f.tr.vertices[i]; v.invalid != f.bad[i] || (v.order != 0) != (f.order[i] != 0) {
			t.Fatalf("header %d: invalid %v, want %v; order %d, want %d", i, v.invalid, f.bad[i], v.order, f.order[i])
		}
	}
	hash := func(i int) chain.Hash { return f.r.t.Header(tables.HeaderLink(i)).Hash() }
	if got, want := f.tr.tips(), f.tips(hash); !slices.Equal(got, want) {
		t.Fatalf("tips are %+v, want %+v", got, want)
	}
	if rapid.Bool().Draw(t, "missing") {
		from, most := rapid.IntRange(0, 8).Draw(t, "from"), rapid.IntRange(1, 9).Draw(t, "most")
		if got, want := f.tr.missing(uint32(from), nil, most), f.missing(from, most); !slices.Equal(got, want) {
			t.Fatalf("missing from %d are %v, want %v", from, got, want)
		}
	}
	top := f.heaviest()
	for height := uint32(0); ; height++ {
		l, ok := f.tr.topAt(height)
		if !ok {
			break
		}
		if at := f.line(top); int(l) != at[len(at)-1-int(height)] {
			t.Fatalf("header %d of the heaviest branch is %d, want %d", height, l, at[len(at)-1-int(height)])
		}
	}
}

// The tree, its chooser and the gate before it against naive ones: headers of random work that come in random order,
// bodies that come and go, blocks that turn out invalid and are reconsidered, and a store that is opened again.
func TestTreeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newForest(t, chain.WorkFromUint64(rapid.Uint64Range(0, 60).Draw(t, "minimum")))
		for n := rapid.IntRange(0, 30).Draw(t, "made"); len(f.made) <= n; {
			f.makeOne(t)
		}
		pick := func(t *rapid.T) int { return rapid.IntRange(0, len(f.parent)-1).Draw(t, "header") }
		t.Repeat(map[string]func(*rapid.T){
			"make": f.makeOne,
			"put": func(t *rapid.T) {
				run := []int{rapid.IntRange(0, len(f.made)-1).Draw(t, "last")}
				for range rapid.SampledFrom([]int{0, 1, 3, 30}).Draw(t, "below") {
					if p := f.made[run[0]].parent; p >= 0 {
						run = slices.Insert(run, 0, p)
					}
				}
				f.put(t, run)
			},
			"bodies": func(t *rapid.T) {
				line := f.line(pick(t))
				for _, i := range line[:rapid.IntRange(1, len(line)).Draw(t, "how many")] {
					f.give(i)
				}
			},
			"withdraw": func(t *rapid.T) {
				i := pick(t)
				if i == 0 || !f.body[i] {
					t.Skip("there is none")
				}
				v := &f.tr.vertices[i]
				n, ok := f.store.first(v)
				if !ok {
					t.Fatal("a body was lost")
				}
				f.store.detach(v, n)
				f.tr.withdraw(tables.HeaderLink(i))
				f.naive.withdraw(i)
			},
			"invalidate": func(t *rapid.T) { f.invalidate(t, pick(t)) },
			"reconsider": func(t *rapid.T) {
				i := pick(t)
				if !slices.Contains(f.bad, true) {
					t.Skip("nothing is invalid")
				}
				err := f.tr.reconsider(tables.HeaderLink(i), func(root tables.HeaderLink) error {
					return f.r.t.SetState(root, tables.StateUnknown)
				})
				if err != nil {
					t.Fatal(err)
				}
				f.naive.reconsider(i)
			},
			"restart": func(t *rapid.T) {
				if rapid.IntRange(0, 2).Draw(t, "seldom") == 0 {
					f.r.reopen(t)
				}
				f.grow()
			},
			"fork": func(t *rapid.T) {
				a, b := pick(t), pick(t)
				if got, want := f.tr.fork(tables.HeaderLink(a), tables.HeaderLink(b)), f.fork(a, b); int(got) != want {
					t.Fatalf("fork of %d and %d is %d, want %d", a, b, got, want)
				}
			},
			"": f.check,
		})
	})
}

func (f *forest) makeOne(t *rapid.T) {
	parent := rapid.IntRange(max(0, len(f.made)-6), len(f.made)-1).Draw(t, "parent")
	if f.made[parent].height > 20 {
		parent = 0
	}
	f.make(parent, rapid.SampledFrom([]uint32{20, 300, 600, 900}).Draw(t, "seconds"))
}

// give is the arrival of a block.
func (f *forest) give(i int) {
	if f.body[i] || f.bad[i] {
		return // it has one, or needs none
	}
	l := tables.HeaderLink(i)
	f.store.attach(&f.tr.vertices[l], l, f.store.add(blockfile.Place{}))
	f.tr.settle(l)
	f.body[i] = true
	f.settle(i)
}

func (f *forest) invalidate(t *rapid.T, i int) {
	if i == 0 || f.bad[i] || rapid.IntRange(0, 2).Draw(t, "seldom") != 0 {
		t.Skip("not that one")
	}
	l := tables.HeaderLink(i)
	s := rapid.SampledFrom([]tables.State{tables.StateInvalid, tables.StateRejected}).Draw(t, "state")
	if err := f.r.t.SetState(l, s); err != nil {
		t.Fatal(err)
	}
	f.tr.invalidate(l, func(tables.HeaderLink) {})
	f.root[i] = true
	f.derive()
}

// Ancestors of a long chain, from every height: right, and in few steps.
func TestAncestorSteps(t *testing.T) {
	r := memRig(t, chain.Regtest())
	tr := growTree(r.t, -1, time.Now)
	const n = 5000
	for h := range uint32(n) {
		tr.add(tables.HeaderLink(h), h+1)
	}
	most := 0
	for from := uint32(0); from <= n; from += 7 {
		for to := uint32(0); to <= from; to += 13 {
			if got := tr.ancestor(tables.HeaderLink(from), to); uint32(got) != to {
				t.Fatalf("ancestor of %d at %d is %d", from, to, got)
			}
			steps := 0
			for l := tables.HeaderLink(from); uint32(l) != to; steps++ {
				if v := &tr.vertices[l]; uint32(v.jump) >= to {
					l = v.jump
				} else {
					l = v.parent
				}
			}
			most = max(most, steps)
		}
	}
	if most > 3*13 { // three times the binary logarithm
		t.Fatalf("%d steps to an ancestor in a chain of %d", most, n)
	}
}
