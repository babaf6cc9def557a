package codec

import (
	"encoding/binary"

	"stele/chain"
)

// Templates of an output script. An output's kind is template*amountClasses + class for these; the data carriers, whose
// amount is nothing, follow.
const (
	outRaw        = iota // CompactSize n | script n
	outP2PKH             // 76 a9 14 | hash 20 | 88 ac
	outP2SH              // a9 14 | hash 20 | 87
	outP2WPKH            // 00 14 | program 20
	outP2WSH             // 00 20 | program 32
	outP2TR              // 51 20 | program 32
	outP2A               // 51 02 4e 73 (BIP433)
	outP2PKEven          // 21 02 | x 32 | ac
	outP2PKOdd           // 21 03 | x 32 | ac
	outP2PKFull          // 41 04 | x 32, y 32 | ac
	outTemplates         // number of templates
	outCarrier    = outTemplates * amountClasses
	outReturn     = outCarrier + 0 // 6a | n | data n, 1 <= n <= 75
	outReturnLong = outCarrier + 1 // 6a 4c | n | data n, 76 <= n <= 80
	outRunes      = outCarrier + 2 // 6a 5d | n | data n, 1 <= n <= 75
	outKinds      = outCarrier + 3
)

// OutputVerbatim is the kind of an output that is kept as its wire fields.
const OutputVerbatim = 0

// Limits of data that is pushed with one opcode, and of what nodes relay (Core: MAX_OP_RETURN_RELAY of 83 until v30).
const (
	maxDirectPush = 75
	maxLongReturn = 80
)

// MaxRebuilt is the size of the longest script that a template stands for.
const MaxRebuilt = 3 + maxLongReturn

// ScriptBuffer is where DecodeOutput rebuilds a script. One serves any number of outputs, one after another.
type ScriptBuffer [MaxRebuilt]byte

// template is the frame around an output's data. A script has the template when head, data and tail are all of it.
type template struct {
	head string
	data uint8 // bytes between head and tail
	tail string
}

var templates = [outTemplates]template{
	outP2PKH:    {"\x76\xa9\x14", 20, "\x88\xac"},
	outP2SH:     {"\xa9\x14", 20, "\x87"},
	outP2WPKH:   {"\x00\x14", 20, ""},
	outP2WSH:    {"\x00\x20", 32, ""},
	outP2TR:     {"\x51\x20", 32, ""},
	outP2A:      {"\x51\x02\x4e\x73", 0, ""},
	outP2PKEven: {"\x21\x02", 32, "\xac"},
	outP2PKOdd:  {"\x21\x03", 32, "\xac"},
	outP2PKFull: {"\x41\x04", 64, "\xac"},
}

var carriers = [outKinds - outCarrier]string{"\x6a", "\x6a\x4c", "\x6a\x5d"}

// outputKind is what a kind byte says about its output.
type outputKind struct {
	template uint8
	class    uint8
	width    uint8 // bytes of the amount
	size     uint8 // bytes of the whole output where the kind fixes them, else zero
}

// outputKindTable has an entry for every kind in use; 4 bytes each, 1 KB.
var outputKindTable = func() (all [outKinds]outputKind) {
	for kind := range outCarrier {
		k := outputKind{template: uint8(kind / amountClasses), class: uint8(kind % amountClasses)}
		k.width = amounts[k.class].width
		if k.template != outRaw {
			k.size = 1 + k.width + templates[k.template].data
		}
		all[kind] = k
	}
	for kind := outCarrier; kind < outKinds; kind++ {
		all[kind] = outputKind{template: outTemplates, class: 1}
	}
	return all
}()

// Output is one decoded output. Script is a view of the slab, or of the buffer that it was rebuilt in.
type Output struct {
	Value  int64
	Script []byte
}

// AppendOutput appends the slab form of an output: its wire bytes and one more at most.
func AppendOutput(dst []byte, value int64, script []byte) []byte {
	class := amountClassOf(uint64(value))
	t := templateOf(script)
	if t == outTemplates {
		if kind := carrierOf(script); kind != 0 && value == 0 {
			dst = append(dst, kind)
			return append(dst, script[len(carriers[kind-outCarrier]):]...)
		}
		t = outRaw
	}
	dst = append(dst, t*amountClasses+class)
	dst = appendAmount(dst, uint64(value), class)
	if t == outRaw {
		dst = chain.AppendCompactSize(dst, uint64(len(script)))
		return append(dst, script...)
	}
	f := &templates[t]
	return append(dst, script[len(f.head):len(script)-len(f.tail)]...)
}

// templateOf returns the template of a script; outTemplates for one that may be a data carrier's.
func templateOf(script []byte) uint8 {
	t := uint8(outRaw)
	switch len(script) {
	case 4:
		t = outP2A
	case 22:
		t = outP2WPKH
	case 23:
		t = outP2SH
	case 25:
		t = outP2PKH
	case 34:
		t = outP2WSH
		if script[0] != 0 {
			t = outP2TR
		}
	case 35:
		t = outP2PKEven
		if script[1] != 2 {
			t = outP2PKOdd
		}
	case 67:
		t = outP2PKFull
	}
	if t != outRaw {
		f := &templates[t]
		if string(script[:len(f.head)]) == f.head && string(script[len(script)-len(f.tail):]) == f.tail {
			return t
		}
	}
	if len(script) > 0 && script[0] == 0x6a {
		return outTemplates
	}
	return outRaw
}

