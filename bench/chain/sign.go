package chain

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/btcsuite/btcd/btcec/v2"

	wire "stele/chain"
)

// script appends the input script of input n with its length in front. It is what the txid depends on, so the inputs of
// kinds that sign in it are signed before any transaction can spend this one.
func (s *signer) script(b []byte, n int) []byte {
	in := &s.ins[n]
	k := &s.ring.keys[in.key]
	at := len(b)
	b = append(b, 0) // the length, once it is known
	switch in.kind {
	case KeyHash:
		s.code = appendKeyHash(s.code[:0], k)
		b = s.ecdsa(b, in.key, s.legacy(n, s.code))
		b = appendPush(b, k.public[:])
	case NestedKey:
		b = append(append(b, 22, 0, 20), k.hash[:]...)
	case NestedMulti:
		b = append(append(b, 34, 0, 32), k.multi[:]...)
	case ScriptMulti:
		s.code = s.ring.appendMulti(s.code[:0], in.key)
		hash := s.legacy(n, s.code)
		b = s.ecdsa(append(b, 0), in.key, hash)
		b = s.ecdsa(b, in.key+2, hash)
		b = appendPush(b, s.code)
	case BareKey, BareMulti:
		s.code = s.ring.appendScript(s.code[:0], in.kind, in.key)
		hash := s.legacy(n, s.code[1:])
		if in.kind == BareMulti {
			b = append(b, 0)
		}
		b = s.ecdsa(b, in.key, hash)
	}
	size := len(b) - at - 1
	if size < 253 {
		b[at] = byte(size)
		return b
	}
	b = append(b, 0, 0)
	copy(b[at+3:], b[at+1:])
	b[at] = 0xfd
	binary.LittleEndian.PutUint16(b[at+1:], uint16(size))
	return b
}

// witness appends the stack of input n, which is empty where its kind has none.
func (s *signer) witness(b []byte, n int) []byte {
	in := &s.ins[n]
	k := &s.ring.keys[in.key]
	switch in.kind {
	case WitnessKey, NestedKey:
		s.code = appendKeyHash(s.code[:0], k)
		b = s.ecdsa(append(b, 2), in.key, s.version0(n, s.code))
		return appendPush(b, k.public[:])
	case WitnessMulti, NestedMulti:
		s.code = s.ring.appendMulti(s.code[:0], in.key)
		hash := s.version0(n, s.code)
		b = s.ecdsa(append(b, 4, 0), in.key, hash)
		b = s.ecdsa(b, in.key+2, hash)
		return append(append(b, multiLen), s.code...)
	case WitnessDelay:
		s.code = s.ring.appendDelayed(s.code[:0], in.key)
		b = s.ecdsa(append(b, 2), in.key, s.version0(n, s.code))
		return append(append(b, byte(len(s.code))), s.code...)
	case TaprootKey:
		return s.schnorr(append(b, 1), in.key, s.version1(n, nil))
	case TaprootLeaf:
		l := &s.ring.leaves[in.key]
		b = s.schnorr(append(b, 3), l.signer, s.version1(n, l))
		b = wire.AppendCompactSize(b, uint64(len(l.script)))
		b = append(b, l.script...)
		return append(append(b, byte(len(l.control))), l.control...)
	default:
		return append(b, 0)
	}
}

// choose picks the nonce for a message and a key: the same one for the same two, whoever signs, and when.
func (s *signer) choose(key uint16, hash *[32]byte) *nonce {
	return &s.ring.nonces[(binary.LittleEndian.Uint16(hash[:])+key)%nonceCount]
}

// ecdsa appends the push of a signature with SIGHASH_ALL: strict DER, and the lower of the two s.
func (s *signer) ecdsa(b []byte, key uint16, hash *[32]byte) []byte {
	at := len(b)
	b = append(b, 0, 0x30, 0)
	if s.signed {
		k := s.choose(key, hash)
		var z, answer btcec.ModNScalar
		z.SetBytes(hash)
		answer.Mul2(&k.r, &s.ring.keys[key%keyCount].secret).Add(&z).Mul(&k.inverse)
		if answer.IsOverHalfOrder() {
			answer.Negate()
		}
		low := answer.Bytes()
		b = appendInteger(b, &k.x)
		b = appendInteger(b, &low)
	} else {
		b = appendInteger(b, s.madeUp())
		low := s.madeUp()
		low[0] = low[0]&0x3f | 1
		b = appendInteger(b, low)
	}
	b[at+2] = byte(len(b) - at - 3)
	b = append(b, sighashAll)
	b[at] = byte(len(b) - at - 1)
	return b
}

// appendInteger appends a positive DER integer: tag, length, and as few bytes as leave the top bit clear.
func appendInteger(b []byte, v *[32]byte) []byte {
	from := 0
	for from < len(v)-1 && v[from] == 0 {
		from++
	}
	n := byte(len(v) - from)
	if v[from]&0x80 != 0 {
		return append(append(b, 0x02, n+1, 0), v[from:]...)
	}
	return append(append(b, 0x02, n), v[from:]...)
}

// schnorr appends the push of a signature of BIP340.
func (s *signer) schnorr(b []byte, key uint16, hash *[32]byte) []byte {
	if !s.signed {
		b = append(append(b, 64), s.madeUp()[:]...)
		return append(b, s.madeUp()[:]...)
	}
	k, by := s.choose(key, hash), &s.ring.keys[key]
	var question [64 + 96]byte
	copy(question[:], bip0340Answer[:])
	copy(question[64:], k.x[:])
	copy(question[96:], by.xOnly())
	copy(question[128:], hash[:])
	e := sha256.Sum256(question[:])
	var answer btcec.ModNScalar
	answer.SetBytes(&e)
	answer.Mul(&by.even).Add(&k.k)
	n := answer.Bytes()
	b = append(append(b, 64), k.x[:]...)
	return append(b, n[:]...)
}
