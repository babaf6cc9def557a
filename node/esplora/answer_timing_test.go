package esplora

import (
	"encoding/json"
	"testing"

	"stele/chain"
)

func BenchmarkTransaction(b *testing.B) {
	v := earlyView(b)
	l := find(b, v, paymentTxid).Link
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Transaction(v, chain.Main(), l); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTransactionJSON(b *testing.B) {
	v := earlyView(b)
	l := find(b, v, paymentTxid).Link
	for b.Loop() {
		tx, err := Transaction(v, chain.Main(), l)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(tx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOutspend(b *testing.B) {
	v := earlyView(b)
	o := find(b, v, spentTxid).FirstOut
	b.ReportAllocs()
	for b.Loop() {
		if !SpenderOf(v, o).Spent {
			b.Fatal("unspent")
		}
	}
}
