package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"stele/bench"
)

// TestBenchChain makes a small signed chain, which an import takes with all its checks, and refuses to write over it.
func TestBenchChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chain.blk")
	out := stele("bench", "chain", "--out", path, "--scale", "0.0004", "--seed", "3", "--json").want(t, codeOK).out
	var r bench.ChainReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || uint64(info.Size()) != r.Bytes || !r.Signed || r.Seed != 3 || r.Coins == 0 || len(r.Kinds) == 0 {
		t.Errorf("%v, %v: %s", info, err, out)
	}
	stele("bench", "chain", "--out", path).want(t, codeFailed, "exists")
	took := stele("--datadir", t.TempDir(), "--network", "regtest", "import", path).want(t, codeOK)
	tells(t, took.out, count(r.Blocks)+" blocks", r.Tip.String())
}

// TestBenchChainMadeUp: no import of the executable takes made-up signatures. It ends where transactions begin.
func TestBenchChainMadeUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chain.blk")
	text := stele("bench", "chain", "--out", path, "--scale", "0.0004", "--signed=false").want(t, codeOK).out
	tells(t, text, "made-up signatures", "p2wpkh", "own block")
	took := stele("--datadir", t.TempDir(), "--network", "regtest", "import", path).want(t, codeOK)
	tells(t, took.out, "height 100,", "rejected", "at height 101")
}

func TestBenchChainUsage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chain.blk")
	stele("bench", "chain").want(t, codeUsage, "--out")
	stele("bench", "chain", "--out", path, "--scale", "0").want(t, codeUsage, "--scale")
	stele("bench", "chain", "--out", path, "--stale", "51").want(t, codeUsage, "--stale")
	stele("bench", "chain", "more", "--out", path).want(t, codeUsage, "more")
}
