package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Op names a call on a MemDisk for its hook.
type Op string

// The calls that a hook sees.
const (
	OpOpen     Op = "open"
	OpAllocate Op = "allocate"
	OpWrite    Op = "write"
	OpRewrite  Op = "rewrite"
	OpSync     Op = "sync" // of a file; of the folder with the name "."
	OpTruncate Op = "truncate"
	OpRemove   Op = "remove"
)

// MemReserveCap is the size of a heap twin's memory, bytes a file, unless SetReserveCap says otherwise.
const MemReserveCap = 16 << 20

// MemDisk is the heap twin of a Dir: the same interface over ordinary Go memory, which the race detector sees. A file's
// memory is made in full when it is created, so its base never moves. Close ends nothing: the files stay and may be
// opened again, as a folder's would.
type MemDisk struct {
	health Health

	mu       sync.Mutex // guards what follows, and every file's size against Clone
	nodes    map[string]*memNode
	capacity int64 // bytes in all, < 0: no limit
	used     int64
	cap      int64 // of a file's memory
	readOnly bool
	hook     func(op Op, name string) error
	live     []byte // of the live record; nil: none yet
}

// memNode is a file as the disk keeps it; every memFile of it shares its memory.
type memNode struct {
	disk    *MemDisk
	name    string
	reserve int64
	words   *[]uint64 // the memory; words, so that it is aligned for atomic access
	mapping Mapping   // of it
	size    atomic.Int64
}

// NewMemDisk returns an empty disk without a limit.
func NewMemDisk() *MemDisk {
	return &MemDisk{nodes: make(map[string]*memNode), capacity: -1, cap: MemReserveCap}
}

// SetCapacity limits the disk to n bytes in all files; what is allocated already stays. Negative: no limit.
func (d *MemDisk) SetCapacity(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = n
}

// Used returns the bytes allocated in all files.
func (d *MemDisk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// SetReserveCap sets the memory in bytes of each file that is created from now on.
func (d *MemDisk) SetReserveCap(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cap = n
}

// SetReadOnly switches the disk between writable and read-only; files that are open follow at once.
func (d *MemDisk) SetReadOnly(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readOnly = on
}

// SetHook has h called before each change and each sync; an error of h is the call's, and the call does nothing. A
// *DiskFull or *Fault is returned as it is, anything else inside a *Fault.
func (d *MemDisk) SetHook(h func(op Op, name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = h
}

// Clone returns an image: a disk of its own with the same bytes, without hook or limit. Nobody may write meanwhile.
func (d *MemDisk) Clone() *MemDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := NewMemDisk()
	c.cap, c.used = d.cap, d.used
	c.live = bytes.Clone(d.live)
	for name, n := range d.nodes {
		twin := c.newNode(name, n.reserve)
		size := n.size.Load()
		copy(twin.mapping.Bytes(), n.mapping.Bytes()[:size])
		twin.size.Store(size)
	}
	return c
}

// memPools holds the memory of discarded files, all zero, by its length: a *sync.Pool of *[]uint64 each.
var memPools sync.Map

func memPool(words int64) *sync.Pool {
	p, _ := memPools.LoadOrStore(words, new(sync.Pool))
	return p.(*sync.Pool)
}

func (d *MemDisk) newNode(name string, reserve int64) *memNode {
	n := &memNode{disk: d, name: name, reserve: reserve}
	n.words, _ = memPool(reserve / 8).Get().(*[]uint64)
	if n.words == nil {
		words := make([]uint64, reserve/8)
		n.words = &words
	}
	n.mapping.set(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(*n.words))), reserve))
	d.nodes[name] = n
	return n
}

// Discard gives the memory of all files back for other disks, zeroed as far as it was used. A file of 16 MiB costs some
// milliseconds to make anew, so a test of thousands of images discards them. Nobody may hold a slice of it any more.
func (d *MemDisk) Discard() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		clear(n.mapping.Bytes()[:n.size.Load()])
		n.mapping.set(nil)
		memPool(n.reserve / 8).Put(n.words)
	}
	clear(d.nodes)
	d.used = 0
}

// before runs the hook; the caller does not hold mu, so that a hook may ask the disk.
func (d *MemDisk) before(op Op, name string) error {
	d.mu.Lock()
	hook, readOnly := d.hook, d.readOnly
	d.mu.Unlock()
	if readOnly && op != OpSync && op != OpOpen {
		return &Fault{Op: string(op), Name: name, Off: -1, Err: ErrReadOnly}
	}
	if hook == nil {
		return nil
	}
	err := hook(op, name)
	var full *DiskFull
	var fault *Fault
	if err == nil || errors.As(err, &full) || errors.As(err, &fault) {
		return err
	}
	return &Fault{Op: string(op), Name: name, Off: -1, Err: err}
}

