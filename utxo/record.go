package utxo

import (
	"encoding/binary"
	"errors"
	"fmt"

	"stele/chain"
)

// A record is what the set keeps of one transaction: the outputs that are unspent, and what all of them share. Its
// first byte says its form. The txid's first byte is the number of the shard that holds the record, so it is not kept.
// Integers are little-endian.
//
//	single      +0 tag 1 | +1 txid[1:32] 31 | +32 vout 1 | +33 code 3 | +36 first 5 | +41 payload
//	small  fe   +0 fe    | +1 txid[1:32] 31 | +32 n 1    | +33 code 3 | +36 first 5 | +41 n × vout 1 | n × tag 1
//	                                                                                | n × payload
//	multi  ff   as small
//	long   fd   +0 fd    | +1 txid[1:32] 31 | +32 n low 1 | +33 code 3 | +36 first 5 | +41 n high 1
//	                                          | +42 n × vout 2 | n × tag 1 | n × payload
//	wide   fc   +0 fc    | +1 txid[1:32] 31 | +32 n 4 | +36 code 8 | +44 first 8
//	                                          | +52 n × ( vout 4 | value 8 | length 4 | script )
//
//	code        height << 1 | coinbase
//	first       the number of the transaction's output 0; that of output v is first + v
//	tag         class << 3 | template, 00-f7: how the payload spells amount and script
//	payload     amount 0-7 | body of the script (see record_amount.go and record_script.go)
//
// One record has one spelling: outputs ascend by vout, amounts have the class of fewest bytes, scripts the template
// that fits, and the form is the first of these that can hold the record:
//
//	single      one output;                                 vouts < 256, height < 2^23, first < 2^40, amounts < 2^56
//	small       2 to 8 outputs, no script that is raw;      the same
//	multi       2 to 255 outputs;                           the same
//	long        1 to 65,535 outputs;                        the same but vouts < 65,536
//	wide        any
//
// Small is a form of its own because the place of every payload follows from at most eight tags: it is found without a
// loop. All outputs of a record were made by one transaction, in one block: a transaction that comes twice (BIP30)
// makes all of them anew. So height, coinbase and number are kept once.
const (
	formWide  = 0xfc
	formLong  = 0xfd
	formSmall = 0xfe
	formMulti = 0xff

	atCount    = 32 // vout of a single, n of others; the code follows in the same four bytes
	atFirst    = 36
	atParts    = 41 // payload of a single, vouts of small and multi
	atHighN    = 41 // of long
	atLong     = 42 // vouts of long
	atWideN    = 32
	atWideCode = 36
	atWide1st  = 44
	atWide     = 52
	wideFixed  = 16 // of an output of a wide record

	smallMost  = 8 // outputs of a small record
	firstBits  = 40
	heightBits = 23
	valueBits  = 56
)

// Entry is an output of a record.
type Entry struct {
	Vout   uint32
	Value  int64 // satoshis
	Script []byte
}

// Record is a record with everything spelled out.
type Record struct {
	Txid     chain.Hash
	Height   uint32 // of the block that made the transaction
	Coinbase bool   // the transaction is that block's first
	First    uint64 // number of the transaction's output 0, whether it is unspent or not
	Outs     []Entry
}

// Errors of records that cannot be kept.
var (
	ErrNoOutputs = errors.New("a record needs an output")
	ErrVoutOrder = errors.New("outputs of a record must ascend by vout")
	ErrTooLarge  = errors.New("a script is longer than a record can say")
)

// RecordError says why bytes are no record.
type RecordError struct{ Why string }

func (e *RecordError) Error() string { return "record: " + e.Why }

func badRecord(format string, args ...any) error { return &RecordError{fmt.Sprintf(format, args...)} }

// head is what the outputs of a record share.
type head struct {
	code  uint64 // height << 1 | coinbase
	first uint64
}

func (r *Record) head() head {
	h := head{code: uint64(r.Height) << 1, first: r.First}
	if r.Coinbase {
		h.code |= 1
	}
	return h
}

