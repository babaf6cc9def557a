//go:build race

package utxo

import "unsafe"

// loadPart reads n bytes, eight at the most; the rest of the word is zero.
func loadPart(p unsafe.Pointer, n uintptr) (v uint64) {
	for i := range min(n, 8) {
		v |= uint64(load8(p, i)) << (8 * i)
	}
	return v
}

// copyBody copies a body of n bytes.
func copyBody(dst, src unsafe.Pointer, n uintptr) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
