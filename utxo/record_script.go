package utxo

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Templates of a script, the low three bits of a tag. What a template implies is not kept.
//
//	tag & 7     body                       script
//	0 raw       LEB128 n 1-5, script n     the script
//	1           hash 20                    76 a9 14 | body | 88 ac                 P2PKH
//	2           hash 20                    a9 14 | body | 87                       P2SH
//	3           program 20                 00 14 | body                            P2WPKH
//	4           program 32                 00 20 | body                            P2WSH
//	5           program 32                 51 20 | body                            P2TR
//	6           key 33                     21 | body | ac                          P2PK of a compressed key
//	7           keys 3 × 33                51 21 | key | 21 | key | 21 | key | 53 ae   one of three compressed keys
//
// LEB128 is minimal: seven bits a byte, the lowest first, 80 in all bytes but the last.
const (
	templateRaw    = 0
	templatePKH    = 1
	templateSH     = 2
	templateWPKH   = 3
	templateWSH    = 4
	templateTR     = 5
	templatePK     = 6
	templateOneOf3 = 7
	templateMask   = 7

	keySize     = 33
	oneOf3      = 3*(1+keySize) + 3 // bytes of its script
	oneOf3Body  = 3 * keySize
	fastBody    = 40 // bytes that are copied for a body of at most keySize
	maxTemplate = oneOf3

	// RecordSlack is how many bytes behind a record must be readable where it is looked into by Find.
	RecordSlack = 64
)

// frame is what stands around the body of a script, for the templates that are rebuilt without a branch. Eight bytes.
type frame struct {
	front  uint32 // bytes in front of the body, the first one lowest; the highest byte says how many they are
	back   uint16
	end    uint8 // of the body in the script
	length uint8 // of the script; zero: another way
}

var frames = [8]frame{
	templatePKH:  {front: 3<<24 | 0x14a976, back: 0xac88, end: 23, length: 25},
	templateSH:   {front: 2<<24 | 0x14a9, back: 0x87, end: 22, length: 23},
	templateWPKH: {front: 2<<24 | 0x1400, end: 22, length: 22},
	templateWSH:  {front: 2<<24 | 0x2000, end: 34, length: 34},
	templateTR:   {front: 2<<24 | 0x2051, end: 34, length: 34},
	templatePK:   {front: 1<<24 | 0x21, back: 0xac, end: 34, length: 35},
}

// lead is the number of bytes in front of the body.
func (f *frame) lead() uintptr { return uintptr(f.front >> 24) }

// payloadSize is the size of a payload by its tag; zero where the script is raw. Two bytes an entry, 512 together.
var payloadSize = func() (all [256]uint16) {
	for tag := range classes << 3 {
		f := &frames[tag&templateMask]
		body := int(f.end) - int(f.lead())
		if tag&templateMask == templateOneOf3 {
			body = oneOf3Body
		}
		if body > 0 {
			all[tag] = uint16(classTable[tag>>3].width) + uint16(body)
		}
	}
	return all
}()

// templateOf returns the template of a script.
func templateOf(s []byte) byte {
	switch {
	case len(s) == 25 && s[0] == 0x76 && s[1] == 0xa9 && s[2] == 0x14 && s[23] == 0x88 && s[24] == 0xac:
		return templatePKH
	case len(s) == 23 && s[0] == 0xa9 && s[1] == 0x14 && s[22] == 0x87:
		return templateSH
	case len(s) == 22 && s[0] == 0x00 && s[1] == 0x14:
		return templateWPKH
	case len(s) == 34 && s[0] == 0x00 && s[1] == 0x20:
		return templateWSH
	case len(s) == 34 && s[0] == 0x51 && s[1] == 0x20:
		return templateTR
	case len(s) == 35 && s[0] == 0x21 && s[34] == 0xac:
		return templatePK
	case len(s) == oneOf3 && s[0] == 0x51 && s[1] == 0x21 && s[35] == 0x21 && s[69] == 0x21 && s[103] == 0x53 &&
		s[104] == 0xae:
		return templateOneOf3
	}
	return templateRaw
}

