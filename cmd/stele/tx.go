package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/node/esplora"
	"stele/tables"
)

// txVerb shows a transaction.
func (a *app) txVerb() *cobra.Command {
	var raw bool
	c := &cobra.Command{
		Use:   "tx TXID",
		Short: "a transaction with its prevouts and status",
		Args:  exactly("tx", "TXID"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			txid, err := parseTxid("tx", args[0])
			if err != nil {
				return err
			}
			return a.lookup("tx", func(t *tables.Tables) error { return a.tx(t.View(), &txid, raw) })
		}),
	}
	c.Flags().BoolVar(&raw, "raw", false, "its wire bytes in hex")
	return c
}

func (a *app) tx(v *tables.View, txid *chain.Hash, raw bool) error {
	l, ok := v.FindTx(txid)
	if !ok {
		return noTx(v, txid)
	}
	if raw {
		wire, err := v.AppendTx(nil, l, true)
		if err != nil {
			return err
		}
		return a.answerHex(wire)
	}
	tx, err := esplora.Transaction(v, a.conf.params, l)
	if err != nil {
		return err
	}
	_, tip := v.Tip()
	return a.answer(tx, func(w io.Writer) { writeTx(w, tx, tip) })
}

func noTx(v *tables.View, txid *chain.Hash) error {
	_, tip := v.Tip()
	return notFound("transaction "+txid.String(), fmt.Sprintf("this store has none of that txid up to height %d", tip))
}

// answerHex answers with bytes in hex: a line, or with --json a string.
func (a *app) answerHex(b []byte) error {
	s := hex.EncodeToString(b)
	return a.answer(s, func(w io.Writer) { fmt.Fprintln(w, s) })
}

func writeTx(w io.Writer, tx *esplora.Tx, tip uint32) {
	head := table{gap: 2}
	head.row("transaction", tx.Txid.String())
	head.row("status", statusText(&tx.Status, tip))
	head.row("version", fmt.Sprintf("%d, lock time %d", tx.Version, tx.LockTime))
	head.row("size", fmt.Sprintf("%s bytes, weight %s", count(tx.Size), count(tx.Weight)))
	head.row("fee", esplora.Amount(tx.Fee).String()+" BTC")
	head.write(w)

	fmt.Fprintln(w, "\ninputs")
	ins := table{gap: 2, lead: "  ", right: "r r"}
	for i, in := range tx.Vin {
		if in.Prevout == nil {
			ins.row(strconv.Itoa(i), "coinbase")
			continue
		}
		point := fmt.Sprintf("%v:%d", in.Txid, in.Vout)
		ins.row(strconv.Itoa(i), point, esplora.Amount(in.Prevout.Value).String(), payee(in.Prevout))
	}
	ins.write(w)

	fmt.Fprintln(w, "\noutputs")
	outs := table{gap: 2, lead: "  ", right: "rr"}
	for i := range tx.Vout {
		o := &tx.Vout[i]
		outs.row(strconv.Itoa(i), esplora.Amount(o.Value).String(), payee(o))
	}
	outs.write(w)
}

// payee is whom an output pays, as far as a line can tell.
func payee(o *esplora.Output) string {
	if o.Address != "" {
		return o.Type + " " + o.Address
	}
	return o.Type
}

func statusText(s *esplora.Status, tip uint32) string {
	if !s.Confirmed {
		return "not on the best chain"
	}
	deep := count(tip - *s.Height + 1)
	return fmt.Sprintf("block %s %v, %s UTC, %s confirmations", count(*s.Height), *s.Hash, utc(*s.Time), deep)
}
