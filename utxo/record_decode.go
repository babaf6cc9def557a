package utxo

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// DecodeRecord reads bytes that may be anything as a record of a shard, into r, whose outputs it reuses. Scripts are
// appended to scripts, which is returned; they are views of it. It accepts exactly what AppendRecord writes: any other
// spelling is a *RecordError, never a panic.
func DecodeRecord(shard byte, b []byte, r *Record, scripts []byte) ([]byte, error) {
	if err := measure(b); err != nil {
		return scripts, err
	}
	padded := append(make([]byte, 0, len(b)+RecordSlack), b...)
	p := unsafe.Pointer(unsafe.SliceData(padded[:cap(padded)]))
	scripts = decode(shard, p, r, scripts)
	if _, err := r.check(); err != nil {
		return scripts, badRecord("%v", err)
	}
	again, err := AppendRecord(make([]byte, 0, len(b)), r)
	if err != nil {
		return scripts, err
	}
	if !bytes.Equal(again, b) {
		return scripts, badRecord("it has another spelling")
	}
	return scripts, nil
}

// FindRecord looks for an output in a record that AppendRecord made and that RecordSlack bytes follow within the
// capacity of rec. It panics where these are missing.
func FindRecord(rec []byte, vout uint32, v *View) bool {
	_ = rec[: len(rec)+RecordSlack : cap(rec)]
	_, ok := look(unsafe.Pointer(unsafe.SliceData(rec)), vout, v, nil)
	return ok
}

// decode spells the record at p out.
func decode(shard byte, p unsafe.Pointer, r *Record, scripts []byte) []byte {
	r.Txid[0] = shard
	copy(r.Txid[1:], unsafe.Slice((*byte)(unsafe.Add(p, 1)), len(r.Txid)-1))
	h := read(p).head
	r.Height, r.Coinbase, r.First = h.height(), h.coinbase(), h.first
	r.Outs = r.Outs[:0]
	var v View
	var buf ScriptBuffer
	each(p, &v, func(vout uint32, v *View) bool {
		n := len(scripts)
		scripts = append(scripts, v.Script(&buf)...)
		r.Outs = append(r.Outs, Entry{Vout: vout, Value: v.Value, Script: scripts[n:len(scripts):len(scripts)]})
		return true
	})
	return scripts
}

// measure tells whether the lengths in b make it a record that ends where b does.
func measure(b []byte) error {
	if len(b) < atParts {
		return badRecord("%d bytes, less than what all begin with", len(b))
	}
	switch form := b[0]; {
	case form == formWide:
		return measureWide(b)
	case form < classes<<3:
		return measureParts(b, b[:1], atParts)
	case form == formSmall, form == formMulti:
		n := int(b[atCount])
		return measureTags(b, n, atParts+n)
	case form == formLong && len(b) > atHighN:
		n := int(b[atCount]) | int(b[atHighN])<<8
		return measureTags(b, n, atLong+2*n)
	}
	return badRecord("form %02x", b[0])
}

func measureTags(b []byte, n, at int) error {
	if at+n > len(b) {
		return badRecord("%d outputs do not fit in %d bytes", n, len(b))
	}
	return measureParts(b, b[at:at+n], at+n)
}

// measureParts passes the payloads of these tags from an offset on.
func measureParts(b, tags []byte, at int) error {
	for _, tag := range tags {
		if tag >= classes<<3 {
			return badRecord("tag %02x", tag)
		}
		n := int(payloadSize[tag])
		if n == 0 {
			n = int(classTable[tag>>3].width)
			if at+n > len(b) {
				return badRecord("it ends in an amount")
			}
			length, width := binary.Uvarint(b[at+n:])
			if width <= 0 || length > 1<<32-1 || length > uint64(len(b)) {
				return badRecord("length of a script at byte %d", at+n)
			}
			n += width + int(length)
		}
		if at += n; at > len(b) {
			return badRecord("it ends in a payload")
		}
	}
	if at != len(b) {
		return badRecord("%d bytes behind it", len(b)-at)
	}
	return nil
}

func measureWide(b []byte) error {
	if len(b) < atWide {
		return badRecord("%d bytes, less than what wide ones begin with", len(b))
	}
	if binary.LittleEndian.Uint64(b[atWideCode:])>>33 != 0 {
		return badRecord("height of more than 32 bits")
	}
	at := atWide
	for range binary.LittleEndian.Uint32(b[atWideN:]) {
		if len(b)-at < wideFixed {
			return badRecord("it ends in an output")
		}
		n := binary.LittleEndian.Uint32(b[at+12:])
		at += wideFixed
		if uint64(n) > uint64(len(b)-at) {
			return badRecord("it ends in a script")
		}
		at += int(n)
	}
	if at != len(b) {
		return badRecord("%d bytes behind it", len(b)-at)
	}
	return nil
}
