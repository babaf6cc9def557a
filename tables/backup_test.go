package tables_test

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
)

// openCopy opens a backup and checks it: it must be the chain of one of the given checkpoints, whole.
func openCopy(t *rapid.T, m *machine, durable [][]*chaintest.Block) {
	dst := store.NewMemDisk()
	dst.SetReserveCap(1 << 20)
	if err := m.t.Backup(dst, nil); err != nil {
		t.Fatal(err)
	}
	copied := &machine{disk: dst}
	copied.open(t)
	for _, best := range durable {
		if l, h := copied.t.Tip(); int(h) == len(best)-1 && copied.t.Header(l).Hash() == best[h].Hash {
			copied.best = best
		}
	}
	if copied.best == nil {
		t.Fatal("the backup is of no checkpoint")
	}
	copied.best = slices.Clone(copied.best)
	copied.Check(t)
	if r, err := copied.t.Check(true, nil); err != nil || !r.OK() {
		t.Fatalf("check of the backup: %v %v", r.Problems, err)
	}
	copied.Extend(t)
	copied.Reopen(t)
	copied.Check(t)
}

// TestBackupBeside takes backups before, beside and after checkpoints that run while blocks come and go.
func TestBackupBeside(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		durable := [][]*chaintest.Block{slices.Clone(m.best)}
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			m.Extend(rt)
			if rapid.Bool().Draw(rt, "pop") {
				m.Pop(rt)
				m.Extend(rt)
			}
			c, err := m.t.BeginCheckpoint()
			if err != nil {
				rt.Fatal(err)
			}
			durable = append(durable, slices.Clone(m.best))
			openCopy(rt, m, durable)
			var wait sync.WaitGroup
			wait.Go(c.Run)
			m.Extend(rt)
			openCopy(rt, m, durable)
			wait.Wait()
			openCopy(rt, m, durable)
			if err := m.t.EndCheckpoint(c); err != nil {
				rt.Fatal(err)
			}
		}
		m.Check(rt)
	})
}

// TestRebuild makes each index again, after its file was replaced by zeros.
func TestRebuild(t *testing.T) {
	d, best := smallStore(t)
	for name, file := range map[string]string{
		"header": "header.lines-1", "tx": "tx.lines-1", "spend": "spend.cells-1", "conflict": "conflict.multi-1",
	} {
		image := d.Clone()
		f, err := image.Open(file, store.FileOptions{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(make([]byte, f.Size()-store.PageSize), store.PageSize); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if ok, err := found(image.Clone()); !ok || err != nil {
			t.Errorf("%s: an index of zeros is not found (%v)", name, err)
		}
		tb, err := tables.Open(image, chain.Regtest(), tables.Options{Rebuild: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
		if tb, err = tables.Open(image, chain.Regtest(), tables.Options{}); err != nil {
			t.Fatal(err)
		}
		if r, err := tb.Check(true, nil); err != nil || !r.OK() {
			t.Errorf("%s: after a rebuild: %v %v", name, r.Problems, err)
		}
		if _, height := tb.Tip(); int(height) != len(best)-1 {
			t.Errorf("%s: tip at %d, want %d", name, height, len(best)-1)
		}
	}
	if _, err := tables.Open(d, chain.Regtest(), tables.Options{Rebuild: []string{"ins"}}); err == nil {
		t.Error("what is no index can be rebuilt")
	}
}

// TestConflictGrows pops so many blocks that conflict needs more buckets, and finds every spender afterwards.
func TestConflictGrows(t *testing.T) {
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > 3 {
			return // what is drawn is only what the blocks hold: a few of them will do
		}
		m := newMachine(rt)
		for range 60 {
			m.Extend(rt)
		}
		for range 6 {
			for range 50 {
				m.Pop(rt)
			}
			for range 50 {
				m.PushAgain(rt)
			}
			m.Checkpoint(rt)
		}
		m.Reopen(rt)
		m.Check(rt)
		if r, err := m.t.Check(true, nil); err != nil || !r.OK() {
			rt.Fatalf("check: %v %v", r.Problems, err)
		}
	})
}
