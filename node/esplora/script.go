package esplora

import (
	"encoding/hex"

	"github.com/btcsuite/btcd/address/v2/base58"
	"github.com/btcsuite/btcd/address/v2/bech32"

	"stele/chain"
)

// kind is the pattern that an output script follows.
type kind uint8

const (
	kindUnknown kind = iota
	kindEmpty
	kindOpReturn
	kindPubKey
	kindPubKeyHash
	kindScriptHash
	kindWitnessKeyHash
	kindWitnessScriptHash
	kindTaproot
	kindAnchor
	kindWitnessUnknown
	kindMultisig
)

// kindNames are the values of scriptpubkey_type, and the types of Core's scriptPubKey.
var kindNames = [...]struct{ esplora, core string }{
	kindUnknown:           {"unknown", "nonstandard"},
	kindEmpty:             {"empty", "nonstandard"},
	kindOpReturn:          {"op_return", "nulldata"},
	kindPubKey:            {"p2pk", "pubkey"},
	kindPubKeyHash:        {"p2pkh", "pubkeyhash"},
	kindScriptHash:        {"p2sh", "scripthash"},
	kindWitnessKeyHash:    {"v0_p2wpkh", "witness_v0_keyhash"},
	kindWitnessScriptHash: {"v0_p2wsh", "witness_v0_scripthash"},
	kindTaproot:           {"v1_p2tr", "witness_v1_taproot"},
	kindAnchor:            {"anchor", "anchor"},
	kindWitnessUnknown:    {"unknown", "witness_unknown"},
	kindMultisig:          {"multisig", "multisig"},
}

// classify finds the pattern of an output script. Keys are told by their lengths alone: whether one is a point is for
// who spends to find out.
func classify(s []byte) kind {
	n := len(s)
	switch {
	case n == 0:
		return kindEmpty
	case s[0] == opReturn:
		return kindOpReturn
	case (n == 35 || n == 67) && int(s[0]) == n-2 && s[n-1] == opCheckSig:
		return kindPubKey
	case n == 25 && s[0] == opDup && s[1] == opHash160 && s[2] == 20 && s[23] == opEqualVerify && s[24] == opCheckSig:
		return kindPubKeyHash
	case n == 23 && s[0] == opHash160 && s[1] == 20 && s[22] == opEqual:
		return kindScriptHash
	}
	if version, program, ok := witnessProgram(s); ok {
		return classifyWitness(version, program)
	}
	if multisig(s) {
		return kindMultisig
	}
	return kindUnknown
}

// witnessProgram splits a script that is a version and one push of 2 to 40 bytes (BIP141).
func witnessProgram(s []byte) (version byte, program []byte, ok bool) {
	if len(s) < 4 || len(s) > 42 || int(s[1]) != len(s)-2 {
		return 0, nil, false
	}
	switch {
	case s[0] == op0:
		return 0, s[2:], true
	case s[0] >= op1 && s[0] <= op16:
		return s[0] - op1 + 1, s[2:], true
	}
	return 0, nil, false
}

func classifyWitness(version byte, program []byte) kind {
	switch n := len(program); {
	case version == 0 && n == 20:
		return kindWitnessKeyHash
	case version == 0 && n == 32:
		return kindWitnessScriptHash
	case version == 0:
		return kindUnknown // no such program can be spent
	case version == 1 && n == 32:
		return kindTaproot
	case version == 1 && n == 2 && program[0] == 0x4e && program[1] == 0x73:
		return kindAnchor // pay to anchor: anybody's, for fees
	default:
		return kindWitnessUnknown
	}
}

// multisig tells a bare multisig script: m, n keys of 33 or 65 bytes, n, OP_CHECKMULTISIG.
func multisig(s []byte) bool {
	if len(s) < 3 || s[len(s)-1] != opCheckMultisig || s[0] < op1 || s[0] > op16 {
		return false
	}
	keys := byte(0)
	for rest := s[1 : len(s)-1]; len(rest) > 0; keys++ {
		op, _, after, ok := next(rest)
		switch {
		case ok && (op == 33 || op == 65):
			rest = after
		default:
			return len(rest) == 1 && keys > 0 && rest[0] == op1+keys-1 && s[0] <= rest[0]
		}
	}
	return false
}

// Address returns the address of an output script on a network, "" for a script that has none: a bare key, a bare
// multisig, data, and what follows no pattern. Witness programs of versions to come have theirs (BIP350).
func Address(p *chain.Params, script []byte) string {
	switch classify(script) {
	case kindPubKeyHash:
		return base58.CheckEncode(script[3:23], p.PubKeyHashPrefix)
	case kindScriptHash:
		return base58.CheckEncode(script[2:22], p.ScriptHashPrefix)
	case kindWitnessKeyHash, kindWitnessScriptHash, kindTaproot, kindAnchor, kindWitnessUnknown:
		version, program, _ := witnessProgram(script)
		return segwitAddress(p.HRP, version, program)
	}
	return ""
}

// segwitAddress spells a witness program: bech32 for version 0 (BIP173), bech32m for every later one (BIP350).
func segwitAddress(hrp string, version byte, program []byte) string {
	groups, err := bech32.ConvertBits(program, 8, 5, true)
	if err != nil {
		return ""
	}
	encode := bech32.Encode
	if version > 0 {
		encode = bech32.EncodeM
	}
	s, err := encode(hrp, append([]byte{version}, groups...))
	if err != nil {
		return ""
	}
	return s
}

// Output is Esplora's output: an entry of vout, and a prevout.
type Output struct {
	Script  string `json:"scriptpubkey"`
	Asm     string `json:"scriptpubkey_asm"`
	Type    string `json:"scriptpubkey_type"`
	Address string `json:"scriptpubkey_address,omitempty"`
	Value   int64  `json:"value"` // satoshis
}

func makeOutput(p *chain.Params, value int64, script []byte) Output {
	return Output{
		Script:  hex.EncodeToString(script),
		Asm:     string(AppendAsm(nil, script)),
		Type:    kindNames[classify(script)].esplora,
		Address: Address(p, script),
		Value:   value,
	}
}
