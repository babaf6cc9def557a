package script

import (
	"crypto/sha256"
	"encoding/binary"

	"stele/chain"
)

// witness is the signature hash of witness programs of version 0 (BIP143; Core: SignatureHash, SigVersion::WITNESS_V0).
// code is the running script behind the last executed OP_CODESEPARATOR; nothing else is taken out of it.
//
//	| version 4 | prevouts 32 | sequences 32 | outpoint 36 | length, code | value 8 | sequence 4 | outputs 32 |
//	| lock time 4 | hash type 4 |
//
// Hashes that the type leaves out are zero, and so is that of outputs for SIGHASH_SINGLE without an output.
func (h *hashCache) witness(t *Tx, in int, code []byte, hashType uint32) *[32]byte {
	h.at(t, in)
	slot := slotsEach + slotOf(hashType)
	if h.resume(slot, code) {
		return h.finish(hashType)
	}
	var prevouts, sequences, outputs [32]byte
	base := hashType & typeMask
	all := base != sigHashNone && base != sigHashSingle
	if hashType&anyoneCanPay == 0 {
		prevouts = t.shared.prevoutsTwice
		if all {
			sequences = t.shared.sequencesTwice
		}
	}
	switch {
	case all:
		outputs = t.shared.outputsTwice
	case base == sigHashSingle && in < len(t.outs):
		outputs = sha256.Sum256(h.ownOutput(t, in)[:])
	}
	at := t.scriptAt(in)
	dst := binary.LittleEndian.AppendUint32(h.buf[:0], t.row.Version)
	dst = append(dst, prevouts[:]...)
	dst = append(dst, sequences[:]...)
	dst = append(dst, t.form[at-outpointSize:at]...)
	dst = chain.AppendCompactSize(dst, uint64(len(code)))
	dst = append(dst, code...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(t.coins[in].Value))
	dst = append(dst, t.form[at+1:][:sequenceSize]...)
	dst = append(dst, outputs[:]...)
	h.buf = binary.LittleEndian.AppendUint32(dst, t.row.LockTime)
	return h.message(slot, code, hashType)
}
