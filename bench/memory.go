package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	gen "stele/bench/chain"
	"stele/chain"
)

var memoryExperiment = Experiment{
	Name:  "memory",
	About: "an import in memory for a quarter of its archive, cached pages included, over one that is not bounded",
	Keys:  []Key{{Name: "memory.quarter", Reach: 1.3, Most: true}},
	Run:   runMemory,
}

const (
	memoryScale = 1.8       // of the chain of scale 1: 2.1 GB
	leastGroup  = 256 << 20 // what a bounded process gets at least: a small archive's quarter is too little for any
	groupShare  = 2         // an import is told to use half of the limit, as it does where it finds one
)

func runMemory(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	g, err := newMemoryGroup(leastGroup)
	if err != nil {
		r.single("quarter.seconds", "s", None, "no control group with a limit of memory can be had: "+err.Error())
		return r, nil
	}
	if err := g.remove(); err != nil {
		return nil, err
	}
	c := spendChain(o.Scale*memoryScale, fullBlocks)
	f, err := o.makeChain("memory.blk", c)
	if err != nil {
		return nil, err
	}
	var all [2][]event
	limit := int64(0)
	for run := range o.Runs {
		for arm := range all {
			o.Note(fmt.Sprintf("%s: run %d", []string{"unbounded", "quarter"}[arm], run+1))
			e, err := o.importWithin(ctx, f, limit*int64(arm))
			if errors.Is(err, errKilled) {
				r.single("quarter.seconds", "s", None, fmt.Sprintf("in %.0f MB %v", float64(limit)/1e6, err))
				return r, nil
			}
			if err != nil {
				return nil, err
			}
			all[arm] = append(all[arm], e)
			limit = max(all[0][0].Archive/4, leastGroup)
		}
	}
	r.memoryRows(all, limit)
	return r, nil
}

// errKilled says that a bounded process wanted more than there is: a time cannot be measured.
var errKilled = errors.New("the import was killed for want of memory")

// importWithin imports a chain into a new store in a process of its own, in a group with a limit if there is one.
func (o *Options) importWithin(ctx context.Context, f *gen.File, limit int64) (e event, err error) {
	dir := filepath.Join(o.Dir, "store")
	if err := os.RemoveAll(dir); err != nil {
		return e, err
	}
	j := job{Dir: dir, Network: chain.Regtest().Name, Import: &importJob{Path: f.Path, Stop: -1}}
	if limit > 0 {
		g, none := newMemoryGroup(limit)
		if none != nil {
			return e, none
		}
		defer func() {
			if err != nil && g.killed() {
				err = fmt.Errorf("%w: %w", errKilled, err)
			}
			_ = g.remove()
		}()
		j.Group, j.Import.Memory = g.processes(), limit/groupShare
	}
	c, err := o.start(ctx, j)
	if err != nil {
		return e, err
	}
	if e, err = c.await(saidClosed); err != nil {
		return e, err
	}
	if want := uint32(len(f.Places)); e.Height != want || e.Newest != f.Places[want-1].Coinbase {
		return e, fmt.Errorf("the import ends at height %d of %d, in %v", e.Height, want, e.Newest)
	}
	return e, c.end()
}

// memoryRows makes the rows. A limit that is more than a quarter says nothing about one: the ratio is no part of the key.
func (r *Result) memoryRows(all [2][]event, limit int64) {
	one := all[0][0]
	plenty := r.median("unbounded.seconds", "s", seconds(all[0]),
		fmt.Sprintf("%d blocks, %.0f MB, %.0f MB of archive", one.Height, float64(one.Wire)/1e6, float64(one.Archive)/1e6))
	little := r.median("quarter.seconds", "s", seconds(all[1]),
		fmt.Sprintf("%.0f MB for the process and the pages of its files", float64(limit)/1e6))
	for i, name := range []string{"unbounded", "quarter"} {
		var written []Number
		for _, e := range all[i] {
			written = append(written, Number(sum(e.Written))/Number(e.Archive))
		}
		r.median(name+".written", "ratio", written, "bytes written over those of the archive")
	}
	ratio := r.single("quarter_time", "ratio", little/plenty, "medians")
	if limit == one.Archive/4 {
		r.ratio("memory.quarter", ratio)
	}
}
