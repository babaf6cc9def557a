package archivetest

import (
	"fmt"

	"stele/chain"
	"stele/tables"
)

// Push archives the block of header l on the tip of t, unless it is archived, and pushes it. ok is false where a prevout
// does not exist or is spent; then nothing has changed. Outputs of a txid that the block repeats are overwritten (BIP30
// is not asked for). An error is one of tables.Archive and tables.Push.
func Push(t *tables.Tables, l tables.HeaderLink, b *chain.Block, txids []chain.Hash, r *tables.Rows) (ok bool, err error) {
	if _, archived := t.Archived(l); archived {
		return true, t.Push(l)
	}
	prevouts, ok := resolve(t, b, txids)
	if !ok {
		return false, nil
	}
	if _, err := t.Archive(l, r, prevouts, repeats(t, txids)); err != nil {
		return false, err
	}
	return true, t.Push(l)
}

// MustPush is Push where both answers are expected to be good.
func MustPush(t *tables.Tables, l tables.HeaderLink, b *chain.Block, txids []chain.Hash, r *tables.Rows) error {
	ok, err := Push(t, l, b, txids, r)
	if err == nil && !ok {
		err = fmt.Errorf("block %v spends what is not there", b.Header.Hash())
	}
	return err
}

// resolve finds the number of the output that each input spends.
func resolve(t *tables.Tables, b *chain.Block, txids []chain.Hash) (prevouts []tables.OutputLink, ok bool) {
	v := t.Live()
	above := map[chain.Hash]int{}
	taken := map[tables.OutputLink]bool{}
	for i := range b.Txs {
		tx := &b.Txs[i]
		for in := tx.FirstIn; in < tx.FirstIn+tx.Ins; in++ {
			if i == 0 {
				prevouts = append(prevouts, tables.NoOutput)
				continue
			}
			o, ok := find(t, v, b, above, int(in))
			if !ok || taken[o] {
				return nil, false
			}
			taken[o] = true
			prevouts = append(prevouts, o)
		}
		above[txids[i]] = i
	}
	return prevouts, true
}

func find(t *tables.Tables, v *tables.View, b *chain.Block, above map[chain.Hash]int, in int) (tables.OutputLink, bool) {
	txid, vout := b.Outpoint(in)
	if parent, ok := above[*txid]; ok {
		p := &b.Txs[parent]
		if vout >= p.Outs || chain.Unspendable(b.Bytes(b.Outs[p.FirstOut+vout].Script)) {
			return 0, false
		}
		return t.NextOutput() + tables.OutputLink(p.FirstOut+vout), true
	}
	l, ok := v.FindStrong(txid)
	if !ok {
		return 0, false
	}
	parent := v.Tx(l)
	o := parent.FirstOut + tables.OutputLink(vout)
	return o, vout < parent.Outs && !v.Spent(o)
}

// repeats reports whether a transaction has the txid of unspent outputs.
func repeats(t *tables.Tables, txids []chain.Hash) bool {
	v := t.Live()
	for i := range txids {
		l, ok := v.FindStrong(&txids[i])
		if !ok {
			continue
		}
		tx := v.Tx(l)
		for n := range tx.Outs {
			if !v.Spent(tx.FirstOut + tables.OutputLink(n)) {
				return true
			}
		}
	}
	return false
}
