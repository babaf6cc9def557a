package script

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// modelFindAndDelete is Core's FindAndDelete.
func modelFindAndDelete(script, b []byte) ([]byte, int) {
	var result []byte
	found, pc, pc2 := 0, 0, 0
	for ok := true; ok; {
		result = append(result, script[pc2:pc]...)
		for len(script)-pc >= len(b) && bytes.Equal(script[pc:pc+len(b)], b) {
			pc += len(b)
			found++
		}
		pc2 = pc
		_, pc, ok = modelGetOp(script, pc)
	}
	if found == 0 {
		return script, 0
	}
	return append(result, script[pc2:]...), found
}

// pushed is CScript() << sig.
func pushed(sig []byte) []byte {
	switch n := len(sig); {
	case n < 0x4c:
		return append([]byte{byte(n)}, sig...)
	case n <= 0xff:
		return append([]byte{0x4c, byte(n)}, sig...)
	case n <= 0xffff:
		return append([]byte{0x4d, byte(n), byte(n >> 8)}, sig...)
	default:
		return append([]byte{0x4e, byte(n), byte(n >> 8), byte(n >> 16), 0}, sig...)
	}
}

// TestTrap1FindAndDelete: what goes and what stays.
func TestTrap1FindAndDelete(t *testing.T) {
	sig := []byte{0x30, 6, 2, 1, 1, 2, 1, 1, 1}
	push := pushed(sig)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	long := bytes.Repeat([]byte{7}, 300)
	for _, x := range []struct {
		name              string
		script, sig, want []byte
		found             int
	}{
		{"absent", []byte{0x51, 0xac}, sig, []byte{0x51, 0xac}, 0},
		{"empty script", nil, sig, nil, 0},
		{"alone", push, sig, nil, 1},
		{"twice in a row, and again", join(push, push, []byte{0xac}, push), sig, []byte{0xac}, 3},
		{"at the end of another push", join([]byte{11, 8, 8}, sig), sig, join([]byte{11, 8, 8}, sig), 0},
		{"its push inside another", join([]byte{10}, push, []byte{0xac}), sig, join([]byte{10}, push, []byte{0xac}), 0},
		{"pushed with OP_PUSHDATA1", join([]byte{0x4c, 9}, sig), sig, join([]byte{0x4c, 9}, sig), 0},
		{"in a push that is cut short", join([]byte{20}, push), sig, join([]byte{20}, push), 0},
		{"before a push that is cut short", join(push, []byte{5, 1}), sig, []byte{5, 1}, 1},
		{"an empty signature is OP_0", []byte{0x51, 0, 1, 0, 0, 0xae}, nil, []byte{0x51, 1, 0, 0xae}, 2},
		{"a small number is no opcode", []byte{0x51, 1, 1}, []byte{1}, []byte{0x51}, 1},
		{"long", join(pushed(long), []byte{0xac}, pushed(long[:255])), long, join([]byte{0xac}, pushed(long[:255])), 1},
		{"longer", join(pushed(long[:255]), []byte{0xac}), long[:255], []byte{0xac}, 1},
	} {
		got, found := findAndDelete(nil, x.script, x.sig)
		if !bytes.Equal(got, x.want) || found != x.found {
			t.Errorf("%s: %x, %d; want %x, %d", x.name, got, found, x.want, x.found)
		}
		if model, n := modelFindAndDelete(x.script, pushed(x.sig)); !bytes.Equal(model, x.want) || n != x.found {
			t.Errorf("%s: the model gives %x, %d", x.name, model, n)
		}
	}
}

// TestFindAndDeleteModel compares with the model, one signature after the other over what the last call left, as
// OP_CHECKMULTISIG does, in the same scratch memory.
func TestFindAndDeleteModel(t *testing.T) {
	sigs := [][]byte{nil, {1}, {0xab}, {2, 1, 1}, bytes.Repeat([]byte{5}, 80), bytes.Repeat([]byte{0}, 300)}
	rapid.Check(t, func(t *rapid.T) {
		var script []byte
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "signature") {
				script = append(script, pushed(rapid.SampledFrom(sigs).Draw(t, "sig"))...)
			} else {
				script = append(script, thick.Draw(t, "bytes")...)
			}
		}
		whole := bytes.Clone(script)
		scratch := make([]byte, 0, rapid.SampledFrom([]int{0, 10, 5000}).Draw(t, "room"))
		got, want := script, bytes.Clone(script)
		for range 3 {
			sig := rapid.SampledFrom(sigs).Draw(t, "sig")
			var n, model int
			got, n = findAndDelete(scratch, got, sig)
			want, model = modelFindAndDelete(want, pushed(sig))
			if !bytes.Equal(got, want) || n != model {
				t.Fatalf("%x without %x: %x, %d; want %x, %d", script, sig, got, n, want, model)
			}
		}
		if !bytes.Equal(script, whole) {
			t.Fatal("the script was changed")
		}
		if kept, n := findAndDelete([]byte{9, 9}, script, sigs[1]); n > 0 {
			if want, _ := modelFindAndDelete(script, pushed(sigs[1])); !bytes.Equal(kept, want) {
				t.Fatalf("behind other bytes: %x, want %x", kept, want)
			}
		}
	})
}
