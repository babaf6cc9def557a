package bench

import (
	"context"
	"fmt"
)

var readerExperiment = Experiment{
	Name:  "reader",
	About: "the original's confirmation of a chain, with rows read in place and through a stream for each",
	Keys:  []Key{{Name: "reader.pointer_vs_stream", Reach: 2.5}},
	Run:   runReader,
}

// readerBlocks is the chain of scale 1: 1.4 M inputs.
const readerBlocks = 400

func runReader(ctx context.Context, o Options) (*Result, error) {
	t, err := o.makeSpendTrace(ctx, spendChain(o.Scale, readerBlocks))
	if err != nil {
		return nil, err
	}
	tables := newOriginal(t)
	sums := map[string]uint64{}
	pass := func(name string, block func(b int) (uint64, error)) way {
		return way{name: name, reps: 1, do: func() error {
			tables.begin()
			sum := uint64(0)
			for b := range t.ends {
				n, err := block(b)
				if err != nil {
					return fmt.Errorf("%s: block %d: %w", name, b+1, err)
				}
				sum += n
				tables.markStrong(b)
			}
			sums[name] = sum
			return nil
		}}
	}
	reused := new(rowStream)
	ways := []way{
		pass("pointer", tables.confirmPointers),
		pass("stream", func(b int) (uint64, error) { return tables.confirmStreams(b, openRow) }),
		pass("stream.reused", func(b int) (uint64, error) {
			return tables.confirmStreams(b, func(rows []byte, at int) *rowStream {
				reused.open(rows, at)
				return reused
			})
		}),
	}
	o.Note(fmt.Sprintf("confirming %d inputs with three readers", len(t.points)))
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return nil, err
	}
	if sums["stream"] != sums["pointer"] || sums["stream.reused"] != sums["pointer"] {
		return nil, fmt.Errorf("the readers do not read the same: %v", sums)
	}
	rows, err := tables.countRows()
	if err != nil {
		return nil, err
	}
	r := &Result{}
	var medians [3]Number
	for i, note := range []string{"rows in place", "a stream object for each row", "one stream object for all rows"} {
		medians[i] = r.median("pass."+ways[i].name, "ns", scaled(times[i], 1/float64(len(t.points))),
			fmt.Sprintf("an input: %s; %.1f rows each", note, float64(rows)/float64(len(t.points))))
	}
	r.ratio("reader.pointer_vs_stream", medians[1]/medians[0])
	r.single("vs.reused", "ratio", medians[2]/medians[0], "nothing allocated")
	return r, nil
}

// countRows counts the rows that a pass reads.
func (o *original) countRows() (rows int, err error) {
	o.begin()
	for b := range o.t.ends {
		if _, err := o.confirmStreams(b, func(table []byte, at int) *rowStream {
			rows++
			return openRow(table, at)
		}); err != nil {
			return 0, err
		}
		o.markStrong(b)
	}
	return rows, nil
}
