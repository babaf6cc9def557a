package script

import "testing"

// BenchmarkSpend is the machinery without the curve: every question is answered with yes.
func BenchmarkSpend(b *testing.B) {
	for _, s := range usualSpends(b) {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			e := NewEngine(yes{})
			for b.Loop() {
				if err := e.Verify(&s.tx, 0, Consensus); err != OK {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSpendReset is the same with the making ready of a transaction of one input and two outputs.
func BenchmarkSpendReset(b *testing.B) {
	for _, s := range usualSpends(b) {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			e := NewEngine(yes{})
			for b.Loop() {
				s.tx.Reset(s.tx.block, 0, s.tx.coins)
				if err := e.Verify(&s.tx, 0, Consensus); err != OK {
					b.Fatal(err)
				}
			}
		})
	}
}
