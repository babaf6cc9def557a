package confirm_test

import (
	"encoding/json"
	"testing"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/internal/realdata"
	"stele/utxo"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// wantSame wants two sets to be the same.
func wantSame(t fataler, got, want utxo.Source) {
	t.Helper()
	stats, hash, err := utxo.Serialized3Of(want, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, other, err := utxo.Serialized3Of(got, 1, nil)
	if err != nil || other != hash || again.Outputs != stats.Outputs || stats.Outputs == 0 {
		t.Fatalf("set %v of %d outputs, want %v of %d: %v", other, again.Outputs, hash, stats.Outputs, err)
	}
}

// TestCore confirms Bitcoin Core's regtest chain as it came: whenever a branch outgrows the tip's, the chain goes back to
// where they part and up the other. What is unspent in the end has the hash that Core gives; so has a set that is rolled
// from the tip of each branch that was left.
func TestCore(t *testing.T) {
	blocks := realdata.Blocks(t, "core_regtest", "chain.blk.gz")
	var want struct {
		Tip   uint32
		Best  string
		Final struct {
			Txouts int
			Hash   string `json:"hash_serialized_3"`
		} `json:"utxo_final"`
	}
	if err := json.Unmarshal(realdata.Read(t, "core_regtest", "expected.json.gz"), &want); err != nil {
		t.Fatal(err)
	}
	bothModes(t, func(t *testing.T, set bool) {
		r := newRig(t, chain.Regtest(), set)
		defer r.discard()
		tip := genesisNode()
		nodes := map[chain.Hash]*node{tip.Hash: tip}
		left := []*node{}
		for _, raw := range blocks {
			h, err := chain.ParseHeader(raw)
			if err != nil {
				t.Fatal(err)
			}
			hash := h.Hash()
			if nodes[hash] != nil {
				continue
			}
			n := nodes[h.Prev].child(r.p, &chaintest.Block{
				Raw: raw, Hash: hash, Height: nodes[h.Prev].Height + 1, Time: h.Time, Txids: txidsOf(t, raw),
				Parent: nodes[h.Prev].Block,
			})
			nodes[hash] = n
			if n.Height <= tip.Height {
				continue
			}
			if n.parent != tip {
				left = append(left, tip)
				for ; !tip.below(n); tip = tip.parent {
					r.pop()
				}
			}
			r.extend(n)
			tip = n
		}
		r.wantTip(tip)
		if tip.Height != want.Tip || tip.Hash.String() != want.Best || len(tip.coins) != want.Final.Txouts ||
			tip.hash(t).String() != want.Final.Hash {
			t.Fatalf("tip %v at %d with %d outputs, want %+v", tip.Hash, tip.Height, len(tip.coins), want)
		}
		if len(left) == 0 {
			t.Fatal("no branch was ever left")
		}
		if set {
			rollBranches(r, tip, left)
		}
	})
}

// rollBranches goes to each branch and back, and has a set rolled behind.
func rollBranches(r *rig, tip *node, branches []*node) {
	for _, from := range branches {
		s := newSet()
		r.roll(s, genesisOf(tip))
		at := tip
		for _, to := range []*node{from, tip} {
			for x := at; !x.below(to); x = x.parent {
				r.pop()
			}
			r.extend(to)
			r.roll(s, at)
			wantSame(r, s, r.set)
			at = to
		}
		s.Close()
	}
}

// below reports whether n is x or an ancestor of it.
func (n *node) below(x *node) bool {
	for x.Height > n.Height {
		x = x.parent
	}
	return x == n
}

func txidsOf(t fataler, raw []byte) []chain.Hash {
	t.Helper()
	var d chain.Block
	if err := d.Decode(raw); err != nil {
		t.Fatal(err)
	}
	return d.Txids(nil)
}
