package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// Pieces of the golden bytes. Signatures are spelt out twice: as DER behind its length, and packed.
var (
	x    = strings.Repeat("a1", 32)
	x2   = strings.Repeat("c3", 32)
	y    = strings.Repeat("b2", 32)
	h20  = strings.Repeat("d4", 20)
	hash = strings.Repeat("e5", 32)

	// r and s of 32 bytes: 71 bytes with the hash type.
	r   = "7f" + strings.Repeat("11", 31)
	s   = "35" + strings.Repeat("22", 31)
	der = "47" + "30 44 02 20" + r + "02 20" + s // hash type follows

	// r with its top bit set takes a zero before it; s of 29 bytes: 69 bytes.
	rHigh  = "91" + strings.Repeat("33", 31)
	sShort = "000000" + "41" + strings.Repeat("44", 28)
	derOdd = "45" + "30 42 02 21 00" + rHigh + "02 1d" + "41" + strings.Repeat("44", 28)

	// Scripts of 1 and 2 of 2, and SHA-256 of them.
	oneOfTwo  = "51" + "21 02" + x + "21 03" + x2 + "52 ae"
	twoOfTwo  = "52" + "21 02" + x + "21 03" + x2 + "52 ae"
	oneHashed = "a4a90dd058f8fa22ba35e4d052214d72f1977a5c229267b6f7c380fd447f9caa"
	twoHashed = "de6dd142cfbdeb3022d4def457001d315c4726e6834608a772d897a9cda12a89"

	// HASH160 of x with 02 and 03 before it, and of x, y with 04.
	evenHashed = "e867a343f225e543381b8c087719dec32b01fb75"
	oddHashed  = "b643fe0ce8827bc3f7ab44ba0f90c38a494b6231"
	fullHashed = "ede718417fa45cf82e98286eb8fb3fd92f9deb20"

	// Some script, and SHA-256 of it.
	other       = "a9 14" + h20 + "87"
	otherHashed = "c3331c11c4e5026fca63c31d1dcb7afb06ad46887d5a5a24476d369e8ad7c8b3"

	leaf = "20" + x + "ac"
)

