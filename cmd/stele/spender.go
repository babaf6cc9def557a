package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"stele/node/esplora"
	"stele/tables"
)

// spenderVerb shows who spends outputs.
func (a *app) spenderVerb() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "spender TXID:VOUT...",
		Short: "who spends an output",
		Args:  atLeastOne("spender", "TXID:VOUT"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			points := make([]outpoint, len(args))
			for i, arg := range args {
				p, err := parseOutpoint("spender", arg)
				if err != nil {
					return err
				}
				points[i] = p
			}
			return a.lookup("spender", func(t *tables.Tables) error { return a.spenders(t.View(), points, all) })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "every spender ever archived, those of other branches included")
	return c
}

// spenders answers for one outpoint with its outspend, or with --all an array; for several with an array of those, null
// where the outpoint is unknown.
func (a *app) spenders(v *tables.View, points []outpoint, all bool) error {
	docs := make([]any, len(points))
	text := table{gap: 2}
	for i, p := range points {
		o, err := findOutput(v, p)
		if err != nil {
			if len(points) == 1 {
				return err
			}
			text.row(fmt.Sprintf("%v:%d", p.txid, p.vout), "unknown")
			continue
		}
		var found []esplora.Outspend
		if all {
			found = esplora.SpendersOf(v, o)
			docs[i] = found
		} else if s := esplora.SpenderOf(v, o); s.Spent {
			found, docs[i] = []esplora.Outspend{s}, s
		} else {
			docs[i] = s
		}
		name := fmt.Sprintf("%v:%d", p.txid, p.vout)
		if len(found) == 0 {
			text.row(name, "unspent")
		}
		for k := range found {
			text.row(name, spentText(&found[k]))
		}
	}
	if len(docs) == 1 {
		return a.answer(docs[0], text.write)
	}
	return a.answer(docs, text.write)
}

func spentText(s *esplora.Outspend) string {
	where := "off the best chain"
	if s.Status.Confirmed {
		where = "in block " + count(*s.Status.Height)
	}
	return fmt.Sprintf("spent by input %d of %v %s", *s.Vin, *s.Txid, where)
}

// findOutput returns the number of an output.
func findOutput(v *tables.View, p outpoint) (tables.OutputLink, error) {
	l, ok := v.FindTx(&p.txid)
	if !ok {
		return 0, noTx(v, &p.txid)
	}
	tx := v.Tx(l)
	if p.vout >= tx.Outs {
		name := fmt.Sprintf("output %v:%d", p.txid, p.vout)
		return 0, notFound(name, fmt.Sprintf("that transaction has %d outputs", tx.Outs))
	}
	return tx.FirstOut + tables.OutputLink(p.vout), nil
}
