package script

import (
	"encoding/binary"

	"stele/chain"
)

// legacy is the signature hash of scripts outside witnesses (Core: SignatureHash, SigVersion::BASE). code is the running
// script behind the last executed OP_CODESEPARATOR, after FindAndDelete; separators that it still has are dropped here.
// Of hashType all 32 bits are committed to. SIGHASH_SINGLE without an output of that index is the number one.
func (h *hashCache) legacy(t *Tx, in int, code []byte, hashType uint32) *[32]byte {
	if hashType&typeMask == sigHashSingle && in >= len(t.outs) {
		h.sum = [32]byte{1}
		return &h.sum
	}
	h.at(t, in)
	slot := slotOf(hashType)
	if h.resume(slot, code) {
		return h.finish(hashType)
	}
	if slot == 0 && len(t.form)+len(code) > hashWhole {
		return h.legacyAll(t, in, code, hashType)
	}
	h.buf = t.appendLegacy(h.buf[:0], in, code, hashType)
	return h.message(slot, code, hashType)
}

// legacyAll hashes a large message with all inputs and outputs: it begins at the last state that the input shares with
// others, and writes the rest of the form around the code. On average that is half of the form.
func (h *hashCache) legacyAll(t *Tx, in int, code []byte, hashType uint32) *[32]byte {
	at := t.scriptAt(in)
	state, from := t.state(at)
	h.restore(state)
	h.digest.Write(t.form[from:at])
	h.buf = appendScriptCode(h.buf[:0], code)
	h.digest.Write(h.buf)
	h.digest.Write(t.form[at+1:])
	h.keep(0, code)
	return h.finish(hashType)
}

// appendLegacy writes a whole message but for the hash type.
func (t *Tx) appendLegacy(dst []byte, in int, code []byte, hashType uint32) []byte {
	at := t.scriptAt(in)
	base := hashType & typeMask
	all := base != sigHashNone && base != sigHashSingle
	switch {
	case hashType&anyoneCanPay != 0:
		dst = binary.LittleEndian.AppendUint32(dst, t.row.Version)
		dst = append(dst, 1)
		dst = t.appendLegacyIn(dst, in, code)
	case all:
		dst = append(dst, t.form[:at]...)
		dst = appendScriptCode(dst, code)
		return append(dst, t.form[at+1:]...)
	default:
		dst = append(dst, t.form[:t.first]...)
		dst = t.appendUnsequenced(dst, 0, in)
		dst = t.appendLegacyIn(dst, in, code)
		dst = t.appendUnsequenced(dst, in+1, len(t.ins))
	}
	switch base {
	case sigHashNone:
		dst = append(dst, 0)
	case sigHashSingle:
		dst = chain.AppendCompactSize(dst, uint64(in+1))
		for range in { // outputs before are null: value -1, no script
			dst = append(dst, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0)
		}
		dst = append(dst, t.output(in)...)
	default:
		return append(dst, t.form[t.outCount:]...)
	}
	return binary.LittleEndian.AppendUint32(dst, t.row.LockTime)
}

// appendLegacyIn writes the input that is signed.
func (t *Tx) appendLegacyIn(dst []byte, in int, code []byte) []byte {
	at := t.scriptAt(in)
	dst = append(dst, t.form[at-outpointSize:at]...)
	dst = appendScriptCode(dst, code)
	return append(dst, t.form[at+1:][:sequenceSize]...)
}

// appendUnsequenced writes inputs from one to another, which is left out, with empty scripts and zero sequences.
func (t *Tx) appendUnsequenced(dst []byte, from, to int) []byte {
	for in := from; in < to; in++ {
		at := t.scriptAt(in)
		dst = append(dst, t.form[at-outpointSize:at]...)
		dst = append(dst, 0, 0, 0, 0, 0)
	}
	return dst
}