// The inputs' golden bytes: script and stack as on the wire, and the run.
var inputText = []struct {
	name, sequence, script, witness, run string
}{
	// Kind 00 and 05: a sequence number of its own follows the kind.
	{"script and items", "04030201", "51", "01" + "01 07", "00" + "04030201" + "01 51" + "01" + "01 07"},
	{"script", "04030201", "51", "", "05" + "04030201" + "01 51"},
	{"script, empty stack", "ffffffff", "51", "00", "06" + "01 51"},
	{"coinbase", "fdffffff", "03a0bb0d", "01" + "04 00000000", "03" + "04 03a0bb0d" + "01" + "04 00000000"},

	// ff among items: a packed signature, its hash type last.
	{"items", "feffffff", "", "03" + "00" + der + "83" + "02 5187", "0c" + "03" + "00" + "ff" + r + s + "83" + "02 5187"},
	{"items, P2SH", "00000000", "22 00 20" + otherHashed, "02" + derOdd + "01" + "17" + other,
		"13" + "02" + "ff" + rHigh + sShort + "01" + "17" + other},

	// m-1 and n-1 in a byte, signatures, one bit a key, keys.
	{"1 of 2, P2SH", "ffffffff", "00" + der + "01" + "47" + oneOfTwo, "", "15" + "01" + r + s + "02" + x + x2},
	{"2 of 2, P2WSH", "ffffffff", "", "04" + "00" + der + "01" + derOdd + "01" + "47" + twoOfTwo,
		"1a" + "11" + r + s + rHigh + sShort + "02" + x + x2},
	{"2 of 2, P2SH-P2WSH", "fdffffff", "22 00 20" + twoHashed, "04" + "00" + der + "01" + der + "01" + "47" + twoOfTwo,
		"21" + "11" + r + s + r + s + "02" + x + x2},
	{"1 of 2, P2SH-P2WSH", "fdffffff", "22 00 20" + oneHashed, "03" + "00" + der + "01" + "47" + oneOfTwo,
		"21" + "01" + r + s + "02" + x + x2},

	{"taproot key", "fdffffff", "", "01" + "40" + r + s, "26" + r + s},
	{"taproot key, type", "fdffffff", "", "01" + "41" + r + s + "81", "2b" + r + s + "81"},

	// Flags 02: the script pushes the internal key. 0d: c1, a signature of 65 bytes, one hash.
	{"tapscript, key", "fdffffff", "", "03" + "40" + r + s + "22" + leaf + "21 c0" + x, "30" + "02" + r + s + "22" + leaf},
	{"tapscript, hash", "fdffffff", "", "03" + "41" + r + s + "01" + "22" + leaf + "41 c1" + y + hash,
		"30" + "0d" + r + s + "01" + "22" + leaf + y + hash},

	{"P2PK", "ffffffff", der + "01", "", "33" + r + s},
	{"P2PK, type", "ffffffff", der + "03", "", "38" + r + s + "03"},

	{"P2PKH, even", "ffffffff", der + "01" + "21 02" + x, "", "3d" + r + s + x},
	{"P2PKH, odd", "feffffff", derOdd + "01" + "21 03" + x, "00", "43" + rHigh + sShort + x},
	{"P2PKH, full", "ffffffff", der + "01" + "41 04" + x + y, "", "47" + r + s + x + y},
	{"P2PKH, even, type", "ffffffff", der + "02" + "21 02" + x, "", "4c" + r + s + "02" + x},
	{"P2PKH, odd, type", "ffffffff", der + "00" + "21 03" + x, "", "51" + r + s + "00" + x},
	{"P2PKH, full, type", "ffffffff", der + "83" + "41 04" + x + y, "", "56" + r + s + "83" + x + y},

	{"P2WPKH, even", "ffffffff", "", "02" + der + "01" + "21 02" + x, "5b" + r + s + x},
	{"P2WPKH, odd", "ffffffff", "", "02" + der + "01" + "21 03" + x, "60" + r + s + x},
	{"P2WPKH, full", "ffffffff", "", "02" + der + "01" + "41 04" + x + y, "65" + r + s + x + y},
	{"P2WPKH, even, type", "ffffffff", "", "02" + der + "02" + "21 02" + x, "6a" + r + s + "02" + x},
	{"P2WPKH, odd, type", "ffffffff", "", "02" + der + "02" + "21 03" + x, "6f" + r + s + "02" + x},
	{"P2WPKH, full, type", "ffffffff", "", "02" + der + "02" + "41 04" + x + y, "74" + r + s + "02" + x + y},

	{"nested, even", "ffffffff", "16 00 14" + evenHashed, "02" + der + "01" + "21 02" + x, "79" + r + s + x},
	{"nested, odd", "ffffffff", "16 00 14" + oddHashed, "02" + der + "01" + "21 03" + x, "7e" + r + s + x},
	{"nested, full", "ffffffff", "16 00 14" + fullHashed, "02" + der + "01" + "41 04" + x + y, "83" + r + s + x + y},
	{"nested, even, type", "ffffffff", "16 00 14" + evenHashed, "02" + der + "02" + "21 02" + x, "88" + r + s + "02" + x},
	{"nested, odd, type", "ffffffff", "16 00 14" + oddHashed, "02" + der + "02" + "21 03" + x, "8d" + r + s + "02" + x},
	{"nested, full, type", "00000000", "16 00 14" + fullHashed, "02" + der + "02" + "41 04" + x + y,
		"95" + r + s + "02" + x + y},

	// The program of another key: as on the wire.
	{"nested, wrong", "ffffffff", "16 00 14" + oddHashed, "02" + der + "01" + "21 02" + x,
		"01" + "17" + "16 00 14" + oddHashed + "02" + der + "01" + "21 02" + x},
}

