package validate_test

import (
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/validate"
)

// TestRipe stands on both sides of every limit: a coinbase's hundred blocks, and relative locks by height and by time.
// The second transaction's last input is the one that is asked about, the others are always ripe.
func TestRipe(t *testing.T) {
	const height, parentMTP = 500, 1_000_000
	mtpAt := func(h uint32) uint32 {
		if h != 299 {
			t.Errorf("asked for the time of height %d, want that of the block before the coin's", h)
		}
		return parentMTP - 5*512
	}
	cases := []struct {
		name     string
		version  uint32
		sequence uint32
		coin     chain.Coin
		csv      bool
		ripe     bool
	}{
		{"coinbase, 100 deep", 2, 0xffffffff, chain.Coin{Height: 400, Coinbase: true}, true, true},
		{"coinbase, 99 deep", 2, 0xffffffff, chain.Coin{Height: 401, Coinbase: true}, true, false},
		{"coinbase, before CSV", 1, 0xffffffff, chain.Coin{Height: 401, Coinbase: true}, false, false},
		{"height, over", 2, 200, chain.Coin{Height: 300}, true, true},
		{"height, one short", 2, 201, chain.Coin{Height: 300}, true, false},
		{"height, version 1", 1, 201, chain.Coin{Height: 300}, true, true},
		{"height, negative version", 0x80000002, 201, chain.Coin{Height: 300}, true, false},
		{"height, before CSV", 2, 201, chain.Coin{Height: 300}, false, true},
		{"height, disabled", 2, 1<<31 | 201, chain.Coin{Height: 300}, true, true},
		{"time, over", 2, 1<<22 | 5, chain.Coin{Height: 300}, true, true},
		{"time, one unit short", 2, 1<<22 | 6, chain.Coin{Height: 300}, true, false},
		{"own block", 2, 0, chain.Coin{Height: height}, true, true},
		{"own block, one block on", 2, 1, chain.Coin{Height: height}, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			first := &chaintest.Tx{Version: 2, Ins: make([]chaintest.Outpoint, 2), Outs: make([]chaintest.Output, 1)}
			second := &chaintest.Tx{
				Version: c.version, Ins: make([]chaintest.Outpoint, 3), Outs: make([]chaintest.Output, 1),
				Sequences: []uint32{0xffffffff, 0xffffffff, c.sequence},
			}
			var b chain.Block
			if err := b.Decode(chaintest.Genesis().Next(1, first, second).Raw); err != nil {
				t.Fatal(err)
			}
			pl := validate.Place{Params: chain.Regtest(), Height: height, ParentMTP: parentMTP}
			if c.csv {
				pl.Deployments = validate.CSV
			}
			coins := make([]chain.Coin, len(b.Ins))
			coins[len(coins)-1] = c.coin
			coins[0] = chain.Coin{Height: height, Coinbase: true} // the coinbase's, which is not looked at
			if got := validate.Ripe(&pl, &b, coins, mtpAt); got != c.ripe {
				t.Errorf("ripe: %v, want %v", got, c.ripe)
			}
			allocs := testing.AllocsPerRun(10, func() { validate.Ripe(&pl, &b, coins, mtpAt) })
			if allocs > 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}