// Open implements Disk.
func (d *MemDisk) Open(name string, o FileOptions) (File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := d.before(OpOpen, name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[name]
	if n == nil {
		if o.MustExist || d.readOnly {
			return nil, &Fault{Op: "open", Name: name, Off: -1, Err: fs.ErrNotExist}
		}
		n = d.newNode(name, reserveOf(o.Reserve, d.cap, 0))
	}
	return &memFile{memNode: n}, nil
}

// Remove implements Disk.
func (d *MemDisk) Remove(name string) error {
	if err := d.before(OpRemove, name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[name]
	if n == nil {
		return &Fault{Op: "remove", Name: name, Off: -1, Err: fs.ErrNotExist}
	}
	d.used -= n.size.Load()
	delete(d.nodes, name)
	return nil
}

// List implements Disk.
func (d *MemDisk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.nodes)), nil
}

// Sync implements Disk.
func (d *MemDisk) Sync() error { return d.sync(".") }

func (d *MemDisk) sync(name string) error {
	if err := d.health.Err(); err != nil {
		return err
	}
	if err := d.before(OpSync, name); err != nil {
		return d.health.fail(&Fault{Op: "sync", Name: name, Off: -1, Err: err})
	}
	return nil
}

// ReadOnly implements Disk.
func (d *MemDisk) ReadOnly() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readOnly
}

// Health implements Disk.
func (d *MemDisk) Health() *Health { return &d.health }

// Close implements Disk.
func (d *MemDisk) Close() error { return nil }

// memFile is one opening of a memNode.
type memFile struct {
	*memNode
	closed atomic.Bool
}

func (f *memFile) Name() string      { return f.name }
func (f *memFile) Mapping() *Mapping { return &f.mapping }
func (f *memFile) Size() int64       { return f.size.Load() }

func (f *memFile) fault(op Op, off int64, err error) error {
	return &Fault{Op: string(op), Name: f.name, Off: off, Err: err}
}

func (f *memFile) before(op Op) error {
	if f.closed.Load() {
		return f.fault(op, -1, ErrClosed)
	}
	return f.disk.before(op, f.name)
}

var errCapacity = errors.New("the capacity set on the memory disk is used up")

// Allocate implements File.
func (f *memFile) Allocate(need int64) error {
	size := f.size.Load()
	if need <= size {
		return nil
	}
	if err := f.before(OpAllocate); err != nil {
		return err
	}
	if need > f.reserve {
		return f.fault(OpAllocate, need, ErrReserve)
	}
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	next := Step(size, need, f.reserve)
	if d.capacity >= 0 && d.used+next-size > d.capacity {
		next = min(pages(need), f.reserve)
	}
	if d.capacity >= 0 && d.used+next-size > d.capacity {
		return &DiskFull{Name: f.name, Need: next - size, Err: errCapacity}
	}
	d.used += next - size
	f.size.Store(next)
	return nil
}

// WriteAt implements File with plain stores: the race detector reports a reader that looks too early.
func (f *memFile) WriteAt(p []byte, off int64) error {
	if err := f.before(OpWrite); err != nil {
		return err
	}
	if off < 0 || off > f.size.Load()-int64(len(p)) {
		return f.fault(OpWrite, off, errBeyond)
	}
	copy(f.mapping.Bytes()[off:], p)
	return nil
}

// Rewrite implements File with an atomic store a word.
func (f *memFile) Rewrite(p []byte, off int64) error {
	checkWords(p, off)
	if err := f.before(OpRewrite); err != nil {
		return err
	}
	if off < 0 || off > f.size.Load()-int64(len(p)) {
		return f.fault(OpRewrite, off, errBeyond)
	}
	b := f.mapping.Bytes()[off : off+int64(len(p))]
	for i := 0; i < len(p); i += 8 {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[i])), binary.NativeEndian.Uint64(p[i:]))
	}
	return nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	if f.closed.Load() {
		return f.fault(OpSync, -1, ErrClosed)
	}
	return f.disk.sync(f.name)
}

// Truncate implements File. What is cut reads as zeros when the file grows again, as in a real one.
func (f *memFile) Truncate(size int64) error {
	old := f.size.Load()
	if size < 0 || size > old {
		return f.fault(OpTruncate, size, errBeyond)
	}
	if err := f.before(OpTruncate); err != nil {
		return err
	}
	clear(f.mapping.Bytes()[size:old])
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.used -= old - size
	f.size.Store(size)
	return nil
}

// Close implements File.
func (f *memFile) Close() error {
	f.closed.Store(true)
	return nil
}
