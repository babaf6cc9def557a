package script_test

import (
	"fmt"
	"testing"

	"stele/internal/realdata"
	"stele/validate/script"
)

// deferAll collects the checks of every input of a block.
func deferAll(t *testing.T, r realBlock, d *script.Batch) {
	t.Helper()
	b, coins := r.load(t)
	hash := b.Header.Hash()
	f := script.FlagsAt(r.params(), uint32(r.height), &hash)
	e, tx := script.NewEngine(script.Btcec{}), new(script.Tx)
	for i := 1; i < len(b.Txs); i++ {
		n := int(b.Txs[i].Ins)
		tx.Reset(b, i, coins[:n:n])
		for in := range n {
			d.Input = uint32(len(d.Checks))
			if err, sure := e.Defer(tx, in, f, d); !sure || err != script.OK {
				t.Fatalf("transaction %d, input %d: %v, %v", i, in, err, sure)
			}
		}
		coins = coins[n:]
	}
}

// groupVerifiers are those of this build on this machine that gain from groups.
func groupVerifiers() (all []script.GroupVerifier) {
	for _, v := range script.Verifiers() {
		if g, ok := v.(script.GroupVerifier); ok {
			all = append(all, g)
		}
	}
	return all
}

// The checks of whole real blocks, and of the mempool's transactions, pass in groups; with one bit changed in some of
// them each group verifier names exactly those that the plain one refuses, alone.
func TestGroupsOfRealChecks(t *testing.T) {
	var d script.Batch
	t.Run("blocks", func(t *testing.T) {
		for _, r := range realBlocks {
			if r.inputs > 9000 && !*everySpend {
				continue
			}
			deferAll(t, r, &d)
		}
	})
	if _, ok := realdata.Dir(); !ok {
		t.Skip("realdata absent: blocks with prevouts")
	}
	altered, bad := 0, map[int]bool{}
	changed := append([]script.Check(nil), d.Checks...)
	for i := range changed {
		if i%7 != 3 {
			continue
		}
		altered++
		switch c := &changed[i]; i % 3 {
		case 0:
			c.Sig[i%64] ^= 1 << (i % 8)
		case 1:
			c.Hash[i%32] ^= 1 << (i % 8)
		default:
			c.Key[1+i%32] ^= 1 << (i % 8)
		}
		bad[i] = !changed[i].Run(script.Native{})
	}
	for _, g := range groupVerifiers() {
		if wrong := g.Group(d.Checks, nil); len(wrong) != 0 {
			t.Errorf("%s refuses %d of %d true checks, %d first", g.Name(), len(wrong), len(d.Checks), wrong[0])
		}
		named := map[int]bool{}
		for _, i := range g.Group(changed, nil) {
			named[i] = true
		}
		for i := range changed {
			if named[i] != bad[i] {
				t.Errorf("%s: check %d is false: %v, alone %v", g.Name(), i, named[i], bad[i])
			}
		}
		t.Logf("%s: %d checks, %d altered, %d of them false", g.Name(), len(d.Checks), altered, len(named))
	}
	if len(d.Checks) < 10_000 || altered < len(d.Checks)/8 {
		t.Errorf("%d checks, %d altered", len(d.Checks), altered)
	}
}

// Groups of every size from none to two rounds of lanes, with false checks in every place.
func TestGroupSizes(t *testing.T) {
	var d script.Batch
	deferAll(t, realBlock{net: "mainnet", height: 757739, inputs: 91}, &d)
	checks := d.Checks[:40]
	for _, g := range groupVerifiers() {
		for n := range len(checks) + 1 {
			for wrong := -1; wrong < n; wrong++ {
				group := append([]script.Check(nil), checks[:n]...)
				want := "[]"
				if wrong >= 0 {
					group[wrong].Hash[5] ^= 4
					want = fmt.Sprint([]int{wrong})
				}
				if got := fmt.Sprint(g.Group(group, []int{})); got != want {
					t.Fatalf("%s: %d checks, %d false: %s", g.Name(), n, wrong, got)
				}
			}
		}
	}
}
