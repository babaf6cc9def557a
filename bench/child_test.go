package bench

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	gen "stele/bench/chain"
)

// A child that fails says why, and the parent hears it.
func TestChildFails(t *testing.T) {
	o := tiny(t)
	for want, j := range map[string]job{
		"network":       {Dir: o.Dir, Network: "nonsense", Open: &openJob{}},
		"no such file":  {Dir: filepath.Join(o.Dir, "absent"), Network: "regtest", Open: &openJob{}},
		"nowhere.block": {Dir: filepath.Join(o.Dir, "new"), Network: "regtest", Import: &importJob{Path: "nowhere.block"}},
	} {
		p, err := o.start(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.await(saidClosed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the failure is %v, without %q", err, want)
		}
	}
	if err := Child(strings.NewReader(""), &bytes.Buffer{}); err == nil {
		t.Error("a child without a job succeeds")
	}
}

// Children start no children, whatever they are.
func TestChildrenEnd(t *testing.T) {
	o := tiny(t)
	t.Setenv(childMark, "1")
	if _, err := o.start(context.Background(), job{}); err == nil {
		t.Error("a child starts a child")
	}
}

// A child that holds does not outlive its parent, and a cancelled context ends one.
func TestChildEnds(t *testing.T) {
	o := tiny(t)
	o.Note = func(string) {}
	f, err := o.makeChain("few.blk", gen.Options{Seed: seed, Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	holding := func(ctx context.Context, dir string) *process {
		j := job{Dir: filepath.Join(o.Dir, dir), Network: "regtest", Import: &importJob{Path: f.Path, Stop: -1, Hold: true}}
		p, err := o.start(ctx, j)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := p.await(saidImported); err != nil || e.Height != 20 {
			t.Fatalf("%+v, %v", e, err)
		}
		return p
	}
	if err := holding(context.Background(), "a").end(); err != nil { // its standard input ends
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := holding(ctx, "b")
	cancel()
	if err := p.cmd.Wait(); err == nil {
		t.Error("a child goes on under a cancelled context")
	}
	if _, err := recoverExperiment.Measure(ctx, o); err == nil {
		t.Error("an experiment goes on under a cancelled context")
	}
}
