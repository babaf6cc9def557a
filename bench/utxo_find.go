package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"

	"stele/utxo"
)

// findQueries is how many lookups in records are drawn for an arm; they are asked in turn. The processor must not learn
// them by heart.
const findQueries = 8192

// findOutputs are the numbers of outputs of the records of an arm; 0: as many as records have at the tip.
var findOutputs = []int{1, 2, 3, 4, 8, 64, 0}

// findArm is records in three forms, and what is looked for in them.
type findArm struct {
	recs, v4, v5 [][]byte
	hits, misses []findQuery
}

type findQuery struct{ rec, vout uint32 }

// newFindArm makes records of n outputs each, few enough to stay in the cache next to the processor, so that what is
// measured is the record and not the memory.
func newFindArm(n int) (*findArm, error) {
	a := &findArm{}
	g := newUtxoMaker(periodTip)
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	records := 128
	if n > 0 {
		records = max(4, 256/n)
	}
	var all []map[uint32]bool
	var vouts [][]uint32
	for range records {
		rec := g.next()
		if n > 0 {
			rec = g.withOutputs(n)
		}
		b, err := utxo.AppendRecord(nil, rec)
		if err != nil {
			return nil, err
		}
		a.recs = append(a.recs, append(make([]byte, 0, len(b)+utxo.RecordSlack), b...))
		v4, err4 := utxo.AppendV4(nil, g.old())
		v5, err5 := utxo.AppendV5(nil, g.old())
		if err4 != nil || err5 != nil {
			return nil, fmt.Errorf("v4: %v, v5: %v", err4, err5)
		}
		a.v4, a.v5 = append(a.v4, v4), append(a.v5, v5)
		present, list := map[uint32]bool{}, []uint32{}
		for _, o := range rec.Outs {
			present[o.Vout] = true
			list = append(list, o.Vout)
		}
		all, vouts = append(all, present), append(vouts, list)
	}
	for range findQueries {
		i := r.Uint32N(uint32(records))
		a.hits = append(a.hits, findQuery{i, vouts[i][r.IntN(len(vouts[i]))]})
		absent := r.Uint32N(256)
		for all[i][absent] {
			absent = r.Uint32N(256)
		}
		a.misses = append(a.misses, findQuery{i, absent})
	}
	return a, nil
}

// ways are the lookups of an arm, as often one way as another: hits of the three with the script in a buffer, hits that
// borrow it, and misses.
func (a *findArm) ways() []way {
	var v utxo.View
	var o utxo.OldOutput
	var script utxo.ScriptBuffer
	end := int64(0) // keeps the compiler from leaving lookups out
	defer func() { runtime.KeepAlive(&end) }()
	old := func(recs [][]byte, find func([]byte, uint32, *utxo.OldOutput) bool, copied bool) func() error {
		return func() error {
			for _, q := range a.hits {
				if !find(recs[q.rec], q.vout, &o) {
					return fmt.Errorf("output %d is missing", q.vout)
				}
				end += int64(o.Value)
				if copied {
					end += int64(copy(script[:], o.Script))
				}
			}
			return nil
		}
	}
	miss := func(recs [][]byte, find func([]byte, uint32, *utxo.OldOutput) bool) func() error {
		return func() error {
			for _, q := range a.misses {
				if find(recs[q.rec], q.vout, &o) {
					return fmt.Errorf("output %d is there", q.vout)
				}
			}
			return nil
		}
	}
	return []way{
		{name: "find.record", do: func() error {
			for _, q := range a.hits {
				s, ok := utxo.FindScript(a.recs[q.rec], q.vout, &v, &script)
				if !ok {
					return fmt.Errorf("output %d is missing", q.vout)
				}
				end += v.Value + int64(len(s))
			}
			return nil
		}},
		{name: "find.v4", do: old(a.v4, utxo.FindV4, true)},
		{name: "find.v5", do: old(a.v5, utxo.FindV5, true)},
		{name: "borrow.record", do: func() error {
			for _, q := range a.hits {
				if !utxo.FindRecord(a.recs[q.rec], q.vout, &v) {
					return fmt.Errorf("output %d is missing", q.vout)
				}
				end += v.Value
			}
			return nil
		}},
		{name: "borrow.v4", do: old(a.v4, utxo.FindV4, false)},
		{name: "miss.record", do: func() error {
			for _, q := range a.misses {
				if utxo.FindRecord(a.recs[q.rec], q.vout, &v) {
					return fmt.Errorf("output %d is there", q.vout)
				}
			}
			return nil
		}},
		{name: "miss.v4", do: miss(a.v4, utxo.FindV4)},
		{name: "miss.v5", do: miss(a.v5, utxo.FindV5)},
	}
}

