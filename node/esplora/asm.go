package esplora

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// pushLen reads how many bytes the instruction at the start of script pushes and how many bytes stand before them, its
// opcode included. ok is false where the script ends inside a length.
func pushLen(script []byte) (n uint64, head int, ok bool) {
	op := script[0]
	width := 0
	switch {
	case op < opPushData1:
		return uint64(op), 1, true
	case op == opPushData1:
		width = 1
	case op == opPushData2:
		width = 2
	case op == opPushData4:
		width = 4
	default:
		return 0, 1, true
	}
	if len(script) < 1+width {
		return 0, len(script), false
	}
	var le [8]byte
	copy(le[:], script[1:1+width])
	return binary.LittleEndian.Uint64(le[:]), 1 + width, true
}

// next splits the first instruction off a script that is not empty. ok is false where the script ends inside it; then
// rest is empty.
func next(script []byte) (op byte, data, rest []byte, ok bool) {
	n, head, ok := pushLen(script)
	if !ok || n > uint64(len(script)-head) {
		return script[0], nil, nil, false
	}
	end := head + int(n)
	return script[0], script[head:end], script[end:], true
}

// AppendAsm appends a script's text as Esplora spells it: names with OP_, every push named by the opcode that makes it
// and followed by its bytes in hex. A script that ends inside a push says "<push past end>", one that ends inside the
// push's length "<unexpected end>", without a space before it, as rust-bitcoin's formatter does.
func AppendAsm(dst, script []byte) []byte {
	for first := true; len(script) > 0; first = false {
		n, head, ok := pushLen(script)
		if !ok {
			return append(dst, "<unexpected end>"...)
		}
		if !first {
			dst = append(dst, ' ')
		}
		dst = append(dst, esploraNames[script[0]]...)
		script = script[head:]
		if n == 0 {
			continue
		}
		if n > uint64(len(script)) {
			return append(dst, " <push past end>"...)
		}
		dst = hex.AppendEncode(append(dst, ' '), script[:n])
		script = script[n:]
	}
	return dst
}

// AppendCoreAsm appends a script's text as Core spells it (ScriptToAsmStr): a push of up to four bytes is a decimal
// number, a longer one is hex; what cannot be parsed is "[error]".
func AppendCoreAsm(dst, script []byte) []byte {
	for first := true; len(script) > 0; first = false {
		if !first {
			dst = append(dst, ' ')
		}
		op, data, rest, ok := next(script)
		switch {
		case !ok:
			return append(dst, "[error]"...)
		case op > opPushData4:
			dst = append(dst, coreNames[op]...)
		case len(data) <= 4:
			dst = strconv.AppendInt(dst, scriptNumber(data), 10)
		default:
			dst = hex.AppendEncode(dst, data)
		}
		script = rest
	}
	return dst
}

// scriptNumber reads up to four bytes as a script does: little-endian, the top bit of the last byte is the sign.
func scriptNumber(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	var le [8]byte
	copy(le[:], b)
	last := len(b) - 1
	le[last] &= 0x7f
	n := int64(binary.LittleEndian.Uint64(le[:]))
	if b[last]&0x80 != 0 {
		return -n
	}
	return n
}
