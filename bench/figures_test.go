package bench

import (
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/internal/realdata/files"
	"stele/validate/script"
)

// wanting tells whether a key cannot be measured for a reason that its rows name: code of others that is not linked, or
// real blocks that are not on this machine.
func wanting(key string) bool {
	switch key {
	case "decode.fresh", "decode.reused", "hash.time_vs_xxh3":
		return wireDecode == nil || hashXXH3 == nil
	case "script.quadratic_vs_btcd", "script.many_inputs_vs_btcd":
		_, ok := files.Dir()
		return !ok || wireDecode == nil
	case "sig.ecdsa_vs_libsecp":
		_, ok := script.ByName(libsecp)
		return !ok
	case "sig.lanes_ecdsa_vs_libsecp", "sig.lanes_schnorr_vs_libsecp":
		_, system := script.ByName(libsecp)
		_, present := script.ByName("lanes")
		return !system || !present
	case "size.modern", "block.raw_ms":
		_, ok := files.Path("mainnet", "blocks", statedBlock+".blk.gz")
		return !ok
	}
	return false
}

func init() {
	maps.Copy(rowsOf, map[string][]string{
		"decode": {"0.3MB.reused", "1.0MB.fresh"},
		"hash": {
			"function.truncation", "function.djb2", "blocks.truncation", "blocks.djb2.get", "blocks.djb2.put",
			"probes.generated.truncation", "probes.mainnet.djb2", "probes.mainnet.truncation.bytes",
			"chains.40.hit.alone", "chains.60.miss.many.lines", "chains.80.hit.alone.chains", "chains.80.miss.many",
		},
		"size": {
			"mainnet.table.header", "mainnet.table.tx", "mainnet.table.output", "mainnet.input.P2PK", "mainnet.archive_vs_wire",
			"generated.table.input", "generated.table.spend", "generated.output.P2WPKH", "generated.archive_vs_wire",
		},
	})
}

// TestDecodeVerifies: what is no block, or has bytes that decoding would lose, is not measured.
func TestDecodeVerifies(t *testing.T) {
	raw := chain.Main().GenesisBlock
	good := decoding{raw: raw}
	if err := good.verify(); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, raw[:len(raw)-1], append(slices.Clone(raw), 0)} {
		if d := (decoding{raw: bad}); d.verify() == nil {
			t.Errorf("%d bytes are taken for a block", len(bad))
		}
	}
}

// TestModuleBlocks: the blocks that stand in for absent ones decode.
func TestModuleBlocks(t *testing.T) {
	for i, txs := range []int{213, 3315, 230} {
		b := moduleBlocks[i]
		realdata.Module(t, b.module[0], b.module[1])
		block, err := b.read()
		if err != nil {
			t.Fatal(err)
		}
		if len(block.Txs) != txs || filepath.Ext(b.name) == "" {
			t.Errorf("block %v has %d transactions, want %d", b.realBlock, len(block.Txs), txs)
		}
	}
}

// TestDJB2 compares with values of the usual definition: ((5381 × 33 + b) × 33 + b) ... modulo 2^64.
func TestDJB2(t *testing.T) {
	for _, c := range []struct {
		k    key
		want func() uint64
	}{
		{key{}, func() uint64 { return power33(5381, 32) }},
		{key{31: 7}, func() uint64 { return power33(5381, 32) + 7 }},
		{key{0: 1}, func() uint64 { return power33(5381, 32) + power33(1, 31) }},
	} {
		if have := djb2(&c.k); have != c.want() {
			t.Errorf("%x: %d, want %d", c.k, have, c.want())
		}
	}
	if k := (key{1, 2, 3, 4, 5, 6, 7, 8, 9}); truncate(&k) != 0x0807060504030201 {
		t.Errorf("truncation of %x is %x", k, truncate(&k))
	}
}

func power33(x uint64, n int) uint64 {
	for range n {
		x *= 33
	}
	return x
}

// TestRandomProbes: lines that hold everything are one probe each; crowded ones agree with what is written in package
// hashmap of hashes at 80 per cent.
func TestRandomProbes(t *testing.T) {
	if n := randomProbes(1_000, 100); n != 1 {
		t.Errorf("%v probes of an almost empty table", float64(n))
	}
	if n := randomProbes(14_000, 14_000*lineSlots*8/10); math.Abs(float64(n)-1.08) > 0.01 {
		t.Errorf("%v probes at 80 per cent", float64(n))
	}
}

