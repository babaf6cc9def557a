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

// checkpointVerb makes the store durable as it is and brings its indexes level. Its JSON is {"tip":{"height","hash"}}.
func (a *app) checkpointVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint",
		Short: "make everything durable and bring the indexes level",
		Args:  exactly("checkpoint"),
		RunE: a.verb(func(*cobra.Command, []string) error {
			return a.own("checkpoint", false, func(t *tables.Tables) error {
				if err := t.Checkpoint(); err != nil {
					return err
				}
				doc := struct {
					Tip place `json:"tip"`
				}{tipOf(t.View())}
				return a.answer(doc, func(w io.Writer) {
					fmt.Fprintf(w, "durable up to height %s, block %v\n", count(doc.Tip.Height), doc.Tip.Hash)
				})
			})
		}),
	}
}
