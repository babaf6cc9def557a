package validate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// caseSpec is a block at height 500 and what its inputs take: coins[tx][input].
type caseSpec struct {
	*blockSpec
	pl      Place
	coins   [][]chain.Coin
	repeats int             // the transaction whose txid repeats; 0: none does
	missing map[[2]int]bool // by transaction and input
	broken  map[[2]int]string
}

const coinValue = 10_000

// newCaseSpec is right in every way: a coinbase that claims all, and three spends of two old coins with fees of 17,000.
func newCaseSpec() *caseSpec {
	x := &caseSpec{
		blockSpec: &blockSpec{txs: []txSpec{coinbaseSpec(), spendSpec(0), spendSpec(1), spendSpec(2)}},
		pl:        placeAt(500), coins: make([][]chain.Coin, 4),
		missing: make(map[[2]int]bool), broken: make(map[[2]int]string),
	}
	for tx := 1; tx < 4; tx++ {
		x.coins[tx] = []chain.Coin{{Value: coinValue, Height: 100}, {Value: coinValue, Height: 200, Coinbase: true}}
	}
	x.txs[0].outs[0].value = Subsidy(x.pl.Params, 500) + 3*(2*coinValue-3000)
	return x
}

// mtpAt is 600 seconds a block up to the parent's.
func (x *caseSpec) mtpAt(height uint32) uint32 { return x.pl.ParentMTP - 600*(x.pl.Height-1-height) }

func (x *caseSpec) flat() (coins []chain.Coin) {
	coins = make([]chain.Coin, 1)
	for _, of := range x.coins[1:] {
		coins = append(coins, of...)
	}
	return coins
}

// at is the transaction and the input in it of an index of Block.Ins.
func (x *caseSpec) at(in int) [2]int {
	in-- // the coinbase's
	for tx := 1; ; tx++ {
		if in < len(x.coins[tx]) {
			return [2]int{tx, in}
		}
		in -= len(x.coins[tx])
	}
}

func (x *caseSpec) judge(t testing.TB) Verdict {
	t.Helper()
	b, txids := x.decode(t)
	c := &Case{
		Coins: x.flat(), MTPAt: x.mtpAt,
		Missing: func(in int) bool { return x.missing[x.at(in)] },
		Script:  func(tx, input int) string { return x.broken[[2]int{tx, input}] },
	}
	if x.repeats != 0 {
		c.Repeats = func(tx int) bool { return tx == x.repeats }
	}
	return Judge(&x.pl, b, txids, c)
}

func (x *caseSpec) connect(t testing.TB) (int64, Verdict) {
	t.Helper()
	b, txids := x.decode(t)
	return Connect(&x.pl, b, txids, x.flat(), x.mtpAt)
}

// caseBreach breaks one rule of the judge's.
type caseBreach struct {
	reason    string
	tx, input int
	judgeOnly bool // not a matter of Connect
	do        func(x *caseSpec)
}

// breachesOf are those of one transaction, in Core's order, which goes input by input after all were found.
func breachesOf(tx int) []caseBreach {
	all := []caseBreach{
		{ReasonMissingOrSpent, tx, 1, true, func(x *caseSpec) { x.missing[[2]int{tx, 1}] = true }},
		{ReasonPremature, tx, 0, false, func(x *caseSpec) {
			x.coins[tx][0].Coinbase, x.coins[tx][0].Height = true, 401
		}},
		{ReasonInputValues, tx, 0, false, func(x *caseSpec) { x.coins[tx][0].Value = chain.MaxMoney + 1 }},
		{ReasonPremature, tx, 1, false, func(x *caseSpec) { x.coins[tx][1].Height = 401 }},
		{ReasonInputValues, tx, 1, false, func(x *caseSpec) { x.coins[tx][1].Value = -1 }},
		{ReasonInBelowOut, tx, none, false, func(x *caseSpec) {
			x.txs[tx].outs[0].value, x.txs[tx].outs[1].value = x.coins[tx][0].Value+x.coins[tx][1].Value, 1
		}},
		{ReasonFee, tx, none, false, func(x *caseSpec) { x.txs[tx].outs[1].value = -chain.MaxMoney }},
		{ReasonAccumulatedFees, tx, none, false, func(x *caseSpec) {
			x.coins[tx][0].Value, x.coins[tx][1].Value = chain.MaxMoney-coinValue, coinValue
		}},
		{ReasonNonFinal, tx, none, false, func(x *caseSpec) {
			x.coins[tx][1].Height, x.txs[tx].ins[1].open = 400, ^uint32(101)
		}},
		{ReasonSigOps, tx, none, false, func(x *caseSpec) {
			x.txs[tx].outs[0].script = bytes.Repeat([]byte{opCheckSig}, 20_001)
		}},
	}
	if tx == 1 { // one transaction's fee is in range, so that it takes two
		for i := range all {
			if all[i].reason == ReasonAccumulatedFees {
				return append(all[:i], all[i+1:]...)
			}
		}
	}
	return all
}

