package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gen "stele/bench/chain"
	"stele/chain"
)

var syncExperiment = Experiment{
	Name:  "sync",
	About: "import of a signed chain with all checks, against btcd's blockchain with its index of transactions",
	Keys: []Key{
		{Name: "sync.vs_btcd", Reach: 5},
		{Name: "sync.written_vs_archive", Reach: 2, Most: true},
	},
	Run: runSync,
}

// The signed chain of scale 1: some 45,000 inputs of today's mix. A smaller one has fewer transactions a block, a larger one
// more blocks.
const (
	syncBlocks = 300
	syncTxs    = 100
)

func syncChain(scale float64) gen.Options {
	return gen.Options{
		Seed: seed, Blocks: uint32(max(syncBlocks*scale, leastBlocks)), Txs: max(4, int(syncTxs*min(scale, 1))),
		Mix: gen.Mainnet, Signed: true,
	}
}

// syncing runs the experiment.
type syncing struct {
	o       Options
	ctx     context.Context
	file    *gen.File
	result  Result
	written []Number
}

func runSync(ctx context.Context, o Options) (*Result, error) {
	s := &syncing{o: o, ctx: ctx}
	var err error
	if s.file, err = o.makeChain("signed.blk", syncChain(o.Scale)); err != nil {
		return nil, err
	}
	p := chain.Regtest()
	arms := []struct {
		name string
		job  job
	}{
		{"ours", job{Network: p.Name, Import: &importJob{Path: s.file.Path, Stop: -1, Signed: true}}},
		{"btcd", job{Network: p.Name, Btcd: &btcdJob{Path: s.file.Path}}},
	}
	if !btcdLinked {
		arms = arms[:1]
		s.result.single("btcd", "s", None, needsTag)
	}
	times := make([][]Number, 2)
	for run := range o.Runs {
		for i, a := range arms {
			o.Note(fmt.Sprintf("%s: run %d", a.name, run+1))
			n, err := s.once(a.job)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
			times[i] = append(times[i], n)
		}
	}
	stats := s.file.Stats
	note := fmt.Sprintf("%d blocks, %d inputs, %.0f MB; from an empty folder until the process has closed its store",
		stats.Coinbases, stats.Ins, float64(stats.Bytes)/1e6)
	medians := [2]Number{None, None}
	for i, a := range arms {
		medians[i] = s.result.median(a.name, "s", times[i], note)
	}
	s.result.ratio("sync.vs_btcd", medians[1]/medians[0])
	s.result.ratio("sync.written_vs_archive",
		s.result.median("ours.written", "ratio", s.written, "bytes written over those of the archive"))
	return &s.result, nil
}

// once lets a process of its own take the whole chain, and returns the seconds until it has closed its store.
func (s *syncing) once(j job) (Number, error) {
	j.Dir = filepath.Join(s.o.Dir, "store")
	if err := os.RemoveAll(j.Dir); err != nil {
		return None, err
	}
	start := time.Now()
	c, err := s.o.start(s.ctx, j)
	if err != nil {
		return None, err
	}
	e, err := c.await(saidClosed)
	if err != nil {
		return None, err
	}
	took := Number(time.Since(start).Seconds())
	if want := uint32(len(s.file.Places)); e.Height != want {
		return None, fmt.Errorf("it ends at height %d of %d", e.Height, want)
	}
	if tip := s.file.Places[len(s.file.Places)-1].Coinbase; e.Newest != tip {
		return None, fmt.Errorf("its newest transaction is %v, not %v", e.Newest, tip)
	}
	if j.Import != nil {
		s.written = append(s.written, worst(e.Pages, Number(sum(e.Written)))/Number(e.Archive))
	}
	return took, c.end()
}

// btcdJob gives the blocks of a file to btcd's blockchain.
type btcdJob struct {
	Path string `json:"path"`
}
