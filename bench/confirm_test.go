package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stele/tables/confirm"
)

// smallConfirming is two stores with the beginning of one chain.
func smallConfirming(t *testing.T) *confirmRuns {
	t.Helper()
	o := tiny(t)
	o.Note = func(string) {}
	c := &confirmRuns{o: &o, ctx: context.Background()}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConfirmAgrees: one goroutine, two, and the tables alone leave the same archive, and the set that the generator
// says; what differs is seen.
func TestConfirmAgrees(t *testing.T) {
	c := smallConfirming(t)
	for _, single := range []bool{false, true} {
		if _, _, err := c.run(single); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.compare(); err != nil {
		t.Error(err)
	}
	c.others--
	if c.compare() == nil {
		t.Error("an output too many in the set is not seen")
	}
	if err := c.strong(); err != nil {
		t.Error(err)
	}
}

// TestConfirmRefuses: a block that spends one output twice is refused by both stores, and what came before it taken.
func TestConfirmRefuses(t *testing.T) {
	c := smallConfirming(t)
	set, alone, err := c.next()
	if err != nil {
		t.Fatal(err)
	}
	const bad = 5
	p := c.blocks[bad]
	first, last := p.block.Ins[1].Prevout, p.block.Ins[len(p.block.Ins)-1].Prevout
	copy(p.raw[last:last+36], slices.Clone(p.raw[first:first+36]))
	if err := p.block.Decode(p.raw); err != nil {
		t.Fatal(err)
	}
	for name, take := range map[string]func([]*confirm.Work) (int, error){"set": c.withSet.c.Take, "tables": c.alone.c.Take} {
		ws := map[string][]*confirm.Work{"set": set, "tables": alone}[name]
		if n, err := take(ws); n != bad || err != nil {
			t.Errorf("%s: took %d blocks of %d (%v), the bad one is number %d", name, n, len(ws), err, bad)
		}
	}
	if c.withSet.two(set[bad:], c.blocks[bad:]) == nil {
		t.Error("two goroutines confirm it")
	}
}

// TestStagesEnd: a cancelled sweep ends, with its threads.
func TestStagesEnd(t *testing.T) {
	o := tiny(t)
	o.Note = func(string) {}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var r Result
	if err := r.confirmStages(ctx, &o); err == nil {
		t.Error("a cancelled sweep has a result")
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
}

// TestMemoryGroup: a group has the limit that it was asked for, and goes away.
func TestMemoryGroup(t *testing.T) {
	g, err := newMemoryGroup(leastGroup)
	if err != nil {
		t.Skipf("1 test left out: no control group can be made here (%v)", err)
	}
	dir := filepath.Dir(g.processes())
	var limits []string
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			limits = append(limits, strings.TrimSpace(string(b)))
		}
	}
	if len(limits) != 1 || limits[0] != "268435456" {
		t.Errorf("limits %v", limits)
	}
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is still there")
	}
}
