package node

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stele/chain"
)

// spend spends the coinbase of a made block.
func spend(t *testing.T, block []byte, script []byte, value uint64) []byte {
	t.Helper()
	var b chain.Block
	if err := b.Decode(block); err != nil {
		t.Fatal(err)
	}
	return rawTx(b.Txids(nil)[0], 0, script, value)
}

// A block whose script fails is taken as valid only with the assumed block on it or above, and two weeks of work above
// itself: 2,017 blocks of regtest, as 2,016 are not more than two weeks.
func TestAssumeValid(t *testing.T) {
	opReturn := []byte{0x6a}
	var m maker
	trunk, fork := m.branch(genesisAt(chain.Regtest()), 101)
	wrong, on := m.block(fork, spend(t, trunk[0], opReturn, 1))
	above, _ := m.branch(on, 2017)
	greedy, on := m.block(fork, spend(t, trunk[0], opReturn, reward+1))
	onGreedy, _ := m.branch(on, 2017)
	side, _ := m.branch(fork, 1)
	const falseScript = "block-script-verify-flag-failed (OP_RETURN was encountered)"
	for _, c := range []struct {
		name   string
		blocks [][]byte
		assume []byte
		reason string // of wrong or greedy
		stops  bool   // the import is a failure
	}{
		{"none", slices.Concat(trunk, [][]byte{wrong}, above), nil, falseScript, false},
		{"itself", slices.Concat(trunk, [][]byte{wrong}, above), wrong, "", false},
		{"far above", slices.Concat(trunk, [][]byte{wrong}, above), above[2016], "", false},
		{"its parent", slices.Concat(trunk, [][]byte{wrong}, above), trunk[100], falseScript, false},
		{"another branch", slices.Concat(trunk, side, [][]byte{wrong}, above), side[0], falseScript, false},
		{"not here", slices.Concat(trunk, [][]byte{wrong}, above), greedy, falseScript, false},
		{"too little work", slices.Concat(trunk, [][]byte{wrong}, above[:2016]), wrong, falseScript, true},
		{"other rules hold", slices.Concat(trunk, [][]byte{greedy}, onGreedy), greedy, "bad-txns-in-belowout", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := memRig(t, chain.Regtest())
			o := fileOptions(t, file(r.p, c.blocks...))
			if c.assume != nil {
				o.AssumeValid = hashOf(c.assume)
			}
			rep, err := Import(context.Background(), r.t, o)
			var failure *ConsensusFailure
			if stopped := errors.As(err, &failure); stopped != c.stops || err != nil && !stopped {
				t.Fatalf("error %v", err)
			}
			if failure != nil && (failure.Reason != c.reason || failure.Height != 102) {
				t.Fatalf("%+v", failure)
			}
			switch {
			case c.reason != "":
				wantReasons(t, rep, c.reason)
				if tip, _ := r.t.Tip(); r.t.Header(tip).Height() > 102 {
					t.Fatal("a block on the invalid one is on the chain")
				}
			case len(rep.Rejected) > 0 || rep.Assumed == 0:
				t.Fatalf("%+v", rep)
			default:
				r.wantTip(t, c.blocks[len(c.blocks)-1])
			}
			r.discard()
		})
	}
}
