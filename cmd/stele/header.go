package main

import (
	"io"

	"github.com/spf13/cobra"

	"stele/node/esplora"
	"stele/tables"
)

// headerVerb shows a header of any chain. Its JSON is that of block as far as headers tell, with chainwork (64 hex
// digits) and in_best_chain.
func (a *app) headerVerb() *cobra.Command {
	var raw bool
	c := &cobra.Command{
		Use:   "header HASH|HEIGHT",
		Short: "a header",
		Args:  exactly("header", "HASH|HEIGHT"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			name, err := parseBlock("header", args[0])
			if err != nil {
				return err
			}
			return a.lookup("header", func(t *tables.Tables) error { return a.header(t.View(), name, raw) })
		}),
	}
	c.Flags().BoolVar(&raw, "raw", false, "its 80 bytes in hex")
	return c
}

func (a *app) header(v *tables.View, name blockName, raw bool) error {
	l, err := name.find(v)
	if err != nil {
		return err
	}
	if raw {
		h := v.WireHeader(l)
		return a.answerHex(h.Append(nil))
	}
	doc := esplora.HeaderOf(v, l)
	return a.answer(doc, func(w io.Writer) {
		t := headerTable(&doc)
		t.row("chain work", doc.Chainwork)
		t.row("best chain", map[bool]string{true: "yes", false: "no"}[doc.InBest])
		t.write(w)
	})
}
