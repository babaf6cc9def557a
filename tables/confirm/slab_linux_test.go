package confirm_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"stele/chain"
	"stele/store"
)

// inputDisk is a folder that keeps hold of the slab of inputs.
type inputDisk struct {
	store.Disk
	slab store.File
}

func (d *inputDisk) Open(name string, o store.FileOptions) (store.File, error) {
	f, err := d.Disk.Open(name, o)
	if name == "input" {
		d.slab = f
	}
	return f, err
}

// protect allows reading of the mapped slab, or forbids it.
func (d *inputDisk) protect(t *testing.T, how int) {
	t.Helper()
	if err := unix.Mprotect(d.slab.Mapping().Bytes(), how); err != nil {
		t.Fatal(err)
	}
}

// TestInputsUnread confirms a chain, and takes it off again, while the slab of inputs cannot be read: every script that
// matters here is an output's.
func TestInputsUnread(t *testing.T) {
	m := newMaker(chain.Regtest(), 5)
	tip := base()
	for range 12 {
		tip = m.block(tip, flawless)
	}
	bothModes(t, func(t *testing.T, set bool) {
		dir, err := store.OpenDir(t.TempDir(), store.DirOptions{Create: true, Verb: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		d := &inputDisk{Disk: dir}
		r := rigOn(t, d, chain.Regtest(), set)
		defer r.t.Close()
		d.protect(t, unix.PROT_NONE)
		for at := range 2 {
			r.extendFlushed(tip)
			for range 12 {
				r.pop()
			}
			r.roll(newSet(), genesisOf(tip))
			for range at {
				r.pop()
			}
		}
		r.extendFlushed(tip)

		// The control: what does read inputs fails.
		wire := func() error {
			return store.Guard(func() error {
				l, _ := r.t.Tip()
				_, _, err := r.t.View().AppendBlock(nil, l)
				return err
			})
		}
		var fault *store.Fault
		if err := wire(); !errors.As(err, &fault) || fault.Name != "input" {
			t.Errorf("reading inputs fails with %v, want a fault of their slab", err)
		}
		d.protect(t, unix.PROT_READ)
		if err := wire(); err != nil {
			t.Error(err)
		}
		r.wantTip(tip)
	})
}

// extendFlushed is extend with everything that was appended gone to its file, so that nothing is read from memory that
// would be mapped later.
func (r *rig) extendFlushed(n *node) {
	r.Helper()
	var path []*node
	for at := n; at.parent != nil && !r.t.Live().Confirmed(r.link(at)); at = at.parent {
		path = append(path, at)
	}
	for len(path) > 0 {
		k := max(0, len(path)-3)
		for i := len(path) - 1; i >= k; i-- {
			r.take(path[i])
		}
		for len(r.flight) > 0 {
			r.put()
			if err := r.t.Publish(); err != nil {
				r.Fatal(err)
			}
		}
		path = path[:k]
	}
}
