package esplora

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// TestAddresses spells the scripts of Core's key_io_valid.json on each network.
func TestAddresses(t *testing.T) {
	var vectors [][3]json.RawMessage
	if err := json.Unmarshal(realdata.Read(t, "vectors", "core", "key_io_valid.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, v := range vectors {
		var address, script string
		var about struct {
			Chain     string `json:"chain"`
			IsPrivkey bool   `json:"isPrivkey"`
		}
		for i, to := range []any{&address, &script, &about} {
			if err := json.Unmarshal(v[i], to); err != nil {
				t.Fatal(err)
			}
		}
		if about.IsPrivkey {
			continue
		}
		p, err := chain.ParamsByName(about.Chain)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if got := Address(p, unhex(t, script)); got != address {
			t.Errorf("%s on %s: %q, want %q", script, about.Chain, got, address)
		}
	}
	if n != 54 {
		t.Errorf("%d addresses in the vectors, want 54", n)
	}
}

var (
	key33 = "02" + strings.Repeat("11", 32)
	key65 = "04" + strings.Repeat("22", 64)
	key09 = strings.Repeat("09", 33) // of no curve
)

// scripts are what Core and Esplora print of them: public knowledge, for the kinds that the golden transactions lack.
var scripts = []struct{ name, script, esplora, core, asm, coreAsm, address string }{
	{
		"empty", "", "empty", "nonstandard",
		"",
		"", "",
	},
	{
		"compressed key", "21" + key33 + "ac", "p2pk", "pubkey",
		"OP_PUSHBYTES_33 " + key33 + " OP_CHECKSIG",
		key33 + " OP_CHECKSIG", "",
	},
	{
		"key of no curve", "21" + key09 + "ac", "p2pk", "nonstandard",
		"OP_PUSHBYTES_33 " + key09 + " OP_CHECKSIG",
		key09 + " OP_CHECKSIG", "",
	},
	{
		"anchor", "51024e73", "anchor", "anchor",
		"OP_PUSHNUM_1 OP_PUSHBYTES_2 4e73",
		"1 29518", "bc1pfeessrawgf",
	},
	{
		"1 of 2", "5121" + key33 + "41" + key65 + "52ae", "multisig", "multisig",
		"OP_PUSHNUM_1 OP_PUSHBYTES_33 " + key33 + " OP_PUSHBYTES_65 " + key65 + " OP_PUSHNUM_2 OP_CHECKMULTISIG",
		"1 " + key33 + " " + key65 + " 2 OP_CHECKMULTISIG", "",
	},
	{
		"2 of 1", "5221" + key33 + "51ae", "unknown", "nonstandard",
		"OP_PUSHNUM_2 OP_PUSHBYTES_33 " + key33 + " OP_PUSHNUM_1 OP_CHECKMULTISIG",
		"2 " + key33 + " 1 OP_CHECKMULTISIG", "",
	},
	{
		"0 of 0", "0000ae", "unknown", "nonstandard",
		"OP_0 OP_0 OP_CHECKMULTISIG",
		"0 0 OP_CHECKMULTISIG", "",
	},
	{
		"witness version 0 of another length", "00020102", "unknown", "nonstandard",
		"OP_0 OP_PUSHBYTES_2 0102",
		"0 513", "",
	},
	{
		"witness version 2 (BIP350)", "5210751e76e8199196d454941c45d1b3a323", "unknown", "witness_unknown",
		"OP_PUSHNUM_2 OP_PUSHBYTES_16 751e76e8199196d454941c45d1b3a323",
		"2 751e76e8199196d454941c45d1b3a323", "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs",
	},
	{
		"data", "6a0568656c6c6f", "op_return", "nulldata",
		"OP_RETURN OP_PUSHBYTES_5 68656c6c6f",
		"OP_RETURN 68656c6c6f", "",
	},
	{
		"negative number", "028180", "unknown", "nonstandard",
		"OP_PUSHBYTES_2 8180",
		"-129", "",
	},
	{
		"minus one, reserved, locks", "4f50b1b2b0b9", "unknown", "nonstandard",
		"OP_PUSHNUM_NEG1 OP_RESERVED OP_CLTV OP_CSV OP_NOP1 OP_NOP10",
		"-1 OP_RESERVED OP_CHECKLOCKTIMEVERIFY OP_CHECKSEQUENCEVERIFY OP_NOP1 OP_NOP10", "",
	},
	{
		"unknown opcodes", "babbfeff", "unknown", "nonstandard",
		"OP_CHECKSIGADD OP_RETURN_187 OP_RETURN_254 OP_INVALIDOPCODE",
		"OP_CHECKSIGADD OP_UNKNOWN OP_UNKNOWN OP_INVALIDOPCODE", "",
	},
	{
		"push past the end", "7605aabb", "unknown", "nonstandard",
		"OP_DUP OP_PUSHBYTES_5 <push past end>",
		"OP_DUP [error]", "",
	},
	{
		"end inside a length", "764daa", "unknown", "nonstandard",
		"OP_DUP<unexpected end>",
		"OP_DUP [error]", "",
	},
	{
		"long pushes", "4c01aa4d0100bb4e01000000cc4c00", "unknown", "nonstandard",
		"OP_PUSHDATA1 aa OP_PUSHDATA2 bb OP_PUSHDATA4 cc OP_PUSHDATA1",
		"-42 -59 -76 0", "",
	},
}

// TestScripts compares pattern, text and address.
func TestScripts(t *testing.T) {
	for _, c := range scripts {
		script := unhex(t, c.script)
		got := makeOutput(chain.Main(), 0, script)
		if got.Type != c.esplora || got.Asm != c.asm || got.Address != c.address {
			t.Errorf("%s: %q %q %q", c.name, got.Type, got.Asm, got.Address)
		}
		if asm := string(AppendCoreAsm(nil, script)); coreType(script) != c.core || asm != c.coreAsm {
			t.Errorf("%s: Core would say %q %q", c.name, coreType(script), asm)
		}
	}
}

// assemble reads text of AppendAsm back; false where it tells of a script that cannot be parsed.
func assemble(text string, opcodes map[string]byte) (script []byte, ok bool) {
	if strings.Contains(text, "<") {
		return nil, false
	}
	words := strings.Fields(text)
	for len(words) > 0 {
		op, known := opcodes[words[0]]
		if !known {
			return nil, false
		}
		name := words[0]
		words = words[1:]
		script = append(script, op)
		if !strings.HasPrefix(name, "OP_PUSHBYTES_") && !strings.HasPrefix(name, "OP_PUSHDATA") {
			continue
		}
		var data []byte
		if len(words) > 0 && !strings.HasPrefix(words[0], "OP_") {
			data, _ = hex.DecodeString(words[0])
			words = words[1:]
		}
		switch name {
		case "OP_PUSHDATA1":
			script = append(script, byte(len(data)))
		case "OP_PUSHDATA2":
			script = binary.LittleEndian.AppendUint16(script, uint16(len(data)))
		case "OP_PUSHDATA4":
			script = binary.LittleEndian.AppendUint32(script, uint32(len(data)))
		default:
			if name != "OP_PUSHBYTES_"+strconv.Itoa(len(data)) {
				return nil, false
			}
		}
		script = append(script, data...)
	}
	return script, true
}

// opcodesByName asks the spelling of every opcode; a push is asked with all that it wants.
func opcodesByName(t testing.TB) map[string]byte {
	m := map[string]byte{}
	for op := range 256 {
		script := append([]byte{byte(op)}, make([]byte, 76)...)
		name, _, _ := strings.Cut(string(AppendAsm(nil, script)), " ")
		if _, twice := m[name]; twice {
			t.Fatalf("two opcodes are called %q", name)
		}
		m[name] = byte(op)
	}
	return m
}

// FuzzAsm: text without an error mark is the whole script, and a script that cannot be parsed bears a mark in both
// dialects.
func FuzzAsm(f *testing.F) {
	for _, c := range scripts {
		f.Add(unhex(f, c.script))
	}
	for _, s := range []string{"4c", "4d01", "4e01000000", "6a4c50", "05aa", "51ae", "0000", "4e000000ff00"} {
		f.Add(unhex(f, s))
	}
	opcodes := opcodesByName(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		text := string(AppendAsm(nil, script))
		back, whole := assemble(text, opcodes)
		if whole && !bytes.Equal(back, script) {
			t.Fatalf("%x reads %q, which is %x", script, text, back)
		}
		core := string(AppendCoreAsm(nil, script))
		if marked := strings.HasSuffix(core, "[error]"); marked == whole {
			t.Fatalf("%x: whole %v, but Core's text is %q", script, whole, core)
		}
		if a := Address(chain.Main(), script); a != "" && len(script) > 42 {
			t.Fatalf("%x has an address: %s", script, a)
		}
		_ = coreType(script)
	})
}
