package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate backs [from, to) with blocks and makes the file, which ends at size, at least that long.
func allocate(f *os.File, from, size, to int64) error {
	err := retry(func() error { return unix.Fallocate(int(f.Fd()), 0, from, to-from) })
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return backByWriting(f, from, size, to)
	}
	return err
}

func syncData(f *os.File) error {
	return retry(func() error { return unix.Fdatasync(int(f.Fd())) })
}

func adviseNoDump(m []byte) { _ = unix.Madvise(m, unix.MADV_DONTDUMP) }
