package codec

import (
	"encoding/binary"

	"stele/chain"
)

// Kinds of a transaction's input head.
const (
	HeadVerbatim = 0 // no input has a witness: the transaction is in the old serialisation
	HeadWitness  = 1 // every input carries a witness stack, as BIP144 serialises it
)

// HeadSize is the length of an input head: kind, version, lock time.
const HeadSize = 1 + 4 + 4

// Head is what a transaction's run of inputs starts with.
type Head struct {
	Version, LockTime uint32
	Witness           bool
}

// AppendHead appends the input head of a transaction.
func AppendHead(dst []byte, h Head) []byte {
	kind := byte(HeadVerbatim)
	if h.Witness {
		kind = HeadWitness
	}
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, h.Version)
	return binary.LittleEndian.AppendUint32(dst, h.LockTime)
}

// DecodeHead reads the input head at the start of b.
func DecodeHead(b []byte) (h Head, ok bool) {
	if len(b) < HeadSize || b[0] > HeadWitness {
		return Head{}, false
	}
	return Head{
		Version:  binary.LittleEndian.Uint32(b[1:]),
		LockTime: binary.LittleEndian.Uint32(b[5:]),
		Witness:  b[0] == HeadWitness,
	}, true
}

// Input is one decoded input. Script is a view of the slab, and so is Witness: the stack in its BIP144 form, the
// item count included, empty when the head says that the transaction has no witness.
type Input struct {
	Sequence uint32
	Script   []byte
	Witness  []byte
}

// AppendInput appends the slab form of an input. witness is the stack in its BIP144 form, or empty in a transaction
// without witness.
func AppendInput(dst []byte, sequence uint32, script, witness []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, sequence)
	dst = chain.AppendCompactSize(dst, uint64(len(script)))
	dst = append(dst, script...)
	return append(dst, witness...)
}

// DecodeInput reads the input at the start of b, of a transaction with or without witness, and its length n.
func DecodeInput(b []byte, witness bool) (in Input, n int, ok bool) {
	if len(b) < 4 {
		return Input{}, 0, false
	}
	in.Sequence = binary.LittleEndian.Uint32(b)
	script, size, ok := bytesField(b[4:])
	if !ok {
		return Input{}, 0, false
	}
	in.Script = script
	n = 4 + size
	if witness {
		size, ok = stackSize(b[n:])
		if !ok {
			return Input{}, 0, false
		}
		in.Witness = b[n : n+size : n+size]
		n += size
	}
	return in, n, true
}

// SkipInput returns the length of the input at the start of b.
func SkipInput(b []byte, witness bool) (n int, ok bool) {
	_, n, ok = DecodeInput(b, witness)
	return n, ok
}

// stackSize returns the bytes of the witness stack at the start of b.
func stackSize(b []byte) (n int, ok bool) {
	items, n, ok := chain.CompactSize(b)
	if !ok {
		return 0, false
	}
	for ; items > 0; items-- {
		_, size, ok := bytesField(b[n:])
		if !ok {
			return 0, false
		}
		n += size
	}
	return n, true
}
