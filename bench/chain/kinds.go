package chain

import (
	"math/rand/v2"
)

// Kind is a form of output: how it is locked, and by what an input unlocks it.
type Kind uint8

// The kinds. Their keys and signatures:
//
//	what an output has                              what spends it: script | witness
//	WitnessKey     P2WPKH                           | signature, key
//	TaprootKey     P2TR                             | Schnorr signature
//	TaprootLeaf    P2TR of a script                 | Schnorr signature, script, control block
//	KeyHash        P2PKH                            signature, key
//	NestedKey      P2SH of a P2WPKH                 program | signature, key
//	WitnessMulti   P2WSH, two of three keys         | empty, two signatures, script
//	ScriptMulti    P2SH, two of three keys          0, two signatures, script
//	NestedMulti    P2SH of a P2WSH                  program | empty, two signatures, script
//	WitnessDelay   P2WSH, a key and a relative lock | signature, script
//	BareKey        P2PK                             signature
//	BareMulti      one of two keys, bare            0, signature
//	Data           OP_RETURN                        nothing can
const (
	WitnessKey Kind = iota
	TaprootKey
	TaprootLeaf
	KeyHash
	NestedKey
	WitnessMulti
	ScriptMulti
	NestedMulti
	WitnessDelay
	BareKey
	BareMulti
	Data
	Kinds // how many there are
)

var kindNames = [Kinds]string{
	"p2wpkh", "p2tr-key", "p2tr-script", "p2pkh", "p2sh-p2wpkh", "p2wsh-multisig", "p2sh-multisig", "p2sh-p2wsh",
	"p2wsh-csv", "p2pk", "bare-multisig", "op-return",
}

func (k Kind) String() string { return kindNames[k] }

// unlocking is the most that an input of a kind has: bytes of its script with the length in front, of its witness, and
// its signatures. A leaf's script and control block come on top.
var unlocking = [Kinds]struct{ script, witness, signatures int }{
	WitnessKey:   {1, 1 + 73 + 34, 1},
	TaprootKey:   {1, 1 + 65, 1},
	TaprootLeaf:  {1, 1 + 65 + 3 + 1, 1},
	KeyHash:      {1 + 73 + 34, 1, 1},
	NestedKey:    {24, 1 + 73 + 34, 1},
	WitnessMulti: {1, 2 + 2*73 + 1 + multiLen, 2},
	ScriptMulti:  {3 + 1 + 2*73 + 2 + multiLen, 1, 2},
	NestedMulti:  {36, 2 + 2*73 + 1 + multiLen, 2},
	WitnessDelay: {1, 1 + 73 + 39, 1},
	BareKey:      {1 + 73, 1, 1},
	BareMulti:    {2 + 73, 1, 1},
}

// witnessBound is the most that the witness of an input has, in bytes.
func (g *keyring) witnessBound(c *coin) int {
	n := unlocking[c.kind].witness
	if c.kind == TaprootLeaf {
		l := &g.leaves[c.key]
		n += len(l.script) + len(l.control)
	}
	return n
}

// weightBound is the most that an input weighs.
func (g *keyring) weightBound(c *coin) int {
	return 4*(40+unlocking[c.kind].script) + g.witnessBound(c)
}

// hasWitness tells whether what spends a kind has a witness.
func (k Kind) hasWitness() bool { return unlocking[k].witness > 1 }

// someKey draws what an output of a kind is paid to.
func (k Kind) someKey(r *rand.Rand) uint16 {
	if k == TaprootLeaf {
		return uint16(r.IntN(leafCount))
	}
	return uint16(r.IntN(keyCount))
}

// appendScript appends an output's script with its length in front. Those of Data are not the keyring's.
func (g *keyring) appendScript(b []byte, kind Kind, n uint16) []byte {
	k := &g.keys[n%keyCount]
	switch kind {
	case WitnessKey:
		return append(append(b, 22, 0, 20), k.hash[:]...)
	case TaprootKey:
		return append(append(b, 34, 0x51, 32), k.xOnly()...)
	case TaprootLeaf:
		return append(append(b, 34, 0x51, 32), g.leaves[n].output[:]...)
	case KeyHash:
		return appendKeyHash(append(b, 25), k)
	case NestedKey:
		return appendScriptHash(b, &k.nestedKey)
	case WitnessMulti:
		return append(append(b, 34, 0, 32), k.multi[:]...)
	case ScriptMulti:
		return appendScriptHash(b, &k.scriptMulti)
	case NestedMulti:
		return appendScriptHash(b, &k.nestedMulti)
	case WitnessDelay:
		return append(append(b, 34, 0, 32), k.delay[:]...)
	case BareKey:
		return append(appendPush(append(b, 35), k.public[:]), opCheckSig)
	default: // BareMulti
		b = appendPush(append(b, 71, 0x51), k.public[:])
		b = appendPush(b, g.after(n, 1).public[:])
		return append(b, 0x52, opCheckMultiSig)
	}
}

// appendKeyHash appends DUP HASH160 hash EQUALVERIFY CHECKSIG: P2PKH, and what a P2WPKH program stands for.
func appendKeyHash(b []byte, k *key) []byte {
	return append(append(append(b, 0x76, 0xa9, 20), k.hash[:]...), 0x88, opCheckSig)
}

func appendScriptHash(b []byte, hash *[20]byte) []byte {
	return append(append(append(b, 23, 0xa9, 20), hash[:]...), 0x87)
}
