package validate

import (
	"strconv"
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
	for _, name := range []string{"757739", "800000"} {
		var b chain.Block
		if err := b.Decode(realdata.Read(t, "mainnet", "blocks", name+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		txids := b.Txids(nil)
		pl := realPlace(t, name, &b)
		zero(name+" at its place", func() {
			if !Accept(pl, &b, txids, &scratch).OK() {
				t.Error("refused")
			}
		})
	}
	for _, x := range readReal(t) {
		pl, at := x.place(), x.genesisMedian
		zero(x.name+" connected", func() {
			if _, v := Connect(pl, &x.block, x.txids, x.coins, at); !v.OK() {
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

// realPlace is that of a mainnet block whose parent's median is unknown; the block's own time is an upper bound.
func realPlace(t testing.TB, height string, b *chain.Block) *Place {
	t.Helper()
	n, err := strconv.ParseUint(height, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	hash := b.Header.Hash()
	pl := NewPlace(chain.Main(), &b.Header, &hash, Parent{Height: uint32(n) - 1, MTP: b.Header.Time - 1})
	return &pl
}

// TestSignetAllocatesNothing: the pair of transactions is built and decoded in the scratch.
func TestSignetAllocatesNothing(t *testing.T) {
	var (
		b       chain.Block
		scratch Scratch
	)
	if err := b.Decode(realdata.Read(t, "signet", "blocks", "31500.blk.gz")); err != nil {
		t.Fatal(err)
	}
	txids, hash, asked := b.Txids(nil), b.Header.Hash(), 0
	verify := func(tx *chain.Block, coin *chain.Coin) bool { asked++; return len(tx.Ins) == 1 && coin.Value == 0 }
	if n := testing.AllocsPerRun(5, func() {
		if !Signet(chain.Signet(), &hash, &b, txids, &scratch, verify).OK() {
			t.Error("refused")
		}
	}); n != 0 || asked != 6 {
		t.Errorf("%v allocations, asked %d times", n, asked)
	}
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
