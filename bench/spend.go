package bench

import (
	"context"
	"errors"
	"fmt"

	gen "stele/bench/chain"
)

var spendExperiment = Experiment{
	Name:  "spend",
	About: "what is spent as cells by output number, against hashed multimaps by outpoint",
	Keys: []Key{
		{Name: "spend.bytes_vs_multimap", Reach: 6},
		{Name: "spend.confirm_vs_multimap", Reach: 1.2},
		{Name: "spend.confirm_vs_unsplit", Reach: 3},
	},
	Run: runSpend,
}

// spendBlocks is the chain of scale 1: 2.2 M inputs.
const spendBlocks = 600

// spendChain is the chain of an experiment of so many full blocks at scale 1; a smaller one keeps enough of them.
func spendChain(scale float64, full int) gen.Options {
	blocks := max(leastBlocks, float64(full)*scale)
	txs := int(float64(full) * fullTxs * scale / blocks)
	return gen.Options{Seed: seed, Blocks: uint32(blocks), Txs: max(10, min(fullTxs, txs))}
}

// formRun is one form of spends in an experiment.
type formRun struct {
	name string
	form spendForm
	note string

	enter, confirm []Number // of each pass, nanoseconds of processor time an input
}

func runSpend(ctx context.Context, o Options) (*Result, error) {
	t, err := o.makeSpendTrace(ctx, spendChain(o.Scale, spendBlocks))
	if err != nil {
		return nil, err
	}
	all := []*formRun{
		{name: "cells", form: newCells(t), note: "ours: 4 bytes an output, 5 an input"},
		{name: "split", form: newSplit(t), note: "the original's of 2023: 24 bytes a spend, 36 a txid spent from, buckets"},
		{name: "unsplit", form: newUnsplit(t), note: "the same rows in front of each input's script and witness"},
	}
	o.Note(fmt.Sprintf("confirming %d inputs in three forms", len(t.points)))
	ways := make([]way, len(all))
	for i, f := range all {
		ways[i] = way{name: f.name, reps: 1, do: func() error { return f.pass(t) }}
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return nil, err
	}
	if err := sameSpenders(t, all); err != nil {
		return nil, err
	}
	r := &Result{}
	r.spendTimes(t, all, times)
	r.spendBytes(t, all)
	return r, nil
}

// pass enters and confirms the whole chain.
func (f *formRun) pass(t *spendTrace) error {
	f.form.reset()
	var enter, confirm Number
	for b := range t.ends {
		start := processorTime()
		f.form.enter(b)
		middle := processorTime()
		if err := f.form.confirm(b); err != nil {
			return fmt.Errorf("%s: block %d: %w", f.name, b+1, err)
		}
		enter += Number((middle - start).Nanoseconds())
		confirm += Number((processorTime() - middle).Nanoseconds())
	}
	n := Number(len(t.points))
	f.enter, f.confirm = append(f.enter, enter/n), append(f.confirm, confirm/n)
	return nil
}

// sameSpenders compares what all forms answer for every output.
func sameSpenders(t *spendTrace, all []*formRun) error {
	spent := 0
	for tx := range uint32(len(t.txids)) {
		for vout := range t.firstOut[tx+1] - t.firstOut[tx] {
			want, ok := all[0].form.spender(tx, vout)
			if ok {
				spent++
			}
			for _, f := range all[1:] {
				if by, found := f.form.spender(tx, vout); found != ok || ok && by != want {
					return fmt.Errorf("output %d of transaction %d: %s says %d (%v), %s %d (%v)",
						vout, tx, all[0].name, want, ok, f.name, by, found)
				}
			}
		}
	}
	if spent != len(t.points) {
		return errors.New("there are inputs whose output has no spender")
	}
	return nil
}

// spendTimes makes rows of the passes. A key compares whole passes: they begin with the same inputs and end with the
// same spends in place. What the original does in order alone, its rows entered on other threads before, has a row
// against the whole of ours, which enters what is spent while it confirms.
func (r *Result) spendTimes(t *spendTrace, all []*formRun, times [][]Number) {
	n := float64(len(t.points))
	whole, alone := make([]Number, len(all)), make([]Number, len(all))
	for i, f := range all {
		whole[i] = r.median("pass."+f.name, "ns", scaled(times[i], 1/n), "an input, entered and confirmed; "+f.note)
		r.median("enter."+f.name, "ns", f.enter[1:], "of it: rows and bytes that need no order") // the first pass warms up
		alone[i] = r.median("confirm."+f.name, "ns", f.confirm[1:], "of it: decided in order")
	}
	for i, key := range []string{1: "spend.confirm_vs_multimap", 2: "spend.confirm_vs_unsplit"} {
		if i > 0 {
			name := "vs." + all[i].name
			r.ratio(key, r.single(name+".pass", "ratio", whole[i]/whole[0], "entered and confirmed"))
			r.single(name+".confirm", "ratio", alone[i]/alone[0],
				"confirmed alone, which is half of their work and nearly all of ours")
		}
	}
}

// spendBytes makes rows of what the forms take.
func (r *Result) spendBytes(t *spendTrace, all []*formRun) {
	n := Number(len(t.points))
	each := func(f *formRun) Number {
		rows, buckets := f.form.bytes()
		return r.single("bytes."+f.name, "bytes", Number(rows+buckets)/n,
			fmt.Sprintf("a spend: %d of rows, %d of buckets, %d spends", rows, buckets, len(t.points)))
	}
	ours, theirs := each(all[0]), each(all[1])
	each(all[2])
	r.ratio("spend.bytes_vs_multimap", theirs/ours)
	r.single("bytes.both_ways", "ratio", (theirs+putWidth)/(ours+insNumber),
		"with what leads from an input to its output: puts there, ins here")
	s := all[1].form.(*split)
	r.single("bytes.spends_alone", "ratio", Number(len(s.rows)+4*len(s.heads))/n/ours,
		"without the rows of txids, which its keys name")
}
