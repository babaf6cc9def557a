package crashdisk

import "math/bits"

// set is a set of sectors: a bit each.
type set []uint64

func (s *set) add(n int64) {
	for int64(len(*s)) <= n/64 {
		*s = append(*s, 0)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

func (s set) has(n int64) bool { return n/64 < int64(len(s)) && s[n/64]>>(n%64)&1 != 0 }

func (s set) remove(n int64) {
	if n/64 < int64(len(s)) {
		s[n/64] &^= 1 << (n % 64)
	}
}

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// each calls f for every sector in order. f may remove the one that it is called for.
func (s set) each(f func(n int64)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(int64(i*64 + bits.TrailingZeros64(w)))
		}
	}
}
