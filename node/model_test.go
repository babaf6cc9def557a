package node

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/tables"
)

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
