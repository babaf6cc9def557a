package script_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/validate"
	"stele/validate/script"
)

// realBlock is a block whose prevouts are known: figures of the data's own table.
type realBlock struct {
	net                  string
	height, inputs, cost int
}

var realBlocks = []realBlock{
	{"mainnet", 170, 1, 12}, {"mainnet", 2016, 0, 4}, {"mainnet", 24835, 74, 8}, {"mainnet", 32256, 0, 4},
	{"mainnet", 32636, 0, 4}, {"mainnet", 57043, 131, 8}, {"mainnet", 72576, 0, 4}, {"mainnet", 91722, 0, 4},
	{"mainnet", 116928, 12, 160}, {"mainnet", 210000, 899, 4292}, {"mainnet", 255018, 380, 1220},
	{"mainnet", 300025, 1427, 5284}, {"mainnet", 367891, 20817, 3408}, {"mainnet", 403200, 1036, 5644},
	{"mainnet", 478558, 666, 3160}, {"mainnet", 757739, 91, 278},
	{"testnet3", 928816, 8692, 9109}, {"testnet3", 928828, 1972, 23236}, {"testnet3", 928831, 9984, 10035},
	{"testnet3", 928849, 8594, 9137}, {"testnet3", 1087400, 205, 1298},
}

func (r realBlock) params() *chain.Params {
	if r.net == "mainnet" {
		return chain.Main()
	}
	return chain.Testnet3()
}

// load gives the block and the coins of all its inputs, in order, the coinbase's left out.
func (r realBlock) load(tb testing.TB) (*chain.Block, []chain.Coin) {
	tb.Helper()
	name := strconv.Itoa(r.height)
	b := new(chain.Block)
	if err := b.Decode(realdata.Read(tb, r.net, "blocks", name+".blk.gz")); err != nil {
		tb.Fatal(err)
	}
	return b, readPrevouts(tb, b, realdata.Read(tb, r.net, "prevouts", name+".tsv.gz"))
}

// readPrevouts reads the coins of b's inputs from lines of txid, output index, value, script, height and coinbase; the
// outpoints have to be the block's.
func readPrevouts(tb testing.TB, b *chain.Block, table []byte) []chain.Coin {
	tb.Helper()
	var coins []chain.Coin
	for line := range bytes.Lines(table) {
		if line[0] == '#' {
			continue
		}
		f := strings.Split(strings.TrimSpace(string(line)), "\t")
		in := len(coins) + 1
		if in >= len(b.Ins) {
			tb.Fatalf("more prevouts than inputs")
		}
		if txid, vout := b.Outpoint(in); txid.String() != f[0] || strconv.Itoa(int(vout)) != f[1] {
			tb.Fatalf("input %d spends %s:%d, not %s:%s", in, txid, vout, f[0], f[1])
		}
		value, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		height, err := strconv.ParseUint(f[4], 10, 32)
		if err != nil && f[4] != "-" {
			tb.Fatal(err)
		}
		coins = append(coins, chain.Coin{
			Value: value, Script: unhex(tb, f[3]), Height: uint32(height), Coinbase: f[5] == "1",
		})
	}
	return coins
}

// judgeBlock asks for the verdict over every step-th input of b but the coinbase's. coins are those of all these
// inputs.
func (j *judge) judgeBlock(t *testing.T, b *chain.Block, coins []chain.Coin, f script.Flags, step int) {
	t.Helper()
	next := 0 // input to be judged, counted from the first of the transaction
	for tx := 1; tx < len(b.Txs); tx++ {
		n := int(b.Txs[tx].Ins)
		if next < n {
			j.reset(b, tx, coins[:n:n])
		}
		for ; next < n; next += step {
			if e := j.verdict(t, next, f); e != script.OK {
				t.Errorf("transaction %d, input %d: %s", tx, next, e)
			}
		}
		coins, next = coins[n:], next-n
	}
}

// largeBlock is how many inputs a block may have of which all are judged even without -all.
const largeBlock = 1500

// Every input of every block whose prevouts are known passes under the rules of its height, and the block's cost in
// signature operations is the table's. Block 72576 and its like hold a coinbase alone: they are here for the cost.
func TestRealBlocks(t *testing.T) {
	judged, inputs := 0, 0
	t.Run("all", func(t *testing.T) {
		for _, r := range realBlocks {
			t.Run(fmt.Sprintf("%s-%d", r.net, r.height), func(t *testing.T) {
				b, coins := r.load(t)
				want(t, "prevouts", len(coins), r.inputs)
				hash := b.Header.Hash()
				f := script.FlagsAt(r.params(), uint32(r.height), &hash)
				j := newJudge()
				step := 1
				if r.inputs > largeBlock {
					step = some(16)
				}
				j.judgeBlock(t, b, coins, f, step)
				judged, inputs = judged+j.inputs, inputs+r.inputs
				want(t, "judged inputs", j.inputs, (r.inputs+step-1)/step)
				cost := blockCost(b, coins, f)
				t.Logf("%d of %d inputs under %v, cost %d; %d checks put off, %d inputs run again",
					j.inputs, r.inputs, f.Names(), cost, j.checks, j.rerun)
				want(t, "cost", cost, r.cost)
				want(t, "inputs run again", j.rerun, 0)
			})
		}
	})
	t.Logf("%d blocks, %d of %d inputs", len(realBlocks), judged, inputs)
	want(t, "blocks", len(realBlocks), 21)
	if _, ok := realdata.Dir(); ok {
		want(t, "inputs", inputs, 54981)
	}
}