func caseBreaches() []caseBreach {
	all := []caseBreach{{ReasonBIP30, 3, none, true, func(x *caseSpec) { x.repeats = 3 }}}
	for tx := 1; tx <= 2; tx++ {
		all = append(all, breachesOf(tx)...)
	}
	all = append(all, caseBreach{ReasonCoinbaseAmount, 0, none, false, func(x *caseSpec) { x.txs[0].outs[0].value++ }})
	for _, at := range [][2]int{{1, 0}, {1, 1}, {2, 0}, {3, 1}} {
		all = append(all, caseBreach{ReasonScript + " (Bad " + fmt.Sprint(at) + ")", at[0], at[1], true,
			func(x *caseSpec) { x.broken[at] = "Bad " + fmt.Sprint(at) }})
	}
	return all
}

// TestEachConnectRuleAlone: the reason, where it points, that the header is condemned, and that Connect agrees with the
// judge where it can know.
func TestEachConnectRuleAlone(t *testing.T) {
	wantReason(t, "valid case", newCaseSpec().judge(t), "")
	fees, v := newCaseSpec().connect(t)
	if wantReason(t, "valid block", v, ""); fees != 51_000 {
		t.Errorf("fees %d", fees)
	}
	for _, breach := range caseBreaches() {
		x := newCaseSpec()
		breach.do(x)
		v := x.judge(t)
		wantReason(t, breach.reason, v, breach.reason)
		if v.Tx != breach.tx || v.Input != breach.input || !v.Condemns {
			t.Errorf("%s: %+v", breach.reason, v)
		}
		fees, connect := x.connect(t)
		if breach.judgeOnly {
			wantReason(t, breach.reason+" for Connect", connect, "")
		} else if connect != v || !connect.OK() && breach.reason != ReasonCoinbaseAmount && fees != 0 {
			t.Errorf("%s: Connect says %+v, fees %d", breach.reason, connect, fees)
		}
	}
}

