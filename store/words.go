package store

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// LoadWords copies bytes of a mapping that Rewrite may be changing at the same time, a word at a time, by (5): each of
// them is as it was or as it becomes. src begins at a multiple of 8 in its file; dst is as long.
func LoadWords(dst, src []byte) {
	for len(src) >= 8 {
		binary.NativeEndian.PutUint64(dst, atomic.LoadUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(src)))))
		dst, src = dst[8:], src[8:]
	}
	copy(dst, src)
}
