package validate

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"
	"pgregory.net/rapid"

	"stele/chain"
)

const everything = BIP34 | DERSIG | CLTV | CSV | Segwit

// placeAt is a place on regtest under all rules, whose clocks run apart: the parent's median is 1,000 seconds behind
// the block's time.
func placeAt(height uint32) Place {
	return Place{Params: chain.Regtest(), Height: height, Time: 1_600_001_000, ParentMTP: 1_600_000_000,
		Deployments: everything}
}

// acceptSpec is a block that Accept is to judge at height 500.
type acceptSpec struct {
	*blockSpec
	commits bool                 // the coinbase commits to the witnesses
	after   []func(x *blockSpec) // done to the witnesses afterwards
}

func newAcceptSpec() *acceptSpec {
	x := &acceptSpec{blockSpec: validSpec(), commits: true}
	x.txs[0].ins[0].script = []byte{2, 0xf4, 0x01, 0x51}
	return x
}

func (x *acceptSpec) judge(t *testing.T, pl *Place) Verdict {
	t.Helper()
	if x.commits {
		x.commit()
	}
	for _, do := range x.after {
		do(x.blockSpec)
	}
	b, txids := x.decode(t)
	var scratch Scratch
	wantReason(t, "before its place matters", Check(pl.Params, b, txids, &scratch), "")
	return Accept(pl, b, txids, &scratch)
}

func lock(tx int) func(x *acceptSpec) {
	return func(x *acceptSpec) { x.txs[tx].lockTime, x.txs[tx].ins[0].open = 500, 1 }
}

// acceptBreaches are in Core's order. The last but one cannot meet its two predecessors: it is about blocks without a
// commitment.
var acceptBreaches = []struct {
	reason   string
	tx       int
	condemns bool
	do       func(x *acceptSpec)
}{
	{ReasonNonFinal, 0, true, lock(0)},
	{ReasonNonFinal, 1, true, lock(1)},
	{ReasonNonFinal, 2, true, lock(2)},
	{ReasonCoinbaseHeight, 0, true, func(x *acceptSpec) { x.txs[0].ins[0].script = []byte{2, 0xf5, 0x01, 0x51} }},
	{ReasonNonceSize, 0, false, func(x *acceptSpec) {
		x.after = append(x.after, func(x *blockSpec) {
			x.txs[0].ins[0].witness = append(x.txs[0].ins[0].witness, []byte{})
		})
	}},
	{ReasonWitnessMismatch, none, false, func(x *acceptSpec) {
		x.after = append(x.after, func(x *blockSpec) { x.txs[2].ins[0].witness[0][1] ^= 4 })
	}},
	{ReasonUnexpectedWitness, 2, false, func(x *acceptSpec) { x.commits = false }},
	{ReasonWeight, none, true, func(x *acceptSpec) {
		x.txs[2].ins[0].witness = append(x.txs[2].ins[0].witness, make([]byte, chain.MaxBlockWeight))
	}},
}

// TestEachAcceptRuleAlone: what fails only there, and whether the header is condemned.
func TestEachAcceptRuleAlone(t *testing.T) {
	pl := placeAt(500)
	wantReason(t, "valid block", newAcceptSpec().judge(t, &pl), "")
	for _, breach := range acceptBreaches {
		x := newAcceptSpec()
		breach.do(x)
		v := x.judge(t, &pl)
		wantReason(t, breach.reason, v, breach.reason)
		if v.Condemns != breach.condemns || v.Tx != breach.tx || v.Detail == "" {
			t.Errorf("%s: %+v", breach.reason, v)
		}
	}
}

// TestPairsOfAcceptRules: of two broken rules the first in Core's order is the reason, whichever is broken first.
func TestPairsOfAcceptRules(t *testing.T) {
	pl := placeAt(500)
	pairs := 0
	for i, first := range acceptBreaches {
		for _, second := range acceptBreaches[i+1:] {
			if second.reason == ReasonUnexpectedWitness &&
				(first.reason == ReasonNonceSize || first.reason == ReasonWitnessMismatch) {
				continue
			}
			pairs++
			x := newAcceptSpec()
			second.do(x)
			first.do(x)
			v := x.judge(t, &pl)
			wantReason(t, first.reason+" and "+second.reason, v, first.reason)
			if v.Tx != first.tx || v.Condemns != first.condemns {
				t.Errorf("%s and %s: %+v", first.reason, second.reason, v)
			}
		}
	}
	if pairs != 26 {
		t.Errorf("%d pairs", pairs)
	}
}

