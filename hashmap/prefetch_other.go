//go:build !amd64 && !arm64

package hashmap

import "unsafe"

// prefetch does nothing here. Lookups in groups still gain: the loads of a phase do not depend on each other, so the
// processor overlaps them as far as it looks ahead.
func prefetch(unsafe.Pointer) {}
