package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/tables"
)

// place is a block by height and hash.
type place struct {
	Height uint32     `json:"height"`
	Hash   chain.Hash `json:"hash"`
}

func tipOf(v *tables.View) place {
	l, height := v.Tip()
	return place{height, v.Header(l).Hash()}
}

// checkpointVerb makes the store durable as it is and brings its indexes level; where another process has the store,
// that one does it between two blocks. Its JSON is {"tip":{"height","hash"}}.
func (a *app) checkpointVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint",
		Short: "make everything durable and bring the indexes level",
		Args:  exactly("checkpoint"),
		RunE: a.verb(func(*cobra.Command, []string) error {
			if a.desk != nil {
				return a.desk.onWriter(a.ctx, func(t *tables.Tables, checkpoint func() error) error {
					return a.checkpoint(t, checkpoint)
				})
			}
			return a.orAsk(func() error {
				return a.own("checkpoint", false, func(t *tables.Tables) error { return a.checkpoint(t, t.Checkpoint) })
			})
		}),
	}
}

func (a *app) checkpoint(t *tables.Tables, checkpoint func() error) error {
	if err := checkpoint(); err != nil {
		return err
	}
	doc := struct {
		Tip place `json:"tip"`
	}{tipOf(t.View())}
	return a.answer(doc, func(w io.Writer) {
		fmt.Fprintf(w, "durable up to height %s, block %v\n", count(doc.Tip.Height), doc.Tip.Hash)
	})
}