// blockCost is the sum over the transactions.
func blockCost(b *chain.Block, coins []chain.Coin, f script.Flags) (cost int) {
	for tx := range b.Txs {
		n := int(b.Txs[tx].Ins)
		if tx == 0 {
			cost += validate.SigOpsCost(b, 0, nil, f.Has(script.P2SH), f.Has(script.Witness))
			continue
		}
		cost += validate.SigOpsCost(b, tx, coins[:n], f.Has(script.P2SH), f.Has(script.Witness))
		coins = coins[n:]
	}
	return cost
}

// outputsOf adds what b's transactions make to known.
func outputsOf(b *chain.Block, height uint32, known map[[36]byte]chain.Coin) {
	for tx, txid := range b.Txids(nil) {
		for i, out := range b.Outs[b.Txs[tx].FirstOut:][:b.Txs[tx].Outs] {
			known[point(txid, uint32(i))] = chain.Coin{
				Value: out.Value, Script: b.Bytes(out.Script), Height: height, Coinbase: tx == 0,
			}
		}
	}
}

// Chains that hold all that they spend: every input passes under the rules of its height. Stale branches are among
// them.
func TestRealChains(t *testing.T) {
	for _, c := range []struct {
		name          string
		params        *chain.Params
		blocks        func(t *testing.T) [][]byte
		count, inputs int
		witnessSpends int // inputs with a stack
		taprootSpends int // inputs that spend a witness program of version 1
	}{
		{"core_regtest", chain.Regtest(), func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "core_regtest", "chain.blk.gz")
		}, 425, 1461, 1204, 431},
		{"regtest_kernel_206", chain.Regtest(), func(t *testing.T) [][]byte {
			return hexLines(t, "chains", "regtest_kernel_206.hex.gz")
		}, 206, 26, 26, 0},
		{"mainnet_0_14131", chain.Main(), func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "chains", "mainnet_0_14131.blk.gz")
		}, 14132, 865, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, known := newJudge(), map[[36]byte]chain.Coin{}
			heights := map[chain.Hash]uint32{}
			blocks, inputs, stacks, taproot := 0, 0, 0, 0
			for _, raw := range c.blocks(t) {
				b := new(chain.Block)
				if err := b.Decode(raw); err != nil {
					t.Fatal(err)
				}
				height := heights[b.Header.Prev] + 1
				if b.Header.Prev.IsZero() {
					height = 0
				}
				hash := b.Header.Hash()
				heights[hash] = height
				blocks++
				outputsOf(b, height, known)
				f := script.FlagsAt(c.params, height, &hash)
				for tx := 1; tx < len(b.Txs); tx++ {
					coins := coinsOf(b, tx, known)
					if coins == nil {
						t.Fatalf("height %d, transaction %d spends what is not there", height, tx)
					}
					j.reset(b, tx, coins)
					for in := range coins {
						inputs++
						if b.Ins[int(b.Txs[tx].FirstIn)+in].Items > 0 {
							stacks++
						}
						if s := coins[in].Script; len(s) == 34 && s[0] == op1 {
							taproot++
						}
						if e := j.verdict(t, in, f); e != script.OK {
							t.Errorf("height %d, transaction %d, input %d: %s", height, tx, in, e)
						}
					}
				}
			}
			t.Logf("%d blocks, %d inputs, %d with a witness, %d of taproot; %d checks put off, %d inputs run again",
				blocks, inputs, stacks, taproot, j.checks, j.rerun)
			want(t, "blocks", blocks, c.count)
			want(t, "inputs", inputs, c.inputs)
			want(t, "inputs with a witness", stacks, c.witnessSpends)
			want(t, "inputs of taproot", taproot, c.taprootSpends)
			want(t, "inputs run again", j.rerun, 0)
		})
	}
}

// hexLines reads a file of one block a line.
func hexLines(t *testing.T, elem ...string) (all [][]byte) {
	t.Helper()
	for line := range strings.Lines(string(realdata.Read(t, elem...))) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, unhex(t, line))
		}
	}
	return all
}
