package utxo

import (
	"bytes"
	"cmp"
	"slices"

	"stele/chain"
)

// Undo takes a block back: the one that was committed last, with what its commit returned. It is atomic as a commit is:
// an *UndoError or a *FullError leaves the set as it was. u is as it was and can be used once more, after the block was
// committed again.
func (s *Set) Undo(u *Undo) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	w := &s.commit.workers[0]
	w.s, w.u, w.ops, w.err = s, u, w.ops[:0], nil
	back := make([]*Spent, 0, len(u.Spent)+len(u.Overwritten))
	for _, all := range [][]Spent{u.Spent, u.Overwritten} {
		for i := range all {
			if !all[i].Own {
				back = append(back, &all[i])
			}
		}
	}
	slices.SortFunc(back, func(a, b *Spent) int {
		return cmp.Or(bytes.Compare(a.Point.Txid[:], b.Point.Txid[:]), cmp.Compare(a.Point.Vout, b.Point.Vout))
	})
	if err := s.roomFor(back); err != nil {
		return err
	}
	made := map[chain.Hash]bool{}
	for i := range u.made {
		made[u.made[i].txid] = true
		w.unmake(&u.made[i])
	}
	for len(back) > 0 && w.err == nil {
		n := 1
		for n < len(back) && back[n].Point.Txid == back[0].Point.Txid {
			n++
		}
		w.restore(back[:n], made[back[0].Point.Txid])
		back = back[n:]
	}
	all := s.commit.workers[:1]
	if w.err != nil {
		s.abandon(all)
		return w.err
	}
	s.apply(all)
	return nil
}

// roomFor makes the indexes ready for all outputs that come back, before places in them are looked up.
func (s *Set) roomFor(back []*Spent) error {
	var records [shards]uint64
	for i, b := range back {
		if i == 0 || b.Point.Txid != back[i-1].Point.Txid {
			records[b.Point.Txid[0]]++
		}
	}
	for i, n := range records {
		if n == 0 {
			continue
		}
		if err := s.room(&s.shards[i], n); err != nil {
			return err
		}
	}
	return nil
}

// unmake removes the record of a transaction that the block made.
func (w *worker) unmake(m *madeTrace) {
	sh := &w.s.shards[m.txid[0]]
	hash := hashOf(&m.txid, w.s.salt)
	at := sh.find(&m.txid, hash, &w.view.work)
	if at.handle == 0 {
		w.fail(&UndoError{Txid: m.txid, Why: "it is not in the set"})
		return
	}
	r := read(sh.record(at.handle))
	if uint32(r.n) != m.outs || r.head.height() != w.u.Height {
		w.fail(&UndoError{Txid: m.txid, Why: "the set has other outputs of it"})
		return
	}
	w.put(sh, sh.replaced(hash, at, int(r.n)), 0)
}

// restore puts outputs of one transaction back, into the record that is there or a new one. The record of a
// transaction that the block made is on its way out, and not looked at.
func (w *worker) restore(back []*Spent, made bool) {
	txid := back[0].Point.Txid
	sh := &w.s.shards[txid[0]]
	first := back[0]
	whole := Record{
		Txid: txid, Height: first.Coin.Height, Coinbase: first.Coin.Coinbase, First: first.First,
	}
	hash := hashOf(&txid, w.s.salt)
	x := op{hash: hash}
	if at := sh.find(&txid, hash, &w.view.work); at.handle != 0 && !made {
		var have Record
		decode(txid[0], sh.record(at.handle), &have, nil)
		if have.Height != whole.Height || have.Coinbase != whole.Coinbase || have.First != whole.First {
			w.fail(&UndoError{Txid: txid, Why: "the set has outputs of it from another block"})
			return
		}
		x = sh.replaced(hash, at, len(have.Outs))
		whole.Outs = have.Outs
	}
	for _, b := range back {
		whole.Outs = append(whole.Outs, Entry{Vout: b.Point.Vout, Value: b.Coin.Value, Script: b.Coin.Script})
	}
	slices.SortFunc(whole.Outs, func(a, b Entry) int { return cmp.Compare(a.Vout, b.Vout) })
	var err error
	if w.enc, err = AppendRecord(w.enc[:0], &whole); err != nil {
		w.fail(&UndoError{Txid: txid, Why: err.Error()})
		return
	}
	w.put(sh, x, len(whole.Outs))
}
