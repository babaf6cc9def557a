package codec

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
)

// edits calls f with every string that is one edit away from b: a byte changed to each of a few values, left out, or
// put in. The first bytes, kind and lengths, take every value.
func edits(b []byte, f func([]byte)) {
	e := make([]byte, 0, len(b)+1)
	for at := range b {
		values := []byte{0, 1, 2, 3, 4, 0x20, 0x40, 0x41, 0x7f, 0x80, 0x83, 0xff, b[at] - 1, b[at] + 1, b[at] ^ 0x40}
		if at < 2 {
			values = values[:0]
			for v := range 256 {
				values = append(values, byte(v))
			}
		}
		for _, v := range values {
			e = append(e[:0], b...)
			e[at] = v
			f(e)
		}
		f(append(append(e[:0], b[:at]...), b[at+1:]...))
		f(append(append(append(e[:0], b[:at]...), 0), b[at:]...))
	}
}

// TestNearRuns edits the golden runs: what is still accepted is the encoder's spelling of something.
func TestNearRuns(t *testing.T) {
	for _, g := range goldenOutputs() {
		edits(g.run, func(b []byte) { oneSpellingOutput(t, b) })
	}
	for _, g := range goldenInputs() {
		edits(g.run, func(b []byte) {
			oneSpellingInput(t, b, true)
			oneSpellingInput(t, b, false)
		})
	}
}

// TestNearWire edits the golden scripts and stacks: each comes back, whether it still has a shape or not.
func TestNearWire(t *testing.T) {
	var s surviving
	for _, g := range goldenOutputs() {
		edits(g.script, func(b []byte) { s.output(t, g.name, g.value, b) })
	}
	for _, g := range goldenInputs() {
		edits(g.script, func(b []byte) { s.input(t, g.name, g.sequence, b, g.witness) })
		edits(g.witness, func(b []byte) {
			if n, ok := stackSize(b); ok && n == len(b) {
				s.input(t, g.name, g.sequence, g.script, b)
			}
		})
	}
}

// TestMissedShapes sends scripts and stacks through that miss a shape by what no single edit finds.
func TestMissedShapes(t *testing.T) {
	control := func(head string, hashes int) string { return head + x + strings.Repeat(hash, hashes) }
	twoSigs := "00" + der + "01" + der + "01"
	oneSig := "00" + der + "01"
	var through surviving
	for _, g := range []struct{ name, script, witness string }{
		{"PUSHDATA1 for 71 bytes", twoSigs + "4c 47" + twoOfTwo, ""},
		{"PUSHDATA2 for 71 bytes", twoSigs + "4d 4700" + twoOfTwo, ""},
		{"PUSHDATA2 for 105 bytes", oneSig + "4d 6900" + "51" + strings.Repeat("21 02"+x, 3) + "53 ae", ""},
		{"2 of 1", twoSigs + "25" + "52 21 02" + x + "51 ae", ""},
		{"2 of 1 items", "", "04" + twoSigs + "25" + "52 21 02" + x + "51 ae"},
		{"key 00", oneSig + "25" + "51 21 00" + x + "51 ae", ""},
		{"key 01 beside a signature", der + "01" + "21 01" + x, ""},
		{"key 06 beside a signature", der + "01" + "41 06" + x + y, ""},
		{"another hash type in m of n", "", "04" + "00" + der + "01" + der + "02" + "47" + twoOfTwo},
		{"more bytes behind m of n", "", "05" + twoSigs + "47" + twoOfTwo + "00"},
		{"a push too long by its byte", "48" + der[2:] + "01", ""},
		{"leaf version c2", "", "03" + "40" + r + s + "01 51" + "21" + control("c2", 0)},
		{"leaf version 02", "", "03" + "40" + r + s + "01 51" + "21" + control("02", 0)},
		{"31 hashes", "", "03" + "40" + r + s + "01 51" + "fd 0104" + control("c0", 31)},
		{"32 hashes", "", "03" + "40" + r + s + "01 51" + "fd 2104" + control("c0", 32)},
		{"half a hash", "", "03" + "40" + r + s + "01 51" + "31" + control("c0", 0) + strings.Repeat("66", 16)},
		{"no key", "", "03" + "40" + r + s + "01 51" + "01 c0"},
		{"the internal key behind another push", "", "03" + "40" + r + s + "22 21" + x + "ac" + "21" + control("c0", 0)},
		{"the internal key, cut", "", "03" + "40" + r + s + "20 20" + x[2:] + "21" + control("c0", 0)},
	} {
		through.input(t, g.name, 1<<32-1, unhexText(g.script), unhexText(g.witness))
	}
	last := unhexText(der + "01")[1:]
	program := sha256.Sum256(last)
	through.input(t, "a signature as nested script", 0, append([]byte(nestedWSH), program[:]...), stackOf([][]byte{last}))
}

