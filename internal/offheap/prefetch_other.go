//go:build !amd64 && !arm64

package offheap

import "unsafe"

// Prefetch does nothing here.
func Prefetch(unsafe.Pointer) {}
