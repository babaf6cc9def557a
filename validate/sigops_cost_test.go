package validate

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

// pushOf is one direct push.
func pushOf(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }

var (
	keyProgram    = append([]byte{0, 20}, make([]byte, 20)...)
	scriptProgram = append([]byte{0, 32}, make([]byte, 32)...)
	tapProgram    = append([]byte{op1, 32}, make([]byte, 32)...)
	hashScript    = append(append([]byte{opHash160, 20}, make([]byte, 20)...), opEqual)
)

// TestTrap32AccurateSigOps: keys are counted where a small number stands right before the check.
func TestTrap32AccurateSigOps(t *testing.T) {
	for _, x := range []struct {
		name   string
		script []byte
		want   int
	}{
		{"each of the four", []byte{opCheckSig, opCheckSigVerify, opCheckMultisig, opCheckMultisigVerify}, 42},
		{"1 and 16 keys", []byte{op1, opCheckMultisig, op16, opCheckMultisigVerify}, 17},
		{"OP_0 is no count", []byte{0, opCheckMultisig}, 20},
		{"a pushed number is none", []byte{1, 2, opCheckMultisig}, 20},
		{"OP_RESERVED and OP_1NEGATE are none", []byte{0x50, opCheckMultisig, 0x4f, opCheckMultisig}, 40},
		{"a number before something else", []byte{op1, 0x61, opCheckMultisig}, 20},
		{"a check is no number", []byte{op1, opCheckMultisig, opCheckMultisig}, 21},
		{"cut short", []byte{op1, opCheckMultisig, 5, 1}, 1},
	} {
		if got := AccurateSigOps(x.script); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
}

// TestTrap32Cost: what each kind of input costs, under the rules and without them.
func TestTrap32Cost(t *testing.T) {
	two := []byte{0x52, opCheckMultisig} // accurate 2, legacy 20
	redeem := pushOf(two)
	for _, x := range []struct {
		name            string
		coin, script    []byte
		witness         [][]byte
		none, p2sh, all int
	}{
		{"bare coin", two, nil, nil, 0, 0, 0}, // its output counted it
		{"input script", nil, two, nil, 80, 80, 80},
		{"P2SH", hashScript, redeem, nil, 0, 8, 8},
		{"P2SH, last push counts", hashScript, append(pushOf([]byte{opCheckSig}), redeem...), nil, 0, 8, 8},
		{"P2SH, small number last", hashScript, append(bytes.Clone(redeem), op16), nil, 0, 0, 0},
		{"P2SH, not only pushes", hashScript, append([]byte{0x61}, redeem...), nil, 0, 0, 0},
		{"P2SH, OP_RESERVED is a push here", hashScript, append([]byte{0x50}, redeem...), nil, 0, 8, 8},
		{"P2SH, cut short", hashScript, append(bytes.Clone(redeem), 9), nil, 0, 0, 0},
		{"P2SH, empty", hashScript, nil, nil, 0, 0, 0},
		{"P2SH, check beside the push", hashScript, append([]byte{opCheckSig}, redeem...), nil, 4, 4, 4},
		{"P2WPKH", keyProgram, nil, [][]byte{{1}, {2}}, 0, 0, 1},
		{"P2WPKH without witness", keyProgram, nil, nil, 0, 0, 1},
		{"P2WSH", scriptProgram, nil, [][]byte{{opCheckSig}, two}, 0, 0, 2},
		{"P2WSH without witness", scriptProgram, nil, nil, 0, 0, 0},
		{"P2WSH, program of another length", scriptProgram[:33], nil, [][]byte{two}, 0, 0, 0},
		{"P2SH-P2WPKH", hashScript, pushOf(keyProgram), [][]byte{{1}, {2}}, 0, 0, 1},
		{"P2SH-P2WSH", hashScript, pushOf(scriptProgram), [][]byte{two}, 0, 0, 2},
		{"P2SH-P2WSH behind another push", hashScript, append([]byte{op1}, pushOf(scriptProgram)...), [][]byte{two}, 0, 0, 2},
		{"P2TR", tapProgram, nil, [][]byte{two, {0xc0}}, 0, 0, 0},
		{"P2SH-P2TR", hashScript, pushOf(tapProgram), [][]byte{two}, 0, 0, 0},
	} {
		s := validSpec()
		s.txs = s.txs[:2]
		s.txs[1].ins = s.txs[1].ins[:1]
		s.txs[1].ins[0].script, s.txs[1].ins[0].witness = x.script, x.witness
		s.txs[1].outs = s.txs[1].outs[:1]
		s.txs[1].outs[0].script = nil
		b, _ := s.decode(t)
		coins := []chain.Coin{{Script: x.coin}}
		for _, rules := range []struct {
			p2sh, witness bool
			want          int
		}{{false, false, x.none}, {true, false, x.p2sh}, {true, true, x.all}} {
			if got := SigOpsCost(b, 1, coins, rules.p2sh, rules.witness); got != rules.want {
				t.Errorf("%s, P2SH %v, witness %v: %d, want %d", x.name, rules.p2sh, rules.witness, got, rules.want)
			}
		}
	}
	s := validSpec()
	s.txs[0].ins[0].script = []byte{opCheckSig, 0, op1, opCheckMultisig}
	b, _ := s.decode(t)
	want := 4 * 21
	for _, out := range s.txs[0].outs {
		want += 4 * LegacySigOps(out.script)
	}
	if got := SigOpsCost(b, 0, nil, true, true); got != want {
		t.Errorf("coinbase: %d, want %d", got, want)
	}
}

// modelCost is GetTransactionSigOpCost, out of pieces that are written as Core's.
func modelCost(b *chain.Block, tx int, coins []chain.Coin) int {
	// instructions gives the opcodes and pushes up to the first that is cut short, and whether that was the end.
	instructions := func(s []byte) (ops []byte, last []byte, whole bool) {
		for len(s) > 0 {
			op, head, n := s[0], 1, 0
			switch {
			case op < 0x4c:
				n = int(op)
			case op <= 0x4e:
				head = 1 + 1<<(op-0x4c)
				if len(s) < head {
					return ops, last, false
				}
				for i := head - 1; i > 0; i-- {
					n = n<<8 | int(s[i])
				}
			}
			if len(s)-head < n {
				return ops, last, false
			}
			ops, last, s = append(ops, op), s[head:head+n], s[head+n:]
		}
		return ops, last, true
	}
	count := func(s []byte, accurate bool) (n int) {
		ops, _, _ := instructions(s)
		for i, op := range ops {
			switch {
			case op == 0xac || op == 0xad:
				n++
			case (op == 0xae || op == 0xaf) && accurate && i > 0 && ops[i-1] >= 0x51 && ops[i-1] <= 0x60:
				n += int(ops[i-1]) - 0x50
			case op == 0xae || op == 0xaf:
				n += 20
			}
		}
		return n
	}
	row, cost := b.Txs[tx], 0
	for _, out := range b.Outs[row.FirstOut:][:row.Outs] {
		cost += 4 * count(b.Bytes(out.Script), false)
	}
	for i, in := range b.Ins[row.FirstIn:][:row.Ins] {
		script, coin := b.Bytes(in.Script), coins[i].Script
		cost += 4 * count(script, false)
		program := coin
		if len(coin) == 23 && bytes.HasPrefix(coin, []byte{0xa9, 20}) && coin[22] == 0x87 {
			ops, last, whole := instructions(script)
			if !whole || bytes.ContainsFunc(ops, func(r rune) bool { return r > 0x60 }) {
				continue
			}
			cost += 4 * count(last, true)
			program = last
		}
		if len(program) == 22 && bytes.HasPrefix(program, []byte{0, 20}) {
			cost++
		}
		if len(program) == 34 && bytes.HasPrefix(program, []byte{0, 32}) && in.Items > 0 {
			cost += count(b.Bytes(b.Items[in.FirstItem+in.Items-1]), true)
		}
	}
	return cost
}

// TestCostModel compares with the model over random inputs.
func TestCostModel(t *testing.T) {
	opcodes := []byte{0, 1, 2, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x60, 0x61, 0xac, 0xad, 0xae, 0xaf, 0xff}
	thick := rapid.SliceOfN(rapid.SampledFrom(opcodes), 0, 30)
	rapid.Check(t, func(rt *rapid.T) {
		s := validSpec()
		s.txs = s.txs[:2]
		var coins []chain.Coin
		s.txs[1].ins = s.txs[1].ins[:1:1]
		in := &s.txs[1].ins[0]
		in.script = thick.Draw(rt, "script")
		switch rapid.IntRange(0, 3).Draw(rt, "last push") {
		case 0:
			in.script = append(in.script, pushOf(thick.Draw(rt, "redeem"))...)
		case 1:
			in.script = pushOf(rapid.SampledFrom([][]byte{keyProgram, scriptProgram, tapProgram}).Draw(rt, "program"))
		}
		if rapid.Bool().Draw(rt, "witness") {
			in.witness = [][]byte{{1}, thick.Draw(rt, "witness script")}
		}
		coin := rapid.SampledFrom([][]byte{nil, {0xae}, hashScript, keyProgram, scriptProgram, tapProgram}).Draw(rt, "coin")
		coins = append(coins, chain.Coin{Script: coin})
		s.txs[1].outs[0].script = thick.Draw(rt, "output")
		b, _ := s.decode(t)
		if got, want := SigOpsCost(b, 1, coins, true, true), modelCost(b, 1, coins); got != want {
			rt.Fatalf("coin %x, script %x: %d, want %d", coin, in.script, got, want)
		}
	})
}

// TestCostOfRealBlocks: each block with prevouts has the cost that the data's table says, counted there by another
// implementation.
func TestCostOfRealBlocks(t *testing.T) {
	table := realdata.Read(t, "README.md")
	blocks := 0
	for _, line := range strings.Split(string(table), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 14 {
			continue
		}
		network, height := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		_, text, found := strings.Cut(cells[11], "/")
		want, err := strconv.Atoi(strings.TrimSpace(text))
		if !found || err != nil || strings.TrimSpace(cells[3]) == "hash" {
			continue
		}
		b := new(chain.Block)
		if err := b.Decode(realdata.Read(t, network, "blocks", height+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		coins := realCoins(t, network, height)
		cost := SigOpsCost(b, 0, nil, true, true)
		for tx := 1; tx < len(b.Txs); tx++ {
			n := int(b.Txs[tx].Ins)
			cost += SigOpsCost(b, tx, coins[:n], true, true)
			coins = coins[n:]
		}
		if len(coins) > 0 || cost != want {
			t.Errorf("%s %s: cost %d, want %d; %d coins left", network, height, cost, want, len(coins))
		}
		blocks++
	}
	if blocks < 20 {
		t.Errorf("%d blocks, want 21 at least", blocks)
	}
	t.Logf("%d blocks", blocks)
}

// realCoins reads what the inputs of a block spend, in order.
func realCoins(t *testing.T, network, height string) (coins []chain.Coin) {
	for _, line := range strings.Split(string(realdata.Read(t, network, "prevouts", height+".tsv.gz")), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		script, err := hex.DecodeString(cells[3])
		if err != nil {
			t.Fatal(fmt.Errorf("%s %s: %w", network, height, err))
		}
		coins = append(coins, chain.Coin{Script: script})
	}
	return coins
}
