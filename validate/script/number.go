package script

// Numbers on the stack (Core: CScriptNum): little-endian magnitude, the highest bit of the last byte is the sign, zero
// has no bytes. Operands have at most numberSize bytes, so lie within ±(2^31-1); results may be larger and then serve
// for anything but arithmetic. Lock times have up to lockTimeSize bytes, to reach past 2106.
const (
	numberSize   = 4
	lockTimeSize = 5
)

// parseNumber reads a number of at most size bytes. Not ok: longer, or with minimal not the shortest form.
func parseNumber(b []byte, size int, minimal bool) (int64, bool) {
	n := len(b)
	if n == 0 {
		return 0, true
	}
	if n > size {
		return 0, false
	}
	last := b[n-1]
	if minimal && last&0x7f == 0 && (n == 1 || b[n-2]&0x80 == 0) {
		return 0, false // the last byte is there neither for bits nor to keep one from being the sign
	}
	v := int64(last & 0x7f)
	for i := n - 2; i >= 0; i-- {
		v = v<<8 | int64(b[i])
	}
	if last&0x80 != 0 {
		v = -v
	}
	return v, true
}

// appendNumber appends the shortest form of v, up to 9 bytes.
func appendNumber(dst []byte, v int64) []byte {
	if v == 0 {
		return dst
	}
	sign, rest := byte(0), uint64(v)
	if v < 0 {
		sign, rest = 0x80, -rest
	}
	for ; rest > 0x7f; rest >>= 8 {
		dst = append(dst, byte(rest))
	}
	return append(dst, byte(rest)|sign)
}

// smalls are the forms of -1, an unused zero, and 1 to 16; elements view it, nobody writes it.
var smalls = [...]byte{0x81, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// smallNumber is the form of v, which is -1 to 16.
func smallNumber(v int) []byte {
	if v == 0 {
		return nil
	}
	return smalls[v+1 : v+2 : v+2]
}

// truth is what IF and VERIFY see: false is nothing but zeros, where the last byte may have its sign (Core:
// CastToBool).
func truth(b []byte) bool {
	for i, c := range b {
		if c != 0 {
			return c != 0x80 || i != len(b)-1
		}
	}
	return false
}
