package store

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// liveSystems are the file systems whose page cache keeps what a killed process wrote. Network and user-space file
// systems may be served by something that dies with less than the machine.
var liveSystems = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC}

// liveFile is the live record of a folder.
type liveFile struct {
	livePage
	f *os.File
	m mmap.MMap
}

// OpenLive opens the live record of the folder.
func (d *Dir) OpenLive() (LiveRecord, error) {
	place, ok := livePlaceOf(d.path)
	if !ok || d.opts.ReadOnly {
		return nil, nil
	}
	f, err := os.OpenFile(filepath.Join(d.path, LiveName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &Fault{Op: "open", Name: LiveName, Off: -1, Err: err}
	}
	if err = f.Truncate(PageSize); err == nil {
		err = allocate(f, 0, PageSize, PageSize)
	}
	if err != nil {
		f.Close()
		if isFull(err) {
			return nil, &DiskFull{Name: LiveName, Need: PageSize, Err: err}
		}
		return nil, &Fault{Op: "allocate", Name: LiveName, Off: -1, Err: err}
	}
	m, err := mmap.MapRegion(f, PageSize, mmap.RDWR, 0, 0)
	if err != nil {
		f.Close()
		return nil, &Fault{Op: "map", Name: LiveName, Off: -1, Err: err}
	}
	addRegion(m, LiveName)
	l := &liveFile{livePage: livePage{page: m, place: place}, f: f, m: m}
	_, l.seq = l.newest()
	return l, nil
}

func (l *liveFile) Close() error {
	dropRegion(l.m)
	err := l.m.Unmap()
	if e := l.f.Close(); err == nil {
		err = e
	}
	return err
}

// livePlaceOf identifies the boot of this machine and the mount of a folder; false where either is not known, or the file
// system is not one of those that we know.
func livePlaceOf(dir string) (place [placeSize]byte, ok bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return place, false
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &fs) != nil || unix.Stat(dir, &st) != nil || !slices.Contains(liveSystems, int64(fs.Type)) {
		return place, false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %d %d", boot, fs.Fsid, st.Dev, st.Ino))
	copy(place[:], sum[:])
	return place, true
}
