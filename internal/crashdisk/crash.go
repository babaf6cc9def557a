package crashdisk

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"stele/store"
)

// Crash returns a disk as the next start may find it after a power cut now, with r as its generator. The disk itself is
// not changed, so that many ends of one run can be looked at.
func (d *Disk) Crash(r *rand.Rand) *Disk {
	next := New(r, d.cap)
	for _, name := range union(d.names, d.stable) {
		n := d.stable[name]
		if live := d.names[name]; live != n && r.IntN(2) == 0 {
			n = live
		}
		if n != nil {
			next.load(name, n.after(r))
		}
	}
	return next
}

// Kill returns a disk as the next start finds it after the process was killed: nothing that was live is lost, and nothing
// more is stable than was. The disk itself must not be used any more.
func (d *Disk) Kill(r *rand.Rand) *Disk {
	next := &Disk{mem: d.mem.Clone(), cap: d.cap, r: r, names: map[string]*node{}, stable: map[string]*node{}}
	next.mem.SetReserveCap(d.cap)
	next.setFailing()
	for name, n := range d.names {
		f, err := next.mem.Open(name, store.FileOptions{MustExist: true})
		if err != nil {
			panic(fmt.Sprintf("crashdisk: %v", err))
		}
		twin := *n
		twin.file, twin.lost = f, false // whoever opens a file anew is not told of what went before
		next.names[name] = &twin
		if d.stable[name] == n {
			next.stable[name] = &twin
		}
	}
	for name, n := range d.stable {
		if next.stable[name] == nil {
			next.stable[name] = n
		}
	}
	d.mem.Discard()
	return next
}

func union(a, b map[string]*node) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// load makes a file that is stable as given.
func (d *Disk) load(name string, b []byte) {
	f, err := d.mem.Open(name, store.FileOptions{})
	size := int64(len(b))
	if err == nil && size > 0 {
		err = f.Allocate(size)
	}
	if err == nil {
		err = f.WriteAt(b, 0)
	}
	if err == nil && f.Size() != size {
		err = f.Truncate(size)
	}
	if err != nil {
		panic(fmt.Sprintf("crashdisk: an image of %d bytes of %s: %v", size, name, err))
	}
	n := &node{file: f, stable: b}
	d.names[name], d.stable[name] = n, n
}

// Flip changes a byte of a file on the medium and in memory, as decay does.
func (d *Disk) Flip(name string, off int64, mask byte) {
	n := d.names[name]
	b := []byte{n.live()[off] ^ mask}
	if err := n.file.WriteAt(b, off); err != nil {
		panic(fmt.Sprintf("crashdisk: %v", err))
	}
	if off < int64(len(n.stable)) {
		n.stable[off] = b[0]
	}
}

// Bytes returns a copy of the live image of a file; nil where there is none.
func (d *Disk) Bytes(name string) []byte {
	n := d.names[name]
	if n == nil {
		return nil
	}
	return bytes.Clone(n.live())
}
