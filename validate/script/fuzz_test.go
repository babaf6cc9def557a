package script_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/validate/script"
)

// FuzzScripts compares us with btcd over generated scripts, under consensus flags, in both modes.
func FuzzScripts(f *testing.F) {
	for shape := range byte(shapes) {
		f.Add([]byte{0, shape, 0, 0, 0, 0, 1, 0, 1, 0, 0, 4, 3, 0, 0, 0x60, 0x69, 3, 4, 0, 0, 0, 4, 1, 0, 0})
	}
	j, known := newJudge(), newDivergences()
	f.Fuzz(func(t *testing.T, data []byte) {
		m := generate(t, data)
		compare(t, j, known, m.spend, m.in, m.flags)
	})
}

// FuzzSpends compares us with btcd over real spends, altered: script, witness, prevout, version, sequence and all else.
// The bank of spends is part of what an input means, so it never changes.
func FuzzSpends(f *testing.F) {
	bank := readBank(f)
	for i := range bank {
		f.Add(uint16(i), []byte{0})
		for edit := range byte(edits) {
			f.Add(uint16(i), []byte{0, edit, byte(i), 7, 1})
		}
	}
	all := consensusFlags()
	j, known := newJudge(), newDivergences()
	f.Fuzz(func(t *testing.T, which uint16, data []byte) {
		from := bank[int(which)%len(bank)]
		r := &source{data}
		flags := script.Consensus
		if n := r.below(128); n < len(all) && n > 0 {
			flags = all[n]
		}
		s := from.spend.clone()
		for n := 0; len(r.b) > 0 && n < 8; n++ {
			edit(s, from.in, r, bank)
		}
		compare(t, j, known, s, from.in, flags)
	})
}

// deposit is an input of a real transaction.
type deposit struct {
	*spend
	in int
}

// Kinds of edits.
const (
	editScriptBit = iota
	editItemBit
	editCoinBit
	editValue
	editVersion
	editSequence
	editLockTime
	editOutput
	editDropItem
	editTwiceItem
	editInsert
	editDelete
	editOpcode
	editSwap
	editAnnex
	editHashType
	edits
)

// edit alters s once.
func edit(s *spend, in int, r *source, bank []deposit) {
	x := &s.ins[in]
	kind := r.below(edits)
	at := func(n int) int { return (int(r.next())<<8 | int(r.next())) % max(n, 1) }
	flipAny := func(b []byte) {
		if i := at(8 * len(b)); len(b) > 0 {
			flip(b, i)
		}
	}
	item := func() *[]byte {
		if len(x.witness) == 0 {
			return &x.script
		}
		return &x.witness[at(len(x.witness))]
	}
	switch kind {
	case editScriptBit:
		flipAny(x.script)
	case editItemBit:
		flipAny(*item())
	case editCoinBit:
		flipAny(x.coin.Script)
	case editValue:
		x.coin.Value ^= 1 << at(51)
	case editVersion:
		s.version ^= 1 << at(32)
	case editSequence:
		s.ins[at(len(s.ins))].seq ^= 1 << at(32)
	case editLockTime:
		s.lock ^= 1 << at(32)
	case editOutput:
		if len(s.outs) > 0 {
			o := &s.outs[at(len(s.outs))]
			flipAny(o.script)
			o.value ^= int64(at(2))
		}
	case editDropItem:
		if len(x.witness) > 0 {
			i := at(len(x.witness))
			x.witness = slices.Delete(x.witness, i, i+1)
		}
	case editTwiceItem:
		if len(x.witness) > 0 {
			i := at(len(x.witness))
			x.witness = slices.Insert(x.witness, i, slices.Clone(x.witness[i]))
		}
	case editInsert:
		p := item()
		*p = slices.Insert(*p, at(len(*p)+1), r.take(1+r.below(4))...)
	case editDelete:
		if p := item(); len(*p) > 0 {
			i := at(len(*p))
			*p = slices.Delete(*p, i, min(i+1+r.below(4), len(*p)))
		}
	case editOpcode:
		x.script = append(x.script, r.next())
	case editSwap:
		other := bank[at(len(bank))]
		x.script, x.witness = other.ins[other.in].script, slices.Clone(other.ins[other.in].witness)
	case editAnnex:
		x.witness = append(x.witness, append([]byte{0x50}, r.take(r.below(8))...))
	case editHashType:
		if p := item(); len(*p) > 0 {
			(*p)[len(*p)-1] = r.next()
		}
	}
}

// The bank is testdata/spends.txt: a line for each input, with its index, the transaction and what that spends.
const bankPath = "testdata/spends.txt"

type bankLine struct {
	In     int      `json:"in"`
	Raw    []byte   `json:"raw"`
	Values []int64  `json:"values"`
	Coins  [][]byte `json:"coins"`
}

func readBank(tb testing.TB) (bank []deposit) {
	tb.Helper()
	text, err := os.ReadFile(bankPath)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var x bankLine
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			tb.Fatal(err)
		}
		var coins []chain.Coin
		for i := range x.Coins {
			coins = append(coins, chain.Coin{Value: x.Values[i], Script: x.Coins[i]})
		}
		bank = append(bank, deposit{take(decodeTx(tb, x.Raw), 0, coins), x.In})
	}
	return bank
}

var writeBank = flag.Bool("bank", false, "write "+bankPath+" anew: kept inputs of FuzzSpends lose their meaning")

// The bank holds the smallest real spends of each form, and every one of them passes in btcd's eyes and in ours.
func TestBank(t *testing.T) {
	if *writeBank {
		makeBank(t)
	}
	j, known := newJudge(), newDivergences()
	forms := map[string]int{}
	for _, d := range readBank(t) {
		forms[d.ins[d.in].form()]++
		if e := compare(t, j, known, d.spend, d.in, script.Consensus); e != script.OK {
			t.Errorf("%s: %s", d.ins[d.in].form(), e)
		}
	}
	t.Logf("%v", forms)
	want(t, "forms", len(forms), 8)
	want(t, "spends", j.inputs, 48)
}

// makeBank takes six of each form out of the real transactions.
func makeBank(t *testing.T) {
	all := samples(t)
	slices.SortStableFunc(all, func(a, b *spend) int { return len(a.raw()) - len(b.raw()) })
	forms := map[string]int{}
	var text strings.Builder
	for _, s := range all {
		for in := range s.ins {
			form := s.ins[in].form()
			if forms[form]++; forms[form] > 6 {
				continue
			}
			x := bankLine{In: in, Raw: s.raw()}
			for _, c := range s.coins() {
				x.Values, x.Coins = append(x.Values, c.Value), append(x.Coins, c.Script)
			}
			raw, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(append(raw, '\n'))
		}
	}
	if err := os.WriteFile(bankPath, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