// tiny is a number of one byte.
var tiny = strings.Repeat("00", 31) + "01"

// misspeltInputs are runs that say something which the encoder spells otherwise. Those that need no classifying are
// refused by every reader, the others by Decode.
var misspeltInputs = []struct {
	name, run string
	classify  bool
}{
	{"ffffffff in full", "5a" + "ffffffff" + r + s + x, false},
	{"fffffffe in full", "5a" + "feffffff" + r + s + x, false},
	{"fffffffd in full", "05" + "fdffffff" + "01 51", false},
	{"0 in full", "05" + "00000000" + "01 51", false},
	{"a short signature with its key", "5b" + tiny + s + x, false},
	{"a short signature", "33" + r + tiny, false},
	{"nothing for a signature", "33" + tiny[2:] + "00" + strings.Repeat("00", 32), false},
	{"a short signature of m of n", "15" + "01" + r + tiny + "02" + x + x2, false},
	{"a short signature among items", "0b" + "01" + "ff" + r + tiny + "01", false},
	{"type ALL in full", "4c" + r + s + "01" + x, false},
	{"type ALL in full, alone", "38" + r + s + "01", false},
	{"2 of 1", "1a" + "10" + r + s + r + s + "00" + x, false},
	{"a bit of no key", "15" + "01" + r + s + "06" + x + x2, false},
	{"an internal key that the script pushes", "30" + "00" + r + s + "22" + leaf + x, false},
	{"an internal key in no script", "30" + "02" + r + s + "01 51", false},
	{"an internal key in a longer push", "30" + "02" + r + s + "22 21" + x + "ac", false},
	{"a signature among items, in full", "0b" + "01" + der + "01", false},
	{"a packed signature for nested script", "0f" + "01020304" + "01" + "ff" + r + s + "01", false},
	{"no nested script", "11" + "00", false},
	{"no items", "0b" + "00", true},
	{"no items behind a script", "01" + "01 51" + "00", true},
	{"no script before items", "01" + "00" + "01 01 07", true},
	{"a key's items in general form", "0b" + "02" + "ff" + r + s + "01" + "21 02" + x, true},
	{"a taproot key's item in general form", "0b" + "01" + "40" + r + s, true},
	{"m of n items in general form", "0b" + "03" + "00" + "ff" + r + s + "01" + "47" + oneOfTwo, true},
	{"the same, nested", "11" + "03" + "00" + "ff" + r + s + "01" + "47" + oneOfTwo, true},
	{"a tapscript in general form", "0b" + "03" + "40" + r + s + "01 51" + "21 c0" + x, true},
	{"P2PKH in general form", "06" + "6a" + der + "01" + "21 02" + x, true},
	{"P2PK in general form", "06" + "48" + der + "01", true},
	{"m of n in general form", "06" + "91" + "00" + der + "01" + "47" + oneOfTwo, true},
	{"a nested key in general form", "01" + "17 16 00 14" + evenHashed + "02" + der + "01" + "21 02" + x, true},
	{"nested items in general form", "01" + "23 22 00 20" + otherHashed + "01" + "17" + other, true},
}