// TestChained compares with a Go map, for so few heads that chains are long.
func TestChained(t *testing.T) {
	h := &hashing{o: &Options{Scale: 0.001, Runs: 1, Dir: t.TempDir(), Note: func(string) {}}}
	if err := h.chains(context.Background()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range h.result.Rows {
		names[r.Name] = true
		if !r.Value.Known() || r.Value <= 0 {
			t.Errorf("row %s is %v", r.Name, float64(r.Value))
		}
	}
	if len(names) != 3*2*3*3 { // loads, hit or miss, ways in which keys come, two sides and their ratio
		t.Errorf("%d rows", len(names))
	}
}

// TestTrace: each lookup is of a row that an earlier block put, as many as the chain's inputs that spend from earlier
// blocks; and a table that forgets a row is found out.
func TestTrace(t *testing.T) {
	o := Options{Scale: 0.001, Note: func(string) {}}
	tr, err := o.makeTrace(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	end := traced{len(tr.ids), len(tr.spends)}
	if len(tr.blocks) != leastBlocks || len(tr.spends) == 0 || tr.blocks[len(tr.blocks)-1] != end {
		t.Fatalf("%d blocks, %d transactions, %d lookups", len(tr.blocks), len(tr.ids), len(tr.spends))
	}
	for b := range tr.blocks {
		from, to := tr.start(b), tr.blocks[b]
		for _, row := range tr.spends[from.spends:to.spends] {
			if int(row) >= from.ids {
				t.Fatalf("block %d looks up row %d of %d", b, row, from.ids)
			}
		}
	}
	x, err := newTable(functions()[0], len(tr.ids))
	if err != nil {
		t.Fatal(err)
	}
	for b := range tr.blocks {
		if b == len(tr.blocks)-1 {
			tr.ids[tr.spends[tr.start(b).spends]][0] ^= 1 // no row has this key
		}
		if err := tr.play(x, b); (err != nil) != (b == len(tr.blocks)-1) {
			t.Fatalf("block %d: %v", b, err)
		}
	}
}

// TestBareStore: a real block is rebuilt byte for byte over its bare parents, packed and spread, and one wrong prevout
// would be seen.
func TestBareStore(t *testing.T) {
	b, err := mainBlock("757739").read()
	if err != nil {
		realdata.Path(t, "mainnet", "blocks", "757739.blk.gz")
		t.Fatal(err)
	}
	for i, others := range []int{0, 500} {
		o := Options{Dir: t.TempDir()}
		a, links, err := o.bareStore([]string{"packed", "spread"}[i], []*chain.Block{b}, others)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		if err := rebuilds(a.t.Live(), links[0], b.Raw); err != nil {
			t.Error(err)
		}
		other := slices.Clone(b.Raw)
		other[b.Ins[1].Prevout]++
		if rebuilds(a.t.Live(), links[0], other) == nil {
			t.Error("a block that spends another output is taken for the same")
		}
	}
}

// TestInTurns: ways take turns, as often as there are runs, and one that fails ends it.
func TestInTurns(t *testing.T) {
	var order strings.Builder
	step := func(s string) func() error { return func() error { order.WriteString(s); return nil } }
	o := Options{Runs: 3, Scale: 1}
	times, err := o.inTurns(context.Background(), []way{{reps: 1, do: step("a")}, {reps: 2, do: step("b")}})
	if err != nil || len(times) != 2 || len(times[0]) != 3 || len(times[1]) != 3 {
		t.Fatalf("%v, %v", times, err)
	}
	if order.String() != "ab"+strings.Repeat("abb", 3) { // once each to warm up
		t.Errorf("order %s", order.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.inTurns(ctx, []way{{reps: 1, do: step("c")}}); err == nil {
		t.Error("a cancelled experiment goes on")
	}
	if slowest(3, 1, 2) != 1 || slowest(3, None).Known() {
		t.Error("slowest is not the least of the known")
	}
}
