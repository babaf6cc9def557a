package script

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"stele/chain"
)

// yes answers every question with yes.
type yes struct{}

func (yes) Name() string                                       { return "yes" }
func (yes) ECDSA([]byte, *[64]byte, *[32]byte) bool            { return true }
func (yes) Schnorr(_ *[32]byte, _ *[64]byte, _ *[32]byte) bool { return true }
func (yes) Tweak(_, _, _ *[32]byte, _ bool) bool               { return true }

// no answers every question with no.
type no struct{ yes }

func (no) ECDSA([]byte, *[64]byte, *[32]byte) bool            { return false }
func (no) Schnorr(_ *[32]byte, _ *[64]byte, _ *[32]byte) bool { return false }
func (no) Tweak(_, _, _ *[32]byte, _ bool) bool               { return false }

// build makes a script: bytes are opcodes, numbers are pushed as Core's CScript << int64 does, byte slices as CScript
// << vector, and scripts are put in as they are.
func build(parts ...any) script {
	var s script
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			s = append(s, p)
		case rune:
			panic("opcodes are bytes")
		case int:
			s = append(s, numberPush(int64(p))...)
		case int64:
			s = append(s, numberPush(p)...)
		case []byte:
			s = append(appendPushHeader(s, len(p)), p...)
		case script:
			s = append(s, p...)
		default:
			panic("not a part of a script")
		}
	}
	return s
}

// script is bytes that build does not push.
type script []byte

func numberPush(n int64) []byte {
	switch {
	case n == 0:
		return []byte{op0}
	case n == -1 || n >= 1 && n <= 16:
		return []byte{byte(n + op1 - 1)}
	}
	b := numberBytes(n)
	return append(appendPushHeader(nil, len(b)), b...)
}

// spending is one input of a transaction with two outputs.
type spending struct {
	name          string
	version, lock uint32
	sequence      uint32
	input, output []byte
	witness       [][]byte
	tx            Tx
}

// ready makes the transaction.
func (s *spending) ready(tb testing.TB) *spending {
	tb.Helper()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, s.version)
	if len(s.witness) > 0 {
		b = append(b, 0, 1)
	}
	b = append(b, 1)
	b = append(b, make([]byte, 36)...)
	b = append(chain.AppendCompactSize(b, uint64(len(s.input))), s.input...)
	b = le.AppendUint32(b, s.sequence)
	b = append(b, 2)
	for i := range 2 {
		out := build(byte(opDup), byte(opHash160), make([]byte, 20), byte(opEqualVerify), byte(opCheckSig))
		b = le.AppendUint64(b, uint64(1000+i))
		b = append(append(b, byte(len(out))), out...)
	}
	if len(s.witness) > 0 {
		b = chain.AppendCompactSize(b, uint64(len(s.witness)))
		for _, item := range s.witness {
			b = append(chain.AppendCompactSize(b, uint64(len(item))), item...)
		}
	}
	b = le.AppendUint32(b, s.lock)
	block := new(chain.Block)
	if err := block.DecodeTx(b); err != nil {
		tb.Fatal(err)
	}
	s.tx.Reset(block, 0, []chain.Coin{{Value: 5000, Script: s.output}})
	return s
}

// A signature of the strict form with the type ALL, and keys with the right first bytes. They are no real ones.
var (
	someSig = func() []byte {
		sig := []byte{0x30, 70, 2, 33, 0}
		sig = append(sig, bytesOf(0xab, 32)...)
		sig = append(sig, 2, 33, 0)
		sig = append(sig, bytesOf(0xcd, 32)...)
		return append(sig, 1)
	}()
	someKey   = append([]byte{2}, bytesOf(0x11, 32)...)
	otherKey  = append([]byte{3}, bytesOf(0x22, 32)...)
	thirdKey  = append([]byte{4}, bytesOf(0x33, 64)...)
	schnorr64 = bytesOf(0x44, 64)
)

func bytesOf(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}

func hash160(b []byte) []byte {
	h := chain.Hash160(b)
	return h[:]
}

func payToHash(redeem []byte) []byte {
	return build(byte(opHash160), hash160(redeem), byte(opEqual))
}

func payToWitness(witnessScript []byte) []byte {
	h := sha256.Sum256(witnessScript)
	return build(0, h[:])
}

// usualSpends are the forms that nearly all inputs of the chain have.
func usualSpends(tb testing.TB) []*spending {
	keyHash := build(byte(opDup), byte(opHash160), hash160(someKey), byte(opEqualVerify), byte(opCheckSig))
	program := build(0, hash160(someKey))
	multi := build(2, someKey, otherKey, thirdKey, 3, byte(opCheckMultisig))
	all := build(2, someKey, otherKey, 2, byte(opCheckMultisig))
	leaf := build(bytesOf(0x55, 32), byte(opCheckSig))
	spends := []*spending{
		{name: "P2PK", output: build(someKey, byte(opCheckSig)), input: build(someSig)},
		{name: "P2PKH", output: keyHash, input: build(someSig, someKey)},
		{name: "P2SH-multisig", output: payToHash(multi), input: build(0, someSig, someSig, []byte(multi))},
		{name: "bare-multisig", output: all, input: build(0, someSig, someSig)},
		{name: "P2WPKH", output: program, witness: [][]byte{someSig, someKey}},
		{name: "P2SH-P2WPKH", output: payToHash(program), input: build([]byte(program)), witness: [][]byte{someSig, someKey}},
		{name: "P2WSH-multisig", output: payToWitness(multi), witness: [][]byte{nil, someSig, someSig, multi}},
		{name: "P2TR-key", output: build(1, bytesOf(0x66, 32)), witness: [][]byte{schnorr64}},
		{name: "P2TR-script", output: build(1, bytesOf(0x66, 32)),
			witness: [][]byte{schnorr64, leaf, control(leafTapscript, 2)}},
	}
	for _, s := range spends {
		s.version, s.sequence = 2, sequenceFinal
		s.ready(tb)
	}
	return spends
}

// numberBytes is the form of a number, written down from its definition and not by the code under test.
func numberBytes(n int64) []byte {
	if n == 0 {
		return nil
	}
	negative, m := n < 0, uint64(n)
	if negative {
		m = -m
	}
	var b []byte
	for ; m > 0; m /= 256 {
		b = append(b, byte(m%256))
	}
	if b[len(b)-1] >= 128 {
		b = append(b, 0)
	}
	if negative {
		b[len(b)-1] += 128
	}
	return b
}
