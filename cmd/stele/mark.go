package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/node"
	"stele/tables"
)

// markDocument is what invalidate and reconsider answer.
type markDocument struct {
	Hash chain.Hash `json:"hash"`
	Tip  place      `json:"tip"` // of the chain, afterwards
}

// invalidateVerb marks a block as invalid by hand.
func (a *app) invalidateVerb() *cobra.Command {
	return a.markVerb("invalidate", "leave a block and all on it, until it is reconsidered", (*node.Node).Invalidate)
}

// reconsiderVerb takes such marks back.
func (a *app) reconsiderVerb() *cobra.Command {
	return a.markVerb("reconsider", "take back that a block, or any below or on it, is invalid", (*node.Node).Reconsider)
}

func (a *app) markVerb(
	verb, short string, mark func(n *node.Node, ctx context.Context, hash *chain.Hash) error,
) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " HASH",
		Short: short,
		Args:  exactly(verb, "HASH"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			hash, err := chain.ParseHash(args[0])
			if err != nil {
				return misused(verb, "wrong block hash", args[0])
			}
			do := func(ctx context.Context, t *tables.Tables, n *node.Node) error {
				err := mark(n, ctx, &hash)
				if err == nil {
					err = n.Settle(ctx)
				}
				switch {
				case errors.Is(err, node.ErrUnknownBlock):
					return notFound("block "+args[0], "no header has this hash")
				case err != nil:
					return err
				}
				doc := markDocument{Hash: hash, Tip: tipOf(t.View())}
				return a.answer(doc, func(w io.Writer) {
					fmt.Fprintf(w, "tip: height %s, block %v\n", count(doc.Tip.Height), doc.Tip.Hash)
				})
			}
			if a.desk != nil {
				n := a.desk.node.Load()
				if n == nil {
					return failed("cannot "+verb+" now", "an import has the store", "try again when it is done")
				}
				return do(a.ctx, a.desk.store, n)
			}
			return a.orAsk(func() error {
				return a.own(verb, false, func(t *tables.Tables) error { return a.briefly(t, do) })
			})
		}),
	}
}

// briefly runs a node without peers for as long as something is done with it.
func (a *app) briefly(t *tables.Tables, do func(ctx context.Context, t *tables.Tables, n *node.Node) error) error {
	ctx, stop := a.interruptible()
	defer stop()
	o := a.nodeOptions(a.newDesk())
	o.TablesAlone = true // no set is worth loading for so little
	n := node.New(t, o)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := runBeside(inner, n)
	err := do(ctx, t, n)
	cancel()
	return errors.Join((<-ended).err, err)
}
