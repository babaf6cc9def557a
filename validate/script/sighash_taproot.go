package script

import (
	"crypto/sha256"
	"encoding/binary"

	"stele/chain"
)

// tapContext is what a taproot signature commits to beside the transaction.
type tapContext struct {
	script    bool     // a check of a leaf's script (BIP342), and not the key path
	leaf      [32]byte // tapleaf hash; of scripts only, as is separator
	separator uint32   // index of the last executed OP_CODESEPARATOR among the script's opcodes; all ones: none

	annex     bool
	annexHash [32]byte // SHA-256 of the annex with its length before it
}

// tagPrefix is what a tagged hash of BIP340 begins with: the tag's hash, twice.
func tagPrefix(tag string) (prefix [64]byte) {
	sum := sha256.Sum256([]byte(tag))
	copy(prefix[copy(prefix[:], sum[:]):], sum[:])
	return prefix
}

var tapSigHash = tagPrefix("TapSighash")

// taprootType tells whether a signature may have that type: DEFAULT, ALL, NONE or SINGLE, the latter three also with
// ANYONECANPAY, and no other bit.
func taprootType(hashType byte) bool {
	return hashType <= sigHashSingle || hashType > anyoneCanPay && hashType <= anyoneCanPay|sigHashSingle
}

// taproot is the signature hash of witness programs of version 1 (BIP341; Core: SignatureHashSchnorr). It does not exist
// for types that taprootType refuses, and for SIGHASH_SINGLE without an output.
//
//	| tag 64 | epoch 0 | type | version 4 | lock time 4 |
//	| prevouts 32 | amounts 32 | scripts 32 | sequences 32 |     without ANYONECANPAY
//	| outputs 32 |                                              DEFAULT, ALL
//	| 2*script + annex |
//	| outpoint 36 | value 8 | length, script | sequence 4 |     with ANYONECANPAY, of the coin
//	| index 4 |                                                 without
//	| annex 32 |                                                if there is one
//	| output 32 |                                               SINGLE
//	| leaf 32 | key version 0 | separator 4 |                   in scripts
func (h *hashCache) taproot(t *Tx, in int, x *tapContext, hashType byte) (*[32]byte, bool) {
	single := hashType&^anyoneCanPay == sigHashSingle
	if !taprootType(hashType) || single && in >= len(t.outs) {
		return nil, false
	}
	h.at(t, in)
	dst := append(h.buf[:0], tapSigHash[:]...)
	dst = append(dst, 0, hashType)
	dst = binary.LittleEndian.AppendUint32(dst, t.row.Version)
	dst = binary.LittleEndian.AppendUint32(dst, t.row.LockTime)
	s := &t.shared
	if hashType&anyoneCanPay == 0 {
		dst = append(dst, s.prevouts[:]...)
		dst = append(dst, s.amounts[:]...)
		dst = append(dst, s.scripts[:]...)
		dst = append(dst, s.sequences[:]...)
	}
	if base := hashType &^ anyoneCanPay; base != sigHashNone && !single {
		dst = append(dst, s.outputs[:]...)
	}
	dst = append(dst, spendType(x))
	if hashType&anyoneCanPay == 0 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(in))
	} else {
		at, coin := t.scriptAt(in), &t.coins[in]
		dst = append(dst, t.form[at-outpointSize:at]...)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(coin.Value))
		dst = chain.AppendCompactSize(dst, uint64(len(coin.Script)))
		dst = append(dst, coin.Script...)
		dst = append(dst, t.form[at+1:][:sequenceSize]...)
	}
	if x.annex {
		dst = append(dst, x.annexHash[:]...)
	}
	if single {
		dst = append(dst, h.ownOutput(t, in)[:]...)
	}
	if x.script {
		dst = append(dst, x.leaf[:]...)
		dst = append(dst, 0)
		dst = binary.LittleEndian.AppendUint32(dst, x.separator)
	}
	h.buf = dst
	h.sum = sha256.Sum256(dst)
	return &h.sum, true
}

func spendType(x *tapContext) (kind byte) {
	if x.script {
		kind = 2
	}
	if x.annex {
		kind++
	}
	return kind
}
