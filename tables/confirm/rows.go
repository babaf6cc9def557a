package confirm

import (
	"slices"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
)

// rows makes of an archived block what a set needs to take it in or back. It reads the rows of the block, those of the
// outputs that it spends, and the output slab; no input. Its memory is reused from block to block.
type rows struct {
	change  utxo.Block
	undo    utxo.Undo
	entries []utxo.Entry
	scripts []byte // of change
	taken   []byte // scripts of undo
	ownLeft []bool // by output of the block: the block does not spend it
}

// made fills r.change with what the block of header l does. Nothing is asked of the order in the block.
func (r *rows) made(v *tables.View, l tables.HeaderLink) error {
	b, _ := v.Block(l)
	x := &r.change
	x.Height, x.Overwrites = v.Header(l).Height(), b.Overwrites()
	x.Spends, x.Made = x.Spends[:0], x.Made[:0]
	r.entries, r.scripts = slices.Grow(r.entries[:0], int(b.Outs)), r.scripts[:0]
	for i := range b.Ins {
		if o, ok := v.Prevout(b.FirstIn + tables.InputLink(i)); ok {
			x.Spends = append(x.Spends, pointOf(v, o))
		}
	}
	return v.EachMade(&b, func(m *tables.Made) error {
		if chain.Unspendable(m.Script) {
			return nil
		}
		e := utxo.Entry{Vout: m.Index, Value: m.Value, Script: r.keep(m.Script)}
		r.entries = append(r.entries, e)
		first := uint64(m.Output) - uint64(m.Index)
		if n := len(x.Made); n > 0 && x.Made[n-1].First == first {
			outs := &x.Made[n-1].Outs
			*outs = (*outs)[:len(*outs)+1]
			return nil
		}
		x.Made = append(x.Made, utxo.Made{
			Txid: *v.Txid(m.Tx), Coinbase: m.Tx == b.FirstTx, First: first, Outs: r.entries[len(r.entries)-1:],
		})
		return nil
	})
}

// keep copies a script. What was kept before stays where it is.
func (r *rows) keep(script []byte) []byte {
	at := len(r.scripts)
	r.scripts = append(r.scripts, script...)
	return r.scripts[at:len(r.scripts):len(r.scripts)]
}

// pointOf names output o by its transaction's id.
func pointOf(v *tables.View, o tables.OutputLink) utxo.Outpoint {
	l, index := v.OutputTx(o)
	return utxo.Outpoint{Txid: *v.Txid(l), Vout: index}
}

// spent fills r.undo with what the commit of the block of header l returned once: the coins of other blocks that it
// spent or overwrote, and how many outputs of each of its transactions it left.
func (r *rows) spent(v *tables.View, l tables.HeaderLink) error {
	b, _ := v.Block(l)
	r.taken = r.taken[:0]
	r.ownLeft = grown(r.ownLeft, int(b.Outs))
	for i := range r.ownLeft {
		r.ownLeft[i] = true
	}
	r.undo.Rebuild(v.Header(l).Height())
	for i := range b.Ins {
		o, ok := v.Prevout(b.FirstIn + tables.InputLink(i))
		switch {
		case !ok:
		case o >= b.FirstOut && o < b.FirstOut+tables.OutputLink(b.Outs):
			r.ownLeft[o-b.FirstOut] = false
		default:
			s, err := r.coin(v, o)
			if err != nil {
				return err
			}
			r.undo.Spent = append(r.undo.Spent, s)
		}
	}
	var fault error
	v.EachOverwritten(&b, func(o tables.OutputLink) {
		s, err := r.coin(v, o)
		if err != nil {
			fault = err
		}
		r.undo.Overwritten = append(r.undo.Overwritten, s)
	})
	if fault != nil {
		return fault
	}
	return v.EachMade(&b, func(m *tables.Made) error {
		if r.ownLeft[m.Output-b.FirstOut] && !chain.Unspendable(m.Script) {
			r.undo.Made(v.Txid(m.Tx))
		}
		return nil
	})
}

// coin is output o as a commit hands it back.
func (r *rows) coin(v *tables.View, o tables.OutputLink) (utxo.Spent, error) {
	l, index := v.OutputTx(o)
	c, scripts, err := v.Coin(l, index, r.taken)
	r.taken = scripts
	return utxo.Spent{
		Point: utxo.Outpoint{Txid: *v.Txid(l), Vout: index}, Coin: c, First: uint64(o) - uint64(index),
	}, err
}
