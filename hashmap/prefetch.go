//go:build amd64 || arm64

package hashmap

import "unsafe"

// prefetch asks for the cache line at p without waiting for it. Any address is allowed: a prefetch never faults. Go
// has no intrinsic that packages may use, and a plain load would wait where a miss hits the end of the reorder buffer.
//
//go:noescape
func prefetch(p unsafe.Pointer)
