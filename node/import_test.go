package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/internal/realdata"
	"stele/node/blockfile"
	"stele/store"
)

func mainBlocks(t testing.TB) []byte {
	t.Helper()
	b, err := mainnet.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The figures are those of the data's documentation: 14,247 transactions, genesis included, with 865 spends.
func TestMainnetFileAndStream(t *testing.T) {
	input := mainBlocks(t)
	for name, o := range map[string]ImportOptions{"file": fileOptions(t, input), "stream": streamOptions(input)} {
		t.Run(name, func(t *testing.T) {
			r := dirRig(t, chain.Main())
			rep := r.run(t, o)
			if rep.Tip.Height != 14_131 || rep.Tip.Hash.String() != mainnet.TipHash {
				t.Fatalf("tip %+v", rep.Tip)
			}
			if rep.Blocks != 14_131 || rep.Txs != 14_246 || rep.Inputs != 14_131+865 ||
				rep.Records != 14_132 || rep.Skipped != 1 {
				t.Fatalf("report %+v", rep)
			}
			if want := uint64(mainnet.Size - 14_132*8 - 285); rep.WireBytes != want {
				t.Fatalf("%d wire bytes, want %d", rep.WireBytes, want)
			}
			if s, _ := r.spenders(t); len(s) != 865 {
				t.Fatalf("%d spends, want 865", len(s))
			}
			again := r.run(t, fileOptions(t, input))
			if again.Blocks != 0 || again.Skipped != 14_132 || len(again.Rejected) != 0 {
				t.Fatalf("the second time: %+v", again)
			}
		})
	}
}

func TestCoreChain(t *testing.T) {
	c := core(t)
	shuffled := func(seed uint64) [][]byte {
		blocks := append([][]byte(nil), c.blocks...)
		rng := rand.New(rand.NewPCG(seed, 0))
		rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		return blocks
	}
	for name, blocks := range map[string][][]byte{
		"in order": c.blocks, "shuffled 1": shuffled(1), "shuffled 2": shuffled(2),
	} {
		t.Run("file "+name, func(t *testing.T) {
			r := dirRig(t, chain.Regtest())
			rep := r.load(t, blocks...)
			r.wantCore(t, c)
			// Stale branches of one, three and five blocks, and genesis is not in the file.
			if rep.Blocks != 415 || rep.Parked != 9 || rep.Popped != 0 || len(rep.Rejected) != 0 {
				t.Fatalf("report %+v", rep)
			}
		})
		t.Run("stream "+name, func(t *testing.T) {
			r := memRig(t, chain.Regtest())
			o := streamOptions(file(r.p, blocks...))
			o.limits.batchBlocks = 7
			r.run(t, o)
			r.wantCore(t, c)
			r.reopen(t)
			r.wantCore(t, c)
		})
	}
}

// A random part of the blocks comes first, in any order, then the rest: as files and as streams, with the store closed
// in between or not.
func TestSplitImports(t *testing.T) {
	c := core(t)
	rng := rand.New(rand.NewPCG(3, 0))
	for range 6 {
		parts := make([][][]byte, 1+rng.IntN(4))
		for _, i := range rng.Perm(len(c.blocks)) {
			p := rng.IntN(len(parts))
			parts[p] = append(parts[p], c.blocks[i])
		}
		r := memRig(t, chain.Regtest())
		for _, part := range parts {
			if rng.IntN(2) == 0 {
				r.load(t, part...)
			} else {
				o := streamOptions(file(r.p, part...))
				o.limits.batchBlocks = 1 + rng.IntN(200)
				r.run(t, o)
			}
			if rng.IntN(2) == 0 {
				r.reopen(t)
			}
		}
		r.wantCore(t, c)
		r.t.EachPending(func(hash, _ chain.Hash, _ int) bool {
			if l, ok := r.t.FindHeader(&hash); !ok || r.t.View().Confirmed(l) {
				t.Fatalf("block %v is pending still (its header is known: %v)", hash, ok)
			}
			return true
		})
	}
}

// One block after another, each an import of its own: the branches that were left are archived, and become
// best and are left again as they grow.
func TestOneBlockAnImport(t *testing.T) {
	c := core(t)
	r := memRig(t, chain.Regtest())
	var popped uint64
	for _, b := range c.blocks {
		popped += r.run(t, streamOptions(file(r.p, b))).Popped
	}
	r.wantCore(t, c)
	if popped == 0 {
		t.Fatal("nothing was popped: the stale branches of the data never were the best")
	}
}

// reorgSample is a chain of blocks 0 to 4, and a branch that leaves it at block 2.
func reorgSample(t *testing.T) (main [][]byte, a3, a4, a5 []byte) {
	t.Helper()
	var m maker
	p := chain.Regtest()
	trunk, fork := m.branch(genesisAt(p), 2)
	rest, _ := m.branch(fork, 2)
	side, _ := m.branch(fork, 3)
	return slices.Concat([][]byte{p.GenesisBlock}, trunk, rest), side[0], side[1], side[2]
}

// btcd's sample of a reorganisation was made for a coinbase maturity of one block. Bitcoin's is a hundred.
func TestReorgSampleOfOtherRules(t *testing.T) {
	r := memRig(t, chain.Main())
	blocks := realdata.Blocks(t, "chains", "btcd_reorg", "blk_0_to_4.blk")
	rep := r.load(t, blocks...)
	wantReasons(t, rep, "bad-txns-premature-spend-of-coinbase")
	r.wantTip(t, blocks[1])
}

// 3A is a side block, 4A ties with 4 and changes nothing, 5A makes its branch the best.
func TestReorgSample(t *testing.T) {
	main, a3, a4, a5 := reorgSample(t)
	t.Run("block by block", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		r.load(t, main...)
		r.wantTip(t, main[4])
		r.load(t, a3)
		r.wantTip(t, main[4])
		r.load(t, a4)
		r.wantTip(t, main[4])
		rep := r.load(t, a5)
		r.wantTip(t, a5)
		if rep.Popped != 2 || rep.Blocks != 3 {
			t.Fatalf("report %+v", rep)
		}
	})
	t.Run("children first", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		r.load(t, main...)
		if rep := r.load(t, a5, a4); rep.Parked != 2 {
			t.Fatalf("report %+v", rep)
		}
		r.wantTip(t, main[4])
		r.reopen(t)
		r.load(t, a3)
		r.wantTip(t, a5)
	})
	t.Run("one file", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		if rep := r.load(t, append([][]byte{a5, a4, a3}, main...)...); rep.Popped != 0 || rep.Parked != 2 {
			t.Fatalf("report %+v", rep)
		}
		r.wantTip(t, a5)
	})
	t.Run("one stream, a block a batch", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		o := streamOptions(file(r.p, append(main, a5, a3, a4)...))
		o.limits.batchBlocks = 1
		r.run(t, o)
		r.wantTip(t, a5)
	})
}

