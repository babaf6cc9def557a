package script

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// instruction is one that a model wrote down.
type instruction struct {
	op   byte
	data []byte
	end  int
}

// drawInstructions makes a whole script and remembers what it is made of.
func drawInstructions(t *rapid.T, most int) (script []byte, list []instruction) {
	for range rapid.IntRange(0, most).Draw(t, "instructions") {
		op := rapid.Byte().Draw(t, "op")
		if rapid.Bool().Draw(t, "push") {
			op %= opPushData4 + 1
		}
		var data []byte
		script = append(script, op)
		if op <= opPushData4 {
			width, size := 0, int(op)
			if op >= opPushData1 {
				width = 1 << (op - opPushData1)
				size = rapid.SampledFrom([]int{0, 1, 75, 76, 255, 256, 520, 521}).Draw(t, "size")
				if width == 1 {
					size = min(size, 255)
				}
			}
			for i := range width {
				script = append(script, byte(size>>(8*i)))
			}
			data = bytesOf(byte(len(list)), size)
			script = append(script, data...)
		}
		list = append(list, instruction{op, data, len(script)})
	}
	return script, list
}

func TestNextReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script, list := drawInstructions(t, 20)
		pc := 0
		for i, want := range list {
			op, data, after, ok := next(script, pc)
			if !ok || op != want.op || !bytes.Equal(data, want.data) || after != want.end {
				t.Fatalf("%x: instruction %d: %02x %x up to %d, ok %v", script, i, op, data, after, ok)
			}
			if cap(data) != len(data) {
				t.Fatalf("%x: instruction %d: room for %d behind it", script, i, cap(data)-len(data))
			}
			pc = after
		}
		if pc != len(script) {
			t.Fatalf("%x: ends at %d", script, pc)
		}
		above := slices.ContainsFunc(list, func(i instruction) bool { return i.op > op16 })
		if pushOnly(script) == above {
			t.Fatalf("%x: pushOnly is %v", script, !above)
		}
		if len(list) == 0 {
			return
		}
		// Cut inside the last instruction, it is no instruction any more.
		last := list[len(list)-1]
		begin := 0
		if len(list) > 1 {
			begin = list[len(list)-2].end
		}
		if last.end-begin < 2 {
			return
		}
		cut := rapid.IntRange(begin+1, last.end-1).Draw(t, "cut")
		if _, _, _, ok := next(script[:cut], begin); ok {
			t.Fatalf("%x: cut at %d it is still whole", script[:cut], cut)
		}
		if pushOnly(script[:cut]) {
			t.Fatalf("%x: cut at %d it is still push-only", script[:cut], cut)
		}
	})
}

// TestNextSizes: lengths that run past the end, whatever their width says.
func TestNextSizes(t *testing.T) {
	for _, c := range []struct {
		script []byte
		ok     bool
	}{
		{[]byte{0}, true},
		{[]byte{1}, false},
		{[]byte{1, 7}, true},
		{[]byte{75}, false},
		{append([]byte{75}, make([]byte, 74)...), false},
		{append([]byte{75}, make([]byte, 75)...), true},
		{[]byte{opPushData1}, false},
		{[]byte{opPushData1, 0}, true},
		{[]byte{opPushData1, 1}, false},
		{[]byte{opPushData2}, false},
		{[]byte{opPushData2, 0}, false},
		{[]byte{opPushData2, 0, 0}, true},
		{[]byte{opPushData2, 0, 1, 9}, false},
		{[]byte{opPushData4, 0, 0, 0}, false},
		{[]byte{opPushData4, 0, 0, 0, 0}, true},
		{[]byte{opPushData4, 0xff, 0xff, 0xff, 0xff}, false},
		{[]byte{opPushData4, 0xff, 0xff, 0xff, 0x7f, 0}, false},
		{[]byte{opInvalid}, true},
	} {
		if _, _, _, ok := next(c.script, 0); ok != c.ok {
			t.Errorf("%x: ok %v", c.script, ok)
		}
	}
}

