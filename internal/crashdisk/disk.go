package crashdisk

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"stele/store"
)

// Sector is what reaches the medium whole or not at all, in bytes.
const Sector = 512

var (
	// ErrStopped is wrapped by the error of the operation that the disk was stopped at, and of all that follow.
	ErrStopped = errors.New("the crash disk was stopped here")

	// ErrWriteback is wrapped by the error of a sync that failed on purpose.
	ErrWriteback = errors.New("the crash disk could not write back")

	errFull = errors.New("the crash disk was told to be full here")
)

// Disk is a disk that can lose power. See the package comment.
type Disk struct {
	mem    *store.MemDisk // the live images
	cap    int64          // bytes that a file may have
	r      *rand.Rand
	names  map[string]*node // live
	stable map[string]*node // on the medium

	ops, stopAt   int // stopAt 0: never
	syncs, failAt int
	allocs        int
	fullAt        int
	failing       bool // the sync in hand is one that fails
	writeback     int  // one operation in so many is preceded by the system writing something back; 0: none
	hook          func(op store.Op, name string)
	hooked        bool // the hook is running
}

// New returns an empty disk whose files may hold up to reserve bytes each.
func New(r *rand.Rand, reserve int64) *Disk {
	d := &Disk{mem: store.NewMemDisk(), cap: reserve, r: r, names: map[string]*node{}, stable: map[string]*node{}}
	d.mem.SetReserveCap(reserve)
	d.setFailing()
	return d
}

// setFailing has the heap twin fail a sync when this disk says so, so that its failure sticks as a real one's does.
func (d *Disk) setFailing() {
	d.mem.SetHook(func(op store.Op, _ string) error {
		if d.failing && op == store.OpSync {
			return ErrWriteback
		}
		return nil
	})
}

// StopAt has the k-th operation from now on stop the disk; 0: none does.
func (d *Disk) StopAt(k int) {
	if d.stopAt = 0; k > 0 {
		d.stopAt = d.ops + k
	}
}

// FailSync has the k-th sync from now on fail; 0: none does.
func (d *Disk) FailSync(k int) {
	if d.failAt = 0; k > 0 {
		d.failAt = d.syncs + k
	}
}

// FullAt has the k-th allocation from now on, and no other, find no room; 0: none does.
func (d *Disk) FullAt(k int) {
	if d.fullAt = 0; k > 0 {
		d.fullAt = d.allocs + k
	}
}

// SetCapacity limits the disk to n bytes in all files; negative: no limit.
func (d *Disk) SetCapacity(n int64) { d.mem.SetCapacity(n) }

// Used returns the bytes allocated in all files.
func (d *Disk) Used() int64 { return d.mem.Used() }

// SetWriteback has the system write something back by itself before one operation in n.
func (d *Disk) SetWriteback(n int) { d.writeback = n }

// SetHook has h called before each operation. What h itself does to the disk calls no hook.
func (d *Disk) SetHook(h func(op store.Op, name string)) { d.hook = h }

// SetReadOnly switches the disk between writable and read-only.
func (d *Disk) SetReadOnly(on bool) { d.mem.SetReadOnly(on) }

// Ops returns how many operations there were.
func (d *Disk) Ops() int { return d.ops }

// Stopped reports whether the disk stands still.
func (d *Disk) Stopped() bool { return d.stopAt > 0 && d.ops >= d.stopAt }

// begin counts an operation. An error means that the disk stands still; last tells that it stopped at this operation,
// which then may still be done.
func (d *Disk) begin(op store.Op, name string) (last bool, err error) {
	if d.hook != nil && !d.hooked && !d.Stopped() {
		d.hooked = true
		d.hook(op, name)
		d.hooked = false
	}
	was := d.Stopped()
	d.ops++
	if d.Stopped() {
		return !was, &store.Fault{Op: string(op), Name: name, Off: -1, Err: ErrStopped}
	}
	if d.writeback > 0 && d.r.IntN(d.writeback) == 0 {
		d.writeSome()
	}
	return false, nil
}

// late decides whether the operation that the disk stopped at is done all the same.
func (d *Disk) late(last bool) bool { return last && d.r.IntN(2) == 0 }