// The outputs' golden bytes: amount and script as on the wire, and the run. The kind is 24 × template + class.
var outputText = []struct {
	name, value, script, run string
}{
	{"8 bytes", "0000000000000080", "51", "00" + "0000000000000080" + "01 51"},
	{"nothing", "0000000000000000", "", "01" + "00"},
	{"294", "2601000000000000", "51", "02" + "01 51"},
	{"330", "4a01000000000000", "51", "03" + "01 51"},
	{"546", "2202000000000000", "51", "04" + "01 51"},
	{"10,000", "1027000000000000", "51", "05" + "01 51"},
	{"100,000", "a086010000000000", "51", "06" + "01 51"},
	{"1,000,000", "40420f0000000000", "51", "07" + "01 51"},
	{"1 byte", "ff00000000000000", "51", "08" + "ff" + "01 51"},
	{"2 bytes", "ffff000000000000", "51", "09" + "ffff" + "01 51"},
	{"3 bytes", "ffffff0000000000", "51", "0a" + "ffffff" + "01 51"},
	{"4 bytes", "ffffffff00000000", "51", "0b" + "ffffffff" + "01 51"},
	{"5 bytes", "ffffffffff000000", "51", "0c" + "ffffffffff" + "01 51"},
	{"6 bytes", "ffffffffffff0000", "51", "0d" + "ffffffffffff" + "01 51"},
	{"7 bytes", "ffffffffffffff00", "51", "00" + "ffffffffffffff00" + "01 51"},
	{"× 10, 1 byte", "f609000000000000", "51", "0e" + "ff" + "01 51"},
	{"× 10, 2 bytes", "0000010000000000", "51", "0a" + "000001" + "01 51"}, // 65,536 ends in 6
	{"× 10, 2 bytes", "f6ff090000000000", "51", "0f" + "ffff" + "01 51"},
	{"× 10, 3 bytes", "f6ffff0900000000", "51", "10" + "ffffff" + "01 51"},
	{"× 100, 2 bytes", "9cff630000000000", "51", "11" + "ffff" + "01 51"},
	{"× 1,000, 1 byte", "18e4030000000000", "51", "12" + "ff" + "01 51"},
	{"× 10,000, 1 byte", "f0e8260000000000", "51", "13" + "ff" + "01 51"},
	{"× 10,000, 2 bytes", "f0d80f2700000000", "51", "14" + "ffff" + "01 51"},
	{"× 100,000, 1 byte", "6019850100000000", "51", "15" + "ff" + "01 51"},
	{"× 1,000,000, 1 byte", "c0fd320f00000000", "51", "16" + "ff" + "01 51"},
	{"50 coins", "00f2052a01000000", "51", "17" + "32" + "01 51"},

	{"P2PKH", "2202000000000000", "76 a9 14" + "d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4" + "88 ac",
		"1c" + "d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4"},
	{"P2SH", "3930000000000000", "a9 14" + h20 + "87", "39" + "3930" + h20},
	{"P2WPKH", "2601000000000000", "00 14" + h20, "4a" + h20},
	{"P2WSH", "00f2052a01000000", "00 20" + hash, "77" + "32" + hash},
	{"P2TR", "4a01000000000000", "51 20" + hash, "7b" + hash},
	{"P2A", "f000000000000000", "51 02 4e 73", "98" + "f0"},
	{"P2PK, even", "00f2052a01000000", "21 02" + x + "ac", "bf" + "32" + x},
	{"P2PK, odd", "00f2052a01000000", "21 03" + x + "ac", "d7" + "32" + x},
	{"P2PK, full", "00f2052a01000000", "41 04" + x + y + "ac", "ef" + "32" + x + y},

	{"return", "0000000000000000", "6a 02 0102", "f0" + "02 0102"},
	{"return, 76 bytes", "0000000000000000", "6a 4c 4c" + strings.Repeat("66", 76),
		"f1" + "4c" + strings.Repeat("66", 76)},
	{"runestone", "0000000000000000", "6a 5d 02 0102", "f2" + "02 0102"},
	{"return with an amount", "0100000000000000", "6a 02 0102", "08" + "01" + "04" + "6a 02 0102"},
	{"return, 80 bytes", "0000000000000000", "6a 4c 50" + strings.Repeat("66", 80),
		"f1" + "50" + strings.Repeat("66", 80)},
	{"return, 81 bytes", "0000000000000000", "6a 4c 51" + strings.Repeat("66", 81),
		"01" + "54" + "6a 4c 51" + strings.Repeat("66", 81)},
	{"runestone, 76 bytes", "0000000000000000", "6a 5d 4c" + strings.Repeat("66", 76),
		"01" + "4f" + "6a 5d 4c" + strings.Repeat("66", 76)},
	{"return of nothing", "0000000000000000", "6a", "01" + "01" + "6a"},
}

