package tables_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
)

// errStop is the failure that a hook makes; nothing of the store's own returns it.
var errStop = errors.New("stopped here")

// TestCheckpointStops stops a checkpoint at each of its changes to the disk in turn, and opens what is there then: it is
// the chain of the last durable manifest, whole, or the one that was being made durable.
func TestCheckpointStops(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		for range rapid.IntRange(1, 4).Draw(rt, "blocks") {
			m.Extend(rt)
		}
		m.Checkpoint(rt)
		before := slices.Clone(m.best)
		if rapid.Bool().Draw(rt, "reorganise") {
			m.Pop(rt)
		}
		for range rapid.IntRange(1, 4).Draw(rt, "more") {
			m.Extend(rt)
		}
		calls, stop := 0, rapid.IntRange(0, 120).Draw(rt, "stop")
		m.disk.SetHook(func(store.Op, string) error {
			if calls++; calls > stop {
				return errStop
			}
			return nil
		})
		err := m.t.Checkpoint()
		m.disk.SetHook(nil)
		if (err != nil) != (calls > stop) {
			rt.Fatalf("checkpoint returned %v after %d calls, stopped at %d", err, calls, stop)
		}
		after := m.best
		m.disk = m.disk.Clone()
		m.open(rt)
		if l, height := m.t.Tip(); int(height) != len(after)-1 || m.t.Header(l).Hash() != after[height].Hash {
			after = before
		}
		m.best, m.others = after, nil
		m.Check(rt)
		if r, err := m.t.Check(true, nil); err != nil || !r.OK() {
			rt.Fatalf("check: %v %v", r.Problems, err)
		}
		m.Extend(rt)
		m.Checkpoint(rt)
		m.Check(rt)
	})
}

// newMachine makes a store with genesis on a heap twin.
func newMachine(t *rapid.T) *machine {
	m := &machine{disk: store.NewMemDisk(), best: []*chaintest.Block{chaintest.Genesis()}}
	m.disk.SetReserveCap(1 << 20)
	var err error
	if m.t, err = tables.Create(m.disk, chain.Regtest(), tables.Options{}); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSmallBudget opens a store with everything beyond its watermarks, and memory for next to nothing: recovery merges in
// many steps, and the answers are the same.
func TestSmallBudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		for range rapid.IntRange(5, 25).Draw(rt, "blocks") {
			m.Extend(rt)
			if rapid.IntRange(0, 4).Draw(rt, "pop") == 0 {
				m.Pop(rt)
			}
		}
		// The first manifest of the checkpoint is durable, its merges are not.
		stop := 0
		m.disk.SetHook(func(op store.Op, name string) error {
			if op == store.OpRewrite || op == store.OpOpen {
				return errStop
			}
			stop++
			return nil
		})
		if err := m.t.Checkpoint(); err == nil {
			rt.Fatal("the checkpoint merged nothing")
		}
		m.disk.SetHook(nil)
		m.disk = m.disk.Clone()
		var err error
		if m.t, err = tables.Open(m.disk, chain.Regtest(), tables.Options{DeltaBytes: 1}); err != nil {
			rt.Fatal(err)
		}
		m.others = nil
		if _, height := m.t.Tip(); height == 0 {
			m.best = m.best[:1] // it stopped before the manifest
		}
		m.Check(rt)
		m.Extend(rt)
		m.Reopen(rt)
		m.Check(rt)
		if r, err := m.t.Check(true, nil); err != nil || !r.OK() {
			rt.Fatalf("check: %v %v", r.Problems, err)
		}
	})
}

// TestIndexAhead loses the manifest that indexes were merged by: the one before it is adopted, whose cut is older than
// what the indexes hold, so they are made again.
func TestIndexAhead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		for range rapid.IntRange(1, 6).Draw(rt, "before") {
			m.Extend(rt)
		}
		m.Checkpoint(rt)
		before := slices.Clone(m.best)
		if rapid.Bool().Draw(rt, "reorganise") {
			m.Pop(rt)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "after") {
			m.Extend(rt)
		}
		writes := 0
		m.disk.SetHook(func(op store.Op, name string) error {
			if name == store.ManifestName && op == store.OpWrite {
				if writes++; writes == 2 {
					return errStop
				}
			}
			return nil
		})
		if err := m.t.Checkpoint(); err == nil {
			rt.Fatal("the checkpoint was not stopped at its second manifest")
		}
		m.disk.SetHook(nil)
		m.disk = m.disk.Clone()
		loseNewestManifest(rt, m.disk)
		m.open(rt)
		m.best, m.others = before, nil
		m.Check(rt)
		m.Extend(rt)
		m.Reopen(rt)
		m.Check(rt)
		if r, err := m.t.Check(true, nil); err != nil || !r.OK() {
			rt.Fatalf("check: %v %v", r.Problems, err)
		}
	})
}

// loseNewestManifest flips a bit in the slot with the higher sequence.
func loseNewestManifest(t *rapid.T, d *store.MemDisk) {
	f, err := d.Open(store.ManifestName, store.FileOptions{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	b := f.Mapping().Bytes()
	newest := int64(store.PageSize)
	if seq := func(slot int) uint64 { return binary.LittleEndian.Uint64(b[slot*store.PageSize+8:]) }; seq(2) > seq(1) {
		newest = 2 * store.PageSize
	}
	if err := f.WriteAt([]byte{b[newest+100] ^ 1}, newest+100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