// writeSome is the system writing back by itself: some sectors of a file, or names.
func (d *Disk) writeSome() {
	names := slices.Sorted(maps.Keys(d.names))
	if i := d.r.IntN(len(names) + 1); i < len(names) {
		d.names[names[i]].persist(d.r, 1+d.r.IntN(100))
	} else {
		d.writeNames()
	}
}

// Open implements store.Disk.
func (d *Disk) Open(name string, o store.FileOptions) (store.File, error) {
	last, err := d.begin(store.OpOpen, name)
	if err != nil && !d.late(last) {
		return nil, err
	}
	inner, other := d.mem.Open(name, o)
	if other != nil {
		return nil, errors.Join(err, other)
	}
	n := d.names[name]
	if n == nil {
		n = &node{file: inner}
		d.names[name] = n
	}
	if err != nil {
		return nil, err
	}
	return &file{File: inner, d: d, node: n}, nil
}

// Remove implements store.Disk.
func (d *Disk) Remove(name string) error {
	last, err := d.begin(store.OpRemove, name)
	if err != nil && !d.late(last) {
		return err
	}
	if other := d.mem.Remove(name); other != nil {
		return errors.Join(err, other)
	}
	delete(d.names, name)
	return err
}

// List implements store.Disk.
func (d *Disk) List() ([]string, error) { return d.mem.List() }

// Sync implements store.Disk.
func (d *Disk) Sync() error {
	return d.sync(".", d.mem.Sync, func(failed bool) {
		if !failed {
			d.stable = maps.Clone(d.names)
		}
	})
}

// writeNames makes some of the names stable that are not.
func (d *Disk) writeNames() {
	for _, name := range union(d.names, d.stable) {
		switch n := d.names[name]; {
		case n == d.stable[name] || d.r.IntN(2) == 0:
		case n == nil:
			delete(d.stable, name)
		default:
			d.stable[name] = n
		}
	}
}

// sync runs a sync of the heap twin, which knows whether an earlier one has failed, and then does to the medium what it
// stands for.
func (d *Disk) sync(name string, inner func() error, done func(failed bool)) error {
	last, err := d.begin(store.OpSync, name)
	if err != nil {
		if d.late(last) {
			done(false)
		}
		return err
	}
	if err := d.mem.Health().Err(); err != nil {
		return err
	}
	d.syncs++
	d.failing = d.syncs == d.failAt || d.lost(name)
	err = inner()
	failed := d.failing
	d.failing = false
	if failed || err == nil {
		done(failed)
	}
	return err
}

// lost reports, once, that the system could not write back something of a file.
func (d *Disk) lost(name string) bool {
	n := d.names[name]
	if n == nil || !n.lost {
		return false
	}
	n.lost = false
	return true
}

// LoseWriteback has the system fail to write back some file that has changed: the next sync of it fails.
func (d *Disk) LoseWriteback() {
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if n := d.names[name]; !n.dirty.empty() && d.r.IntN(3) == 0 {
			n.drop(d.r)
			n.lost = true
			return
		}
	}
}

// OpenLive implements store.LiveDisk. A power cut loses the record, a kill does not.
func (d *Disk) OpenLive() (store.LiveRecord, error) {
	r, err := d.mem.OpenLive()
	if r == nil || err != nil {
		return nil, err
	}
	return liveRecord{r, d}, nil
}

// liveRecord is the heap twin's, until the disk stops: who is dead notes nothing.
type liveRecord struct {
	store.LiveRecord
	d *Disk
}

func (l liveRecord) Store(payload []byte) {
	if !l.d.Stopped() {
		l.LiveRecord.Store(payload)
	}
}

func (l liveRecord) Void() {
	if !l.d.Stopped() {
		l.LiveRecord.Void()
	}
}

// ReadOnly implements store.Disk.
func (d *Disk) ReadOnly() bool { return d.mem.ReadOnly() }

// Health implements store.Disk.
func (d *Disk) Health() *store.Health { return d.mem.Health() }

// Close implements store.Disk.
func (d *Disk) Close() error { return d.mem.Close() }

// Discard gives the memory back. Nobody may hold a slice of it any more.
func (d *Disk) Discard() { d.mem.Discard() }
