//go:build unix

package offheap

import "golang.org/x/sys/unix"

// Map returns n zeroed bytes that begin on a page. They are resident from their first use on.
func Map(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|noReserve)
}

// Free gives mapped memory back. It must be the whole slice that Map returned.
func Free(b []byte) error {
	if b == nil {
		return nil
	}
	return unix.Munmap(b)
}
