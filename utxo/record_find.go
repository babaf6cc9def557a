package utxo

import (
	"math/bits"
	"unsafe"
)

const (
	ones = 0x0101010101010101
	low7 = 0x7f7f7f7f7f7f7f7f
)

// zeroBytes marks every byte of x that is zero by its bit 7, exactly: sums of seven bits do not carry into the next
// byte. (The shorter form with a subtraction also marks bytes of one above a zero.)
func zeroBytes(x uint64) uint64 { return ^((x&low7 + low7) | x | low7) }

// firstZero marks the lowest zero byte of x by its bit 7, in fewer steps than zeroBytes; marks above that one may be
// wrong. Only the marks in among are kept.
func firstZero(x, among uint64) uint64 { return (x - ones) &^ x & among }

// highBits are the marks of that many low bytes.
var highBits = [16]uint64{
	0, 0x80, 0x8080, 0x808080, 0x80808080, 0x8080808080, 0x808080808080, 0x80808080808080, 0x8080808080808080,
}

// lowBytes keeps the low bytes of a word, by their count, which is eight at the most.
var lowBytes = [16]uint64{
	0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1,
}

// none is the tag of what is not there; payloads of wide records have formWide.
const none = 0xff

// find looks for an output in the record at p, which this package made, and RecordSlack readable bytes behind it. On
// success v is complete and one amount was decoded, else none.
func find(p unsafe.Pointer, vout uint32, v *View) bool {
	_, ok := look(p, vout, v, nil)
	return ok
}

// FindScript is FindRecord and then Script, in one call; v has no Script then.
func FindScript(rec []byte, vout uint32, v *View, buf *ScriptBuffer) (script []byte, ok bool) {
	_ = rec[: len(rec)+RecordSlack : cap(rec)]
	return look(unsafe.Pointer(unsafe.SliceData(rec)), vout, v, buf)
}

// look is find, and rebuilds the script where buf is not nil. A single costs two loads and a compare in front of its
// payload; a small record four loads more and at most seven table reads, no loop and no branch on what its outputs are.
// All of that stands in one function, as each is shorter than a call.
func look(p unsafe.Pointer, vout uint32, v *View, buf *ScriptBuffer) (script []byte, ok bool) {
	tag, q := load8(p, 0), unsafe.Add(p, atParts)
	n := uintptr(load8(p, atCount))
	switch {
	case tag < formWide:
		if uint32(n) != vout {
			return nil, false
		}
	case tag >= formSmall && n <= smallMost:
		m := firstZero(loadPart(q, n)^uint64(vout&0xff)*ones, highBits[n&15])
		if m == 0 || vout > 0xff {
			return nil, false
		}
		if tag == formMulti {
			q, tag = locate(p, vout)
			break
		}
		i := uint(bits.TrailingZeros64(m)) &^ 7 & 63 // bits in front of the output's tag
		tags := unsafe.Add(q, n)
		t := loadPart(tags, n)
		tag = byte(t >> i)
		t &= 1<<i - 1
		// Zero is the tag of a raw script, whose size is zero here.
		skip := payloadSize[byte(t)] + payloadSize[byte(t>>8)] + payloadSize[byte(t>>16)]
		if n > 4 {
			skip += payloadSize[byte(t>>24)] + payloadSize[byte(t>>32)] + payloadSize[byte(t>>40)] + payloadSize[byte(t>>48)]
		}
		q = unsafe.Add(tags, n+uintptr(skip))
	default:
		if q, tag = locate(p, vout); tag >= formWide {
			return v.lookWide(p, q, tag, buf)
		}
	}
	v.share(p)
	body := v.pay(q, tag)
	if buf == nil {
		v.template, v.body = tag&templateMask, body
		return nil, true
	}
	f := &frames[tag&templateMask]
	if f.length == 0 {
		return unframed(tag&templateMask, body, buf), true
	}
	f.rebuild(unsafe.Pointer(buf), body)
	return buf[:f.length], true
}

