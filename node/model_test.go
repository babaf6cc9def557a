package node

import (
	"context"
	"os"
	"path/filepath"
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
	bad    []bool
	order  []int // when it became complete, 0: it is not
	clock  int
}

func (n *naive) add(parent int, work chain.Work) {
	n.parent = append(n.parent, parent)
	n.work = append(n.work, work)
	n.body, n.bad, n.order = append(n.body, false), append(n.bad, false), append(n.order, 0)
}

// refresh finds what is complete now, and gives an order to what is so for the first time: parents first, and among
// the children of one generation the older one first.
func (n *naive) refresh() {
	complete := make([]bool, len(n.parent))
	for i, p := range n.parent { // parents stand before their children
		complete[i] = n.body[i] && !n.bad[i] && (p < 0 || complete[p])
		if !complete[i] {
			n.order[i] = 0
		}
	}
	for generation := 0; generation < len(n.parent); generation++ {
		for i := range n.parent {
			if complete[i] && n.order[i] == 0 && n.depth(i) == generation {
				n.clock++
				n.order[i] = n.clock
			}
		}
	}
}

func (n *naive) depth(i int) int { return len(n.line(i)) - 1 }

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
		if c := n.work[i].Cmp(n.work[best]); n.order[i] != 0 && (c > 0 || c == 0 && n.order[i] < n.order[best]) {
			best = i
		}
	}
	return best
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

// grow adds a header to the naive tree and to the one under test.
func (n *naive) grow(t fataler, tr *tree, parent int, bits uint32) {
	t.Helper()
	on := tables.HeaderLink(parent)
	h := chain.Header{Prev: tr.t.Header(on).Hash(), Bits: bits, Nonce: uint32(len(n.parent))}
	hash := h.Hash()
	l, err := tr.t.PutHeader(&h, &hash, on, 0)
	if err != nil || int(l) != len(n.parent) {
		t.Fatal(l, err)
	}
	tr.add(on, tr.vertices[parent].height+1)
	tr.vertices[l].invalid = tr.vertices[parent].invalid
	n.add(parent, n.work[parent].Add(chain.BlockWork(bits)))
	n.bad[l] = n.bad[parent]
}

// The tree and its chooser against the naive one: random branches of random work, bodies that come and go, blocks that
// turn out invalid.
func TestTreeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := memRig(t, chain.Regtest())
		tr := growTree(r.t, -1, time.Now)
		var store bodies
		m := new(naive)
		m.add(-1, r.t.Header(0).Work())
		m.body[0] = true
		m.refresh()
		pick := func(t *rapid.T) int { return rapid.IntRange(0, len(m.parent)-1).Draw(t, "header") }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				bits := rapid.SampledFrom([]uint32{0x207fffff, 0x203fffff, 0x201fffff}).Draw(t, "bits")
				m.grow(t, tr, pick(t), bits)
			},
			"body": func(t *rapid.T) {
				i := pick(t)
				l := tables.HeaderLink(i)
				if m.body[i] || m.bad[i] {
					t.Skip("it has one, or needs none")
				}
				store.attach(&tr.vertices[l], l, store.add(blockfile.Place{}))
				tr.settle(l)
				m.body[i] = true
				m.refresh()
			},
			"withdraw": func(t *rapid.T) {
				i := pick(t)
				if i == 0 || !m.body[i] || m.bad[i] {
					t.Skip("there is none")
				}
				v := &tr.vertices[i]
				n, ok := store.first(v)
				if !ok {
					t.Fatal("a body was lost")
				}
				store.detach(v, n)
				tr.withdraw(tables.HeaderLink(i))
				m.body[i] = false
				m.refresh()
			},
			"invalidate": func(t *rapid.T) {
				i := pick(t)
				if i == 0 || m.bad[i] || rapid.IntRange(0, 3).Draw(t, "seldom") != 0 {
					t.Skip("not that one")
				}
				tr.invalidate(tables.HeaderLink(i), func(tables.HeaderLink) {})
				m.bad[i] = true
				for j := i + 1; j < len(m.bad); j++ {
					m.bad[j] = m.bad[j] || m.bad[m.parent[j]]
				}
				m.refresh()
			},
			"fork": func(t *rapid.T) {
				a, b := pick(t), pick(t)
				if got, want := tr.fork(tables.HeaderLink(a), tables.HeaderLink(b)), m.fork(a, b); int(got) != want {
					t.Fatalf("fork of %d and %d is %d, want %d", a, b, got, want)
				}
			},
			"": func(t *rapid.T) {
				if got, want := tr.best(), m.best(); int(got.l) != want {
					t.Fatalf("best is %d, want %d", got.l, want)
				}
			},
		})
	})
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

