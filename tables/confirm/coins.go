package confirm

import (
	"errors"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
	"stele/validate"
)

// coins is the source that a set of unspent outputs is. Taking a block reads nothing but the block and the set.
type coins struct {
	c       *Confirmer
	set     *utxo.Set
	changes []*utxo.Block // of the window in hand
	undos   []*utxo.Undo
	rows    rows // of blocks that are taken off the tables
}

// take commits the whole window, then looks at ages, which are known from then on. A block that is too young in what
// it spends is taken back, with those above it.
func (s *coins) take(ws []*Work) (int, error) {
	s.changes, s.undos = s.changes[:0], s.undos[:0]
	for _, w := range ws {
		if w.prepared != w.Place.Hash {
			w.Prepare()
		}
		w.change.Shift(uint64(w.first))
		w.prepared = chain.Hash{}
		w.change.Overwrites = w.excepted
		s.changes, s.undos = append(s.changes, &w.change), append(s.undos, &w.undo)
	}
	n, err := s.set.CommitAll(s.changes, s.undos)
	if verdict(err) {
		err = nil
	}
	for i, w := range ws[:n] {
		if !w.archived {
			w.collect()
			if !validate.Ripe(&w.Place, w.Block, w.Coins, s.c.at) {
				return i, s.takeBack(ws[i:n])
			}
		}
		s.c.enter(w)
	}
	return n, err
}

// verdict reports whether an error of a commit says that the block breaks a rule.
func verdict(err error) bool {
	switch err.(type) {
	case *utxo.MissingError, *utxo.DuplicateError:
		return true
	}
	return false
}

// takeBack undoes blocks that were committed last.
func (s *coins) takeBack(ws []*Work) error {
	for i := len(ws) - 1; i >= 0; i-- {
		if err := s.set.Undo(&ws[i].undo); err != nil {
			return err
		}
	}
	return nil
}

// collect copies what a commit found: the coins, and the numbers that the archive wants. Scripts are the undo data's.
func (w *Work) collect() {
	ins := int(w.Block.Txs[0].Ins)
	w.Coins, w.prevouts = grown(w.Coins, len(w.Block.Ins)), grown(w.prevouts, len(w.Block.Ins))
	for i := range ins {
		w.Coins[i], w.prevouts[i] = chain.Coin{}, tables.NoOutput
	}
	coins, prevouts := w.Coins[ins:], w.prevouts[ins:]
	for i := range w.undo.Spent {
		s := &w.undo.Spent[i]
		coins[i] = s.Coin
		prevouts[i] = tables.OutputLink(s.Link())
	}
	w.overwrites = len(w.undo.Overwritten) > 0
}

// grown returns s with length n; what it holds is to be written.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

func (s *coins) put(*Work) {}

func (s *coins) drop(w *Work) error { return s.set.Undo(&w.undo) }

func (s *coins) pop() error {
	t := s.c.t
	l, _ := t.Tip()
	if err := s.rows.spent(t.Live(), l); err != nil {
		return err
	}
	if err := s.rows.made(t.Live(), l); err != nil { // in case that it has to go in again
		return err
	}
	if err := s.set.Undo(&s.rows.undo); err != nil {
		return err
	}
	err := t.Pop()
	if err != nil {
		err = errors.Join(err, s.set.Commit(&s.rows.change, &s.rows.undo))
	}
	return err
}

func (s *coins) coin(txid *chain.Hash, vout uint32) (chain.Coin, bool, error) {
	c, _, _, ok := s.set.Get(txid, vout, nil)
	return c, ok, nil
}
