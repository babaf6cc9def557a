package codec

import (
	"fmt"
	"strings"
	"testing"

	"stele/chain"
)

// modern are the blocks whose size is promised.
var modern = []string{"702861", "709632", "757739", "800000", "951658"}

const maxModern = 0.85

// TestSizeModern holds the archive of the modern blocks, with both indexes, against its promise, and prints what each
// kind takes.
func TestSizeModern(t *testing.T) {
	var s Sizes
	realBlocks(t, "mainnet", func(name string, b *chain.Block) {
		var one Sizes
		one.Add(b)
		s.Add(b)
		t.Logf("%s: %d bytes, %.4f of the wire, %.4f with a full map",
			name, len(b.Raw), one.Archive(IndexMean)/float64(one.Wire), one.Archive(IndexFull)/float64(one.Wire))
	}, modern...)
	var text strings.Builder
	number := map[string]int{}
	for _, k := range s.Kinds() {
		fmt.Fprintf(&text, "%-6s %-28s %7d %9d %9d  %5.1f %%\n",
			k.Of, k.Name, k.Count, k.Wire, k.Slab, 100*float64(k.Slab)/float64(s.Wire))
		number[k.Of] += k.Count
	}
	t.Logf("kind, number, wire bytes, slab bytes, part of all wire bytes\n%s", text.String())
	if number["output"] != s.Outs || number["input"] != s.Ins || number["head"] != s.Txs {
		t.Errorf("kinds of %v, of %d outputs, %d inputs, %d transactions", number, s.Outs, s.Ins, s.Txs)
	}
	mean, full := s.Archive(IndexMean)/float64(s.Wire), s.Archive(IndexFull)/float64(s.Wire)
	t.Logf("%d transactions, %d inputs, %d outputs, %d wire bytes, %d slab bytes", s.Txs, s.Ins, s.Outs, s.Wire, s.Slab)
	t.Logf("%d amounts take %.3f bytes each", s.Amounts, float64(s.AmountBytes)/float64(s.Amounts))
	t.Logf("size.modern %.4f with the map's mean load, %.4f with a full one", mean, full)
	if mean > maxModern {
		t.Errorf("the archive takes %.4f of the wire, want %.2f", mean, maxModern)
	}
}