// TestFinal stands on both sides of every number of absolute lock times.
func TestFinal(t *testing.T) {
	for _, x := range []struct {
		name          string
		lockTime      uint32
		height, clock uint32
		open          []uint32
		want          bool
	}{
		{"none", 0, 500, 7, []uint32{1, 1}, true},
		{"the height before", 499, 500, 7, []uint32{1, 1}, true},
		{"the height", 500, 500, 7, []uint32{1, 1}, false},
		{"the height, no input minds", 500, 500, 7, []uint32{0, 0}, true},
		{"the height, the last input minds", 500, 500, 7, []uint32{0, 1}, false},
		{"the height, the first input minds", 500, 500, 7, []uint32{1, 0}, false},
		{"the height, relative locks off", 500, 500, 7, []uint32{1 << 31, 0}, false},
		{"last height, far away", 499_999_999, 500, 1_600_000_000, []uint32{1, 1}, false},
		{"last height, reached", 499_999_999, 500_000_000, 7, []uint32{1, 1}, true},
		{"first time, as a height it would be over", 500_000_000, 500_000_001, 500_000_000, []uint32{1, 1}, false},
		{"first time, over", 500_000_000, 500, 500_000_001, []uint32{1, 1}, true},
		{"the second before", 1_600_000_000, 500, 1_600_000_001, []uint32{1, 1}, true},
		{"the second", 1_600_000_000, 500, 1_600_000_000, []uint32{1, 1}, false},
		{"last time of 32 bits", 0xffff_ffff, 0xffff_ffff, 0xffff_ffff, []uint32{1, 1}, false},
	} {
		tx := spendSpec(0)
		tx.lockTime = x.lockTime
		for i := range tx.ins {
			tx.ins[i].open = x.open[i]
		}
		if got := Final(tx.decode(t), 0, x.height, x.clock); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestTrap48LockTimeClock: the parent's median since CSV, before it the block's own time, which is later here.
func TestTrap48LockTimeClock(t *testing.T) {
	for _, x := range []struct {
		lockTime uint32
		rules    Deployments
		reason   string
	}{
		{1_599_999_999, everything, ""},
		{1_600_000_000, everything, ReasonNonFinal},
		{1_600_000_999, everything &^ CSV, ""},
		{1_600_001_000, everything &^ CSV, ReasonNonFinal},
	} {
		spec := newAcceptSpec()
		spec.txs[1].lockTime, spec.txs[1].ins[1].open = x.lockTime, 1
		pl := placeAt(500)
		pl.Deployments = x.rules
		v := spec.judge(t, &pl)
		wantReason(t, fmt.Sprintf("%d under %05b", x.lockTime, x.rules), v, x.reason)
	}
}

// TestTrap45CoinbaseHeight: only the one form counts, and only at the start; BIP34's first block is bound.
func TestTrap45CoinbaseHeight(t *testing.T) {
	for _, x := range []struct {
		height uint32
		script []byte
		ok     bool
	}{
		{1, []byte{0x51, 0}, true},
		{1, []byte{1, 1}, false}, // a push where an opcode is due
		{1, []byte{0x52, 0x51}, false},
		{16, []byte{0x60, 0}, true},
		{16, []byte{1, 16}, false},
		{17, []byte{1, 17}, true},
		{17, []byte{0x61, 0}, false},
		{127, []byte{1, 0x7f}, true},
		{128, []byte{2, 0x80, 0}, true},
		{128, []byte{1, 0x80}, false}, // minus zero
		{128, []byte{3, 0x80, 0, 0}, false},
		{255, []byte{2, 0xff, 0, 9, 9}, true},
		{500, []byte{2, 0xf4, 1}, true},
		{500, []byte{2, 0xf4}, false},
		{500, []byte{0x4c, 2, 0xf4, 1}, false},
		{500, []byte{0, 2, 0xf4, 1}, false},
		{32_767, []byte{2, 0xff, 0x7f}, true},
		{32_768, []byte{3, 0x00, 0x80, 0}, true},
		{227_931, []byte{3, 0x5b, 0x7a, 0x03}, true},
		{8_388_607, []byte{3, 0xff, 0xff, 0x7f}, true},
		{8_388_608, []byte{4, 0, 0, 0x80, 0}, true},
		{0x7fff_ffff, []byte{4, 0xff, 0xff, 0xff, 0x7f}, true},
	} {
		spec := newAcceptSpec()
		spec.txs[0].ins[0].script = x.script
		pl := placeAt(x.height)
		want := ReasonCoinbaseHeight
		if x.ok {
			want = ""
		}
		v := spec.judge(t, &pl)
		wantReason(t, fmt.Sprintf("%d: %x", x.height, x.script), v, want)
		spec.commits, pl.Deployments = false, everything&^BIP34
		wantReason(t, fmt.Sprintf("%d: %x before BIP34", x.height, x.script), spec.judge(t, &pl), "")
	}
}

// TestHeightPush: the bytes that another implementation's script builder writes for the same number.
func TestHeightPush(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		height := rapid.Uint32Range(0, 1<<31-1).Draw(t, "height")
		height >>= rapid.IntRange(0, 31).Draw(t, "shift")
		want, err := txscript.NewScriptBuilder().AddInt64(int64(height)).Script()
		if got := appendHeight(nil, height); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d: %x, want %x (%v)", height, got, want, err)
		}
	})
}

