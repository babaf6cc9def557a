package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/node/esplora"
	"stele/tables"
)

// blockVerb shows an archived block.
func (a *app) blockVerb() *cobra.Command {
	var raw, txids bool
	c := &cobra.Command{
		Use:   "block HASH|HEIGHT",
		Short: "a block",
		Args:  exactly("block", "HASH|HEIGHT"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			name, err := parseBlock("block", args[0])
			if err != nil {
				return err
			}
			if raw && txids {
				return misused("block", "wrong flags", "--raw and --txids are two different answers")
			}
			return a.lookup("block", func(t *tables.Tables) error { return a.block(t.View(), name, raw, txids) })
		}),
	}
	c.Flags().BoolVar(&raw, "raw", false, "its wire bytes in hex")
	c.Flags().BoolVar(&txids, "txids", false, "the txids of its transactions")
	return c
}

func (a *app) block(v *tables.View, name blockName, raw, txids bool) error {
	l, err := name.find(v)
	if err != nil {
		return err
	}
	b, ok := v.Block(l)
	switch {
	case !ok:
		return notFound(name.String(), "its header is known, but the block is not archived")
	case raw:
		wire, _, err := v.AppendBlock(make([]byte, 0, b.Size), l)
		if err != nil {
			return err
		}
		return a.answerHex(wire)
	case txids:
		return a.blockTxids(v, &b)
	}
	doc, _ := esplora.BlockOf(v, l)
	return a.answer(doc, func(w io.Writer) {
		h := esplora.HeaderOf(v, l)
		t := headerTable(&h)
		t.row("transactions", count(doc.Txs))
		t.row("size", fmt.Sprintf("%s bytes, weight %s", count(doc.Size), count(doc.Weight)))
		if !h.InBest {
			t.row("chain", "not the best one")
		}
		t.write(w)
	})
}

func (a *app) blockTxids(v *tables.View, b *tables.Block) error {
	ids := make([]chain.Hash, b.Txs)
	for i := range ids {
		ids[i] = *v.Txid(b.FirstTx + tables.TxLink(i))
	}
	return a.answer(ids, func(w io.Writer) {
		for _, id := range ids {
			fmt.Fprintln(w, id)
		}
	})
}

// headerTable is a header as text, to which its verb adds rows.
func headerTable(h *esplora.Header) *table {
	t := &table{gap: 2}
	t.row("block", h.ID.String())
	t.row("height", count(h.Height))
	if h.Previous != nil {
		t.row("previous", h.Previous.String())
	}
	t.row("merkle root", h.Merkle.String())
	t.row("time", utc(h.Time)+" UTC, median time past "+utc(h.MTP))
	t.row("version", fmt.Sprintf("0x%08x, nonce %d", h.Version, h.Nonce))
	t.row("bits", fmt.Sprintf("0x%08x, difficulty %.8g", h.Bits, h.Difficulty))
	return t
}
