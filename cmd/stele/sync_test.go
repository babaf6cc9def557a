//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stele/bench/chain"
	"stele/internal/btcdpeer"
	"stele/internal/realdata"
)

// syncBlocks is how many blocks btcd has mined before a node meets it: more than two messages of headers take, and old
// enough for their coinbases to be mature.
const syncBlocks = 320

// TestSyncFromBtcd: headers first and then blocks from another implementation, new blocks as they come, reorganisations of
// some depths; a second btcd gets the chain from us; over either transport.
func TestSyncFromBtcd(t *testing.T) {
	for _, encrypt := range []string{"on", "off"} {
		t.Run("encrypt "+encrypt, func(t *testing.T) {
			miner := btcdpeer.Start(t, btcdpeer.Options{V2: encrypt == "on"})
			miner.Generate(syncBlocks)
			best, _ := miner.Best()
			us := startRun(t, t.TempDir(), "--connect", miner.Addr(), "--listen", "127.0.0.1:0", "--encrypt", encrypt)
			us.reach(best)
			for _, p := range miner.Peers() {
				if p.V2 != (encrypt == "on") {
					t.Errorf("encrypt %s: the miner speaks v2: %v", encrypt, p.V2)
				}
			}
			us.reach(miner.Generate(1)[0])
			for _, depth := range []int{1, 6, 20} {
				branch := miner.Reorganise(depth)
				us.reach(branch[len(branch)-1])
			}

			other := btcdpeer.Start(t, btcdpeer.Options{V2: encrypt == "on"})
			other.AddNode(us.addr())
			best, _ = miner.Best()
			other.WaitBest(best)
			next := miner.Generate(1)[0]
			us.reach(next)
			other.WaitBest(next)

			doc := us.stop()
			if doc.Tip.Hash.String() != next || len(doc.Rejected) != 0 || doc.Popped != 27 {
				t.Errorf("at the end: %+v", doc)
			}
			if !strings.Contains(us.told(), "listening") {
				t.Errorf("what it told: %s", us.told())
			}
			checkAgainstImport(t, us.dir, miner)
		})
	}
}

// checkAgainstImport compares a store that was synced with one that imported the same chain from a file.
func checkAgainstImport(t *testing.T, dir string, miner *btcdpeer.Node) {
	t.Helper()
	_, height := miner.Best()
	var file bytes.Buffer
	for h := 1; h <= height; h++ {
		raw := miner.Block(miner.HashAt(h))
		file.Write([]byte{0xfa, 0xbf, 0xb5, 0xda})
		_ = binary.Write(&file, binary.LittleEndian, uint32(len(raw)))
		file.Write(raw)
	}
	path, other := filepath.Join(t.TempDir(), "chain.dat"), t.TempDir()
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	stele("--network", "regtest", "--datadir", other, "import", path).want(t, codeOK)
	if a, b := setHash(t, dir), setHash(t, other); a != b {
		t.Errorf("synced %s, imported %s", a, b)
	}
	stele("--network", "regtest", "--datadir", dir, "check", "--deep").want(t, codeOK)
}

// TestKilledWhileSyncing ends a node ten times without warning while blocks come; then it is in sync with the right set.
func TestKilledWhileSyncing(t *testing.T) {
	source, file := t.TempDir(), filepath.Join(t.TempDir(), "chain.dat")
	o := chain.Options{Seed: 3, Blocks: 170, Txs: 400, Mix: chain.Mainnet, Signed: true}
	if _, err := chain.Write(file, o); err != nil {
		t.Fatal(err)
	}
	stele("--network", "regtest", "--datadir", source, "import", file).want(t, codeOK)
	want := setHash(t, source)
	best, end := tipIn(t, source)
	from := startRun(t, source, "--listen", "127.0.0.1:0")
	dir, early := t.TempDir(), 0
	for kill := range 10 {
		p := startRun(t, dir, "--connect", from.addr(), "--memory", "16M", "--utxo", []string{"on", "off"}[kill%2])
		height := -1
		for height < kill*end/12 { // it answers, and goes on while it does
			if p.tip() != "" {
				_, height = tipIn(t, dir)
			}
		}
		if height < end {
			early++
		}
		p.kill()
	}
	t.Logf("killed before the end %d times of ten", early)
	if early < 3 {
		t.Errorf("it was killed in the middle %d times only", early)
	}
	p := startRun(t, dir, "--connect", from.addr(), "--listen", "127.0.0.1:0")
	p.addr()
	p.reach(best)
	p.stop()
	if got := setHash(t, dir); got != want {
		t.Errorf("in sync with %s, want %s", got, want)
	}
	stele("--network", "regtest", "--datadir", dir, "check", "--deep").want(t, codeOK)
}

// TestMarksByHand leaves a block and comes back to it, in a store that nobody has and in one that a node has.
func TestMarksByHand(t *testing.T) {
	dir := t.TempDir()
	stele("--network", "regtest", "--datadir", dir, "import", coreFile(t)).want(t, codeOK)
	before := setHash(t, dir)
	best, tip := tipIn(t, dir)
	var block struct {
		ID string `json:"id"`
	}
	r := stele("--network", "regtest", "--datadir", dir, "--json", "block", strconv.Itoa(tip-5)).want(t, codeOK)
	if err := json.Unmarshal([]byte(r.out), &block); err != nil || len(block.ID) != 64 {
		t.Fatalf("%v: %s", err, r.out)
	}
	marked := block.ID
	for _, owned := range []bool{false, true} {
		if owned {
			startRun(t, dir, "--listen", "127.0.0.1:0").addr() // the store is its own by then
		}
		stele("--network", "regtest", "--datadir", dir, "invalidate", marked).want(t, codeOK)
		if hash, height := tipIn(t, dir); height >= tip || hash == marked {
			t.Errorf("owned %v: after invalidate the tip is %s at %d", owned, hash, height)
		}
		if setHash(t, dir) == before {
			t.Errorf("owned %v: the set is as before", owned)
		}
		stele("--network", "regtest", "--datadir", dir, "reconsider", marked).want(t, codeOK)
		if got := setHash(t, dir); got != before || !strings.HasPrefix(got, best) {
			t.Errorf("owned %v: back at %s, want %s", owned, got, before)
		}
		stele("--network", "regtest", "--datadir", dir, "invalidate", strings.Repeat("0a", 32)).want(t, codeNotFound)
	}
}

// tipIn is the tip of a store.
func tipIn(t *testing.T, dir string) (hash string, height int) {
	t.Helper()
	r := stele("--network", "regtest", "--datadir", dir, "--json", "info").want(t, codeOK)
	var doc infoDocument
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Tip.Hash.String(), int(doc.Tip.Height)
}

// coreFile is Core's regtest chain, with its stale branches, as a file.
func coreFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chain.dat")
	if err := os.WriteFile(path, realdata.Read(t, "core_regtest", "chain.blk.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