var goldenP2PKH = unhexText(outputText[26].script)

// goldenNested is a P2SH-P2WPKH input.
func goldenNested() (script, witness []byte) {
	for _, g := range inputText {
		if g.name == "nested, even" {
			return unhexText(g.script), unhexText(g.witness)
		}
	}
	panic("no golden input of this name")
}

func unhexText(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

type goldenInput struct {
	name                 string
	sequence             uint32
	script, witness, run []byte
}

func goldenInputs() (all []goldenInput) {
	for _, g := range inputText {
		all = append(all, goldenInput{
			name: g.name, sequence: binary.LittleEndian.Uint32(unhexText(g.sequence)),
			script: unhexText(g.script), witness: unhexText(g.witness), run: unhexText(g.run),
		})
	}
	return all
}

type goldenOutput struct {
	name        string
	value       int64
	script, run []byte
}

func goldenOutputs() (all []goldenOutput) {
	for _, g := range outputText {
		all = append(all, goldenOutput{
			name: g.name, value: int64(binary.LittleEndian.Uint64(unhexText(g.value))),
			script: unhexText(g.script), run: unhexText(g.run),
		})
	}
	return all
}

// TestGolden pins the bytes of every kind of output, every shape of input and every code of a sequence number: they are
// what stores on disk hold.
func TestGolden(t *testing.T) {
	var s surviving
	templates, classes := map[uint8]bool{}, map[uint8]bool{}
	for _, g := range goldenOutputs() {
		if run := AppendOutput(nil, g.value, g.script); !bytes.Equal(run, g.run) {
			t.Errorf("%s: %x, want %x", g.name, run, g.run)
		}
		s.output(t, g.name, g.value, g.script)
		templates[outputKindTable[g.run[0]].template+g.run[0]/outCarrier*g.run[0]] = true
		classes[outputKindTable[g.run[0]].class] = true
	}
	if len(templates) != outTemplates+len(carriers) || len(classes) != amountClasses {
		t.Errorf("%d templates, %d classes", len(templates), len(classes))
	}
	all, codes := map[uint8]bool{}, map[uint8]bool{}
	for _, g := range goldenInputs() {
		if run := AppendInput(nil, g.sequence, g.script, g.witness); !bytes.Equal(run, g.run) {
			t.Errorf("%s: %x, want %x", g.name, run, g.run)
		}
		s.input(t, g.name, g.sequence, g.script, g.witness)
		all[inputKinds[g.run[0]].shape], codes[inputKinds[g.run[0]].code] = true, true
	}
	if len(all) != shapes || len(codes) != seqCodes {
		t.Errorf("%d shapes, %d codes", len(all), len(codes))
	}
	for _, g := range []struct {
		head Head
		run  string
	}{
		{Head{Version: 1}, "08"},
		{Head{Version: 2, Witness: true}, "0f"},
		{Head{Version: 2, LockTime: 951_658, Witness: true}, "11" + "6a850e"},
		{Head{Version: 1, LockTime: 1_500_000_000}, "06" + "002f6859"},
		{Head{Version: 3}, "14"},
		{Head{Version: 0x20000000, LockTime: 1 << 24, Witness: true}, "01" + "00000020" + "00000001"},
		{Head{Version: 4}, "02" + "04000000"},
		{Head{LockTime: 1}, "04" + "00000000" + "010000"},
	} {
		if run := AppendHead(nil, g.head); !bytes.Equal(run, unhexText(g.run)) {
			t.Errorf("%+v: %x, want %s", g.head, run, g.run)
		}
	}
}
