//go:build !linux

package offheap

const noReserve = 0

// Huge does nothing here.
func Huge([]byte) {}

// WantHuge does nothing here.
func WantHuge([]byte) {}

// Resident cannot be told here.
func Resident() uint64 { return 0 }
