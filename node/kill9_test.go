package node

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// asVictim in the environment makes the test binary a node that goes back and forth between two branches until it is
// killed; it holds the folder of the store. The blocks are in the folder's parent.
const asVictim = "STELE_NODE_VICTIM"

// victim runs the node and prints a line when it is at either end.
func victim(dir string) error {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "blocks"))
	if err != nil {
		return err
	}
	d, err := store.OpenDir(dir, store.DirOptions{Create: true, Verb: "test"})
	if err != nil {
		return err
	}
	p := chain.Regtest()
	t, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		if t, err = tables.Create(d, p, tables.Options{}); err != nil {
			return err
		}
	}
	seed, _ := strconv.Atoi(os.Getenv(asVictim + "_SEED"))
	o := Options{ImportOptions: ImportOptions{Threads: 2, TablesAlone: seed%2 == 0, CheckpointEvery: 3 * time.Millisecond}}
	o.heap, o.reserve, o.publishEvery = true, 64<<10, time.Millisecond
	n := New(t, o)
	go func() { _, _ = n.Run(context.Background()) }()
	ctx := context.Background()
	blocks, err := splitRecords(raw)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		h, err := chain.ParseHeader(b)
		if err != nil {
			return err
		}
		hash := h.Hash()
		if _, err := n.PutHeaders(ctx, []chain.Header{h}, true); err != nil {
			return err
		}
		if err := n.PutBlock(&hash, b, 1); err != nil {
			return err
		}
	}
	first, err := chain.ParseHash(os.Getenv(asVictim + "_FORK"))
	if err != nil {
		return err
	}
	for {
		if err := n.Settle(ctx); err != nil {
			return err
		}
		fmt.Println("there")
		if err := n.Invalidate(ctx, &first); err != nil {
			return err
		}
		if err := n.Reconsider(ctx, &first); err != nil {
			return err
		}
	}
}

func splitRecords(raw []byte) (all [][]byte, err error) {
	for r := bytes.NewReader(raw); r.Len() > 0; {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		b := make([]byte, int(head[4])|int(head[5])<<8|int(head[6])<<16|int(head[7])<<24)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// A process that goes back and forth over a reorganisation of sixty blocks is killed again and again. What is found
// then is a whole chain that a replay agrees with, with no less work than the branches' common part, and the next
// process goes on from it.
func TestKilledInReorganisation(t *testing.T) {
	kills := int(seeds(16))
	p := chain.Regtest()
	tr, base := newTrunk(3)
	shared := pay(1, reward/5, tr.ripe[0])
	a, _ := tr.branch(tr.tip, 60, 1<<16, shared)
	b, _ := tr.branch(tr.tip, 61, 2<<16, shared)
	all := append(append(append([][]byte(nil), base...), a...), b...)
	l := newLedger(p, all)
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	if err := os.WriteFile(filepath.Join(parent, "blocks"), file(p, all...), 0o600); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	tips := map[chain.Hash]int{}
	for kill := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asVictim+"="+dir, asVictim+"_FORK="+hashOf(b[0]).String(),
			asVictim+"_SEED="+strconv.Itoa(kill))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := rng.IntN(4); n >= 0 && lines.Scan(); n-- {
		}
		time.Sleep(time.Duration(rng.IntN(4000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if said.Len() > 0 {
			t.Fatalf("kill %d: the process ended by itself: %s", kill, said.String())
		}
		d, err := store.OpenDir(dir, store.DirOptions{Verb: "test"})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{disk: d, p: p}
		r.open(t)
		r.wantReplay(t, l)
		if _, height := r.t.Tip(); height < 103 {
			t.Fatalf("kill %d: the tip is at height %d", kill, height)
		}
		tip, _ := r.t.Tip()
		tips[r.t.Header(tip).Hash()]++
		if err := r.t.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills left %d tips", kills, len(tips))
	if len(tips) < 2 && !testing.Short() {
		t.Errorf("all kills left the same tip")
	}
}
