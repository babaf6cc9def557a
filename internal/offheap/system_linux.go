package offheap

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noReserve lets more be mapped than there is memory: what is not touched costs nothing.
const noReserve = unix.MAP_NORESERVE

// Huge asks for b, which is in use, to be moved into huge pages: as many whole ones as it covers. That happens at once
// where the kernel can (since 6.1), else in time; a kernel without huge pages changes nothing.
func Huge(b []byte) {
	b = wholeHuge(b)
	if len(b) == 0 {
		return
	}
	if unix.Madvise(b, unix.MADV_COLLAPSE) != nil {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}

// WantHuge asks for huge pages behind the whole ones that b covers, before it is used.
func WantHuge(b []byte) {
	if b = wholeHuge(b); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}

// wholeHuge returns the part of b that is whole huge pages.
func wholeHuge(b []byte) []byte {
	if len(b) < HugePage {
		return nil
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	from := (-at) % HugePage
	to := uintptr(len(b)) - (at+uintptr(len(b)))%HugePage
	if to <= from || to > uintptr(len(b)) {
		return nil
	}
	return b[from:to]
}

// Resident is the memory of this process that is in use, in bytes; zero where it cannot be told.
func Resident() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(unix.Getpagesize())
}