// misspeltOutputs are the same for outputs.
var misspeltOutputs = []struct{ name, run string }{
	{"330 in a byte more", "09" + "4a01" + "01 51"},
	{"5 in two bytes", "09" + "0500" + "01 51"},
	{"tens in satoshis", "09" + "f609" + "01 51"},
	{"P2WPKH in full", "08 05" + "16 00 14" + h20},
	{"P2WPKH of 5 in two bytes", "51 0500" + h20},
	{"a carrier in full", "01" + "04 6a 02 0102"},
	{"a runestone in full", "01" + "05 6a 5d 02 0102"},
	{"a carrier of nothing", "f0 00"},
	{"a carrier of 76 bytes", "f0 4c" + strings.Repeat("66", 76)},
	{"a long carrier of 75 bytes", "f1 4b" + strings.Repeat("66", 75)},
	{"a long carrier of 81 bytes", "f1 51" + strings.Repeat("66", 81)},
	{"a long carrier of 255 bytes", "f1 ff" + strings.Repeat("66", 255)},
	{"a runestone of nothing", "f2 00"},
	{"a runestone of 76 bytes", "f2 4c" + strings.Repeat("66", 76)},
}

// TestMisspelt wants all of them refused, by skipping alone measured right.
func TestMisspelt(t *testing.T) {
	for _, g := range misspeltInputs {
		run := unhexText(g.run)
		if n, ok := SkipInput(run); !ok || n != len(run) {
			t.Errorf("%s: %d of %d bytes, %v", g.name, n, len(run), ok)
			continue
		}
		var in Input
		if _, ok := in.Decode(run, true); ok {
			t.Errorf("%s is accepted as %x %x", g.name, in.Script, in.Witness)
		}
		if _, _, ok := AppendWireInput(nil, run, true); ok != g.classify {
			t.Errorf("%s: rebuilt %v", g.name, ok)
		}
	}
	for _, g := range misspeltOutputs {
		run := unhexText(g.run)
		var buf ScriptBuffer
		if n, ok := SkipOutput(run); !ok || n != len(run) {
			t.Errorf("%s: %d of %d bytes, %v", g.name, n, len(run), ok)
		}
		if o, _, ok := DecodeOutput(run, &buf); ok {
			t.Errorf("%s is accepted as %d %x", g.name, o.Value, o.Script)
		}
		if dst, _, ok := AppendWireOutput([]byte{7}, run); ok || !bytes.Equal(dst, []byte{7}) {
			t.Errorf("%s is rebuilt", g.name)
		}
	}
}

// TestMultisigSizes goes through every m of n, and one key more than can be.
func TestMultisigSizes(t *testing.T) {
	var through surviving
	for n := 1; n <= 17; n++ {
		ms := ""
		for i := range n {
			ms += "21" + []string{"02", "03"}[i*i%5%2] + x
		}
		for m := 1; m <= n; m++ {
			whole := append([]byte{byte(0x50 + m)}, append(unhexText(ms), byte(0x50+n), 0xae)...)
			items := [][]byte{nil}
			for range m {
				items = append(items, unhexText(der + "01")[1:])
			}
			items = append(items, whole)
			through.input(t, "m of n", 0, pushesOf(items), nil)
			through.input(t, "m of n", 0, nil, stackOf(items))
			program := sha256.Sum256(whole)
			through.input(t, "m of n", 0, append([]byte(nestedWSH), program[:]...), stackOf(items))
			run := AppendInput(nil, 0, nil, stackOf(items))
			if want := 2 + 64*m + (n+7)/8 + 32*n; n <= 16 && len(run) != want {
				t.Fatalf("%d of %d takes %d bytes, want %d", m, n, len(run), want)
			}
		}
	}
}
