package utxo

import (
	"bytes"
	"cmp"
	"slices"
)

// Undo takes a block back: the one that was committed last and not yet taken back, with what its commit returned,
// whether it came alone or in a window. It is atomic as a commit is: an *UndoError or a *FullError leaves the set as it
// was. u is as it was and can be used once more, after the block was committed again.
//
// It allocates nothing once it has taken back as much.
func (s *Set) Undo(u *Undo) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	all := s.commit.workers[:1]
	w := &all[0]
	w.begin(s, 0, 1, nil, nil)
	err := w.undo(u)
	clear(w.back[:cap(w.back)])
	if err != nil {
		s.abandon(all)
		return err
	}
	s.apply(all)
	s.pack(1)
	return nil
}

func (w *worker) undo(u *Undo) error {
	over := w.gather(u)
	if err := w.roomFor(); err != nil {
		return err
	}
	for i := range u.made {
		if err := w.unmake(&u.made[i], u.Height); err != nil {
			return err
		}
	}
	// What was overwritten comes back in place of records that were made, the rest where none was.
	for from, back := 0, w.back; from < len(back); {
		n := 1
		for from+n < len(back) && from+n != over && back[from+n].Point.Txid == back[from].Point.Txid {
			n++
		}
		if err := w.restore(back[from:from+n], from >= over); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// gather puts what comes back into w.back, by outpoints: what was spent, and from over on what was overwritten.
func (w *worker) gather(u *Undo) (over int) {
	w.back = w.back[:0]
	for i := range u.Spent {
		if !u.Spent[i].Own {
			w.back = append(w.back, &u.Spent[i])
		}
	}
	over = len(w.back)
	for i := range u.Overwritten {
		w.back = append(w.back, &u.Overwritten[i])
	}
	slices.SortFunc(w.back[:over], compareSpent)
	slices.SortFunc(w.back[over:], compareSpent)
	return over
}

func compareSpent(a, b *Spent) int {
	return cmp.Or(bytes.Compare(a.Point.Txid[:], b.Point.Txid[:]), cmp.Compare(a.Point.Vout, b.Point.Vout))
}

// roomFor makes the indexes ready for all outputs that come back, before places in them are looked up.
func (w *worker) roomFor() error {
	var records [shards]uint64
	for i, b := range w.back {
		if i == 0 || b.Point.Txid != w.back[i-1].Point.Txid {
			records[b.Point.Txid[0]]++
		}
	}
	for i, n := range records {
		if n == 0 {
			continue
		}
		if err := w.s.room(&w.s.shards[i], n); err != nil {
			return err
		}
	}
	return nil
}

// unmake removes the record of a transaction that the block made, if it left any of it.
func (w *worker) unmake(m *madeTrace, height uint32) error {
	if m.outs == 0 {
		return nil
	}
	sh := &w.s.shards[m.txid[0]]
	hash := hashOf(&m.txid, w.s.salt)
	at := sh.find(&m.txid, hash, &w.view.work)
	if at.handle == 0 {
		return &UndoError{Txid: m.txid, Why: "it is not in the set"}
	}
	r := read(sh.record(at.handle))
	if uint32(r.n) != m.outs || r.head.height() != height {
		return &UndoError{Txid: m.txid, Why: "the set has other outputs of it"}
	}
	return w.put(sh, sh.replaced(hash, at, int(r.n)), 0)
}

// restore puts outputs of one transaction back, into the record that is there or a new one. The record of a
// transaction that the block made anew is on its way out, and not looked at.
func (w *worker) restore(back []*Spent, anew bool) error {
	txid := &back[0].Point.Txid
	sh := &w.s.shards[txid[0]]
	first := back[0]
	whole := &w.rec
	whole.Outs = w.kept[:0]
	hash := hashOf(txid, w.s.salt)
	x := op{hash: hash}
	if at := sh.find(txid, hash, &w.view.work); at.handle != 0 && !anew {
		w.text = decode(txid[0], sh.record(at.handle), whole, w.text[:0])
		if whole.Height != first.Coin.Height || whole.Coinbase != first.Coin.Coinbase || whole.First != first.First {
			return &UndoError{Txid: *txid, Why: "the set has outputs of it from another block"}
		}
		x = sh.replaced(hash, at, len(whole.Outs))
	}
	whole.Txid, whole.Height, whole.Coinbase, whole.First = *txid, first.Coin.Height, first.Coin.Coinbase, first.First
	for _, b := range back {
		whole.Outs = append(whole.Outs, Entry{Vout: b.Point.Vout, Value: b.Coin.Value, Script: b.Coin.Script})
	}
	w.kept = whole.Outs
	slices.SortFunc(whole.Outs, func(a, b Entry) int { return cmp.Compare(a.Vout, b.Vout) })
	var err error
	if w.enc, err = AppendRecord(w.enc[:0], whole); err != nil {
		return &UndoError{Txid: *txid, Why: err.Error()}
	}
	return w.put(sh, x, len(whole.Outs))
}