// TestPairsOfConnectRules: of two broken rules, Core's first. What is second is broken first, so that it cannot undo
// what should outrank it.
func TestPairsOfConnectRules(t *testing.T) {
	all, pairs := caseBreaches(), 0
	for i, first := range all {
		for _, second := range all[i+1:] {
			pairs++
			x := newCaseSpec()
			second.do(x)
			first.do(x)
			v := x.judge(t)
			name := fmt.Sprintf("%s in %d and %s in %d", first.reason, first.tx, second.reason, second.tx)
			wantReason(t, name, v, first.reason)
			if v.Tx != first.tx || v.Input != first.input {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	if len(all) != 25 || pairs != 300 {
		t.Errorf("%d rules, %d pairs", len(all), pairs)
	}
}

// TestCoreDetails: what Core's log says behind the reason.
func TestCoreDetails(t *testing.T) {
	details := map[string]string{
		ReasonBIP30:           "tried to overwrite transaction",
		ReasonMissingOrSpent:  "CheckTxInputs: inputs missing/spent in transaction TXID",
		ReasonPremature:       "tried to spend coinbase at depth 99 in transaction TXID",
		ReasonInputValues:     " in transaction TXID",
		ReasonInBelowOut:      "value in (0.0002) < value out (0.00020001) in transaction TXID",
		ReasonFee:             " in transaction TXID",
		ReasonAccumulatedFees: "accumulated fee in the block out of range",
		ReasonNonFinal:        "contains a non-BIP68-final transaction TXID",
		ReasonSigOps:          "too many sigops",
		ReasonCoinbaseAmount:  "coinbase pays too much (actual=625051001 vs limit=625051000)",
	}
	for _, breach := range caseBreaches() {
		x := newCaseSpec()
		breach.do(x)
		v, want := x.judge(t), details[breach.reason]
		_, txids := x.decode(t)
		if strings.HasPrefix(breach.reason, ReasonScript) {
			in := x.txs[breach.tx].ins[breach.input]
			want = fmt.Sprintf("input %d of TXID (wtxid %v), spending %v:%d", breach.input, txids[breach.tx], in.txid, in.vout)
		}
		if want = strings.ReplaceAll(want, "TXID", txids[max(v.Tx, 0)].String()); v.Detail != want {
			t.Errorf("%s: %q, want %q", breach.reason, v.Detail, want)
		}
	}
	for satoshis, want := range map[int64]string{0: "0.00", 1: "0.00000001", 10: "0.0000001", 1e8: "1.00", 15e7: "1.50",
		1_2345_6780: "1.2345678", chain.MaxMoney: "21000000.00"} {
		if got := coinText(satoshis); got != want {
			t.Errorf("%d: %s, want %s", satoshis, got, want)
		}
	}
}

// TestTrap55Maturity: a hundred blocks, and no coin of the same block's coinbase.
func TestTrap55Maturity(t *testing.T) {
	for _, x := range []struct {
		height   uint32
		coinbase bool
		reason   string
	}{
		{400, true, ""}, {401, true, ReasonPremature}, {499, true, ReasonPremature}, {500, true, ReasonPremature},
		{0, true, ""}, {500, false, ""}, {499, false, ""},
		{600, true, ReasonPremature}, // no such coin can be: still no wrap
	} {
		spec := newCaseSpec()
		spec.coins[2][1].Height, spec.coins[2][1].Coinbase = x.height, x.coinbase
		_, v := spec.connect(t)
		wantReason(t, fmt.Sprintf("coin of %d, coinbase %v", x.height, x.coinbase), v, x.reason)
	}
}

// TestTrap34InputValues: each coin and each running sum, up to all the money.
func TestTrap34InputValues(t *testing.T) {
	const most = chain.MaxMoney
	for _, x := range []struct {
		values [2]int64
		out    int64
		reason string
		input  int
	}{
		{[2]int64{most, 0}, most, "", none},
		{[2]int64{most - 1, 1}, most, "", none},
		{[2]int64{0, 0}, 0, "", none},
		{[2]int64{0, 0}, 1, ReasonInBelowOut, none},
		{[2]int64{2, 3}, 5, "", none},
		{[2]int64{2, 3}, 6, ReasonInBelowOut, none},
		{[2]int64{most, 1}, most, ReasonInputValues, 1},
		{[2]int64{1, most}, most, ReasonInputValues, 1},
		{[2]int64{most + 1, 0}, most, ReasonInputValues, 0},
		{[2]int64{-1, 5}, 1, ReasonInputValues, 0},
		{[2]int64{5, -1}, 1, ReasonInputValues, 1},
		{[2]int64{1<<63 - 1, 1<<63 - 1}, 1, ReasonInputValues, 0},
		{[2]int64{most, 1<<63 - 1}, 1, ReasonInputValues, 1},
	} {
		spec := newCaseSpec()
		spec.coins[1][0].Value, spec.coins[1][1].Value = x.values[0], x.values[1]
		spec.txs[1].outs = []outSpec{{x.out, nil}}
		b, _ := spec.decode(t)
		fee, v := TxInputs(&spec.pl, b, 1, spec.coins[1])
		wantReason(t, fmt.Sprint(x.values, x.out), v, x.reason)
		if v.OK() && fee != x.values[0]+x.values[1]-x.out || !v.OK() && (v.Input != x.input || fee != 0) {
			t.Errorf("%v %d: fee %d, %+v", x.values, x.out, fee, v)
		}
	}
}

// TestFeeRanges: one transaction may pay all the money, two may not pay one satoshi more.
func TestFeeRanges(t *testing.T) {
	for _, x := range []struct {
		first, second int64
		reason        string
	}{{chain.MaxMoney, 0, ""}, {chain.MaxMoney - 7, 7, ""}, {chain.MaxMoney - 7, 8, ReasonAccumulatedFees},
		{chain.MaxMoney, chain.MaxMoney, ReasonAccumulatedFees}} {
		spec := newCaseSpec()
		for i, fee := range []int64{x.first, x.second} {
			spec.coins[1+i] = []chain.Coin{{Value: fee}, {}}
			spec.txs[1+i].outs = []outSpec{{0, nil}}
		}
		spec.txs, spec.coins = spec.txs[:3], spec.coins[:3]
		fees, v := spec.connect(t)
		wantReason(t, fmt.Sprint(x.first, x.second), v, x.reason)
		if v.OK() && fees != x.first+x.second {
			t.Errorf("fees %d", fees)
		}
	}
}

// TestTrap53CoinbaseMayClaimLess: all, less, nothing; not a satoshi more, however it is split.
func TestTrap53CoinbaseMayClaimLess(t *testing.T) {
	limit := newCaseSpec().txs[0].outs[0].value
	for _, x := range []struct {
		claims []int64
		reason string
	}{
		{[]int64{limit}, ""}, {[]int64{limit - 1}, ""}, {[]int64{0}, ""}, {[]int64{limit - 5, 5, 0}, ""},
		{[]int64{limit + 1}, ReasonCoinbaseAmount}, {[]int64{limit, 1}, ReasonCoinbaseAmount},
		{[]int64{chain.MaxMoney}, ReasonCoinbaseAmount},
	} {
		spec := newCaseSpec()
		spec.txs[0].outs = nil
		for _, claim := range x.claims {
			spec.txs[0].outs = append(spec.txs[0].outs, outSpec{claim, nil})
		}
		_, v := spec.connect(t)
		wantReason(t, fmt.Sprint(x.claims), v, x.reason)
	}
}

// TestTrap33SigOpsOfThreeKinds: legacy, P2SH and witness operations only together reach the limit, the coinbase's among
// them; the transaction that has the last one is at fault.
func TestTrap33SigOpsOfThreeKinds(t *testing.T) {
	p2sh := append(append([]byte{opHash160, 20}, make([]byte, 20)...), opEqual)
	p2wsh := append([]byte{0, 32}, make([]byte, 32)...)
	ops := func(n int) []byte { return bytes.Repeat([]byte{opCheckSig}, n) }
	for _, x := range []struct {
		coinbase, legacy, pushed, witness int
		reason                            string
		tx                                int
	}{
		{1, 18_629, 40, 5_320, "", none}, // 74,520 + 160 + 5,320 = 80,000
		{1, 18_629, 40, 5_321, ReasonSigOps, 3},
		{1, 18_629, 40, 5_323, ReasonSigOps, 3}, // mainnet 783,426 had 80,003 in these parts
		{1, 18_629, 41, 5_320, ReasonSigOps, 3},
		{2, 18_629, 40, 5_320, ReasonSigOps, 3},
		{1, 18_050, 227, 6_891, ReasonSigOps, 3}, // mainnet 784,121: 72,204 + 908 + 6,891
		{20_000, 0, 0, 0, "", none},
		{20_001, 0, 0, 0, ReasonSigOps, 0},
		{0, 20_000, 0, 0, "", none},
		{0, 20_000, 0, 1, ReasonSigOps, 3},
		{0, 20_001, 0, 0, ReasonSigOps, 1},
	} {
		spec := newCaseSpec()
		spec.txs[0].outs[0].script, spec.txs[1].outs[0].script = ops(x.coinbase), ops(x.legacy)
		spec.coins[2][0].Script, spec.coins[3][0].Script = p2sh, p2wsh
		spec.txs[2].ins[0].script = appendPush(nil, ops(x.pushed))
		spec.txs[3].ins[0].witness = [][]byte{{1}, ops(x.witness)}
		_, v := spec.connect(t)
		wantReason(t, fmt.Sprint(x), v, x.reason)
		if v.Tx != x.tx {
			t.Errorf("%v: %+v", x, v)
		}
	}
}

// TestTrap22SigOpsOfExceptedBlocks: the block that breaks P2SH has no cost of P2SH nor of witnesses, by hash and not by
// height; the one that breaks taproot keeps both.
func TestTrap22SigOpsOfExceptedBlocks(t *testing.T) {
	spec := newCaseSpec()
	spec.coins[2][0].Script = append(append([]byte{opHash160, 20}, make([]byte, 20)...), opEqual)
	spec.txs[2].ins[0].script = append([]byte{0x4d, 0x21, 0x4e}, bytes.Repeat([]byte{opCheckSig}, 20_001)...)
	spec.pl.Params = chain.Main()
	spec.pl.Height, spec.txs[0].outs[0].value = 170_060, 0
	for i, x := range chain.Main().ScriptExceptions {
		for _, hash := range []chain.Hash{x.Hash, label(i)} {
			spec.pl.Hash = hash
			want := ReasonSigOps
			if hash == x.Hash && !x.P2SH {
				want = ""
			}
			_, v := spec.connect(t)
			wantReason(t, hash.String(), v, want)
		}
	}
}

// TestTrap49RelativeLocks: both kinds from both sides, what turns them off, and that a median is asked for only when
// it matters. The parent's median is 1,600,000,000; one block earlier is 600 seconds earlier.
func TestTrap49RelativeLocks(t *testing.T) {
	const (
		time = 1 << 22
		off  = 1 << 31
	)
	for _, x := range []struct {
		name              string
		version, sequence uint32
		height            uint32 // of the coin
		rules             Deployments
		want              bool
		asked             int64 // the height whose median is asked for; -1: none is
	}{
		{"no blocks, of this block", 2, 0, 500, everything, true, -1},
		{"one block, of this block", 2, 1, 500, everything, false, -1},
		{"one block, of the parent", 2, 1, 499, everything, true, -1},
		{"a hundred blocks", 2, 100, 400, everything, true, -1},
		{"a hundred blocks, one too early", 2, 100, 401, everything, false, -1},
		{"most blocks", 2, 0xffff, 0, everything, false, -1},
		{"bits between kind and value", 2, 0x003f_0000 | 100, 400, everything, true, -1},
		{"bits above the kind", 2, 0x7f80_0000 | 101, 400, everything, false, -1},
		{"off", 2, off | 0xffff, 400, everything, true, -1},
		{"off, a time", 2, off | time | 0xffff, 400, everything, true, -1},
		{"version 0", 0, 101, 400, everything, true, -1},
		{"version 1", 1, 101, 400, everything, true, -1},
		{"version 3", 3, 101, 400, everything, false, -1},
		{"version with the top bit", 0x8000_0002, 101, 400, everything, false, -1},
		{"version of all bits", 0xffff_ffff, 101, 400, everything, false, -1},
		{"before CSV", 2, 101, 400, everything &^ CSV, true, -1},
		{"before CSV, a time", 2, time | 0xffff, 400, everything &^ CSV, true, -1},
		{"no time, of this block", 2, time, 500, everything, true, 499},
		{"one unit, of this block", 2, time | 1, 500, everything, false, 499},
		{"one unit, of the parent", 2, time | 1, 499, everything, true, 498}, // 512 of 600 seconds
		{"two units, of the parent", 2, time | 2, 499, everything, false, 498},
		{"75 units are 64 blocks", 2, time | 75, 436, everything, true, 435},
		{"76 units are more", 2, time | 76, 436, everything, false, 435},
		{"a coin of genesis", 2, time | 1, 0, everything, true, 0},
		{"a coin of block 1", 2, time | 1, 1, everything, true, 0},
		{"most time", 2, time | 0xffff, 400, everything, false, 399},
	} {
		spec := newCaseSpec()
		spec.txs[1].version, spec.txs[1].ins[1].open = x.version, ^x.sequence
		spec.coins[1][1].Height = x.height
		spec.pl.Deployments = x.rules
		b, _ := spec.decode(t)
		asked := int64(-1)
		got := SequenceLocks(&spec.pl, b, 1, spec.coins[1], func(height uint32) uint32 {
			asked = int64(height)
			return spec.mtpAt(height)
		})
		if got != x.want || asked != x.asked {
			t.Errorf("%s: %v, asked for %d", x.name, got, asked)
		}
	}
}

// TestTrap2VersionIsUnsigned: a block whose transaction has the top bit in its version and a lock that is not over.
func TestTrap2VersionIsUnsigned(t *testing.T) {
	for version, reason := range map[uint32]string{1: "", 0x8000_0002: ReasonNonFinal} {
		spec := newCaseSpec()
		spec.txs[2].version, spec.txs[2].ins[0].open, spec.coins[2][0].Height = version, ^uint32(9), 495
		_, v := spec.connect(t)
		wantReason(t, fmt.Sprintf("version %08x", version), v, reason)
	}
}

// TestRelativeLocksModel: against the definition in BIP68, with the height and the time that the transaction must wait
// for worked out first.
func TestRelativeLocksModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := newCaseSpec()
		tx := &spec.txs[1]
		tx.version = rapid.SampledFrom([]uint32{1, 2, 0xffff_fffe}).Draw(t, "version")
		waitHeight, waitTime := int64(0), int64(0) // the first height and median that will do
		for i := range tx.ins {
			flags := rapid.SampledFrom([]uint32{0, 1 << 31, 1 << 22, 1 << 22}).Draw(t, "flags")
			n := rapid.Uint32Range(0, 130).Draw(t, "n")
			coin := &spec.coins[1][i]
			coin.Height = rapid.Uint32Range(380, 500).Draw(t, "height")
			tx.ins[i].open = ^(flags | n)
			switch {
			case tx.version == 1 || flags == 1<<31:
			case flags == 0:
				waitHeight = max(waitHeight, int64(coin.Height)+int64(n))
			default:
				waitTime = max(waitTime, int64(spec.mtpAt(coin.Height-1))+512*int64(n))
			}
		}
		b := tx.decodeFor(t)
		want := int64(spec.pl.Height) >= waitHeight && int64(spec.pl.ParentMTP) >= waitTime
		if got := SequenceLocks(&spec.pl, b, 0, spec.coins[1], spec.mtpAt); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// decodeFor is decode for rapid.
func (x *txSpec) decodeFor(t *rapid.T) *chain.Block {
	b := new(chain.Block)
	if err := b.DecodeTx(x.bytes(x.hasWitness())); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestJudgeAsksNoMore: nil functions stand for rules that ask nothing, and nothing is asked after a verdict.
func TestJudgeAsksNoMore(t *testing.T) {
	x := newCaseSpec()
	b, txids := x.decode(t)
	wantReason(t, "all nil", Judge(&x.pl, b, txids, &Case{Coins: x.flat()}), "")
	asked := 0
	v := Judge(&x.pl, b, txids, &Case{
		Coins:  x.flat(),
		Script: func(tx, input int) string { asked++; return "No" },
	})
	if v.Reason != ReasonScript+" (No)" || asked != 1 || v.Tx != 1 || v.Input != 0 {
		t.Errorf("%+v after %d scripts", v, asked)
	}
	v = Judge(&x.pl, b, txids, &Case{
		Coins:   x.flat(),
		Missing: func(in int) bool { return in == 3 },
		Script:  func(tx, input int) string { t.Error("a script was run"); return "" },
	})
	if v.Reason != ReasonMissingOrSpent || v.Tx != 2 || v.Input != 0 {
		t.Errorf("%+v", v)
	}
}