// tagOf returns the tag of an output whose amount is below 2^56.
func tagOf(o *Entry) byte { return classOf(uint64(o.Value))<<3 | templateOf(o.Script) }

// appendPayload appends the amount and the body of an output.
func appendPayload(dst []byte, tag byte, o *Entry) []byte {
	dst = appendAmount(dst, tag>>3, uint64(o.Value))
	switch t := tag & templateMask; t {
	case templateRaw:
		dst = binary.AppendUvarint(dst, uint64(len(o.Script)))
		return append(dst, o.Script...)
	case templateOneOf3:
		for at := 2; at < oneOf3-2; at += 1 + keySize {
			dst = append(dst, o.Script[at:at+keySize]...)
		}
		return dst
	default:
		f := &frames[t]
		return append(dst, o.Script[f.lead():f.end]...)
	}
}

// ScriptBuffer is where a script is rebuilt. One serves any number of outputs, one after another.
type ScriptBuffer [maxTemplate + 7]byte

// View is an output that was found. It is borrowed: the script's bytes are the record's, which must not change while
// the view is used.
type View struct {
	Value    int64
	First    uint64 // number of the transaction's output 0
	Height   uint32
	Coinbase bool

	template uint8          // viewWide: body is a length of four bytes and the script
	body     unsafe.Pointer // of the script

	work Work
}

// Work counts what lookups did.
type Work struct {
	Lines    uint32 // index lines read
	Compares uint32 // txids compared
	Values   uint32 // amounts decoded
}

// viewWide is the template of a script in a wide record.
const viewWide = 8

// Script returns the script, rebuilt in buf or, where it is raw, as a view of the record.
func (v *View) Script(buf *ScriptBuffer) []byte {
	f := &frames[v.template&templateMask]
	if f.length == 0 {
		return unframed(v.template, v.body, buf)
	}
	f.rebuild(unsafe.Pointer(buf), v.body)
	return buf[:f.length]
}

// appendScript appends the script, rebuilt in place.
func (v *View) appendScript(dst []byte) []byte {
	n := len(dst)
	if cap(dst)-n < len(ScriptBuffer{}) {
		dst = slices.Grow(dst, len(ScriptBuffer{}))
	}
	buf := (*ScriptBuffer)(dst[n : n+len(ScriptBuffer{})])
	f := &frames[v.template&templateMask]
	if f.length != 0 {
		f.rebuild(unsafe.Pointer(buf), v.body)
		return dst[:n+int(f.length)]
	}
	s := unframed(v.template, v.body, buf)
	if len(s) > 0 && &s[0] == &buf[0] {
		return dst[:n+len(s)]
	}
	return append(dst, s...)
}

// rebuild writes a script with its frame, and bytes without meaning behind it: all of it by stores of fixed sizes. The
// body covers the byte of front that is none.
func (f *frame) rebuild(to, body unsafe.Pointer) {
	store32(to, f.front)
	copyBody(unsafe.Add(to, f.lead()), body, uintptr(f.end)-f.lead())
	store16(unsafe.Add(to, uintptr(f.end)), f.back)
}

// unframed returns the script of a template that has no frame.
//
//go:noinline
func unframed(template byte, body unsafe.Pointer, buf *ScriptBuffer) []byte {
	switch template {
	case templateOneOf3:
		keys := unsafe.Slice((*byte)(body), oneOf3Body)
		s := append(buf[:0], 0x51)
		for at := 0; at < oneOf3Body; at += keySize {
			s = append(append(s, 0x21), keys[at:at+keySize]...)
		}
		return append(s, 0x53, 0xae)
	case viewWide:
		return unsafe.Slice((*byte)(unsafe.Add(body, 4)), load32(body))
	}
	n, width := rawLength(body)
	return unsafe.Slice((*byte)(unsafe.Add(body, width)), n)
}

// rawLength reads the length of a raw script and how many bytes say it.
func rawLength(p unsafe.Pointer) (n, width uintptr) {
	for shift := uint(0); ; shift += 7 {
		b := load8(p, width)
		width++
		n |= uintptr(b&0x7f) << shift
		if b < 0x80 {
			return n, width
		}
	}
}
