package utxo

import (
	"slices"
	"unsafe"

	"stele/chain"
)

// editor takes outputs out of a record. Payloads are not decoded for it: what is left is put together from the bytes
// that are there. It is one goroutine's and keeps its arrays from record to record.
type editor struct {
	p     unsafe.Pointer // the record
	r     reading
	parts []part
	left  int // parts that are not gone

	whole   Record // of a wide record
	scripts []byte
}

// part is an output of the record at hand.
type part struct {
	vout uint32
	tag  byte
	gone bool
	size uintptr
	at   unsafe.Pointer // payload; in a wide record the output
}

// open reads a record.
func (e *editor) open(p unsafe.Pointer) {
	e.p, e.r, e.parts = p, read(p), e.parts[:0]
	q := e.r.payloads
	for i := range e.r.n {
		x := part{at: q}
		if e.r.form == formWide {
			x.vout, x.size = load32(q), wideFixed+uintptr(load32(unsafe.Add(q, 12)))
		} else {
			x.vout, x.tag = e.r.vout(i), load8(e.r.tags, i)
			x.size = payloadLength(x.tag, q)
		}
		q = unsafe.Add(q, x.size)
		e.parts = append(e.parts, x)
	}
	e.left = len(e.parts)
}

// take finds an output that is not gone, and lets it go.
func (e *editor) take(vout uint32, v *View) bool {
	i, ok := slices.BinarySearchFunc(e.parts, vout, func(x part, vout uint32) int {
		return int(int64(x.vout) - int64(vout))
	})
	if !ok || e.parts[i].gone {
		return false
	}
	x := &e.parts[i]
	x.gone = true
	e.left--
	if e.r.form == formWide {
		e.r.viewWide(x.at, v)
	} else {
		e.r.view(x.tag, x.at, v)
	}
	return true
}

// appendRest appends the record of what is left, which must be something.
func (e *editor) appendRest(dst []byte, txid *chain.Hash) []byte {
	if e.r.form == formWide {
		return e.appendRestOfWide(dst, txid)
	}
	var last uint32
	raw := false
	for i := range e.parts {
		if x := &e.parts[i]; !x.gone {
			last = x.vout
			raw = raw || x.tag&templateMask == templateRaw
		}
	}
	if e.left == 1 && last < 256 {
		return e.appendLast(dst, txid)
	}
	at := len(dst)
	dst = appendHead(dst, txid, e.r.head, e.left, last)
	if dst[at] == formMulti && e.left <= smallMost && !raw {
		dst[at] = formSmall
	}
	for i := range e.parts {
		if !e.parts[i].gone {
			dst = appendVout(dst, dst[at], e.parts[i].vout)
		}
	}
	for i := range e.parts {
		if !e.parts[i].gone {
			dst = append(dst, e.parts[i].tag)
		}
	}
	for i := range e.parts {
		if x := &e.parts[i]; !x.gone {
			dst = append(dst, unsafe.Slice((*byte)(x.at), x.size)...)
		}
	}
	return dst
}

// appendLast appends the single that is left.
func (e *editor) appendLast(dst []byte, txid *chain.Hash) []byte {
	i := slices.IndexFunc(e.parts, func(x part) bool { return !x.gone })
	x := &e.parts[i]
	dst = appendFixed(dst, x.tag, txid, byte(x.vout), e.r.head)
	return append(dst, unsafe.Slice((*byte)(x.at), x.size)...)
}

// appendRestOfWide spells the record out and writes it anew, since a narrower form may hold what is left.
func (e *editor) appendRestOfWide(dst []byte, txid *chain.Hash) []byte {
	e.scripts = decode(txid[0], e.p, &e.whole, e.scripts[:0])
	kept := e.whole.Outs[:0]
	for i := range e.parts {
		if !e.parts[i].gone {
			kept = append(kept, e.whole.Outs[i])
		}
	}
	e.whole.Outs = kept
	dst, err := AppendRecord(dst, &e.whole)
	if err != nil {
		panic("what is left of a record is none: " + err.Error())
	}
	return dst
}
