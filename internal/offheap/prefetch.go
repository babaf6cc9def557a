//go:build amd64 || arm64

package offheap

import "unsafe"

// Prefetch asks for the cache line at p and does not wait. It never faults, whatever the address.
//
//go:noescape
func Prefetch(p unsafe.Pointer)