// check compares the three forms' answers to all questions.
func (a *findArm) check() error {
	var v utxo.View
	var buf utxo.ScriptBuffer
	for _, q := range a.hits {
		var v4, v5 utxo.OldOutput
		if !utxo.FindRecord(a.recs[q.rec], q.vout, &v) || !utxo.FindV4(a.v4[q.rec], q.vout, &v4) ||
			!utxo.FindV5(a.v5[q.rec], q.vout, &v5) {
			return fmt.Errorf("output %d is missing", q.vout)
		}
		s := v.Script(&buf)
		if uint64(v.Value) != v4.Value || v4.Value != v5.Value || v.Height != v4.Height || v4.Height != v5.Height ||
			!bytes.Equal(s, v4.Script) || !bytes.Equal(s, v5.Script) {
			return fmt.Errorf("output %d differs: %+v, %+v, %+v", q.vout, v, v4, v5)
		}
	}
	return nil
}

// utxoFinds times lookups inside of records: with a vout that the processor cannot foresee, and with always the same one
// of the same record.
func (r *Result) utxoFinds(ctx context.Context, o *Options) error {
	var hit, miss4, miss5 []Number
	for _, n := range findOutputs {
		name := strconv.Itoa(n)
		if n == 0 {
			name = "mixed"
		}
		o.Note("finds in records of " + name + " outputs")
		a, err := newFindArm(n)
		if err != nil {
			return err
		}
		m, err := r.findRows(ctx, o, a, name, "")
		if err != nil {
			return err
		}
		hit, miss4 = append(hit, m[1]/m[0]), append(miss4, m[6]/m[5])
		miss5 = append(miss5, m[7]/m[5])
		r.single("find."+name+".vs_v4", "ratio", m[1]/m[0], "script rebuilt against copied")
		r.single("miss."+name+".vs_v4", "ratio", m[6]/m[5], "")
		r.single("miss."+name+".vs_v5", "ratio", m[7]/m[5], "")
		for i := range a.hits {
			a.hits[i], a.misses[i] = a.hits[0], a.misses[0]
		}
		if _, err := r.findRows(ctx, o, a, name, ".same"); err != nil {
			return err
		}
	}
	r.ratio("utxo.find_vs_v4", slowest(hit...))
	r.ratio("utxo.miss_vs_v4", slowest(miss4...))
	r.ratio("utxo.miss_vs_v5", slowest(miss5...))
	return nil
}

// findRounds is how often every way of an arm is timed for each run that is asked for, in turns of about a millisecond:
// what else the processor's core does changes faster than a longer turn ends, and doubles times.
const findRounds = 8

// findReps is how often all queries are asked in a turn.
const findReps = 4

// findRows measures an arm and returns the medians of its ways.
func (r *Result) findRows(ctx context.Context, o *Options, a *findArm, name, suffix string) ([]Number, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	ways := a.ways()
	times := make([][]Number, len(ways))
	rounds := max(2, int(float64(o.Runs*findRounds)*min(o.Scale, 1)))
	for round := range rounds + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range ways {
			before := processorTime()
			for range findReps {
				if err := ways[i].do(); err != nil {
					return nil, err
				}
			}
			if round > 0 { // the first one warms up
				took := Number((processorTime() - before).Nanoseconds())
				times[i] = append(times[i], took/findReps/findQueries)
			}
		}
	}
	note := "the vout cannot be foreseen"
	if suffix != "" {
		note = "the same output again and again"
	}
	medians := make([]Number, len(ways))
	for i := range ways {
		medians[i] = middle(times[i])
		r.single(ways[i].name+"."+name+suffix, "ns", medians[i], fmt.Sprintf("%s; median of %d turns, least %s", note, rounds,
			short(least(times[i]))))
	}
	return medians, nil
}
