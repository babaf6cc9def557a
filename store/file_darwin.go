package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate backs [from, to) and makes the file, which ends at size, that long. F_PREALLOCATE only reserves blocks
// past the end of the file, in one run where it can; the size is set after it. Mappings and pwrite share one buffer
// cache here, so bytes written are seen in place, and a mapping longer than the file is valid as far as the file has
// grown.
func allocate(f *os.File, from, size, to int64) error {
	if from < size { // holes within the file: only real bytes fill them
		return backByWriting(f, from, size, to)
	}
	ask := unix.Fstore_t{Flags: unix.F_ALLOCATECONTIG | unix.F_ALLOCATEALL, Posmode: unix.F_PEOFPOSMODE,
		Length: to - from}
	err := unix.FcntlFstore(f.Fd(), unix.F_PREALLOCATE, &ask)
	if err != nil {
		ask.Flags = unix.F_ALLOCATEALL
		err = unix.FcntlFstore(f.Fd(), unix.F_PREALLOCATE, &ask)
	}
	if err == unix.ENOTSUP || err == unix.EOPNOTSUPP {
		return backByWriting(f, from, size, to)
	}
	if err != nil {
		return err
	}
	return f.Truncate(to)
}

// syncData asks the drive to empty its cache, too: fsync alone leaves the bytes in it on this system. File systems that
// know no F_FULLFSYNC (network shares) get the fsync.
func syncData(f *os.File) error {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return retry(func() error { return unix.Fsync(int(f.Fd())) })
}

func adviseNoDump([]byte) {}