// lookWide is the end of look in a wide record, or where nothing is found.
func (v *View) lookWide(p, q unsafe.Pointer, tag byte, buf *ScriptBuffer) (script []byte, ok bool) {
	if tag != formWide {
		return nil, false
	}
	r := read(p)
	r.viewWide(q, v)
	if buf != nil {
		script = unframed(viewWide, v.body, buf)
	}
	return script, true
}

// locate returns where an output's payload is, and its tag, in the forms whose payloads are passed one by one.
//
//go:noinline
func locate(p unsafe.Pointer, vout uint32) (q unsafe.Pointer, tag byte) {
	r := read(p)
	if r.form == formWide {
		return locateWide(&r, vout)
	}
	i, ok := r.indexOf(vout)
	if !ok {
		return nil, none
	}
	q = r.payloads
	for j := uintptr(0); j < i; j += 8 {
		n := min(i-j, 8)
		q = pass(loadPart(unsafe.Add(r.tags, j), n), n, q)
	}
	return q, load8(r.tags, i)
}

// pass passes the payloads of the first n tags in t, eight at the most. Sizes of templates do not depend on each other;
// only where one of the scripts is raw each must be found in turn.
func pass(t uint64, n uintptr, q unsafe.Pointer) unsafe.Pointer {
	if zeroBytes(t&(templateMask*ones))&lowBytes[n&15] == 0 {
		t &= lowBytes[n&15] // zero is the tag of a raw script, whose size is zero here
		a := payloadSize[byte(t)] + payloadSize[byte(t>>8)] + payloadSize[byte(t>>16)] + payloadSize[byte(t>>24)]
		b := payloadSize[byte(t>>32)] + payloadSize[byte(t>>40)] + payloadSize[byte(t>>48)] + payloadSize[byte(t>>56)]
		return unsafe.Add(q, uintptr(a)+uintptr(b))
	}
	for range n {
		q = unsafe.Add(q, payloadLength(byte(t), q))
		t >>= 8
	}
	return q
}

// share fills in what all outputs of the narrow record at p have.
func (v *View) share(p unsafe.Pointer) {
	w := load64(unsafe.Add(p, atCount))
	v.First = w>>32 | uint64(load8(p, atFirst+4))<<32
	v.Height, v.Coinbase = uint32(w)>>9, w&0x100 != 0
}

// pay fills in what the payload at q says, and returns the body of its script.
func (v *View) pay(q unsafe.Pointer, tag byte) (body unsafe.Pointer) {
	c := &classTable[tag>>3]
	v.Value = int64((loadPart(q, c.width)&c.mask)*c.unit + c.constant)
	v.work.Values++
	return unsafe.Add(q, c.width)
}

func locateWide(r *reading, vout uint32) (q unsafe.Pointer, tag byte) {
	q = r.payloads
	for range r.n {
		if load32(q) == vout {
			return q, formWide
		}
		q = unsafe.Add(q, wideFixed+uintptr(load32(unsafe.Add(q, 12))))
	}
	return nil, none
}

// reading is where the parts of a record lie. A single is one output whose tag is the form.
type reading struct {
	form     byte
	n        uintptr
	head     head
	vouts    unsafe.Pointer
	tags     unsafe.Pointer
	payloads unsafe.Pointer // of a wide record: its outputs
}

// read finds the parts of the record at p.
func read(p unsafe.Pointer) (r reading) {
	r.form = load8(p, 0)
	if r.form == formWide {
		r.n = uintptr(load32(unsafe.Add(p, atWideN)))
		r.head = head{code: load64(unsafe.Add(p, atWideCode)), first: load64(unsafe.Add(p, atWide1st))}
		r.payloads = unsafe.Add(p, atWide)
		return r
	}
	w := load64(unsafe.Add(p, atCount))
	r.n = uintptr(w & 0xff)
	r.head = head{code: w & 0xffffffff >> 8, first: w>>32 | uint64(load8(p, atFirst+4))<<32}
	switch r.form {
	case formSmall, formMulti:
		r.vouts = unsafe.Add(p, atParts)
		r.tags = unsafe.Add(r.vouts, r.n)
		r.payloads = unsafe.Add(r.tags, r.n)
	case formLong:
		r.n |= uintptr(load8(p, atHighN)) << 8
		r.vouts = unsafe.Add(p, atLong)
		r.tags = unsafe.Add(r.vouts, 2*r.n)
		r.payloads = unsafe.Add(r.tags, r.n)
	default:
		r.n = 1
		r.vouts = unsafe.Add(p, atCount)
		r.tags = p
		r.payloads = unsafe.Add(p, atParts)
	}
	return r
}