// Threads and the size of the window change nothing but the times.
func TestThreadsAndWindows(t *testing.T) {
	c := core(t)
	blocks := append([][]byte(nil), c.blocks...)
	rand.New(rand.NewPCG(9, 0)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	blocks = append(blocks, damagedBody(c.best[300]), damagedBody(c.tip), c.best[7])
	var want string
	var wantReport ImportReport
	for threads := 1; threads <= 4; threads++ {
		for _, l := range []limits{{}, {chunkBlocks: 1, chunks: 1}, {chunkBlocks: 3, chunks: 5}, {chunkBytes: 1, chunks: 2}} {
			r := memRig(t, chain.Regtest())
			o := fileOptions(t, file(r.p, blocks...))
			o.Threads, o.limits = threads, l
			rep := *r.run(t, o)
			rep.Stages, rep.Seconds = nil, 0
			got := r.signature(t)
			if want == "" {
				want, wantReport = got, rep
				r.wantCore(t, c)
			}
			if got != want {
				t.Fatalf("%d threads, %+v: another result", threads, l)
			}
			if a, b := asJSON(t, rep), asJSON(t, wantReport); a != b {
				t.Fatalf("%d threads, %+v: report %s, want %s", threads, l, a, b)
			}
		}
	}
}

func TestStopHeight(t *testing.T) {
	c := core(t)
	r := memRig(t, chain.Regtest())
	for _, stop := range []int64{0, 100, 99, 101} {
		o := fileOptions(t, file(r.p, c.blocks...))
		o.StopHeight = stop
		r.run(t, o)
		_, height := r.t.Tip()
		if want := max(uint32(stop), map[int64]uint32{99: 100}[stop]); height != want {
			t.Fatalf("stop at %d: tip at %d", stop, height)
		}
	}
	r.t.EachPending(func(hash, _ chain.Hash, _ int) bool {
		if l, _ := r.t.FindHeader(&hash); r.t.Header(l).Height() > 101 {
			t.Fatalf("a block above the stop height is kept: %v", hash)
		}
		return true
	})
	r.load(t, c.blocks...)
	r.wantCore(t, c)
}

func TestInputErrors(t *testing.T) {
	r := memRig(t, chain.Regtest())
	before := r.signature(t)
	none := []string{filepath.Join(t.TempDir(), "none")}
	_, err := Import(context.Background(), r.t, ImportOptions{Paths: none, StopHeight: -1})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	for name, o := range map[string]ImportOptions{
		"file": fileOptions(t, mainBlocks(t)), "stream": streamOptions(mainBlocks(t)),
	} {
		if _, err := Import(context.Background(), r.t, o); !errors.As(err, new(*blockfile.ForeignNetwork)) {
			t.Errorf("another network's %s: %v", name, err)
		}
	}
	for name, o := range map[string]ImportOptions{
		"file": fileOptions(t, []byte("nothing")), "stream": streamOptions(nil),
	} {
		if _, err := Import(context.Background(), r.t, o); !errors.Is(err, blockfile.ErrNoBlocks) {
			t.Errorf("an empty %s: %v", name, err)
		}
	}
	if r.signature(t) != before || r.t.Headers() != 1 {
		t.Fatal("input that is no use changed the store")
	}
}

// A medium that fails says nothing about blocks: what came before it is kept, and the rest comes another time.
func TestSourceFaults(t *testing.T) {
	c := core(t)
	whole := file(chain.Regtest(), c.blocks...)
	fault := errors.New("cable pulled")
	t.Run("stream", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		half := io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(fault))
		o := ImportOptions{Paths: []string{"-"}, Stdin: half, StopHeight: -1, Verifier: verifier}
		rep, err := Import(context.Background(), r.t, o)
		if !errors.Is(err, fault) || !errors.As(err, new(*blockfile.ReadError)) {
			t.Fatalf("error %v", err)
		}
		if rep.Blocks == 0 || len(rep.Rejected) != 0 {
			t.Fatalf("report %+v", rep)
		}
		r.reopen(t)
		r.run(t, streamOptions(whole))
		r.wantCore(t, c)
	})
	t.Run("file that shrinks", func(t *testing.T) {
		r := memRig(t, chain.Regtest())
		o := fileOptions(t, whole)
		// When the first block is asked for by the tree's clock the file is being indexed; it is cut once it was.
		o.CheckpointBytes = 1
		cut := false
		o.Progress = func(p Progress) {
			if p.Stage == "import" && !cut {
				cut = true
				if err := os.Truncate(o.Paths[0], int64(len(whole)/2)); err != nil {
					t.Error(err)
				}
			}
		}
		o.Threads, o.limits = 1, limits{chunkBlocks: 4, chunks: 1}
		rep, err := Import(context.Background(), r.t, o)
		var re *blockfile.ReadError
		if !errors.As(err, &re) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("error %v", err)
		}
		if rep.Blocks == 0 || len(rep.Rejected) != 0 {
			t.Fatalf("report %+v", rep)
		}
		for l := range r.t.Headers() {
			if s := r.t.State(headerLink(l)); s != 0 {
				t.Fatalf("header %d has state %d", l, s)
			}
		}
		r.reopen(t)
		r.load(t, c.blocks...)
		r.wantCore(t, c)
	})
}

// A fault of the store ends the import with it, and the store is as its last checkpoint was.
func TestStoreFault(t *testing.T) {
	c := core(t)
	d := store.NewMemDisk()
	d.SetReserveCap(1 << 20)
	r := newRig(t, d, chain.Regtest())
	r.load(t, c.blocks[:200]...)
	image := d.Clone()
	d.SetHook(func(op store.Op, name string) error {
		if op == store.OpSync {
			return errors.New("medium error")
		}
		return nil
	})
	rep, err := Import(context.Background(), r.t, fileOptions(t, file(r.p, c.blocks...)))
	if !errors.As(err, new(*store.Fault)) || len(rep.Rejected) != 0 {
		t.Fatalf("error %v, report %+v", err, rep)
	}
	after := &rig{disk: image, p: r.p}
	after.open(t)
	after.load(t, c.blocks...)
	after.wantCore(t, c)
}
