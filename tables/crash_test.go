package tables_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
	"stele/tables/confirm"
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
	m.c = confirm.New(m.t)
	return m
}