// vout returns that of output i of a record that is not wide.
func (r *reading) vout(i uintptr) uint32 {
	if r.form == formLong {
		return uint32(load16(unsafe.Add(r.vouts, 2*i)))
	}
	return uint32(load8(r.vouts, i))
}

// indexOf returns the place of a vout in a record that is not wide: by eight vouts a step, or by halving where they
// take two bytes.
func (r *reading) indexOf(vout uint32) (i uintptr, ok bool) {
	if r.form == formLong {
		low, high := uintptr(0), r.n
		for low < high {
			mid := (low + high) / 2
			if r.vout(mid) < vout {
				low = mid + 1
			} else {
				high = mid
			}
		}
		return low, low < r.n && r.vout(low) == vout
	}
	if vout > 0xff {
		return 0, false
	}
	for ; i < r.n; i += 8 {
		left := min(r.n-i, 8)
		m := firstZero(loadPart(unsafe.Add(r.vouts, i), left)^uint64(vout)*ones, highBits[left&15])
		if m != 0 {
			return i + uintptr(bits.TrailingZeros64(m))>>3, true
		}
	}
	return 0, false
}

// view fills v with the output whose payload is at q.
func (r *reading) view(tag byte, q unsafe.Pointer, v *View) {
	v.First, v.Height, v.Coinbase = r.head.first, r.head.height(), r.head.coinbase()
	v.template, v.body = tag&templateMask, v.pay(q, tag)
}

// viewWide fills v with the output at q of a wide record.
func (r *reading) viewWide(q unsafe.Pointer, v *View) {
	v.Value = int64(load64(unsafe.Add(q, 4)))
	v.First, v.Height, v.Coinbase = r.head.first, r.head.height(), r.head.coinbase()
	v.template, v.body = viewWide, unsafe.Add(q, 12)
	v.work.Values++
}

// payloadLength returns the size of the payload at q.
func payloadLength(tag byte, q unsafe.Pointer) uintptr {
	if n := uintptr(payloadSize[tag]); n != 0 {
		return n
	}
	amount := classTable[tag>>3&31].width
	n, width := rawLength(unsafe.Add(q, amount))
	return amount + width + n
}

// recordSize returns the size of the record at p, out of its own bytes.
func recordSize(p unsafe.Pointer) uintptr {
	if tag := load8(p, 0); tag < formWide {
		return atParts + payloadLength(tag, unsafe.Add(p, atParts))
	}
	r := read(p)
	q := r.payloads
	for i := range r.n {
		if r.form == formWide {
			q = unsafe.Add(q, wideFixed+uintptr(load32(unsafe.Add(q, 12))))
		} else {
			q = unsafe.Add(q, payloadLength(load8(r.tags, i), q))
		}
	}
	return uintptr(q) - uintptr(p)
}

// each calls f with all outputs of the record at p, in order, until it returns false. v is the same for all.
func each(p unsafe.Pointer, v *View, f func(vout uint32, v *View) bool) bool {
	r := read(p)
	q := r.payloads
	for i := range r.n {
		var vout uint32
		if r.form == formWide {
			vout = load32(q)
			r.viewWide(q, v)
			q = unsafe.Add(q, wideFixed+uintptr(load32(unsafe.Add(q, 12))))
		} else {
			tag := load8(r.tags, i)
			vout = r.vout(i)
			r.view(tag, q, v)
			q = unsafe.Add(q, payloadLength(tag, q))
		}
		if !f(vout, v) {
			return false
		}
	}
	return true
}