// carrierOf returns the kind of a script that starts with OP_RETURN and pushes once, or zero.
func carrierOf(script []byte) byte {
	switch n := len(script); {
	case n < 3 || n > MaxRebuilt:
	case int(script[1]) == n-2 && n-2 <= maxDirectPush:
		return outReturn
	case script[1] == 0x4c && int(script[2]) == n-3 && n-3 > maxDirectPush:
		return outReturnLong
	case script[1] == 0x5d && int(script[2]) == n-3 && n-3 >= 1 && n-3 <= maxDirectPush:
		return outRunes
	}
	return 0
}

// SkipOutput returns the length of the output at the start of b, from its first bytes: the kind alone for every
// template, else a length after it. It looks at no script and accepts more than DecodeOutput does.
func SkipOutput(b []byte) (n int, ok bool) {
	if len(b) == 0 || b[0] >= outKinds {
		return 0, false
	}
	k := &outputKindTable[b[0]]
	switch {
	case k.size != 0:
		return int(k.size), int(k.size) <= len(b)
	case k.template == outRaw:
		if len(b) <= int(k.width) {
			return 0, false
		}
		_, size, ok := bytesField(b[1+k.width:])
		return 1 + int(k.width) + size, ok
	case len(b) < 2:
		return 0, false
	}
	n = 2 + int(b[1])
	return n, n <= len(b)
}

// DecodeOutput reads the output at the start of b and its length n in the slab. A script that a template stands for is
// rebuilt in buf. It reports false for bytes that AppendOutput cannot have made.
func DecodeOutput(b []byte, buf *ScriptBuffer) (o Output, n int, ok bool) {
	n, ok = SkipOutput(b)
	if !ok {
		return Output{}, 0, false
	}
	kind := b[0]
	k := &outputKindTable[kind]
	if kind >= outCarrier {
		size := copy(buf[:], carriers[kind-outCarrier])
		size += copy(buf[size:], b[1:n])
		if carrierOf(buf[:size]) != kind {
			return Output{}, 0, false
		}
		return Output{Script: buf[:size:size]}, n, true
	}
	v := amount(b[1:n], k.class)
	if amountClassOf(v) != k.class {
		return Output{}, 0, false
	}
	if k.template == outRaw {
		script, _, _ := bytesField(b[1+k.width : n])
		t := templateOf(script)
		if t != outRaw && (t != outTemplates || v == 0 && carrierOf(script) != 0) {
			return Output{}, 0, false
		}
		return Output{Value: int64(v), Script: script}, n, true
	}
	f := &templates[k.template]
	size := copy(buf[:], f.head)
	size += copy(buf[size:], b[1+k.width:n])
	size += copy(buf[size:], f.tail)
	return Output{Value: int64(v), Script: buf[:size:size]}, n, true
}

// AppendWireOutput appends the wire bytes of the output at the start of b, whose length in the slab is n: what
// DecodeOutput returns, without a buffer between. On ok == false dst is as it was.
func AppendWireOutput(dst, b []byte) (out []byte, n int, ok bool) {
	n, ok = SkipOutput(b)
	if !ok {
		return dst, 0, false
	}
	k := &outputKindTable[b[0]]
	if k.size == 0 { // no template
		var buf ScriptBuffer
		o, n, ok := DecodeOutput(b, &buf)
		if !ok {
			return dst, 0, false
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(o.Value))
		dst = chain.AppendCompactSize(dst, uint64(len(o.Script)))
		return append(dst, o.Script...), n, true
	}
	v := amount(b[1:n], k.class)
	if amountClassOf(v) != k.class {
		return dst, 0, false
	}
	f := &templates[k.template]
	dst = binary.LittleEndian.AppendUint64(dst, v)
	dst = append(dst, byte(len(f.head)+int(f.data)+len(f.tail)))
	dst = append(dst, f.head...)
	dst = append(dst, b[1+k.width:n]...)
	return append(dst, f.tail...), n, true
}

// OutputSize returns the wire size of the output at the start of b and its length n in the slab, from the same few
// bytes as SkipOutput.
func OutputSize(b []byte) (wire, n int, ok bool) {
	n, ok = SkipOutput(b)
	if !ok {
		return 0, 0, false
	}
	k := &outputKindTable[b[0]]
	if k.template == outRaw {
		return 8 + n - 1 - int(k.width), n, true
	}
	var script int
	if b[0] >= outCarrier {
		script = len(carriers[b[0]-outCarrier]) + n - 1
	} else {
		f := &templates[k.template]
		script = len(f.head) + int(f.data) + len(f.tail)
	}
	return 8 + 1 + script, n, true
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