// pushForms are all ways to push data, shortest first.
func pushForms(data []byte) (forms [][]byte) {
	n := len(data)
	if n == 0 {
		forms = append(forms, []byte{op0})
	}
	if n == 1 && data[0] >= 1 && data[0] <= 16 {
		forms = append(forms, []byte{op1 + data[0] - 1})
	}
	if n == 1 && data[0] == 0x81 {
		forms = append(forms, []byte{op1Negate})
	}
	if n > 0 && n < opPushData1 {
		forms = append(forms, append([]byte{byte(n)}, data...))
	}
	if n <= 0xff {
		forms = append(forms, append([]byte{opPushData1, byte(n)}, data...))
	}
	if n <= 0xffff {
		forms = append(forms, append([]byte{opPushData2, byte(n), byte(n >> 8)}, data...))
	}
	return append(forms, append([]byte{opPushData4, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, data...))
}

// TestMinimalPush: of all ways to push data only the shortest is minimal.
func TestMinimalPush(t *testing.T) {
	elements := [][]byte{nil}
	for i := range 256 {
		elements = append(elements, []byte{byte(i)})
	}
	for _, n := range []int{2, 74, 75, 76, 77, 254, 255, 256, 257, 519, 520, 65535, 65536} {
		elements = append(elements, make([]byte, n))
	}
	forms := 0
	for _, data := range elements {
		for i, form := range pushForms(data) {
			op, got, _, ok := next(form, 0)
			if !ok {
				t.Fatalf("%x does not parse", form[:2])
			}
			if op > opPushData4 {
				continue // an opcode of a number is minimal by being one
			}
			forms++
			if !bytes.Equal(got, data) || minimalPush(got, op) != (i == 0) {
				t.Errorf("%d bytes (%x) by %02x: minimal %v", len(data), data[:min(len(data), 1)], op, minimalPush(got, op))
			}
		}
	}
	if forms < 1000 {
		t.Errorf("%d forms were tried", forms)
	}
}

func TestWitnessProgram(t *testing.T) {
	for op := range 256 {
		for size := range 45 {
			script := append([]byte{byte(op), byte(size)}, make([]byte, size)...)
			version, program, ok := witnessProgram(script)
			number := op == 0 || op >= 0x51 && op <= 0x60
			if want := number && size >= 2 && size <= 40; ok != want {
				t.Fatalf("%02x and %d bytes: %v", op, size, ok)
			}
			if ok && (len(program) != size || version != max(0, op-0x50)) {
				t.Fatalf("%02x and %d bytes: version %d, %d bytes", op, size, version, len(program))
			}
			if _, _, ok := witnessProgram(append(script, 0)); ok {
				t.Fatalf("%02x, %d bytes and one more is a program", op, size)
			}
			if _, _, ok := witnessProgram(script[:len(script)-1]); ok {
				t.Fatalf("%02x and a cut push of %d bytes is a program", op, size)
			}
		}
	}
}

func TestForms(t *testing.T) {
	hash := []byte(build(byte(opHash160), make([]byte, 20), byte(opEqual)))
	if !payToScriptHash(hash) {
		t.Error("P2SH is not P2SH")
	}
	for i := range hash {
		if i >= 2 && i < 22 {
			continue
		}
		other := slices.Clone(hash)
		other[i]++
		if payToScriptHash(other) {
			t.Errorf("%x is P2SH", other)
		}
	}
	// A push of 20 bytes by OP_PUSHDATA1 is another script.
	long := append([]byte{opHash160, opPushData1, 20}, append(make([]byte, 20), opEqual)...)
	if payToScriptHash(long) {
		t.Error("a longer push is P2SH")
	}
	for op := opPushData4 + 1; op < 256; op++ {
		if pushOnly([]byte{byte(op)}) != (op <= 0x60) {
			t.Errorf("%#x: pushOnly is %v", op, op > 0x60)
		}
	}
	if !payToAnchor(1, []byte{0x4e, 0x73}) || payToAnchor(2, []byte{0x4e, 0x73}) || payToAnchor(1, []byte{0x4e, 0x74}) {
		t.Error("P2A is exactly 1 <4e73>")
	}
}
