package crashdisk

import (
	"errors"
	"math/rand/v2"
	"slices"

	"stele/store"
)

// node is one file: the live image is the heap twin's, the stable one is kept here.
type node struct {
	file   store.File
	stable []byte // what the medium holds; its length is the size that the medium knows
	dirty  set    // sectors that changed since they last reached the medium
	cut    set    // those of them that were cut off meanwhile: they may read as zeros, too
	resize bool   // the live size is not the medium's
	lost   bool   // the next sync reports a failed write-back
}

// live returns the live image.
func (n *node) live() []byte { return n.file.Mapping().Bytes()[:n.file.Size()] }

// mark notes that bytes [from, to) have changed.
func (n *node) mark(from, to int64, cut bool) {
	for s := from / Sector; s*Sector < to; s++ {
		n.dirty.add(s)
		if cut && s*Sector >= from { // of the sector that the cut goes through, the part before it stays
			n.cut.add(s)
		}
	}
}

// resized gives an image another size.
func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// put copies a sector of one image into another, as far as both go.
func put(dst, src []byte, s int64) {
	from := min(s*Sector, int64(len(dst)))
	to := min((s+1)*Sector, int64(len(dst)))
	clear(dst[from:to])
	if from < int64(len(src)) {
		copy(dst[from:to], src[from:])
	}
}

// settle takes a sector off the lists.
func (n *node) settle(s int64) {
	n.dirty.remove(s)
	n.cut.remove(s)
}

// persist writes some of the dirty sectors back, so many in a hundred, and the size where there is a change of it: what
// was written back stays, though its neighbours may be lost.
func (n *node) persist(r *rand.Rand, percent int) {
	live := n.live()
	if n.resize && r.IntN(100) < percent {
		n.stable = resized(n.stable, int64(len(live)))
		n.resize = false
	}
	n.dirty.each(func(s int64) {
		if r.IntN(100) < percent && (s+1)*Sector <= int64(len(n.stable)) {
			put(n.stable, live, s)
			n.settle(s)
		}
	})
}

// sync makes the file stable as it is.
func (n *node) sync() {
	live := n.live()
	n.stable = resized(n.stable, int64(len(live)))
	n.dirty.each(func(s int64) { put(n.stable, live, s) })
	n.resize = false
	clear(n.dirty)
	clear(n.cut)
}

// drop is a write-back that fails: some dirty sectors do not reach the medium and count as clean.
func (n *node) drop(r *rand.Rand) {
	n.persist(r, r.IntN(100))
	percent := 1 + r.IntN(100)
	n.dirty.each(func(s int64) {
		if r.IntN(100) < percent {
			n.settle(s)
		}
	})
}

// after returns what the medium may hold after a power cut.
func (n *node) after(r *rand.Rand) []byte {
	live := n.live()
	b := slices.Clone(n.stable)
	if n.resize && r.IntN(2) == 0 {
		b = resized(b, int64(len(live)))
	}
	percent := [...]int{0, 0, r.IntN(101), 100, 100}[r.IntN(5)]
	n.dirty.each(func(s int64) {
		switch {
		case r.IntN(100) < percent:
			put(b, live, s)
		case n.cut.has(s) && r.IntN(2) == 0:
			put(b, nil, s)
		}
	})
	return b
}

// file is one opening of a node.
type file struct {
	store.File
	d    *Disk
	node *node
}

// Allocate implements store.File.
func (f *file) Allocate(size int64) error {
	old := f.Size()
	if size <= old {
		return nil
	}
	last, err := f.d.begin(store.OpAllocate, f.Name())
	if err != nil && !f.d.late(last) {
		return err
	}
	f.d.allocs++
	if f.d.allocs == f.d.fullAt {
		return &store.DiskFull{Name: f.Name(), Need: size - old, Err: errFull}
	}
	if other := f.File.Allocate(size); other != nil {
		return join(err, other)
	}
	f.node.resize = true // what was allocated is zeros, wherever the medium had nothing
	return err
}

// WriteAt implements store.File.
func (f *file) WriteAt(p []byte, off int64) error {
	return f.write(store.OpWrite, f.File.WriteAt, p, off)
}

// Rewrite implements store.File.
func (f *file) Rewrite(p []byte, off int64) error {
	return f.write(store.OpRewrite, f.File.Rewrite, p, off)
}

// page is what the system copies into its cache as a whole: a killed process leaves a write torn between two of them.
const page = 4096

// write writes p, or where the disk stops at this operation the first pages of it.
func (f *file) write(op store.Op, inner func([]byte, int64) error, p []byte, off int64) error {
	last, err := f.d.begin(op, f.Name())
	switch {
	case err != nil && !last:
		return err
	case err != nil:
		pages := (off+int64(len(p))-1)/page - off/page + 1
		done := off/page*page + int64(f.d.r.IntN(int(pages)+1))*page
		p = p[:max(0, min(done-off, int64(len(p))))]
	}
	if other := inner(p, off); other != nil {
		return join(err, other)
	}
	f.node.mark(off, off+int64(len(p)), false)
	return err
}

// Truncate implements store.File.
func (f *file) Truncate(size int64) error {
	old := f.Size()
	last, err := f.d.begin(store.OpTruncate, f.Name())
	if err != nil && !f.d.late(last) {
		return err
	}
	if other := f.File.Truncate(size); other != nil {
		return join(err, other)
	}
	if size < old {
		f.node.resize = true
		f.node.mark(size, old, true)
	}
	return err
}

// Sync implements store.File.
func (f *file) Sync() error {
	return f.d.sync(f.Name(), f.File.Sync, func(failed bool) {
		if !failed {
			f.node.sync()
			return
		}
		f.node.drop(f.d.r)
		f.node.lost = false
	})
}

// join keeps a *store.DiskFull as it is, unless the disk stopped.
func join(stopped, err error) error {
	if stopped == nil {
		return err
	}
	return errors.Join(stopped, err)
}
