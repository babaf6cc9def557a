package bench

import (
	"strings"
	"sync"
	"sync/atomic"

	"stele/store"
)

// tap is a disk that counts the bytes written to each file, and can tell of the first write to one. It passes
// everything on; the live record, which is stored into through a map, is not counted.
type tap struct {
	store.Disk
	mu      sync.Mutex
	written map[string]*atomic.Int64 // by file name without its generation

	watch string // prefix of a file's name; "": none
	armed atomic.Bool
	tell  func() // called once, by whichever goroutine writes there first
}

func newTap(d store.Disk) *tap { return &tap{Disk: d, written: map[string]*atomic.Int64{}} }

// OpenLive implements store.LiveDisk where the disk does.
func (d *tap) OpenLive() (store.LiveRecord, error) {
	if l, ok := d.Disk.(store.LiveDisk); ok {
		return l.OpenLive()
	}
	return nil, nil
}

func (d *tap) Open(name string, o store.FileOptions) (store.File, error) {
	f, err := d.Disk.Open(name, o)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(name, "-")
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.written[kind] == nil {
		d.written[kind] = new(atomic.Int64)
	}
	return &tapFile{File: f, disk: d, written: d.written[kind]}, nil
}

// counts returns the bytes written so far, by kind of file.
func (d *tap) counts() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]int64, len(d.written))
	for name, n := range d.written {
		all[name] = n.Load()
	}
	return all
}

type tapFile struct {
	store.File
	disk    *tap
	written *atomic.Int64
}

func (f *tapFile) note(p []byte) {
	f.written.Add(int64(len(p)))
	if d := f.disk; d.watch != "" && strings.HasPrefix(f.Name(), d.watch) && d.armed.CompareAndSwap(true, false) {
		d.tell()
	}
}

func (f *tapFile) WriteAt(p []byte, off int64) error {
	f.note(p)
	return f.File.WriteAt(p, off)
}

func (f *tapFile) Rewrite(p []byte, off int64) error {
	f.note(p)
	return f.File.Rewrite(p, off)
}
