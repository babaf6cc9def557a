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
		t := headerTable(&doc.ID, doc.Height, doc.Previous, doc.Time, doc.MTP, doc.Version, doc.Bits, doc.Nonce, doc.Difficulty, &doc.Merkle)
		t.row("transactions", count(doc.Txs))
		t.row("size", fmt.Sprintf("%s bytes, weight %s", count(doc.Size), count(doc.Weight)))
		if !v.Confirmed(l) {
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

func headerTable(id *chain.Hash, height uint32, prev *chain.Hash, time, mtp, version, bits, nonce uint32, difficulty float64,
	merkle *chain.Hash) *table {
	t := &table{gap: 2}
	t.row("block", id.String())
	t.row("height", count(height))
	if prev != nil {
		t.row("previous", prev.String())
	}
	t.row("merkle root", merkle.String())
	t.row("time", utc(time)+" UTC, median time past "+utc(mtp))
	t.row("version", fmt.Sprintf("0x%08x, nonce %d", version, nonce))
	t.row("bits", fmt.Sprintf("0x%08x, difficulty %.8g", bits, difficulty))
	return t
}
