package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
)

// Experiment is one question that is answered by measuring.
type Experiment struct {
	Name  string
	About string // one line
	Keys  []Key  // of its ratios
	Run   func(ctx context.Context, o Options) (*Result, error)
}

// Key is one ratio of an experiment, by its whole name, and how far it should reach.
type Key struct {
	Name  string
	Reach float64
	Most  bool // Reach is the most that it may be; else the least that it must be
}

// Options are what every experiment takes.
type Options struct {
	Scale float64  // multiplies the default size; 0: 1
	Runs  int      // of every arm; 0: 5
	Dir   string   // where folders for stores and chains are made; "": the system's folder for temporary files
	Child []string // command line of a process that calls Child

	Note func(text string) // takes one line about what is being done; may be nil

	lines int // of memory to measure the machine with; 0: more than the caches hold
}

// Result is what an experiment found. Its JSON is the document of `stele bench NAME --json`.
type Result struct {
	Experiment string            `json:"experiment"`
	Ratios     map[string]Number `json:"ratios"` // every key of the experiment
	Rows       []Row             `json:"rows"`
	Scale      float64           `json:"scale"`
	Machine    Machine           `json:"machine"`
}

// Row is one figure behind the ratios.
type Row struct {
	Name  string   `json:"name"`
	Value Number   `json:"value"`
	Unit  string   `json:"unit"`
	Runs  []Number `json:"runs,omitempty"` // what Value is the best or the median of
	Load  Number   `json:"load"`           // load average when it was measured
	Note  string   `json:"note,omitempty"`

	Points []Point `json:"points,omitempty"` // Value by height, where it is a sum along a chain
}

// Point is how much of a sum belongs to the blocks above the last point's height, up to this one, and to all so far.
type Point struct {
	Height uint32 `json:"height"`
	Step   Number `json:"step"`
	Sum    Number `json:"sum"`
}

// Number is a figure; one that is not finite could not be measured, and is null in JSON.
type Number float64

// None is what could not be measured.
var None = Number(math.NaN())

// Known tells whether the figure was measured.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = None
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// All lists the experiments in the order in which `bench all` runs them.
func All() []Experiment {
	return []Experiment{
		recoverExperiment, writtenExperiment, lookupExperiment,
		decodeExperiment, hashExperiment, sizeExperiment, blockExperiment, scriptExperiment, sigExperiment, utxoExperiment,
		spendExperiment, readerExperiment, syncExperiment, memoryExperiment, confirmExperiment,
	}
}

// Find returns the experiment of a name.
func Find(name string) (Experiment, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
	if i < 0 {
		return Experiment{}, false
	}
	return all[i], true
}

// Measure runs an experiment and completes its result: with the machine, and with null for every key that it could not
// measure. A cancelled context is an error.
func (e Experiment) Measure(ctx context.Context, o Options) (*Result, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.lines == 0 {
		o.lines = machineLines
	}
	dir, err := os.MkdirTemp(o.Dir, "stele-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o.Dir = dir
	o.Note("the machine")
	machine := measureMachine(o.lines)
	r, err := e.Run(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("bench %s: %w", e.Name, err)
	}
	r.Experiment, r.Machine, r.Scale = e.Name, machine, o.Scale
	for _, k := range e.Keys {
		if _, ok := r.Ratios[k.Name]; !ok {
			r.ratio(k.Name, None)
		}
	}
	return r, nil
}

func (r *Result) ratio(key string, n Number) {
	if r.Ratios == nil {
		r.Ratios = map[string]Number{}
	}
	r.Ratios[key] = n
}

// best adds a row whose value is the least of its runs, and returns that.
func (r *Result) best(name, unit string, runs []Number, note string) Number {
	return r.add(Row{Name: name, Value: least(runs), Unit: unit, Runs: runs, Note: note})
}

// median adds a row whose value is the median of its runs, and returns that.
func (r *Result) median(name, unit string, runs []Number, note string) Number {
	return r.add(Row{Name: name, Value: middle(runs), Unit: unit, Runs: runs, Note: note})
}

// single adds a row of one figure, and returns it.
func (r *Result) single(name, unit string, n Number, note string) Number {
	return r.add(Row{Name: name, Value: n, Unit: unit, Note: note})
}

func (r *Result) add(row Row) Number {
	row.Load = loadAverage()
	r.Rows = append(r.Rows, row)
	return row.Value
}

func least(runs []Number) Number {
	if len(runs) == 0 {
		return None
	}
	return slices.Min(runs) // NaN is the least of all: one run that failed spoils the row
}

func middle(runs []Number) Number {
	if len(runs) == 0 {
		return None
	}
	sorted := slices.Sorted(slices.Values(runs))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// worst is the largest of several figures, and unknown where one of them is.
func worst(all ...Number) Number {
	if len(all) == 0 {
		return None
	}
	if slices.ContainsFunc(all, func(n Number) bool { return !n.Known() }) {
		return None
	}
	return slices.Max(all)
}
