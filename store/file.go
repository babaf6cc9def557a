package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/edsrzf/mmap-go"
)

// diskFile is a File of a Dir. Its mapping is made and renewed by the files named after the systems.
type diskFile struct {
	dir     *Dir
	name    string
	f       *os.File
	mapping Mapping
	size    atomic.Int64 // bytes backed, by (3)
	reserve int64        // bytes of address space, and the largest size
	sparse  bool         // holes were found at open: the next Allocate fills them
	extents extents      // what the system needs to know about the mapping

	mu     sync.Mutex // guards closed, and the descriptor against Close while Sync runs beside the writer
	closed bool
}

// openFile opens and maps a file. The caller holds d.mu.
func openFile(d *Dir, name string, o FileOptions) (*diskFile, error) {
	path := filepath.Join(d.path, name)
	f, created, err := openOrCreate(path, d.opts.ReadOnly, o.MustExist)
	if err != nil {
		if isFull(err) {
			return nil, &DiskFull{Name: name, Need: PageSize, Err: err}
		}
		return nil, &Fault{Op: "open", Name: name, Off: -1, Err: err}
	}
	d.dirty = d.dirty || created
	file := &diskFile{dir: d, name: name, f: f}
	if err := file.init(d.opts.ReserveCap, o); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

func openOrCreate(path string, readOnly, mustExist bool) (f *os.File, created bool, err error) {
	switch st, err := os.Stat(path); {
	case err == nil && !st.Mode().IsRegular():
		return nil, false, errors.New("is not a regular file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	case err != nil && (readOnly || mustExist):
		return nil, false, err
	case err != nil:
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return f, err == nil, err
	}
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	f, err = os.OpenFile(path, flag, 0)
	return f, false, err
}

// init learns the size and maps the file.
func (f *diskFile) init(reserveCap int64, o FileOptions) error {
	st, err := f.f.Stat()
	if err != nil {
		return &Fault{Op: "open", Name: f.name, Off: -1, Err: err}
	}
	f.size.Store(st.Size())
	f.reserve = reserveOf(o.Reserve, reserveCap, st.Size())
	f.sparse = hasHoles(st)
	if err := f.mapNew(o.Random); err != nil {
		return &Fault{Op: "map", Name: f.name, Off: -1, Err: err}
	}
	return nil
}

// reserveOf returns the address space for a file: what was asked for, capped, but all of a file that is larger already.
func reserveOf(asked, capped, size int64) int64 {
	if asked <= 0 {
		asked = DefaultReserve
	}
	if capped > 0 {
		asked = min(asked, capped)
	}
	return pages(max(asked, size))
}

func (f *diskFile) Name() string      { return f.name }
func (f *diskFile) Mapping() *Mapping { return &f.mapping }
func (f *diskFile) Size() int64       { return f.size.Load() }

func (f *diskFile) fault(op string, off int64, err error) error {
	return &Fault{Op: op, Name: f.name, Off: off, Err: err}
}

// Allocate implements File.
func (f *diskFile) Allocate(need int64) error {
	size := f.size.Load()
	switch {
	case need <= size && !f.sparse:
		return nil
	case f.dir.opts.ReadOnly:
		return f.fault("allocate", need, ErrReadOnly)
	case need > f.reserve:
		return f.fault("allocate", need, ErrReserve)
	}
	from := size
	if f.sparse {
		from = 0
	}
	next := size
	if need > size {
		next = Step(size, need, f.reserve)
	}
	err := f.extend(from, size, next)
	if bare := max(pages(need), size); err != nil && isFull(err) && bare < next {
		next = bare
		err = f.extend(from, size, next)
	}
	switch {
	case err != nil && isFull(err):
		return &DiskFull{Name: f.name, Need: max(next-size, PageSize), Err: err}
	case err != nil:
		return f.fault("allocate", need, err)
	}
	f.sparse = false
	f.size.Store(next)
	return f.mapGrown(next)
}

// extend backs the bytes [from, to) of a file that ends at size, or leaves it as it was.
func (f *diskFile) extend(from, size, to int64) error {
	err := allocate(f.f, from, size, to)
	if err != nil {
		// A failed call may have grown the file part of the way; nobody looks beyond size.
		_ = f.f.Truncate(size)
	}
	return err
}

// WriteAt implements File.
func (f *diskFile) WriteAt(p []byte, off int64) error { return f.write("write", p, off) }

// Rewrite implements File. The kernel copies aligned words of 8 bytes whole into the page that the readers map.
func (f *diskFile) Rewrite(p []byte, off int64) error {
	checkWords(p, off)
	return f.write("rewrite", p, off)
}

func (f *diskFile) write(op string, p []byte, off int64) error {
	switch {
	case f.dir.opts.ReadOnly:
		return f.fault(op, off, ErrReadOnly)
	case off < 0 || off > f.size.Load()-int64(len(p)):
		return f.fault(op, off, errBeyond)
	}
	_, err := f.f.WriteAt(p, off)
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return &DiskFull{Name: f.name, Need: int64(len(p)), Err: err}
	}
	return f.fault(op, off, err)
}

var errBeyond = errors.New("beyond the allocated size")

// checkWords insists on what Rewrite asks of its caller.
func checkWords(p []byte, off int64) {
	if off%8 != 0 || len(p)%8 != 0 {
		panic("store: Rewrite of bytes that are not aligned 8-byte words")
	}
}

// Sync implements File.
func (f *diskFile) Sync() error {
	if err := f.dir.health.Err(); err != nil {
		return err
	}
	if f.dir.opts.ReadOnly {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.fault("sync", -1, ErrClosed)
	}
	if err := syncData(f.f); err != nil {
		return f.dir.health.fail(&Fault{Op: "sync", Name: f.name, Off: -1, Err: err})
	}
	return nil
}

// Truncate implements File.
func (f *diskFile) Truncate(size int64) error {
	switch {
	case f.dir.opts.ReadOnly:
		return f.fault("truncate", size, ErrReadOnly)
	case size < 0 || size > f.size.Load():
		return f.fault("truncate", size, errBeyond)
	case size == f.size.Load():
		return nil
	}
	cut, err := f.cut(size)
	if err != nil {
		return f.fault("truncate", size, err)
	}
	if cut {
		f.size.Store(size)
	}
	return nil
}

// Close implements File.
func (f *diskFile) Close() error {
	f.dir.forget(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.unmapAll()
	if e := f.f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return f.fault("close", -1, err)
	}
	return nil
}

// mapRegion maps n bytes of the file for reading and registers them for Guard.
func (f *diskFile) mapRegion(n int64) (mmap.MMap, error) {
	m, err := mmap.MapRegion(f.f, int(n), mmap.RDONLY, 0, 0)
	if err != nil {
		return nil, err
	}
	addRegion(m, f.name)
	return m, nil
}

func unmapRegion(m *mmap.MMap) error {
	if len(*m) == 0 {
		return nil
	}
	dropRegion(*m)
	return m.Unmap()
}
