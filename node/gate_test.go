package node

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"stele/store"
)

// gate is a disk that every change to another one goes through: it counts them, and the bytes that are written, and can
// hold all of them to do something at one of them, as nothing else may touch the disk then.
type gate struct {
	store.Disk
	single bool // one change at a time: the disk behind it can bear no more
	ops    atomic.Int64
	at     map[int64]bool // the changes before which then is called
	then   func()         // with all changes held
	holds  sync.RWMutex

	mu    sync.Mutex
	wrote map[string]int64 // bytes, by file; generations and pending numbers left out
}

// newGate puts a gate before a disk.
func newGate(d store.Disk, single bool) *gate {
	return &gate{Disk: d, single: single, wrote: map[string]int64{}}
}

// change does one change.
func (g *gate) change(f func() error) error {
	if n := g.ops.Add(1); g.at[n] {
		g.holds.Lock()
		g.then()
		g.holds.Unlock()
	}
	if g.single {
		g.holds.Lock()
		defer g.holds.Unlock()
	} else {
		g.holds.RLock()
		defer g.holds.RUnlock()
	}
	return f()
}

func (g *gate) count(name string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	base, _, _ := strings.Cut(name, "-")
	g.wrote[base] += int64(n)
}

// total returns the bytes that were written in all.
func (g *gate) total() (sum int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(g.wrote)) {
		sum += g.wrote[name]
	}
	return sum
}

func (g *gate) Open(name string, o store.FileOptions) (f store.File, err error) {
	err = g.change(func() error {
		f, err = g.Disk.Open(name, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &gatedFile{f, g}, nil
}

func (g *gate) Remove(name string) error {
	return g.change(func() error { return g.Disk.Remove(name) })
}
func (g *gate) Sync() error { return g.change(g.Disk.Sync) }

// OpenLive opens the live record of the disk behind, if there is one.
func (g *gate) OpenLive() (store.LiveRecord, error) {
	d, ok := g.Disk.(store.LiveDisk)
	if !ok {
		return nil, nil
	}
	r, err := d.OpenLive()
	if r == nil || err != nil {
		return nil, err
	}
	return &gatedLive{r, g}, nil
}

type gatedFile struct {
	store.File
	g *gate
}

func (f *gatedFile) Allocate(size int64) error {
	return f.g.change(func() error { return f.File.Allocate(size) })
}

func (f *gatedFile) WriteAt(p []byte, off int64) error {
	f.g.count(f.Name(), len(p))
	return f.g.change(func() error { return f.File.WriteAt(p, off) })
}

func (f *gatedFile) Rewrite(p []byte, off int64) error {
	f.g.count(f.Name(), len(p))
	return f.g.change(func() error { return f.File.Rewrite(p, off) })
}

func (f *gatedFile) Sync() error { return f.g.change(f.File.Sync) }

func (f *gatedFile) Truncate(size int64) error {
	return f.g.change(func() error { return f.File.Truncate(size) })
}

type gatedLive struct {
	store.LiveRecord
	g *gate
}

func (l *gatedLive) Store(p []byte) {
	_ = l.g.change(func() error { l.LiveRecord.Store(p); return nil })
}

func (l *gatedLive) Void() { _ = l.g.change(func() error { l.LiveRecord.Void(); return nil }) }
