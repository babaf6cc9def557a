package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"stele/bench"
)

// benchChild is the verb that an experiment starts its child processes with; it is for no one else.
const benchChild = "bench-child"

// benchVerb runs experiments.
func (a *app) benchVerb() *cobra.Command {
	var o bench.Options
	var plots string
	c := &cobra.Command{
		Use:   "bench NAME...|all|list",
		Short: "measure: what one experiment, or all, find on this machine",
		Args:  atLeastOne("bench", "NAME, all or list"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			if !(o.Scale > 0) || o.Runs < 1 {
				return misused("bench", "wrong size", "--scale and --runs must be above zero")
			}
			if len(args) == 1 && args[0] == "list" {
				return a.listExperiments()
			}
			wanted, err := experiments(args)
			if err != nil {
				return err
			}
			draw, err := plotter(plots)
			if err != nil {
				return err
			}
			return a.bench(wanted, o, draw)
		}),
	}
	c.Flags().Float64Var(&o.Scale, "scale", 1, "multiply the default size by `N`")
	c.Flags().IntVar(&o.Runs, "runs", 5, "measure every arm `N` times")
	c.Flags().StringVar(&o.Dir, "dir", "", "`folder` for stores, which are removed again; default: for temporary files")
	c.Flags().StringVar(&plots, "plot", "", "`folder` for plots, an SVG and a PNG of each experiment")
	c.AddCommand(a.benchChainVerb())
	return c
}

// plotter returns what draws results into a folder; nothing where none is named.
func plotter(dir string) (draw func(*bench.Result) error, err error) {
	if dir == "" {
		return func(*bench.Result) error { return nil }, nil
	}
	draw, err = bench.Plotter(dir)
	if errors.Is(err, bench.ErrNoPlots) {
		return nil, misused("bench", "--plot", err.Error())
	}
	return draw, err
}

// benchChildVerb is a process of an experiment. It talks with its parent while it works, so nothing is buffered.
func (a *app) benchChildVerb() *cobra.Command {
	return &cobra.Command{
		Use:    benchChild,
		Hidden: true,
		Args:   exactly(benchChild),
		RunE: a.verb(func(*cobra.Command, []string) error {
			return bench.Child(a.stdin, a.stdout)
		}),
	}
}

// experiments finds those that are named, each once.
func experiments(names []string) (wanted []bench.Experiment, err error) {
	if len(names) == 1 && names[0] == "all" {
		return bench.All(), nil
	}
	for i, name := range names {
		e, ok := bench.Find(name)
		if !ok {
			return nil, misused("bench", "unknown experiment", strconv.Quote(name)+"; stele bench list has them all")
		}
		if !slices.Contains(names[:i], name) {
			wanted = append(wanted, e)
		}
	}
	return wanted, nil
}

// benchInfo is an experiment as list tells it with --json.
type benchInfo struct {
	Name  string     `json:"name"`
	About string     `json:"about"`
	Keys  []benchKey `json:"keys"`
}

// benchKey is a ratio and its bound, of which one is set.
type benchKey struct {
	Key     string   `json:"key"`
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

func (a *app) listExperiments() error {
	var doc []benchInfo
	for _, e := range bench.All() {
		info := benchInfo{Name: e.Name, About: e.About}
		for _, k := range e.Keys {
			key := benchKey{Key: k.Name}
			if key.AtLeast = &k.Reach; k.Most {
				key.AtLeast, key.AtMost = nil, &k.Reach
			}
			info.Keys = append(info.Keys, key)
		}
		doc = append(doc, info)
	}
	return a.answer(doc, func(w io.Writer) {
		t := table{gap: 2}
		for _, e := range doc {
			t.row(e.Name, e.About)
		}
		t.write(w)
	})
}

// bench runs experiments one after the other, and draws each. One alone is answered by its own document, several by a list
// of them.
func (a *app) bench(wanted []bench.Experiment, o bench.Options, draw func(*bench.Result) error) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.Child = []string{exe, benchChild}
	o.Note = func(text string) { a.log.Info().Msg(text) }
	var all []*bench.Result
	for _, e := range wanted {
		r, err := e.Measure(ctx, o)
		if ctx.Err() != nil {
			return failed("stopped", "bench "+e.Name, "nothing of it is left behind")
		}
		if err != nil {
			return err
		}
		if err := draw(r); err != nil {
			return err
		}
		all = append(all, r)
	}
	if a.json && len(all) == 1 {
		return a.encode(all[0])
	}
	return a.answer(all, func(w io.Writer) {
		for i, r := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			_ = r.WriteText(w) // into the answer's buffer, which takes everything
		}
	})
}
