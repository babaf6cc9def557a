package codec

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// everyString calls f for every string of a JSON value.
func everyString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, one := range v {
			everyString(one, f)
		}
	case map[string]any:
		for _, one := range v {
			everyString(one, f)
		}
	}
}

// TestVectors sends every byte string of the published vectors through the codecs: signatures good and bad, keys,
// scripts and whole transactions, each as an output script, as an input script, as a push, and as items.
func TestVectors(t *testing.T) {
	var s surviving
	paths, err := filepath.Glob(filepath.Join(realdata.Path(t, "vectors", "core"), "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for i, path := range paths {
		paths[i] = filepath.Join("core", filepath.Base(path))
	}
	txs := 0
	for _, path := range append(paths, "ecdsa_secp256k1_sha256_bitcoin_wycheproof.json") {
		var v any
		if err := json.Unmarshal(realdata.Read(t, "vectors", path), &v); err != nil {
			t.Fatal(err)
		}
		everyString(v, func(text string) {
			raw, err := hex.DecodeString(text)
			if err != nil || len(raw) == 0 {
				return
			}
			var b chain.Block
			if b.DecodeTx(raw) == nil {
				s.check(t, path, &b)
				txs++
			}
			s.everywhere(t, path, raw)
		})
	}
	t.Logf("%d outputs, %d inputs, %d transactions", s.outs, s.ins, txs)
	if txs < 500 || s.ins < 10_000 {
		t.Error("the vectors hold fewer transactions than they should")
	}
}

// everywhere puts one byte string in every place.
func (s *surviving) everywhere(t *testing.T, name string, b []byte) {
	s.output(t, name, 546, b)
	s.output(t, name, 0, b)
	key := append([]byte{3}, make([]byte, 32)...)
	for _, b := range [][]byte{b, append(b[:len(b):len(b)], hashAll), append(b[:len(b):len(b)], 0x83)} {
		for _, items := range [][][]byte{{b}, {b, key}, {nil, b, append([]byte{0x51, 33}, append(key, 0x51, 0xae)...)}} {
			s.input(t, name, 1<<32-1, b, nil)
			s.input(t, name, 1<<32-2, b, stackOf(items))
			s.input(t, name, 0, pushesOf(items), nil)
			s.input(t, name, 9, nil, stackOf(items))
			program := chain.Hash160(items[len(items)-1])
			s.input(t, name, 0, append([]byte(nestedWPKH), program[:]...), stackOf(items))
		}
	}
}

// assemble turns the notation of Core's script_tests.json into bytes: 0x raw bytes, 'text' pushed, numbers pushed, and
// names of opcodes.
func assemble(t *testing.T, text string) (script []byte) {
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		op, known := txscript.OpcodeByName["OP_"+word]
		switch {
		case err == nil && (n == -1 || n >= 1 && n <= 16):
			script = append(script, byte(0x50+n))
		case err == nil && n == 0:
			script = append(script, 0)
		case err == nil:
			data := scriptNumber(n)
			script = append(appendPush(script, len(data)), data...)
		case strings.HasPrefix(word, "0x"):
			script = append(script, unhex(t, word[2:])...)
		case strings.HasPrefix(word, "'"):
			data := strings.Trim(word, "'")
			script = append(appendPush(script, len(data)), data...)
		case known:
			script = append(script, op)
		default:
			if op, known = txscript.OpcodeByName[word]; !known {
				t.Fatalf("script %q: what is %q?", text, word)
			}
			script = append(script, op)
		}
	}
	return script
}

// scriptNumber is a number as scripts have it: little-endian, the sign in the top bit.
func scriptNumber(n int64) []byte {
	u := uint64(max(n, -n))
	b := binary.LittleEndian.AppendUint64(nil, u)
	for len(b) > 1 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	if b[len(b)-1] >= 0x80 {
		b = append(b, 0)
	}
	if n < 0 {
		b[len(b)-1] |= 0x80
	}
	return b
}

// TestScriptVectors sends the scripts and stacks of Core's script_tests.json through the codecs.
func TestScriptVectors(t *testing.T) {
	var s surviving
	var tests [][]any
	if err := json.Unmarshal(realdata.Read(t, "vectors", "core", "script_tests.json"), &tests); err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, test := range tests {
		var items []string
		if len(test) > 0 {
			if list, ok := test[0].([]any); ok {
				for _, one := range list[:len(list)-1] {
					if text, ok := one.(string); ok && !strings.HasPrefix(text, "#") {
						items = append(items, text)
					}
				}
				test = test[1:]
			}
		}
		if len(test) < 4 {
			continue // a comment
		}
		sig, key := test[0].(string), test[1].(string)
		if strings.Contains(key, "#") || strings.Contains(sig, "#") {
			continue // placeholders of a taproot output
		}
		script := assemble(t, sig)
		s.spend(t, script, items)
		s.output(t, key, 0, assemble(t, key))
		s.output(t, sig, 1, script)
		entries++
	}
	if entries < 1_100 {
		t.Errorf("%d entries", entries)
	}
}
