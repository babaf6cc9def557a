package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stele/tables"
)

// indexes are what rebuild can make again: each is derived from the rows and the log.
var indexes = []string{"header", "tx", "spend", "conflict"}

// rebuildVerb makes indexes again, whatever their files hold. Its JSON is {"rebuilt":[…],"tip":{"height","hash"}}.
func (a *app) rebuildVerb() *cobra.Command {
	return &cobra.Command{
		Use:       "rebuild [INDEX...]",
		Short:     "make indexes again from the rows: " + strings.Join(indexes, ", ") + "; default: all",
		ValidArgs: indexes,
		Args:      cobra.ArbitraryArgs,
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(indexes, name) {
					return misused("rebuild", "unknown index", fmt.Sprintf("%q is none of %s", name, strings.Join(indexes, ", ")))
				}
			}
			if len(args) == 0 {
				args = indexes
			}
			return a.rebuild(args)
		}),
	}
}

func (a *app) rebuild(names []string) error {
	a.log.Info().Str("indexes", strings.Join(names, ", ")).Msg("rebuilding")
	bar := a.meter("rebuild", "rows")
	defer bar.close()
	c := claim{verb: "rebuild", options: tables.Options{Rebuild: names}}
	c.options.Progress = func(what string, done, total uint64) {
		bar.update(reading{stage: "rebuild " + what, done: done, total: total})
	}
	return a.claim(c, func(t *tables.Tables) error {
		if err := t.Checkpoint(); err != nil { // a full disk at the close would count as nothing lost
			return err
		}
		bar.close()
		doc := struct {
			Rebuilt []string `json:"rebuilt"`
			Tip     place    `json:"tip"`
		}{names, tipOf(t.View())}
		return a.answer(doc, func(w io.Writer) {
			fmt.Fprintf(w, "rebuilt %s, up to height %s\n", strings.Join(names, ", "), count(doc.Tip.Height))
		})
	})
}