func (h head) height() uint32 { return uint32(h.code >> 1) }
func (h head) coinbase() bool { return h.code&1 != 0 }

// fits tells whether the narrow forms can hold what the outputs share.
func (h head) fits() bool { return h.code>>(heightBits+1) == 0 && h.first>>firstBits == 0 }

// check returns the error of a record that has no spelling, and all bits that its amounts have.
func (r *Record) check() (values uint64, err error) {
	if len(r.Outs) == 0 {
		return 0, ErrNoOutputs
	}
	for i := range r.Outs {
		if i > 0 && r.Outs[i-1].Vout >= r.Outs[i].Vout {
			return 0, ErrVoutOrder
		}
		if uint64(len(r.Outs[i].Script)) > 1<<32-1 {
			return 0, ErrTooLarge
		}
		values |= uint64(r.Outs[i].Value)
	}
	return values, nil
}

// AppendRecord appends the spelling of a record. It fails with ErrNoOutputs, ErrVoutOrder or ErrTooLarge, and then
// appends nothing. It allocates nothing but the growth of dst.
func AppendRecord(dst []byte, r *Record) ([]byte, error) {
	values, err := r.check()
	if err != nil {
		return dst, err
	}
	h := r.head()
	last := r.Outs[len(r.Outs)-1].Vout
	if !h.fits() || last > 0xffff || len(r.Outs) > 0xffff || values>>valueBits != 0 {
		return appendWide(dst, r, h), nil
	}
	if len(r.Outs) == 1 && last < 256 {
		return appendSingle(dst, r, h), nil
	}
	at := len(dst)
	dst = appendHead(dst, &r.Txid, h, len(r.Outs), last)
	for i := range r.Outs {
		dst = appendVout(dst, dst[at], r.Outs[i].Vout)
	}
	tags := len(dst)
	for i := range r.Outs {
		dst = append(dst, tagOf(&r.Outs[i]))
	}
	raw := false
	for i := range r.Outs {
		tag := dst[tags+i]
		raw = raw || tag&templateMask == templateRaw
		dst = appendPayload(dst, tag, &r.Outs[i])
	}
	if dst[at] == formMulti && len(r.Outs) <= smallMost && !raw {
		dst[at] = formSmall
	}
	return dst, nil
}

func appendSingle(dst []byte, r *Record, h head) []byte {
	o := &r.Outs[0]
	tag := tagOf(o)
	dst = appendFixed(dst, tag, &r.Txid, byte(o.Vout), h)
	return appendPayload(dst, tag, o)
}

// appendFixed appends the 41 bytes that all narrow forms begin with.
func appendFixed(dst []byte, form byte, txid *chain.Hash, count byte, h head) []byte {
	dst = append(dst, form)
	dst = append(dst, txid[1:]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count)|uint32(h.code)<<8)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.first))
	return append(dst, byte(h.first>>32))
}

// appendHead appends all of a long or multi record that is in front of the vouts.
func appendHead(dst []byte, txid *chain.Hash, h head, n int, last uint32) []byte {
	if last > 0xff || n > 0xff {
		dst = appendFixed(dst, formLong, txid, byte(n), h)
		return append(dst, byte(n>>8))
	}
	return appendFixed(dst, formMulti, txid, byte(n), h)
}

func appendVout(dst []byte, form byte, vout uint32) []byte {
	dst = append(dst, byte(vout))
	if form == formLong {
		dst = append(dst, byte(vout>>8))
	}
	return dst
}

func appendWide(dst []byte, r *Record, h head) []byte {
	dst = append(dst, formWide)
	dst = append(dst, r.Txid[1:]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Outs)))
	dst = binary.LittleEndian.AppendUint64(dst, h.code)
	dst = binary.LittleEndian.AppendUint64(dst, h.first)
	for i := range r.Outs {
		o := &r.Outs[i]
		dst = binary.LittleEndian.AppendUint32(dst, o.Vout)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(o.Value))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(o.Script)))
		dst = append(dst, o.Script...)
	}
	return dst
}
