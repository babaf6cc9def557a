package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"stele/tables"
)

// checkVerb proves the store. One that another process has open is proved by that process's readers' view, beside its
// writer: every row and link, and that the indexes lead to each of them, but not the lines of the indexes by themselves.
func (a *app) checkVerb() *cobra.Command {
	var deep bool
	c := &cobra.Command{
		Use:   "check",
		Short: "verify links, counts and indexes",
		Args:  exactly("check"),
		RunE: a.verb(func(*cobra.Command, []string) error {
			return a.lookup("check", func(t *tables.Tables) error { return a.check(t, deep) })
		}),
	}
	c.Flags().BoolVar(&deep, "deep", false, "also rebuild every block, and the unspent outputs")
	return c
}

// checkDocument is what check answers with --json.
type checkDocument struct {
	OK       bool              `json:"ok"`
	Checked  map[string]uint64 `json:"checked,omitempty"`
	Problems []string          `json:"problems,omitempty"`
}

func (a *app) check(t *tables.Tables, deep bool) error {
	bar := a.meter("check", "rows")
	progress := func(done, total uint64) { bar.update(reading{done: done, total: total}) }
	var r tables.CheckReport
	var err error
	if a.desk == nil {
		r, err = t.Check(deep, progress)
	} else {
		r, err = t.View().Check(a.ctx, deep, progress)
	}
	bar.close()
	if err != nil {
		return err
	}
	if !r.OK() {
		err = a.answer(checkDocument{Problems: r.Problems}, func(w io.Writer) {
			for _, p := range r.Problems {
				fmt.Fprintln(w, p)
			}
		})
		if err != nil {
			return err
		}
		f := damagedStore(fmt.Sprintf("%s has %d problems, the first: %s", a.archive(), len(r.Problems), r.Problems[0]))
		f.shown, f.todo = true, "try stele rebuild and check again; what is wrong then only a backup or a new import mends"
		return f
	}
	return a.answer(checkDocument{OK: true, Checked: r.Checked}, func(w io.Writer) {
		text := table{gap: 2, right: "lr"}
		for _, name := range slices.Sorted(maps.Keys(r.Checked)) {
			text.row(name, count(r.Checked[name]))
		}
		text.row("all in order")
		text.write(w)
	})
}
