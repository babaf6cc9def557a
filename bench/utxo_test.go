package bench

import (
	"context"
	"strings"
	"testing"

	"stele/utxo"
)

// TestUtxoSets: the made sets are as large a record as their periods say, and the records v4 and v5 of them as large as
// was published, within two per cent.
func TestUtxoSets(t *testing.T) {
	for _, c := range []struct {
		period       utxoPeriod
		mean, v4, v5 float64
	}{{period: period412, mean: 3.626, v4: 55.08, v5: 43.90}, {period: periodTip, mean: 1.42, v4: 72.4, v5: 61.7}} {
		g := newUtxoMaker(c.period)
		var outputs, v4, v5 int
		for range 60_000 {
			rec := g.next()
			outputs += len(rec.Outs)
			for i, f := range []func([]byte, *utxo.OldRecord) ([]byte, error){utxo.AppendV4, utxo.AppendV5} {
				b, err := f(nil, g.old())
				if err != nil {
					t.Fatal(err)
				}
				*[]*int{&v4, &v5}[i] += len(b)
			}
		}
		for what, x := range map[string][2]float64{
			"outputs a record": {float64(outputs) / 60_000, c.mean},
			"v4":               {float64(v4) / float64(outputs), c.v4}, "v5": {float64(v5) / float64(outputs), c.v5},
		} {
			if x[0] < .98*x[1] || x[0] > 1.02*x[1] {
				t.Errorf("%s: %s %.3f, published %.3f", c.period.name, what, x[0], x[1])
			}
		}
	}
}

// TestUtxoFinds: a record that answers otherwise ends the experiment.
func TestUtxoFinds(t *testing.T) {
	for _, n := range findOutputs {
		a, err := newFindArm(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.check(); err != nil {
			t.Fatal(err)
		}
		for _, w := range a.ways() {
			if err := w.do(); err != nil {
				t.Fatal(w.name, err)
			}
		}
		a.hits[5].vout = 9999
		if a.check() == nil || a.ways()[0].do() == nil || a.ways()[1].do() == nil {
			t.Errorf("%d outputs: one that is not there is found", n)
		}
	}
}

// TestUtxoCommits: a spend of what is not there fails in every set, and one that gives another coin is seen.
func TestUtxoCommits(t *testing.T) {
	var r Result
	o := tiny(t)
	o.Scale, o.Runs, o.Note = 0.001, 2, func(string) {}
	if err := r.utxoCommits(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range r.Rows {
		if strings.HasPrefix(row.Name, "commit.") && row.Value.Known() {
			rows++
		}
	}
	if rows != len(commitArms)*8 {
		t.Errorf("%d rows", rows)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.utxoCommits(ctx, &o); err == nil {
		t.Error("a cancelled experiment goes on")
	}
}