// TestTrap39CommitmentSelection: which output counts, and what the coinbase's witness must be.
func TestTrap39CommitmentSelection(t *testing.T) {
	pl := placeAt(500)
	stray := append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, make([]byte, 32)...)
	add := func(script []byte) func(x *blockSpec) {
		return func(x *blockSpec) { x.txs[0].outs = append(x.txs[0].outs, outSpec{0, script}) }
	}
	witness := func(items ...[]byte) func(x *blockSpec) {
		return func(x *blockSpec) { x.txs[0].ins[0].witness = items }
	}
	for _, x := range []struct {
		name          string
		before, after func(x *blockSpec)
		reason        string
	}{
		{"good one last", add(stray), nil, ""},
		{"good one first", nil, add(stray), ReasonWitnessMismatch},
		{"stray one of 37 bytes last", nil, add(stray[:37]), ""},
		{"stray one of 39 bytes last", nil, add(append(slices.Clone(stray), 0)), ReasonWitnessMismatch},
		{"good one longer", nil, func(x *blockSpec) {
			out := &x.txs[0].outs[1]
			out.script = append(out.script, 0x51, 0xff)
		}, ""},
		{"good one behind another opcode", nil, func(x *blockSpec) { x.txs[0].outs[1].script[0] = 0x51 },
			ReasonUnexpectedWitness},
		{"good one pushed as 37", nil, func(x *blockSpec) { x.txs[0].outs[1].script[1] = 0x25 }, ReasonUnexpectedWitness},
		{"in another transaction", nil, func(x *blockSpec) {
			x.txs[1].outs = append(x.txs[1].outs, x.txs[0].outs[1])
			x.txs[0].outs = x.txs[0].outs[:1]
		}, ReasonUnexpectedWitness},
		{"no item", nil, witness(), ReasonNonceSize},
		{"31 bytes", nil, witness(make([]byte, 31)), ReasonNonceSize},
		{"33 bytes", nil, witness(make([]byte, 33)), ReasonNonceSize},
		{"two items", nil, witness(make([]byte, 32), make([]byte, 32)), ReasonNonceSize},
		{"another value", nil, witness(make([]byte, 32)), ReasonWitnessMismatch},
	} {
		spec := newAcceptSpec()
		if x.before != nil {
			x.before(spec.blockSpec)
		}
		if x.after != nil {
			spec.after = append(spec.after, x.after)
		}
		v := spec.judge(t, &pl)
		wantReason(t, x.name, v, x.reason)
		if v.Condemns {
			t.Errorf("%s: condemns", x.name)
		}
	}
}

// TestCommitmentWithoutWitness: a block without witnesses needs no commitment; with one its coinbase has a witness.
func TestCommitmentWithoutWitness(t *testing.T) {
	pl := placeAt(500)
	for _, commits := range []bool{false, true} {
		spec := newAcceptSpec()
		spec.txs[2].ins[0].witness, spec.commits = nil, commits
		wantReason(t, fmt.Sprint("commits ", commits), spec.judge(t, &pl), "")
	}
}

