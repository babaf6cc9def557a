package codec

import (
	"encoding/binary"

	"stele/chain"
)

// OutputVerbatim is the kind of an output that is kept as its wire fields.
const OutputVerbatim = 0

// outputFixed is what precedes the script's length in the verbatim form: kind and amount.
const outputFixed = 1 + 8

// Output is one decoded output. Script is a view of the slab.
type Output struct {
	Value  int64
	Script []byte
}

// AppendOutput appends the slab form of an output: its wire bytes and one more at most.
func AppendOutput(dst []byte, value int64, script []byte) []byte {
	dst = append(dst, OutputVerbatim)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(value))
	dst = chain.AppendCompactSize(dst, uint64(len(script)))
	return append(dst, script...)
}

// DecodeOutput reads the output at the start of b and its length n in the slab. It reports false for bytes that
// AppendOutput cannot have made.
func DecodeOutput(b []byte) (o Output, n int, ok bool) {
	if len(b) < outputFixed || b[0] != OutputVerbatim {
		return Output{}, 0, false
	}
	script, size, ok := bytesField(b[outputFixed:])
	if !ok {
		return Output{}, 0, false
	}
	return Output{Value: int64(binary.LittleEndian.Uint64(b[1:])), Script: script}, outputFixed + size, true
}

// SkipOutput returns the length of the output at the start of b without looking at its script.
func SkipOutput(b []byte) (n int, ok bool) {
	if len(b) < outputFixed || b[0] != OutputVerbatim {
		return 0, false
	}
	_, size, ok := bytesField(b[outputFixed:])
	return outputFixed + size, ok
}

// bytesField reads a CompactSize length and that many bytes; size counts both.
func bytesField(b []byte) (field []byte, size int, ok bool) {
	n, head, ok := chain.CompactSize(b)
	if !ok || n > uint64(len(b)-head) {
		return nil, 0, false
	}
	end := head + int(n)
	return b[head:end:end], end, true
}
