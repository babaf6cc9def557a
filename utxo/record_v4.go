package utxo

import (
	"encoding/binary"

	"stele/chain"
)

// The record v4. Integers are little-endian.
//
//	+0 txid 32 | +32 number of outputs 4 | +36 inline outputs 1 (0-8)
//	then for each output:
//	+0 vout 4 | +4 value 8 | +12 height 4 | +16 coinbase 1 (0, 1) | +17 script length 2 | +19 script
const (
	v4Head  = chain.HashSize + 4 + 1
	v4Fixed = 4 + 8 + 4 + 1 + 2
)

// AppendV4 appends a record as v4.
func AppendV4(dst []byte, r *OldRecord) ([]byte, error) {
	if err := r.check(); err != nil {
		return dst, err
	}
	dst = r.appendOldHead(dst)
	for i := range r.Outs {
		o := &r.Outs[i]
		dst = binary.LittleEndian.AppendUint32(dst, o.Vout)
		dst = binary.LittleEndian.AppendUint64(dst, o.Value)
		dst = binary.LittleEndian.AppendUint32(dst, o.Height)
		coinbase := byte(0)
		if o.Coinbase {
			coinbase = 1
		}
		dst = append(dst, coinbase)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(o.Script)))
		dst = append(dst, o.Script...)
	}
	return dst, nil
}

// DecodeV4 reads bytes that may be anything. Scripts are views of b. What is no record is a *RecordError.
func DecodeV4(b []byte, r *OldRecord) error {
	n, err := r.oldHead(b, v4Head)
	if err != nil {
		return err
	}
	b = b[v4Head:]
	for range n {
		if len(b) < v4Fixed {
			return badRecord("it ends in an output")
		}
		size := v4Fixed + int(binary.LittleEndian.Uint16(b[17:]))
		if len(b) < size {
			return badRecord("it ends in a script")
		}
		if b[16] > 1 {
			return badRecord("coinbase flag %d", b[16])
		}
		r.Outs = append(r.Outs, v4Output(b[:size]))
		b = b[size:]
	}
	if len(b) != 0 {
		return badRecord("%d bytes behind it", len(b))
	}
	return nil
}

func v4Output(b []byte) OldOutput {
	return OldOutput{
		Vout:     binary.LittleEndian.Uint32(b),
		Value:    binary.LittleEndian.Uint64(b[4:]),
		Height:   binary.LittleEndian.Uint32(b[12:]),
		Coinbase: b[16] != 0,
		Script:   b[v4Fixed:len(b):len(b)],
	}
}

// FindV4 looks for an output in a record that AppendV4 made. The script is a view of it.
func FindV4(rec []byte, vout uint32, o *OldOutput) bool {
	n := binary.LittleEndian.Uint32(rec[chain.HashSize:])
	for at := v4Head; n > 0; n-- {
		b := rec[at : at+v4Fixed]
		size := int(binary.LittleEndian.Uint16(b[17:]))
		if binary.LittleEndian.Uint32(b) == vout {
			o.Vout = vout
			o.Value = binary.LittleEndian.Uint64(b[4:])
			o.Height = binary.LittleEndian.Uint32(b[12:])
			o.Coinbase = b[16] != 0
			o.Script = rec[at+v4Fixed : at+v4Fixed+size]
			return true
		}
		at += v4Fixed + size
	}
	return false
}
