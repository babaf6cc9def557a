package tables_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/tables"
)

// TestCheckOfAView proves a view while its writer goes on: it finds nothing wrong, and counts what the writer's own check
// of the same state counts.
func TestCheckOfAView(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			m.Extend(rt)
			if rapid.Bool().Draw(rt, "pop") {
				m.Pop(rt)
				m.Extend(rt)
			}
			if rapid.Bool().Draw(rt, "checkpoint") {
				if err := m.t.Checkpoint(); err != nil {
					rt.Fatal(err)
				}
			}
			if err := m.t.Publish(); err != nil {
				rt.Fatal(err)
			}
			v := m.t.View()
			want, err := m.t.Check(true, nil)
			if err != nil || !want.OK() {
				rt.Fatal(want.Problems, err)
			}
			var got tables.CheckReport
			var wait sync.WaitGroup
			wait.Go(func() { got, err = v.Check(context.Background(), true, nil) })
			m.Extend(rt)
			if rapid.Bool().Draw(rt, "pop beside") {
				m.Pop(rt)
			}
			wait.Wait()
			if err != nil || !got.OK() || !maps.Equal(got.Checked, want.Checked) {
				rt.Fatalf("%v %v: %v, the writer counts %v", err, got.Problems, got.Checked, want.Checked)
			}
			again, err := v.Check(context.Background(), true, nil)
			if err != nil || !again.OK() || !maps.Equal(again.Checked, want.Checked) {
				rt.Fatalf("afterwards: %v %v: %v", err, again.Problems, again.Checked)
			}
		}
	})
}

// TestCheckEndsEarly stops with its context.
func TestCheckEndsEarly(t *testing.T) {
	d, _ := smallStore(t)
	tb, err := tables.Open(d, chain.Regtest(), tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tb.View().Check(ctx, true, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