// TestTrap40CommitmentBeforeActivation: it means nothing, right or wrong, and every witness is one too many.
func TestTrap40CommitmentBeforeActivation(t *testing.T) {
	pl := placeAt(500)
	pl.Deployments = everything &^ Segwit
	spec := newAcceptSpec()
	wantReason(t, "right one", spec.judge(t, &pl), ReasonUnexpectedWitness)
	spec = newAcceptSpec()
	spec.txs[2].ins[0].witness = nil
	spec.after = append(spec.after, func(x *blockSpec) { x.txs[0].ins[0].witness = nil })
	wantReason(t, "one without its reserved value", spec.judge(t, &pl), "")
	spec = newAcceptSpec()
	spec.txs[2].ins[0].witness = nil
	v := spec.judge(t, &pl)
	wantReason(t, "one with it", v, ReasonUnexpectedWitness)
	if v.Tx != 0 || v.Condemns {
		t.Errorf("%+v", v)
	}
}

// TestTrap59WeightAtItsPlace: four million and one more, both committed to; and the same grown by somebody else, which
// must not cost the block its name.
func TestTrap59WeightAtItsPlace(t *testing.T) {
	pl := placeAt(500)
	for _, x := range []struct {
		weight   int
		mutated  bool
		reason   string
		condemns bool
	}{
		{4_000_000, false, "", false},
		{4_000_001, false, ReasonWeight, true},
		{4_000_001, true, ReasonWitnessMismatch, false},
		{9_000_000, true, ReasonWitnessMismatch, false},
	} {
		spec := newAcceptSpec()
		witness := &spec.txs[2].ins[0].witness[0]
		for range 4 { // its own length changes width
			probe := blockSpec{txs: slices.Clone(spec.txs)}
			probe.txs[0].ins = slices.Clone(probe.txs[0].ins)
			b, _ := probe.commit().decode(t)
			*witness = make([]byte, len(*witness)+x.weight-b.Weight())
		}
		if x.mutated {
			spec.after = append(spec.after, func(x *blockSpec) { x.txs[2].ins[0].witness[0][5]++ })
		}
		v := spec.judge(t, &pl)
		wantReason(t, fmt.Sprint(x.weight), v, x.reason)
		if v.Condemns != x.condemns {
			t.Errorf("%d: %+v", x.weight, v)
		}
		if b, _ := spec.decode(t); b.Weight() != x.weight {
			t.Errorf("weight %d, want %d", b.Weight(), x.weight)
		}
	}
	spec := newAcceptSpec()
	spec.after = append(spec.after, func(x *blockSpec) {
		x.txs[0].ins[0].witness = [][]byte{make([]byte, chain.MaxBlockWeight)}
	})
	v := spec.judge(t, &pl)
	wantReason(t, "a coinbase witness of four megabytes", v, ReasonNonceSize)
	if v.Condemns {
		t.Error("condemns")
	}
}

// TestAcceptOfOddBlocks: what Check refuses is a caller's mistake here, and still no panic.
func TestAcceptOfOddBlocks(t *testing.T) {
	pl := placeAt(500)
	var scratch Scratch
	empty, _ := new(blockSpec).decode(t)
	wantReason(t, "no transactions", Accept(&pl, empty, nil, &scratch), ReasonCoinbaseHeight)
	b, txids := newAcceptSpec().commit().decode(t)
	wantReason(t, "too few txids", Accept(&pl, b, txids[:2], &scratch), ReasonWitnessMismatch)
	b.Txs[0].Ins = 0
	wantReason(t, "no inputs", Accept(&pl, b, txids, &scratch), ReasonCoinbaseHeight)
	pl.Deployments &^= BIP34
	wantReason(t, "no inputs", Accept(&pl, b, txids, &scratch), ReasonNonceSize)
	pl.Deployments = 0
	wantReason(t, "no transactions, no rules", Accept(&pl, empty, nil, &scratch), "")
	if _, _, ok := SignetPair(nil, empty, nil); ok {
		t.Error("a pair for an empty block")
	}
	_, v := Connect(&pl, empty, nil, nil, nil)
	wantReason(t, "no transactions", v, ReasonCoinbaseMissing)
}
