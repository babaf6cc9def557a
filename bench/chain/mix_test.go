package chain

import (
	"math"
	"testing"

	wire "stele/chain"
	"stele/validate"
)

type bound struct {
	what           string
	have, low, top float64
}

func within(t *testing.T, all []bound) {
	t.Helper()
	for _, x := range all {
		if !(x.have >= x.low && x.have <= x.top) { // NaN fails
			t.Errorf("%s: %.4f, expected %.4f to %.4f", x.what, x.have, x.low, x.top)
		}
	}
}

// The shares add up, and their means are what the package's page says.
func TestMixes(t *testing.T) {
	for n, m := range mixes {
		sum := func(s shares) (n int) {
			for _, x := range s {
				n += x.share
			}
			return n
		}
		kinds, ages := 0, 0
		for _, share := range m.kinds {
			kinds += share
		}
		for _, a := range m.ages {
			ages += a.share
		}
		if sum(m.inputs) != 1000 || sum(m.outputs) != 1000 || sum(m.rates) != 1000 || kinds != 1000 || ages != 1000 {
			t.Errorf("mix %d: shares of a thousand add up to something else", n)
		}
		within(t, []bound{
			{"inputs a transaction", m.inputs.mean(), 2.39, 2.41},
			{"outputs a transaction", m.outputs.mean(), 2.69, 2.71},
		})
	}
}

// What comes out follows the parameters. Bounds are wide where a chain's beginning has its own ways: young coins are
// spent for want of old ones.
func TestMainnetStatistics(t *testing.T) {
	g := source(t, Options{Seed: 3, Blocks: 900, Txs: 250, Mix: Mainnet})
	var b Block
	for g.Next(&b) {
	}
	s := g.Stats()
	coins, records := g.Coins()
	txs, ins, outs := float64(s.Txs), float64(s.Ins), float64(s.Outs)
	day := float64(s.Ages[0]+s.Ages[1]+s.Ages[2]+s.Ages[3]) / ins
	within(t, []bound{
		{"transactions", txs, 180_000, 200_000},
		{"inputs a transaction", ins / txs, 2.33, 2.47},
		{"outputs a transaction", outs / txs, 2.62, 2.78},
		{"bytes a transaction", float64(s.Bytes) / txs, 560, 640},
		{"outputs of a record", float64(coins) / float64(records), 1.30, 1.55},
		{"coins a transaction", float64(coins) / txs, 0.05, 0.25},
		{"most inputs", float64(s.MaxIns), 60, 100},
		{"most outputs", float64(s.MaxOuts), 100, 150},
		{"lock times", float64(s.Locked) / txs, 0.19, 0.21},
		{"small outputs", float64(s.Small) / outs, 0.03, 0.10},
		{"inputs of the own block", float64(s.Own) / ins, 0.09, 0.18},
		{"inputs up to a day old", day, 0.90, 0.998},
		{"inputs older than a hundred blocks", float64(s.Old) / ins, 0.02, 0.25},
	})
	data := float64(mainnetMix.data) / 1000 * (1 - 1/mainnetMix.outputs.mean()) // change is never that
	share := float64(s.OutKinds[Data]) / outs
	within(t, []bound{{"outputs of data", share, data * 0.95, data * 1.05}})
	for k, n := range mainnetMix.kinds {
		p := float64(n) / 1000
		free := 5*math.Sqrt(p*(1-p)/outs) + p/20 // chance, and what a transaction's tail does
		within(t, []bound{
			{"outputs of " + Kind(k).String(), float64(s.OutKinds[k]) / outs / (1 - share), p - free, p + free},
			{"inputs of " + Kind(k).String(), float64(s.InKinds[k]) / ins, p - free - p/10, p + free + p/10},
		})
	}
}

// No transaction is so heavy that a block which may get one more could exceed the limit.
func TestHeaviest(t *testing.T) {
	ring, most := theRing(), 0
	for k := range Data {
		for n := range uint16(leafCount) {
			most = max(most, ring.weightBound(&coin{kind: k, key: n}))
		}
	}
	outs := 0
	for _, x := range mainnetMix.outputs {
		outs = max(outs, x.hi)
	}
	tx := 4*20 + max(heaviest+most+4*(8+1+77)*outs, 4*(8+1+71)*(maxFanOut+1))
	if tx > 4_000_000-fullWeight-4_000 { // a coinbase, its witness and the header
		t.Errorf("a transaction may have %d weight units", tx)
	}
}

// The fullest blocks keep the limits of weight and of signature operations.
func TestFull(t *testing.T) {
	g := source(t, Options{Seed: 4, Blocks: 205, Txs: MaxTxs, Mix: Mainnet})
	coins := replay{}
	var b Block
	for g.Next(&b) {
		var x wire.Block
		if err := x.Decode(b.Raw); err != nil {
			t.Fatal(err)
		}
		if v := validate.Weight(&x); !v.OK() {
			t.Fatalf("height %d: %v", b.Height, v)
		}
		if b.Height == g.o.Blocks {
			within(t, []bound{
				{"weight", float64(x.Weight()), fullWeight * 0.95, 4_000_000},
				{"signature operations", float64(sigOps(&x, coins)), 5_000, 80_000},
			})
		}
		coins.block(t, b.Height, b.Raw)
	}
}

// sigOps is the cost of a block's signature operations, but for those in inputs that spend from the block itself.
func sigOps(x *wire.Block, before replay) (cost int) {
	for tx := 1; tx < len(x.Txs); tx++ {
		var coins []wire.Coin
		for i := range int(x.Txs[tx].Ins) {
			txid, vout := x.Outpoint(int(x.Txs[tx].FirstIn) + i)
			k := before[outpoint{*txid, vout}]
			coins = append(coins, wire.Coin{Value: k.value, Script: k.script, Height: k.height})
		}
		cost += validate.SigOpsCost(x, tx, coins, true, true)
	}
	return cost
}

// Amounts add up, whatever they are split of, and none is below zero.
func TestSplit(t *testing.T) {
	g := source(t, Options{Seed: 1, Txs: 1, Mix: Mainnet})
	for _, total := range []int64{0, 1, 2, 3, 329, 1_000, 54_321, 1e6, 50e8, 21e14} {
		for n := 1; n <= 150; n += 7 {
			g.paid = g.paid[:0]
			for i := range n {
				g.paid = append(g.paid, paying{kind: [...]Kind{WitnessKey, Data, TaprootKey}[i%3]})
			}
			g.split(total, 0)
			sum := int64(0)
			for _, p := range g.paid {
				if sum += p.value; p.value < 0 || p.kind == Data && p.value != 0 {
					t.Fatalf("%d in %d: %v", total, n, g.paid)
				}
			}
			if sum != total {
				t.Fatalf("%d in %d make %d", total, n, sum)
			}
		}
	}
}
