package utxo

import (
	"encoding/binary"
	"math"

	"stele/chain"
)

// The record v5. Integers are little-endian; a LEB128 number has seven bits a byte, the lowest first, and no byte more
// than it needs.
//
//	+0 txid 32 | +32 number of outputs n 4 | +36 inline outputs 1 (0-8) | +37 widths 1
//	+38 n × vout, of (widths & 0f) bytes | n × payload length, of (widths >> 4) bytes | n × payload
//
//	payload      LEB128 amount | LEB128 (height << 1 | coinbase) | script
//	amount       as Core compresses it (CompressAmount), at most 21,000,000 coins; a larger one is the LEB128 number
//	             2^64-1 and eight bytes
//
// Widths are the least that the largest vout and the largest payload need, 1 to 4.
const v5Head = v4Head + 1

// v5Escape says that the amount follows in eight bytes.
const v5Escape = math.MaxUint64

// v5Money is the largest amount that is compressed.
const v5Money = uint64(chain.MaxMoney)

// AppendV5 appends a record as v5.
func AppendV5(dst []byte, r *OldRecord) ([]byte, error) {
	if err := r.check(); err != nil {
		return dst, err
	}
	var most, longest uint64
	for i := range r.Outs {
		most = max(most, uint64(r.Outs[i].Vout))
		longest = max(longest, uint64(r.Outs[i].v5Size()))
	}
	voutWidth, sizeWidth := v5Width(most), v5Width(longest)
	dst = append(r.appendOldHead(dst), byte(sizeWidth<<4|voutWidth))
	for i := range r.Outs {
		dst = appendWidth(dst, uint64(r.Outs[i].Vout), voutWidth)
	}
	for i := range r.Outs {
		dst = appendWidth(dst, uint64(r.Outs[i].v5Size()), sizeWidth)
	}
	for i := range r.Outs {
		dst = r.Outs[i].appendV5(dst)
	}
	return dst, nil
}

func (o *OldOutput) v5Code() uint64 {
	code := uint64(o.Height) << 1
	if o.Coinbase {
		code |= 1
	}
	return code
}

func (o *OldOutput) v5Size() int {
	amount := 10 + 8
	if o.Value <= v5Money {
		amount = uvarintSize(compressAmount(o.Value))
	}
	return amount + uvarintSize(o.v5Code()) + len(o.Script)
}

func (o *OldOutput) appendV5(dst []byte) []byte {
	if o.Value <= v5Money {
		dst = binary.AppendUvarint(dst, compressAmount(o.Value))
	} else {
		dst = binary.AppendUvarint(dst, v5Escape)
		dst = binary.LittleEndian.AppendUint64(dst, o.Value)
	}
	dst = binary.AppendUvarint(dst, o.v5Code())
	return append(dst, o.Script...)
}

// DecodeV5 reads bytes that may be anything. Scripts are views of b. What is no record, or has a wider spelling than
// it needs, is a *RecordError.
func DecodeV5(b []byte, r *OldRecord) error {
	n, err := r.oldHead(b, v5Head)
	if err != nil {
		return err
	}
	voutWidth, sizeWidth := int(b[v5Head-1]&15), int(b[v5Head-1]>>4)
	if voutWidth < 1 || voutWidth > 4 || sizeWidth < 1 || sizeWidth > 4 {
		return badRecord("widths %02x", b[v5Head-1])
	}
	at := v5Head + n*(voutWidth+sizeWidth)
	if at > len(b) {
		return badRecord("%d outputs do not fit in %d bytes", n, len(b))
	}
	var most, longest uint64
	for i := range n {
		vout := readWidth(b[v5Head+i*voutWidth:], voutWidth)
		size := readWidth(b[v5Head+n*voutWidth+i*sizeWidth:], sizeWidth)
		if size > uint64(len(b)-at) {
			return badRecord("it ends in a payload")
		}
		o := OldOutput{Vout: uint32(vout)}
		if err := o.readV5(b[at : at+int(size) : at+int(size)]); err != nil {
			return err
		}
		r.Outs = append(r.Outs, o)
		at += int(size)
		most, longest = max(most, vout), max(longest, size)
	}
	if at != len(b) {
		return badRecord("%d bytes behind it", len(b)-at)
	}
	if v5Width(most) != voutWidth || v5Width(longest) != sizeWidth {
		return badRecord("widths %02x are not the least", b[v5Head-1])
	}
	return nil
}

func (o *OldOutput) readV5(b []byte) error {
	x, n := uvarint(b)
	if n == 0 {
		return badRecord("amount")
	}
	b = b[n:]
	if x != v5Escape {
		v, ok := decompressAmount(x)
		if !ok {
			return badRecord("compressed amount %d", x)
		}
		o.Value = uint64(v)
	} else {
		if len(b) < 8 {
			return badRecord("it ends in an amount")
		}
		if o.Value = binary.LittleEndian.Uint64(b); o.Value <= v5Money {
			return badRecord("amount %d is escaped", o.Value)
		}
		b = b[8:]
	}
	code, n := uvarint(b)
	if n == 0 || code>>33 != 0 {
		return badRecord("height")
	}
	o.Height, o.Coinbase, o.Script = uint32(code>>1), code&1 != 0, b[n:]
	if len(o.Script) > math.MaxUint16 {
		return badRecord("script of %d bytes", len(o.Script))
	}
	return nil
}

// FindV5 looks for an output in a record that AppendV5 made: the vouts one after the other, then the sum of the lengths
// in front, then one payload. The script is a view of it.
func FindV5(rec []byte, vout uint32, o *OldOutput) bool {
	n := int(binary.LittleEndian.Uint32(rec[chain.HashSize:]))
	voutWidth, sizeWidth := int(rec[v5Head-1]&15), int(rec[v5Head-1]>>4)
	sizes := v5Head + n*voutWidth
	for i := range n {
		if uint32(readWidth(rec[v5Head+i*voutWidth:], voutWidth)) != vout {
			continue
		}
		at := sizes + n*sizeWidth
		for j := range i {
			at += int(readWidth(rec[sizes+j*sizeWidth:], sizeWidth))
		}
		size := int(readWidth(rec[sizes+i*sizeWidth:], sizeWidth))
		b := rec[at : at+size]
		x, k := binary.Uvarint(b)
		b = b[k:]
		if x == v5Escape {
			o.Value = binary.LittleEndian.Uint64(b)
			b = b[8:]
		} else {
			v, _ := decompressAmount(x)
			o.Value = uint64(v)
		}
		code, k := binary.Uvarint(b)
		o.Vout, o.Height, o.Coinbase, o.Script = vout, uint32(code>>1), code&1 != 0, b[k:]
		return true
	}
	return false
}

// v5Width returns how many bytes a number needs, at least one.
func v5Width(v uint64) int { return max(1, widthOf(v)) }

func appendWidth(dst []byte, v uint64, width int) []byte {
	for range width {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

func readWidth(b []byte, width int) (v uint64) {
	for i := range width {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// uvarint reads a minimal LEB128 number and how many bytes it has; none where it is not minimal or not there.
func uvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}

func uvarintSize(v uint64) (n int) {
	for n = 1; v >= 0x80; n++ {
		v >>= 7
	}
	return n
}
