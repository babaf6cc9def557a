package btcdpeer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		Clean()
		os.Exit(code)
	}))
}

// hashOf is the hash of a block's header, in the order in which hashes are shown.
func hashOf(raw []byte) string {
	once := sha256.Sum256(raw[:80])
	twice := sha256.Sum256(once[:])
	slices.Reverse(twice[:])
	return hex.EncodeToString(twice[:])
}

// TestTwo lets a node sync from another, follow it and its reorganisation, over either transport.
func TestTwo(t *testing.T) {
	for _, c := range []struct {
		name string
		v2   bool
	}{{"v1", false}, {"v2", true}} {
		t.Run(c.name, func(t *testing.T) {
			miner := Start(t, Options{V2: c.v2, TxIndex: true})
			hashes := miner.Generate(120)
			if best, height := miner.Best(); len(hashes) != 120 || height != 120 || best != hashes[119] {
				t.Fatalf("%d blocks mined, tip %s at %d", len(hashes), best, height)
			}
			if raw := miner.Block(hashes[50]); hashOf(raw) != hashes[50] || miner.HashAt(51) != hashes[50] {
				t.Error("a block under another hash")
			}
			other := Start(t, Options{V2: c.v2, Connect: []string{miner.Addr()}})
			other.WaitBest(hashes[119])
			other.WaitBest(miner.Generate(1)[0])
			was, _ := miner.Best()
			branch := miner.Reorganise(3)
			other.WaitBest(branch[3])
			if slices.Contains(branch, was) || miner.HashAt(121) != branch[2] {
				t.Error("the branch has blocks of the old one")
			}
			ours, theirs := other.Peers(), miner.Peers()
			if len(ours) != 1 || len(theirs) != 1 || ours[0].Inbound || !theirs[0].Inbound || ours[0].V2 != c.v2 {
				t.Errorf("%+v, %+v", ours, theirs)
			}
		})
	}
}

// TestBranches gives a node the blocks of another by hand: two chains from genesis, the longer wins, and a block that is
// not one is refused.
func TestBranches(t *testing.T) {
	a, b := Start(t, Options{}), Start(t, Options{})
	mine, longer := a.Generate(5), b.Generate(7)
	for i, hash := range longer {
		if err := a.Submit(b.Block(hash)); err != nil {
			t.Fatal(err)
		}
		want := mine[4]
		if i >= 5 { // a branch of equal work came later, and does not win
			want = hash
		}
		if best, _ := a.Best(); best != want {
			t.Errorf("after %d blocks the tip is %s, want %s", i+1, best, want)
		}
	}
	raw := b.Block(longer[6])
	raw[70] ^= 1 // its time: the work is gone
	var refused *OrderError
	if err := a.Submit(raw); !errors.As(err, &refused) {
		t.Errorf("a block without work: %v", err)
	}
	a.Invalidate(longer[5])
	if best, _ := a.Best(); best != mine[4] && best != longer[4] {
		t.Errorf("after invalidation the tip is %s", best)
	}
	a.Reconsider(longer[5])
	a.WaitBest(longer[6])
}

// TestAgain: a node comes again at the address of one that stopped, and of one that was killed, with an empty chain; who
// was told to call it does, and gives it its blocks.
func TestAgain(t *testing.T) {
	a := Start(t, Options{})
	hash := a.Generate(3)[2]
	caller := Start(t, Options{})
	caller.AddNode(a.Addr())
	caller.WaitBest(hash)
	a.Stop()
	a.Stop()
	if err := a.Call("getbestblock", nil); err == nil {
		t.Error("it answers though it stopped")
	}
	caller.WaitPeers(0)
	b := Start(t, Options{Listen: a.Addr()})
	if _, height := b.Best(); height != 0 || b.Addr() != a.Addr() {
		t.Errorf("height %d at %s", height, b.Addr())
	}
	b.WaitBest(hash)
	caller.RemoveNode(b.Addr())
	b.WaitPeers(0)
	b.AddNode(caller.Addr())
	caller.WaitPeers(1)
	b.Kill()
	caller.WaitPeers(0)
}