// world is a random tree of real blocks, some of which are invalid, and what an importer should make of it.
type world struct {
	naive
	blocks [][]byte
	at     []at
	broken []bool // spends what is not there
	maker  maker
}

func (w *world) grow(t *rapid.T) {
	parent := rapid.IntRange(max(0, len(w.at)-6), len(w.at)-1).Draw(t, "parent")
	broken := rapid.IntRange(0, 9).Draw(t, "broken") == 0
	var txs [][]byte
	if broken {
		txs = append(txs, missing(byte(len(w.at))))
	}
	b, next := w.maker.block(w.at[parent], txs...)
	w.blocks, w.at, w.broken = append(w.blocks, b), append(w.at, next), append(w.broken, broken)
	w.add(parent, w.work[parent].Add(chain.BlockWork(chain.Regtest().PowLimitBits)))
}

// The organiser against a naive choice of most work: imports of random parts of a random tree, with damaged bodies,
// repetitions and blocks that break a rule, in random order, as files and as streams, and reopened in between. What
// was once given stays given, as a pending block or an archived one.
func TestImportAgainstModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		p := chain.Regtest()
		r := memRig(t, p)
		w := &world{blocks: [][]byte{p.GenesisBlock}, at: []at{genesisAt(p)}, broken: []bool{false}}
		w.add(-1, r.t.Header(0).Work())
		w.body[0] = true
		for range rapid.IntRange(1, 25).Draw(t, "blocks") {
			w.grow(t)
		}
		tip := 0
		t.Repeat(map[string]func(*rapid.T){
			"import": func(t *rapid.T) {
				picks := rapid.SliceOfN(rapid.IntRange(0, len(w.blocks)-1), 1, 12).Draw(t, "picks")
				var input [][]byte
				for _, i := range picks {
					if rapid.IntRange(0, 5).Draw(t, "damaged") == 0 {
						input = append(input, damagedBody(w.blocks[i]))
						if rapid.Bool().Draw(t, "only") {
							continue
						}
					}
					input = append(input, w.blocks[i])
					w.body[i] = true
				}
				if len(input) == 0 {
					t.Skip("nothing left")
				}
				o := ImportOptions{StopHeight: -1, Verifier: verifier, Threads: rapid.IntRange(1, 3).Draw(t, "threads")}
				o.limits.chunkBlocks = rapid.IntRange(1, 5).Draw(t, "chunk")
				o.limits.batchBlocks = rapid.IntRange(1, 20).Draw(t, "batch")
				if rapid.Bool().Draw(t, "stream") {
					s := streamOptions(file(p, input...))
					o.Paths, o.Stdin = s.Paths, s.Stdin
				} else {
					o.Paths = []string{filepath.Join(dir, "input.blk")}
					if err := os.WriteFile(o.Paths[0], file(p, input...), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				rep, err := Import(context.Background(), r.t, o)
				if err != nil {
					t.Fatal(err)
				}
				r.accounted(t, rep)
				tip = w.check(t, r, tip)
			},
			"reopen": func(t *rapid.T) {
				r.reopen(t)
				tip = w.check(t, r, tip)
			},
		})
	})
}

// check asserts that the chain is the best of what was given. Of equal ones any is right, but for one thing: the
// tip does not move to a branch of no more work.
func (w *world) check(t *rapid.T, r *rig, before int) (tip int) {
	w.refresh()
	usable := func(i int) bool {
		for _, j := range w.line(i) {
			if !w.body[j] || w.broken[j] {
				return false
			}
		}
		return true
	}
	best := before
	for i := range w.blocks {
		if usable(i) && w.work[i].Cmp(w.work[best]) > 0 {
			best = i
		}
	}
	l, _ := r.t.Tip()
	got := r.t.Header(l).Hash()
	tip = -1
	for i := range w.at {
		if w.at[i].hash == got {
			tip = i
		}
	}
	if tip < 0 || !usable(tip) || w.work[tip] != w.work[best] {
		t.Fatalf("tip is block %d, want one with the work of %d", tip, best)
	}
	if w.work[best] == w.work[before] && tip != before {
		t.Fatalf("tip moved from %d to %d, which has no more work", before, tip)
	}
	for i := range w.at {
		hash := w.at[i].hash
		if l, ok := r.t.FindHeader(&hash); ok && r.t.State(l) == tables.StateInvalid && !w.broken[i] {
			t.Fatalf("block %d is condemned, and breaks no rule", i)
		}
	}
	return tip
}
