package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// ErrNoPlots says that plots are not linked into this executable.
var ErrNoPlots = errors.New("this executable draws no plots: build it with -tags bench")

// WriteText writes a result as tables: the keys with their bounds, then every row.
func (r *Result) WriteText(w io.Writer) error {
	e, _ := Find(r.Experiment)
	fmt.Fprintf(w, "%s: %s\n%s; scale %s\n\n", r.Experiment, e.About, r.Machine.String(), short(Number(r.Scale)))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "key\tvalue\treach\t")
	for _, k := range e.Keys {
		v := r.Ratios[k.Name]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", k.Name, short(v), k.bound(), k.verdict(v))
	}
	fmt.Fprintln(t, "\t\t\t\nrow\tvalue\tunit\tload\truns\tnote")
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", x.Name, short(x.Value), x.Unit, short(x.Load), runsText(x.Runs), x.Note)
	}
	return t.Flush()
}

func (k *Key) bound() string {
	if k.Most {
		return "≤ " + short(Number(k.Reach))
	}
	return "≥ " + short(Number(k.Reach))
}

func (k *Key) verdict(n Number) string {
	switch {
	case !n.Known():
		return "not measured"
	case k.Most && float64(n) <= k.Reach, !k.Most && float64(n) >= k.Reach:
		return "reached"
	}
	return "missed"
}

func runsText(runs []Number) string {
	all := make([]string, len(runs))
	for i, n := range runs {
		all[i] = short(n)
	}
	return strings.Join(all, " ")
}

// short writes a figure with three digits, or all before the point.
func short(n Number) string {
	f := float64(n)
	switch {
	case !n.Known():
		return "-"
	case f == math.Trunc(f) || math.Abs(f) >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
