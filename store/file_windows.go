package store

import (
	"errors"
	"io/fs"
	"os"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/windows"
)

// extents on windows: a mapping that is longer than its file would lengthen the file, so a file is mapped exactly as
// long as it is and mapped again when it grows. Readers may hold slices of the earlier mappings, which show the same
// memory; all of them stay until Close. Growth in steps of a sixteenth keeps their number small and their address
// space under seventeen times the file.
//
// A file cannot be cut while it is mapped: Truncate leaves it as long as it is, and what lies beyond a body's length is
// written over later.
type extents struct {
	maps []mmap.MMap
}

func (f *diskFile) mapNew(bool) error { return f.mapGrown(f.size.Load()) }

// mapGrown maps the file anew at its present size.
func (f *diskFile) mapGrown(size int64) error {
	if size == 0 { // an empty file cannot be mapped here
		f.mapping.set(nil)
		return nil
	}
	m, err := f.mapRegion(size)
	if err != nil {
		return &Fault{Op: "map", Name: f.name, Off: -1, Err: err}
	}
	f.extents.maps = append(f.extents.maps, m)
	f.mapping.set(m)
	return nil
}

func (f *diskFile) cut(size int64) (bool, error) {
	if len(f.extents.maps) > 0 {
		return false, nil
	}
	return true, f.f.Truncate(size)
}

func (f *diskFile) unmapAll() (first error) {
	for i := range f.extents.maps {
		if err := unmapRegion(&f.extents.maps[i]); err != nil && first == nil {
			first = err
		}
	}
	f.extents.maps = nil
	f.mapping.set(nil)
	return first
}

// allocate backs [from, to) with zeros: setting the size of a file promises no space on every file system here.
func allocate(f *os.File, from, size, to int64) error { return backByWriting(f, from, size, to) }

func syncData(f *os.File) error { return f.Sync() }

// syncFolder has no counterpart: the file system journals names by itself.
func syncFolder(string) error { return nil }

func hasHoles(fs.FileInfo) bool { return false }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// Writable tells whether this process may create files in dir; it asks the only way that is sure here.
func Writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// adviseWillNeed has nothing to ask: read-ahead is on.
func adviseWillNeed([]byte) {}
