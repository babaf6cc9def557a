package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

// Every experiment runs at a tiny scale, leaves nothing behind, and its document has every key that it declares, by
// its own name, with figures that can be.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			o := tiny(t)
			r, err := e.Measure(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(o.Dir); err != nil || len(left) != 0 {
				t.Errorf("it leaves %v (%v)", left, err)
			}
			checkRows(t, r)
			raw, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				Experiment string              `json:"experiment"`
				Ratios     map[string]*float64 `json:"ratios"`
				Rows       []json.RawMessage   `json:"rows"`
			}
			if err := json.Unmarshal(raw, &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Experiment != e.Name || len(doc.Rows) == 0 || len(doc.Ratios) != len(e.Keys) {
				t.Fatalf("experiment %q, %d rows, ratios %v", doc.Experiment, len(doc.Rows), doc.Ratios)
			}
			for _, k := range e.Keys {
				v, ok := doc.Ratios[k.Name]
				if !ok || !strings.HasPrefix(k.Name, e.Name+".") {
					t.Errorf("key %s is missing or another experiment's", k.Name)
				} else if v != nil && (*v < 0 || *v == 0 && k.Reach != 0) {
					t.Errorf("%s is %v", k.Name, *v)
				} else if v == nil && runtime.GOOS == "linux" && !tooSmall[k.Name] && !needsPeers(k.Name) &&
					!wanting(k.Name) {
					t.Errorf("%s could not be measured", k.Name)
				}
			}
		})
	}
}

// tooSmall are keys that a tiny chain cannot measure: its archive is smaller than the least memory, and
// read whole while it is opened.
var tooSmall = map[string]bool{"written.memory_tenth_time": true, "lookup.cold_pages": true, "memory.quarter": true}

// needsPeers tells whether this executable lacks the stores that a key is about.
func needsPeers(key string) bool {
	about := strings.HasPrefix(key, "lookup.tx_vs_") || key == "lookup.insert_vs_bbolt"
	return about && len(peerKinds()) == 0 || key == "sync.vs_btcd" && !btcdLinked
}

// rowsOf lists rows that an experiment must have, whatever else it has, with figures above zero.
var rowsOf = map[string][]string{
	"recover": {
		"small.archive", "small.clean.lookups", "small.import.live.lookups", "small.merge.nolive.ready", "large.archive",
		"large.import.nolive.open", "large.merge.live.ready", "large.end.live.lookups", "headers.import.live.ready",
		"headers.merge.nolive.open", "headers.clean.lookups", "growth.import.live.lookups", "growth.merge.nolive.lookups",
	},
	"lookup": {
		"tx.hit", "tx.miss", "tx.two", "spender.link", "spender.full", "insert.tables", "insert.map", "map.single.hit",
		"map.grouped.miss", "grouped.hit", "bytes.tx", "bytes.spend",
	},
	"spend": {
		"pass.cells", "pass.split", "pass.unsplit", "enter.split", "confirm.split", "vs.unsplit.confirm", "bytes.cells",
		"bytes.split", "bytes.both_ways",
	},
	"reader": {"pass.pointer", "pass.stream", "pass.stream.reused", "vs.reused"},
	"sync":   {"ours", "ours.written"},
	"confirm": {
		"set.one", "set.one.rate", "set.one.take", "set.one.put", "set.two", "set.two.rate", "tables.one.rate",
		"tables.one.put", "strong.writes", "strong.grown", "stage.1.prepare", "stage.1.take", "stage.2.put",
		"stage.2.checkpoint", "stage.2.elapsed",
	},
	"written": {
		"mainnet.plenty.seconds", "mainnet.tenth.counted_vs_archive", "mainnet.tenth_time", "generated.plenty.seconds",
		"generated.plenty.counted_vs_archive", "generated.tenth.counted_vs_archive", "generated.tenth_time",
	},
}

func checkRows(t *testing.T, r *Result) {
	t.Helper()
	have := map[string]Row{}
	for _, row := range r.Rows {
		if _, twice := have[row.Name]; twice {
			t.Errorf("row %s is there twice", row.Name)
		}
		have[row.Name] = row
	}
	for _, name := range rowsOf[r.Experiment] {
		if row, ok := have[name]; !ok || !row.Value.Known() || row.Value <= 0 || row.Unit == "" {
			t.Errorf("row %s: %+v, present %v", name, row, ok)
		}
	}
	for _, row := range r.Rows {
		sum, height := Number(0), uint32(0)
		for _, p := range row.Points {
			if sum += p.Step; p.Sum != sum || p.Height <= height {
				t.Errorf("row %s: at height %d %v, which is not the sum %v", row.Name, p.Height, p.Sum, sum)
			}
			height = p.Height
		}
		if len(row.Points) > 0 && row.Value != sum {
			t.Errorf("row %s is %v, its points %v", row.Name, row.Value, sum)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[Number]string{0: "0", 1.25: "1.25", Number(math.Inf(1)): "null"} {
		if b, err := json.Marshal(n); err != nil || string(b) != want {
			t.Errorf("%v is %s (%v), not %s", float64(n), b, err, want)
		}
	}
	b, err := json.Marshal(map[string]Number{"x": None})
	if err != nil || string(b) != `{"x":null}` {
		t.Errorf("an unknown figure is %s (%v)", b, err)
	}
	var back map[string]Number
	if err := json.Unmarshal(b, &back); err != nil || back["x"].Known() {
		t.Errorf("null is read as %v (%v)", back, err)
	}
}

func TestChoice(t *testing.T) {
	runs := []Number{3, 1, 2, 10}
	if least(runs) != 1 || middle(runs) != 2.5 || middle(runs[:3]) != 2 || worst(runs...) != 10 {
		t.Errorf("least %v, medians %v and %v, worst %v", least(runs), middle(runs), middle(runs[:3]), worst(runs...))
	}
	for what, n := range map[string]Number{
		"least of none": least(nil), "median of none": middle(nil), "worst of none": worst(),
		"worst with an unknown": worst(1, None, 3), "least with an unknown": least([]Number{1, None}),
	} {
		if n.Known() {
			t.Errorf("%s is %v", what, n)
		}
	}
}

// A bound is met from its own side, and an unknown figure meets none.
func TestText(t *testing.T) {
	most, least := Key{"x.a", 2, true}, Key{"x.b", 2, false}
	for _, c := range []struct {
		k    Key
		n    Number
		want string
	}{
		{most, 2, "reached"}, {most, 2.1, "missed"}, {most, None, "not measured"},
		{least, 2, "reached"}, {least, 1.9, "missed"}, {least, None, "not measured"},
	} {
		if have := c.k.verdict(c.n); have != c.want {
			t.Errorf("%v %s: %s, not %s", float64(c.n), c.k.bound(), have, c.want)
		}
	}
	r := Result{Experiment: "written", Machine: Machine{CPU: "a processor", Latency: None, Copy: 7.25}}
	r.median("some.row", "ratio", []Number{1.5, 1.25, 1000}, "a note")
	r.ratio("written.vs_archive", 1.5)
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a processor", "latency - ns", "7.25 GB/s", "≤ 2", "reached", "some.row", "1.5 1.25 1000", "a note",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

// The cycle visits every line once before it comes back.
func TestCycle(t *testing.T) {
	c := makeCycle(1000)
	seen, at := 0, uint32(0)
	for {
		seen++
		if at = c[at].next; at == 0 {
			break
		}
	}
	if seen != len(c) {
		t.Errorf("the cycle has %d lines of %d", seen, len(c))
	}
}
