package utxo

// make adds the records of the shard's transactions, of what the window leaves of them.
func (w *worker) make(sh *shard) {
	for i := range w.adds {
		a := &w.adds[i]
		if a.left == 0 && a.at.handle == 0 {
			continue
		}
		m := w.madeOf(a)
		x := op{hash: a.hash}
		if a.at.handle != 0 {
			x = w.overwrite(sh, m, a)
		}
		w.enc = w.enc[:0]
		if a.left > 0 {
			w.rec.Txid, w.rec.Height, w.rec.Coinbase, w.rec.First = m.Txid, w.blocks[a.block].Height, m.Coinbase, m.First
			w.rec.Outs = w.unspentOf(a, m)
			var err error
			if w.enc, err = AppendRecord(w.enc, &w.rec); err != nil {
				w.fail(failure{int(a.block), failRecord, int(a.made), err})
				continue
			}
		}
		w.change(sh, x, int(a.left))
	}
	w.rec.Outs = nil
}

// unspentOf returns the outputs of a made transaction that the window does not spend. It is good until the next call.
func (w *worker) unspentOf(a *add, m *Made) []Entry {
	if int(a.left) == len(m.Outs) {
		return m.Outs
	}
	outs := w.kept[:0]
	for i := range m.Outs {
		if w.spent[int(a.spent)+i/64]>>(i%64)&1 == 0 {
			outs = append(outs, m.Outs[i])
		}
	}
	w.kept = outs
	return outs
}

// overwrite captures all outputs of a record that is made again, and begins the change of its entry.
func (w *worker) overwrite(sh *shard, m *Made, a *add) op {
	outs := 0
	buf := &w.undos[a.block].scripts[w.id]
	each(sh.record(a.at.handle), &w.view, func(vout uint32, v *View) bool {
		s := Spent{Point: Outpoint{m.Txid, vout}, First: v.First}
		*buf = v.coin(&s.Coin, *buf)
		w.over = append(w.over, s)
		outs++
		return true
	})
	return sh.replaced(a.hash, a.at, outs)
}

// change is put for a window.
func (w *worker) change(sh *shard, x op, outs int) {
	if err := w.put(sh, x, outs); err != nil {
		w.full(err)
	}
}

// put notes the change x of an entry, whose new record of so many outputs, if there are any, is w.enc. It fails with a
// *FullError.
func (w *worker) put(sh *shard, x op, outs int) error {
	x.shard = uint8(sh.id)
	if outs > 0 {
		x.freshSize = uint32(len(w.enc))
		if x.fresh = sh.slab.alloc(x.freshSize); x.fresh == 0 {
			return &FullError{Shard: int(sh.id)}
		}
		sh.slab.write(x.fresh, w.enc)
		x.payload += int32(len(w.enc))
	}
	x.outputs += int32(outs)
	w.ops = append(w.ops, x)
	return nil
}

// replaced begins the change of an entry: its record, of so many outputs, goes.
func (sh *shard) replaced(hash uint64, at place, outs int) op {
	size := recordSize(sh.record(at.handle))
	return op{hash: hash, at: at, oldSize: uint32(size), outputs: -int32(outs), payload: -int32(size)}
}
