package bench

import (
	"context"
	"errors"
	"testing"

	gen "stele/bench/chain"
)

// smallTrace is the spends of a short chain.
func smallTrace(t *testing.T) *spendTrace {
	t.Helper()
	o := Options{Note: func(string) {}}
	tr, err := o.makeSpendTrace(context.Background(), gen.Options{Seed: 5, Blocks: 130, Txs: 12})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.points) < 300 || len(tr.ends) != 130 {
		t.Fatalf("%d inputs in %d blocks", len(tr.points), len(tr.ends))
	}
	return tr
}

func forms(t *spendTrace) map[string]spendForm {
	return map[string]spendForm{"cells": newCells(t), "split": newSplit(t), "unsplit": newUnsplit(t)}
}

// TestSpendForms compares the spenders that each form finds with those of a map, after a pass and after another one.
func TestSpendForms(t *testing.T) {
	tr := smallTrace(t)
	spenders := map[spentPoint]uint32{}
	for tx := range uint32(len(tr.txids)) {
		for _, p := range tr.points[tr.firstIn[tx]:tr.firstIn[tx+1]] {
			spenders[p] = tx
		}
	}
	for name, form := range forms(tr) {
		f := &formRun{name: name, form: form}
		for range 2 {
			if err := f.pass(tr); err != nil {
				t.Fatal(err)
			}
		}
		for tx, txid := range tr.txids {
			for vout := range tr.firstOut[tx+1] - tr.firstOut[tx] {
				by, ok := form.spender(uint32(tx), vout)
				if want, spent := spenders[spentPoint{txid, vout}]; ok != spent || ok && by != want {
					t.Fatalf("%s: output %d of transaction %d: %d, %v; it is spent by %d, %v", name, vout, tx, by, ok, want, spent)
				}
			}
		}
	}
}

// badTraces are changes to one input of a chain, after which it may not be confirmed.
var badTraces = []struct {
	name string
	of   func(tr *spendTrace, i uint32) spentPoint // what input i is made to spend
}{
	{"spent in an earlier block", func(tr *spendTrace, _ uint32) spentPoint { return tr.points[3] }},
	{"spent by the input before", func(tr *spendTrace, i uint32) spentPoint { return tr.points[i-1] }},
	{"of no transaction", func(*spendTrace, uint32) spentPoint { return spentPoint{key{1, 2, 3}, 0} }},
	{"beyond the outputs", func(tr *spendTrace, i uint32) spentPoint { return spentPoint{tr.points[i].txid, 10_000} }},
	{"of the last transaction of all", func(tr *spendTrace, _ uint32) spentPoint {
		return spentPoint{tr.txids[len(tr.txids)-1], 0}
	}},
}

// TestSpendVerdicts: every form, and both readers, refuse a chain at the input that was made bad.
func TestSpendVerdicts(t *testing.T) {
	tr := smallTrace(t)
	bad := uint32(len(tr.points) - 40)
	for _, c := range badTraces {
		good := tr.points[bad]
		tr.points[bad] = c.of(tr, bad)
		for name, form := range forms(tr) {
			f := &formRun{name: name, form: form}
			if err := f.pass(tr); !isBad(err, bad) {
				t.Errorf("%s: %s: %v", c.name, name, err)
			}
		}
		o := newOriginal(tr)
		for name, confirm := range map[string]func(b int) (uint64, error){
			"pointers": o.confirmPointers,
			"streams":  func(b int) (uint64, error) { return o.confirmStreams(b, openRow) },
		} {
			o.begin()
			var err error
			for b := 0; b < len(tr.ends) && err == nil; b++ {
				_, err = confirm(b)
				o.markStrong(b)
			}
			if !isBad(err, bad) {
				t.Errorf("%s: %s: %v", c.name, name, err)
			}
		}
		tr.points[bad] = good
	}
}

func isBad(err error, input uint32) bool {
	var bad *badSpend
	return errors.As(err, &bad) && bad.input == input
}

// TestSpendBytes: what the forms take is what their rows' widths say.
func TestSpendBytes(t *testing.T) {
	tr := smallTrace(t)
	n, txids := len(tr.points), tr.countTxids()
	for name, want := range map[string]int{
		"cells": 4 * tr.outputs(), "split": 24*n + 36*txids, "unsplit": 20*n - 4*n + 36*txids, // no sequence in any
	} {
		form := forms(tr)[name]
		if err := (&formRun{name: name, form: form}).pass(tr); err != nil {
			t.Fatal(err)
		}
		if rows, _ := form.bytes(); rows != want {
			t.Errorf("%s: %d bytes of rows, not %d", name, rows, want)
		}
	}
}

// TestReaders: both read the same of a whole chain, and as many rows as there must be at least.
func TestReaders(t *testing.T) {
	tr := smallTrace(t)
	o := newOriginal(tr)
	for b := range tr.ends {
		pointers, err := o.confirmPointers(b)
		if err != nil {
			t.Fatal(err)
		}
		streams, err := o.confirmStreams(b, openRow)
		if err != nil || streams != pointers {
			t.Fatalf("block %d: in place %d, through streams %d (%v)", b, pointers, streams, err)
		}
		o.markStrong(b)
	}
	rows, err := o.countRows()
	if least := len(tr.txids) + 6*len(tr.points); err != nil || rows < least {
		t.Errorf("%d rows (%v), at least %d", rows, err, least)
	}
	s := openRow([]byte{1, 2, 3}, 1)
	if s.number8() != 2 || s.failed {
		t.Error("a stream does not read what is there")
	}
	if s.number32(); !s.failed {
		t.Error("a stream reads beyond its end")
	}
}
