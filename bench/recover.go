package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	gen "stele/bench/chain"
)

var recoverExperiment = Experiment{
	Name:  "recover",
	About: "how soon a store answers, and goes on confirming, after its process was killed",
	Keys: []Key{
		{Name: "recover.lookups_s", Reach: 3, Most: true},
		{Name: "recover.ready_s", Reach: 10, Most: true},
		{Name: "recover.clean_s", Reach: 0.5, Most: true},
	},
	Run: runRecover,
}

// How much of the chain lies before the checkpoint, and how much after it, in parts of the file. What comes after is
// also bounded by what an import lets come between two checkpoints.
const (
	smallPart    = 0.25
	largePart    = 0.77
	distancePart = 0.22
	distanceMost = 250 << 20

	headerBlocks = 980_000 // about mainnet's in 2026
	headerPart   = 0.02    // of them after the checkpoint
)

// moment is when a process is killed.
type moment string

const (
	midImport moment = "import" // the distance after a checkpoint, before the next one
	midMerge  moment = "merge"  // in that checkpoint: the rows are durable, one index is merged, the next is not
	atEnd     moment = "end"    // after the last checkpoint, before the store is closed
)

// arm is what is left of the machine when the store is opened next.
type arm struct {
	name string
	cut  bool
}

var arms = []arm{
	{"live", false},  // all: the live record is valid, the page cache full
	{"nolive", true}, // only what the manifest covers, and that on the disk
}

// recovery is one run of the experiment.
type recovery struct {
	o      Options
	ctx    context.Context
	result Result

	lookups, ready, cleans []Number // best of the runs of each arm
}

func runRecover(ctx context.Context, o Options) (*Result, error) {
	r := &recovery{o: o, ctx: ctx}
	for _, f := range []func() error{r.transactions, r.headers} {
		if err := f(); err != nil {
			return nil, err
		}
	}
	r.result.ratio("recover.lookups_s", worst(r.lookups...))
	r.result.ratio("recover.ready_s", worst(r.ready...))
	r.result.ratio("recover.clean_s", worst(r.cleans...))
	return &r.result, nil
}

// transactions measures stores of full blocks, of two sizes and in turns. What they take must not depend on the size.
func (r *recovery) transactions() error {
	f, err := r.o.makeChain("full.blk", chainOptions(r.o.Scale))
	if err != nil {
		return err
	}
	size := float64(f.Size())
	distance := min(int64(distancePart*size), distanceMost)
	small := r.victim("small", f, f.HeightAt(int64(smallPart*size)), distance)
	large := r.victim("large", f, f.HeightAt(int64(largePart*size)), distance)
	best, err := r.measure([]*victim{small, large}, []moment{midImport, midMerge, atEnd})
	if err != nil {
		return err
	}
	for _, m := range []moment{midImport, midMerge} {
		for _, a := range arms {
			what := fmt.Sprintf("%s.%s.lookups", m, a.name)
			r.result.single("growth."+what, "ratio", best["large."+what]/best["small."+what],
				"large over small, at the same distance from the checkpoint")
		}
	}
	return os.Remove(f.Path)
}

// headers measures a store of as many blocks as mainnet has, with a coinbase each: what is read whole at open.
func (r *recovery) headers() error {
	blocks := uint32(min(max(200, headerBlocks*r.o.Scale), gen.MaxBlocks))
	f, err := r.o.makeChain("headers.blk", gen.Options{Seed: seed, Blocks: blocks})
	if err != nil {
		return err
	}
	size := float64(f.Size())
	v := r.victim("headers", f, f.HeightAt(int64((1-2*headerPart)*size)), int64(headerPart*size))
	if _, err := r.measure([]*victim{v}, []moment{midImport, midMerge, atEnd}); err != nil {
		return err
	}
	return os.Remove(f.Path)
}

func (r *recovery) victim(name string, f *gen.File, height uint32, distance int64) *victim {
	folder := filepath.Join(r.o.Dir, name)
	return &victim{
		o: &r.o, ctx: r.ctx, name: name, chain: f, height: height, distance: distance, dir: filepath.Join(folder, "store"),
		clean: filepath.Join(folder, "clean"), killed: filepath.Join(folder, "killed"),
	}
}

// measure makes stores, reopens them after they were closed, and after they were killed at each of the moments. It
// returns the best time to the first lookups by row.
func (r *recovery) measure(all []*victim, moments []moment) (best map[string]Number, err error) {
	best = map[string]Number{}
	for _, v := range all {
		r.o.Note(fmt.Sprintf("%s: importing to height %d", v.name, v.height))
		e, err := v.grow()
		if err != nil {
			return nil, err
		}
		r.result.single(v.name+".archive", "MB", Number(e.Archive)/1e6, fmt.Sprintf("%d blocks", v.height))
		defer os.RemoveAll(filepath.Dir(v.dir))
	}
	if err := r.restart(all); err != nil {
		return nil, err
	}
	for _, m := range moments {
		for _, v := range all {
			r.o.Note(fmt.Sprintf("%s: killing at the moment %q", v.name, m))
			if err := v.kill(m); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", v.name, m, err)
			}
		}
		for _, a := range arms {
			if err := r.reopen(all, m, a, best); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// restart opens stores that were closed cleanly.
func (r *recovery) restart(all []*victim) error {
	runs := make([][]Number, len(all))
	for range r.o.Runs {
		for i, v := range all {
			if err := mirror(v.dir, v.clean); err != nil {
				return err
			}
			e, err := v.reopen(true)
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], Number(e[1].Seconds))
		}
	}
	for i, v := range all {
		r.cleans = append(r.cleans, r.result.best(v.name+".clean.lookups", "s", runs[i], "after a clean close"))
	}
	return nil
}

// reopen opens copies of the killed stores in turns.
func (r *recovery) reopen(all []*victim, m moment, a arm, best map[string]Number) error {
	runs := make([][3][]Number, len(all)) // opened, answered, ready
	last := make([]event, len(all))
	for range r.o.Runs {
		for i, v := range all {
			if err := v.restore(a); err != nil {
				return err
			}
			e, err := v.reopen(false)
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", v.name, m, a.name, err)
			}
			for k := range e {
				runs[i][k] = append(runs[i][k], Number(e[k].Seconds))
			}
			last[i] = e[0]
		}
	}
	for i, v := range all {
		row := fmt.Sprintf("%s.%s.%s.", v.name, m, a.name)
		note := fmt.Sprintf("%d blocks more than at the clean close, %.1f MB of deltas",
			last[i].Height-v.height, float64(last[i].Delta)/1e6)
		r.result.best(row+"open", "s", runs[i][0], note)
		best[row+"lookups"] = r.result.best(row+"lookups", "s", runs[i][1], "")
		r.lookups = append(r.lookups, best[row+"lookups"])
		r.ready = append(r.ready, r.result.best(row+"ready", "s", runs[i][2], ""))
	}
	return nil
}
