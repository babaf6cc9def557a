package node

import (
	"fmt"
	"testing"

	"stele/tables"
	"stele/utxo"
)

// statedSet is what is asked of a set of unspent outputs: how much it holds, and both of Core's hashes of it.
type statedSet struct {
	records, outputs   uint64
	serialized, muhash string
}

func stateOf(t fataler, s *utxo.Set) (x statedSet) {
	t.Helper()
	r := s.Report()
	x.records, x.outputs = r.Records, r.Outputs
	_, hash, err := utxo.Serialized3Of(s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, mu, err := utxo.MuHashOf(s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.serialized, x.muhash = hash.String(), mu.Sum().String()
	return x
}

// unspentSet is the set that the tables say there is.
func (r *rig) unspentSet(t fataler) statedSet {
	t.Helper()
	s := utxo.New(utxo.Options{Salt: 7, Heap: true, Reserve: 64 << 10})
	defer s.Close()
	var rec utxo.Record
	var tx tables.TxLink
	flush := func() error {
		if len(rec.Outs) == 0 {
			return nil
		}
		defer func() { rec.Outs = rec.Outs[:0] }()
		return s.Load(&rec)
	}
	err := r.t.View().EachUnspent(func(u *tables.Unspent) error {
		if u.Tx != tx {
			if err := flush(); err != nil {
				return err
			}
			tx = u.Tx
			rec.Txid, rec.Height, rec.Coinbase, rec.First = *u.Txid, u.Height, u.Coinbase, uint64(u.Output)-uint64(u.Vout)
		}
		script := append([]byte(nil), u.Script...)
		rec.Outs = append(rec.Outs, utxo.Entry{Vout: u.Vout, Value: u.Value, Script: script})
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return stateOf(t, s)
}

// coinWatch keeps the set that an import uses, and what it was when it was given up.
type coinWatch struct {
	t     fataler
	set   *utxo.Set
	last  statedSet
	times int // that one was put to use
}

// watchCoins has an import take its coins from a small set on the heap, and watches it.
func watchCoins(t fataler, o *ImportOptions) *coinWatch {
	w := &coinWatch{t: t}
	o.heap = true
	if o.reserve == 0 {
		o.reserve = 64 << 10
	}
	o.Using = w.using
	return w
}

func (w *coinWatch) using(s *utxo.Set) {
	switch {
	case s != nil:
		w.times++
	case w.set != nil:
		w.last = stateOf(w.t, w.set)
	}
	w.set = s
}

// modes runs a test with a set of unspent outputs and without.
func modes(t *testing.T, f func(t *testing.T, alone bool)) {
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("tables_alone=%v", alone), func(t *testing.T) { f(t, alone) })
	}
}

// modesThreads does so with one thread and with four.
func modesThreads(t *testing.T, f func(t *testing.T, o ImportOptions)) {
	modes(t, func(t *testing.T, alone bool) {
		for _, threads := range []int{1, 4} {
			t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
				f(t, ImportOptions{
					StopHeight: -1, Verifier: verifier, TablesAlone: alone, Threads: threads, heap: true, reserve: 64 << 10,
				})
			})
		}
	})
}
