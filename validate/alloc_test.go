package validate

import (
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// TestPassingAllocatesNothing: header and block rules, on real full blocks and on a transaction of very many
// inputs, once Scratch has seen the largest.
func TestPassingAllocatesNothing(t *testing.T) {
	var scratch Scratch
	zero := func(name string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(5, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	// The first has a transaction of thousands of inputs.
	for _, name := range []string{"367891", "709632", "800000"} {
		var b chain.Block
		if err := b.Decode(realdata.Read(t, "mainnet", "blocks", name+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		txids := b.Txids(nil)
		zero(name, func() {
			if !Check(chain.Main(), &b, txids, &scratch).OK() || !Weight(&b).OK() {
				t.Error("refused")
			}
		})
	}
	p := chain.Regtest()
	c := steady(300, 1_600_000_000, 600, p.PowLimitBits)
	h := chain.Header{Version: 4, Time: c.tip().Time + 600, Bits: p.PowLimitBits}
	hash, parent := mine(&h), c.tip()
	zero("header", func() {
		if !Header(p, &h, &hash, parent, c, int64(h.Time)).OK() || NextMTP(parent, c, h.Time) == 0 {
			t.Error("refused")
		}
	})
}

// TestScratchIsSmall: what its comment says a block keeps there.
func TestScratchIsSmall(t *testing.T) {
	var scratch Scratch
	for _, n := range []int{pairwise, pairwise + 1, 32, 33, 20_000} {
		scratch = Scratch{}
		if v := CheckTx(sameSpec(n, -1).decode(t), 0, &scratch); !v.OK() {
			t.Fatal(v)
		}
		bytes := 4 * cap(scratch.slots)
		if n <= pairwise && bytes != 0 || n > pairwise && (bytes < 8*n || bytes > 16*n) {
			t.Errorf("%d inputs: %d bytes", n, bytes)
		}
	}
}
