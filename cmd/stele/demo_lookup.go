package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stele/chain"
	"stele/node/esplora"
	"stele/tables"
)

// demoLookup is one question to the store with its times.
type demoLookup struct {
	What   string  `json:"what"`
	Answer string  `json:"answer"`
	First  float64 `json:"first_us"` // the first time that it was asked, microseconds
	Warm   float64 `json:"warm_us"`  // median of many repetitions, microseconds
}

// Two transactions that everybody knows: Satoshi's payment to Hal Finney in block 170, and the coinbase of block 9 that
// it spends.
const (
	firstPayment  = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16"
	firstSpent    = "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9"
	absentTxid    = "5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1e5ce1"
	paymentHeight = 170
)

// Repetitions of a warm lookup: the median of so many batches, each timed as a whole because the clock itself takes
// about as long as a lookup.
const (
	demoBatches = 25
	demoBatch   = 40
)

// measured asks once, then many times.
func measured(what, answer string, ask func()) demoLookup {
	l := demoLookup{What: what, Answer: answer, First: float64(elapsed(ask).Nanoseconds()) / 1e3}
	var times [demoBatches]time.Duration
	for i := range times {
		times[i] = elapsed(func() {
			for range demoBatch {
				ask()
			}
		})
	}
	slices.Sort(times[:])
	l.Warm = float64(times[demoBatches/2].Nanoseconds()) / 1e3 / demoBatch
	return l
}

func elapsed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// question is a lookup in two parts: what is timed, and how the answer to it is shown.
type question struct {
	what   string
	ask    func()
	answer func() string
}

// demoLookups asks the questions of the demo.
func demoLookups(v *tables.View, p *chain.Params) ([]demoLookup, error) {
	txid := knownTxid(firstPayment)
	payment, ok := v.FindTx(&txid)
	if !ok || v.Tx(payment).Outs != 2 {
		return nil, fmt.Errorf("the embedded chain has no transaction %v of two outputs", txid)
	}
	var err error
	questions := append(txQuestions(v), spenderQuestions(v, payment)...)
	questions = append(questions, wholeQuestions(v, p, payment, &err)...)
	all := make([]demoLookup, len(questions))
	for i, q := range questions {
		all[i] = measured(q.what, "", q.ask)
		all[i].Answer = q.answer()
	}
	return all, err
}

// txQuestions find a transaction by its txid, one that is there and one that is not.
func txQuestions(v *tables.View) []question {
	present, absent := knownTxid(firstPayment), knownTxid(absentTxid)
	var tx tables.Tx
	var found bool
	return []question{{
		"tx " + short(present) + ", the first payment",
		func() {
			if l, ok := v.FindTx(&present); ok {
				tx = v.Tx(l)
			}
		},
		func() string {
			at := v.Header(tx.Header).Height()
			return fmt.Sprintf("block %d, position %d, %d input, %d outputs", at, tx.Position, tx.Ins, tx.Outs)
		},
	}, {
		"tx " + short(absent) + ", which is absent",
		func() { _, found = v.FindTx(&absent) },
		func() string { return map[bool]string{true: "found", false: "not found"}[found] },
	}}
}

// spenderQuestions ask who spends an output: of the payment, and of the coinbase that it spends.
func spenderQuestions(v *tables.View, payment tables.TxLink) []question {
	txid := knownTxid(firstSpent)
	spender := func(name string, find func() (tables.TxLink, bool), index uint32) question {
		var s esplora.Outspend
		return question{
			"spender of " + name,
			func() {
				if l, ok := find(); ok {
					s = esplora.SpenderOf(v, v.Tx(l).FirstOut+tables.OutputLink(index))
				}
			},
			func() string {
				if !s.Spent {
					return "nobody up to here"
				}
				return fmt.Sprintf("input %d of %s in block %d", *s.Vin, short(*s.Txid), *s.Status.Height)
			},
		}
	}
	known := func() (tables.TxLink, bool) { return payment, true }
	return []question{
		spender("its output 0", known, 0),
		spender("its output 1", known, 1),
		spender(short(txid)+":0", func() (tables.TxLink, bool) { return v.FindTx(&txid) }, 0),
	}
}

// wholeQuestions ask for whole answers: a transaction's JSON, a block, a block's bytes.
func wholeQuestions(v *tables.View, p *chain.Params, payment tables.TxLink, err *error) []question {
	var raw []byte
	var block esplora.Block
	keep := func(e error) {
		if e != nil {
			*err = e
		}
	}
	size := func() string { return count(len(raw)) + " bytes" }
	at := func() tables.HeaderLink {
		l, _ := v.HeaderAt(paymentHeight)
		return l
	}
	return []question{{
		"the payment as Esplora's JSON",
		func() {
			tx, e := esplora.Transaction(v, p, payment)
			keep(e)
			raw, e = json.Marshal(tx)
			keep(e)
		},
		size,
	}, {
		fmt.Sprintf("block at height %d", paymentHeight),
		func() { block, _ = esplora.BlockOf(v, at()) },
		func() string { return fmt.Sprintf("%s, %d transactions", short(block.ID), block.Txs) },
	}, {
		"its wire bytes, rebuilt from rows",
		func() {
			var e error
			raw, _, e = v.AppendBlock(raw[:0], at())
			keep(e)
		},
		size,
	}}
}

func knownTxid(s string) chain.Hash {
	h, err := chain.ParseHash(s)
	if err != nil {
		panic(err)
	}
	return h
}
