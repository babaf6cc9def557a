//go:build linux || darwin

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// extents on unix is the one mapping that lives as long as the file, by (1).
type extents struct {
	m mmap.MMap
}

// mapNew maps the whole reserve, once. The file may be shorter, even empty: it grows underneath.
func (f *diskFile) mapNew(random bool) error {
	m, err := f.mapRegion(f.reserve)
	if err != nil {
		if errors.Is(err, unix.ENOMEM) {
			return fmt.Errorf("cannot reserve %d bytes of address space%s: %w", f.reserve, addressLimit(), err)
		}
		return err
	}
	// Advice only makes things faster or core files smaller, so its failure is no failure.
	adviseNoDump(m)
	if random {
		_ = unix.Madvise(m, unix.MADV_RANDOM)
	}
	f.extents.m = m
	f.mapping.set(m)
	return nil
}

// adviseWillNeed asks for a part of a mapping that begins with a page.
func adviseWillNeed(m []byte) { _ = unix.Madvise(m, unix.MADV_WILLNEED) }

// addressLimit names the limit that a failed reservation most likely met.
func addressLimit() string {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &lim) != nil || lim.Cur >= 1<<62 {
		return ""
	}
	return fmt.Sprintf(" (RLIMIT_AS is %d bytes: raise it, ulimit -v unlimited)", lim.Cur)
}

// mapGrown has nothing to do: the mapping reaches beyond every size.
func (f *diskFile) mapGrown(int64) error { return nil }

func (f *diskFile) cut(size int64) (bool, error) { return true, f.f.Truncate(size) }

func (f *diskFile) unmapAll() error {
	err := unmapRegion(&f.extents.m)
	f.mapping.set(nil)
	return err
}

// hasHoles tells whether the file may own fewer blocks than its size asks for (a sparse copy; or a file system that
// compresses, where it costs one more allocation call).
func hasHoles(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && s.Blocks*512 < st.Size()
}

func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil // some network and user-space file systems sync no folders
	}
	return err
}

// Writable tells whether this process may create files in dir: false on a read-only medium.
func Writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// retry repeats a call that a signal interrupted (the Go runtime sends itself some).
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
