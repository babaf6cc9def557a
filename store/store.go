package store

import (
	"math"
	"sync/atomic"

	"stele/internal/fault"
)

const (
	// PageSize is the unit of every header page, manifest slot and bare allocation, in bytes. It is part of the
	// file format and does not follow the machine's page size.
	PageSize = 4096

	// DefaultReserve is the address space mapped for a file whose options name none, in bytes.
	DefaultReserve = 1 << 40
)

// A mapping may be terabytes long, so an int must hold 64 bits. This line does not compile where it holds fewer.
var _ [math.MaxInt >> 62]struct{}

// Disk is a flat set of files that belong to one store: a Dir on a file system, or a MemDisk on the heap.
//
// Open, Remove, List and Close may be called from any goroutine.
type Disk interface {
	// Open opens or creates a file and maps it. A file that does not exist is fs.ErrNotExist under MustExist and
	// on a disk that is open for reading only.
	Open(name string, o FileOptions) (File, error)
	// Remove deletes a file that nobody has open; fs.ErrNotExist where there is none.
	Remove(name string) error
	// List names the files, sorted, without the lock file.
	List() ([]string, error)
	// Sync makes creations and removals durable (not the files' bytes); it costs nothing when there were none.
	// Its failure is sticky, by (8).
	Sync() error
	// ReadOnly tells whether files can be neither created nor changed.
	ReadOnly() bool
	// Health is shared by all files of the disk.
	Health() *Health
	// Close closes every file that is still open and gives up the lock.
	Close() error
}

// FileOptions say how a file is opened.
type FileOptions struct {
	Reserve   int64 // address space to map, bytes, and so the largest size of the file; 0: DefaultReserve
	Random    bool  // accesses are scattered: no read-ahead (MADV_RANDOM)
	MustExist bool  // do not create the file
}

// File is one mapped file. One goroutine, the writer, calls Allocate, WriteAt, Rewrite and Truncate; Sync and Size may
// be called beside it, and any number of readers read the Mapping up to the length that was published to them.
type File interface {
	Name() string
	// Mapping gives the bytes in place, by (1).
	Mapping() *Mapping
	// Size is the number of bytes that are really backed, by (3).
	Size() int64
	// Allocate makes Size at least size bytes, by the step rule (see Step). It fails with *DiskFull, and then
	// nothing has changed, or with a *Fault, which wraps ErrReserve when the file would outgrow its mapping.
	Allocate(size int64) error
	// WriteAt writes bytes that no reader may look at yet, below Size.
	WriteAt(p []byte, off int64) error
	// Rewrite replaces bytes below Size that readers may be loading: off and len(p) are multiples of 8, and a
	// reader that loads one aligned word atomically sees it as it was or as it becomes, by (5).
	Rewrite(p []byte, off int64) error
	// Sync makes data and size durable. Its failure is sticky, by (8).
	Sync() error
	// Truncate cuts the file to size bytes. No reader may look beyond it any more. Size may stay larger where the
	// system cannot cut a file under a mapping (windows).
	Truncate(size int64) error
	Close() error
}

// Mapping is the memory of one mapped file, read-only for everybody.
type Mapping struct {
	p atomic.Pointer[[]byte]
}

// Bytes returns the whole mapping with one atomic load. It is longer than the file: reading at or beyond File.Size is a
// memory fault (zeros in a heap twin), so every length comes from a published count and never from len. The base does
// not move on linux and darwin; on windows a slice taken earlier stays readable, but does not see later growth.
func (m *Mapping) Bytes() []byte { return *m.p.Load() }

func (m *Mapping) set(b []byte) { m.p.Store(&b) }

// Health keeps the first failed sync of a disk. After it the kernel may have dropped dirty pages and calls them clean,
// so no later sync proves anything, and this process writes no manifest any more.
type Health struct {
	first atomic.Pointer[Fault]
}

// Err returns the failure, or nil while every sync succeeded.
func (h *Health) Err() error {
	if f := h.first.Load(); f != nil && !fault.On(fault.SyncForgiven) {
		return f
	}
	return nil
}

// fail records f unless an earlier failure is recorded already, and returns the one that is kept.
func (h *Health) fail(f *Fault) error {
	h.first.CompareAndSwap(nil, f)
	return h.first.Load()
}
