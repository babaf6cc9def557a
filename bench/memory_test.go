package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	gen "stele/bench/chain"
)

// TestKilled: an import that wants more than its group has is told apart from one that fails.
func TestKilled(t *testing.T) {
	if g, err := newMemoryGroup(leastGroup); err != nil {
		t.Skipf("1 test left out: no control group can be made here (%v)", err)
	} else if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	o := tiny(t)
	o.Note = func(string) {}
	f, err := gen.Write(filepath.Join(o.Dir, "chain.blk"), gen.Options{Seed: 1, Blocks: 110, Txs: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.importWithin(context.Background(), f, 512<<10); !errors.Is(err, errKilled) {
		t.Errorf("in 512 KiB: %v", err)
	}
	f.Path += ".none"
	if _, err := o.importWithin(context.Background(), f, leastGroup); err == nil || errors.Is(err, errKilled) {
		t.Errorf("without a file: %v", err)
	}
}
