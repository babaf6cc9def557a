package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"stele/validate/script"
)

var scriptExperiment = Experiment{
	Name:  "script",
	About: "scripts of inputs: the machinery around the signature check, and quadratic hashing against btcd",
	Keys: []Key{
		{Name: "script.p2wpkh_us", Reach: 3, Most: true},
		{Name: "script.legacy_allocs", Reach: 0, Most: true},
		{Name: "script.quadratic_vs_btcd", Reach: 2},
		{Name: "script.many_inputs_vs_btcd", Reach: 2},
	},
	Run: runScript,
}

// everyIn is how many inputs of the two large transactions lie from one that is run to the next, at scale 1.
const everyIn = 32

// btcdSide is what btcd does with an input of a scriptWork: all of it, or only its signature hash.
type btcdSide struct{ verify, hash func(in int) error }

func runScript(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	if err := r.machinery(ctx, &o); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		name, what string
		read       func(every int) (*scriptWork, error)
	}{
		{"quadratic", "the transaction of 20,000 inputs in block 367891, run ones with a signature of ours", quadraticSpending},
		{"many_inputs", "the transaction of 5,569 inputs in block 364292", manySpending},
	} {
		o.Note(x.what)
		s, err := x.read(max(1, int(everyIn/min(o.Scale, 1))))
		if errors.Is(err, fs.ErrNotExist) {
			if err := r.absent(x.name+".stele", "µs", err); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil {
			err = r.large(ctx, &o, x.name, x.what, s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return r, nil
}

// machinery measures what an input costs beside the curve: a verifier that always agrees stands for it.
func (r *Result) machinery(ctx context.Context, o *Options) error {
	var ways []way
	var kinds []*scriptWork
	for _, k := range []struct {
		name string
		make func() (*scriptWork, error)
	}{{"p2wpkh", keyHashSpending}, {"p2pkh", legacySpending}} {
		s, err := k.make()
		if err != nil {
			return err
		}
		kinds = append(kinds, s)
		e, tx := script.NewEngine(agreeing{}), new(script.Tx)
		ways = append(ways, way{name: k.name + ".us", do: func() error { return s.run(e, tx) }})
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return err
	}
	our := [2]Number{}
	for i, s := range kinds {
		our[i] = r.best(ways[i].name, "µs", scaled(times[i], 1e-3/float64(len(s.ins))),
			fmt.Sprintf("an input of %d, and its share of what the transaction's inputs hash together; the check is none",
				len(s.ins)))
	}
	r.ratio("script.p2wpkh_us", our[0])
	allocs := allocations(allocRuns, func() { _ = ways[1].do() })
	r.ratio("script.legacy_allocs", r.single("legacy.allocs", "allocations", allocs,
		fmt.Sprintf("a legacy transaction of two inputs and two outputs; mean of %d, rounded down", allocRuns)))
	r.single("p2wpkh.allocs", "allocations", allocations(allocRuns, func() { _ = ways[0].do() }), "as legacy.allocs")
	return nil
}

// large compares the inputs of a transaction that is hashed once for each of them.
func (r *Result) large(ctx context.Context, o *Options, name, what string, s *scriptWork) error {
	real, tx := script.NewEngine(script.Btcec{}), new(script.Tx)
	machine := script.NewEngine(agreeing{})
	ways := []way{
		{name: name + ".stele", reps: 1, do: func() error { return s.run(real, tx) }},
		{name: name + ".stele_hashes", reps: 1, do: func() error { return s.run(machine, tx) }},
	}
	theirs, err := btcdEngine(s)
	if err != nil {
		return err
	}
	if theirs != nil {
		ways = append(ways,
			way{name: name + ".btcd", reps: 1, do: func() error { return s.each(theirs.verify) }},
			way{name: name + ".btcd_hashes", reps: 1, do: func() error { return s.each(theirs.hash) }})
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("one of %d inputs that were run: %s", len(s.ins), what)
	found := make([]Number, len(ways))
	for i := range ways {
		found[i] = r.median(ways[i].name, "µs", scaled(times[i], 1e-3/float64(len(s.ins))), note)
	}
	if theirs == nil {
		r.single(name+".vs_btcd", "ratio", None, needsTag)
		return nil
	}
	r.ratio("script."+name+"_vs_btcd", r.single(name+".vs_btcd", "ratio", found[2]/found[0],
		"whole inputs, each with one ECDSA check by the same backend"))
	r.single(name+".hashes_vs_btcd", "ratio", found[3]/found[1],
		"without the check: ours runs the whole script, btcd computes the hash alone")
	return nil
}
