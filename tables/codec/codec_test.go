package codec

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestOutput is the contract for outputs near every template and class.
func TestOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value, script := drawValue(t), drawScript(t)
		new(surviving).output(t, "drawn", value, script)
		run := AppendOutput([]byte("before"), value, script)[6:]
		var buf ScriptBuffer
		for cut := range len(run) {
			if _, _, ok := DecodeOutput(run[:cut], &buf); ok {
				t.Fatalf("%d of %d bytes decode", cut, len(run))
			}
			if _, ok := SkipOutput(run[:cut]); ok {
				t.Fatalf("%d of %d bytes are skipped", cut, len(run))
			}
		}
	})
}

// TestInput is the contract for inputs near every shape.
func TestInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		witness := rapid.IntRange(0, 4).Draw(t, "witness") > 0
		d := drawInput(t, witness)
		new(surviving).input(t, "drawn", d.sequence, d.script, d.witness)
		run := AppendInput(nil, d.sequence, d.script, d.witness)
		var in Input
		for cut := range len(run) {
			if _, ok := in.Decode(run[:cut], witness); ok {
				t.Fatalf("%d of %d bytes decode", cut, len(run))
			}
			if _, ok := SkipInput(run[:cut]); ok {
				t.Fatalf("%d of %d bytes are skipped", cut, len(run))
			}
		}
		if r, _, _ := parse(run); witness && r.hasItems() {
			if _, ok := in.Decode(run, false); ok {
				t.Fatal("an input with items decodes without witness")
			}
		}
	})
}

// TestOneSpelling changes bytes of good runs: what is still accepted must be what the encoder writes for it.
func TestOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		witness := rapid.IntRange(0, 4).Draw(t, "witness") > 0
		d := drawInput(t, witness)
		run := AppendInput(nil, d.sequence, d.script, d.witness)
		out := AppendOutput(nil, drawValue(t), drawScript(t))
		for range 8 {
			oneSpellingInput(t, spoil(t, run), witness)
			oneSpellingOutput(t, spoil(t, out))
		}
	})
}

// spoil returns b with a byte changed, the kind more often than others.
func spoil(t *rapid.T, b []byte) []byte {
	b = bytes.Clone(b)
	at := 0
	if rapid.Bool().Draw(t, "deep") {
		at = rapid.IntRange(0, len(b)-1).Draw(t, "at")
	}
	b[at] = rapid.Byte().Draw(t, "byte")
	return append(b, drawBytes(t, 80, "behind")...)
}

// oneSpellingOutput wants the encoder's bytes for whatever DecodeOutput accepts, and the other readers to agree.
func oneSpellingOutput(t rapid.TB, b []byte) {
	var buf ScriptBuffer
	o, n, ok := DecodeOutput(b, &buf)
	wire, m, whole := AppendWireOutput(nil, b)
	if whole != ok || m != n || ok && !bytes.HasSuffix(wire, o.Script) {
		t.Fatalf("%x: decoded %d %v, as wire bytes %d %v", b, n, ok, m, whole)
	}
	skipped, skips := SkipOutput(b)
	size, _, sized := OutputSize(b)
	if sized != skips {
		t.Fatalf("%x: skipped %v, sized %v", b, skips, sized)
	}
	if !ok {
		return
	}
	if !skips || skipped != n || size != len(wire) {
		t.Fatalf("%x: decoded %d, skipped %d, wire size %d of %d", b, n, skipped, size, len(wire))
	}
	if again := AppendOutput(nil, o.Value, o.Script); !bytes.Equal(again, b[:n]) {
		t.Fatalf("%x is accepted and spelt %x", b[:n], again)
	}
}

// oneSpellingInput does the same for an input.
func oneSpellingInput(t rapid.TB, b []byte, witness bool) {
	var in Input
	n, ok := in.Decode(b, witness)
	wire, m, whole := AppendWireInput(nil, b, witness)
	script, stack, k, sized := InputSize(b, witness)
	if sized != whole || m != k || ok && (!whole || m != n) {
		t.Fatalf("%x: decoded %d %v, as wire bytes %d %v, sized %d %v", b, n, ok, m, whole, k, sized)
	}
	if !whole {
		return
	}
	// Bytes that only classifying finds misspelt still rebuild what they say, within the length fields.
	if skipped, skips := SkipInput(b); !skips || skipped != m {
		t.Fatalf("%x: rebuilt %d, skipped %d", b, m, skipped)
	}
	items, _, _ := AppendWireStack(nil, b)
	if witness && len(items) != stack || !bytes.HasSuffix(wire[:len(wire)-4], in.Script) {
		t.Fatalf("%x: stack of %d bytes, sized %d", b, len(items), stack)
	}
	if !ok {
		return
	}
	if len(in.Script) != script || witness && !bytes.Equal(in.Witness, items) {
		t.Fatalf("%x: script of %d bytes, sized %d", b, len(in.Script), script)
	}
	if again := AppendInput(nil, in.Sequence, in.Script, in.Witness); !bytes.Equal(again, b[:n]) {
		t.Fatalf("%x is accepted and spelt %x", b[:n], again)
	}
}

// TestHeads goes through every kind of head and the bounds of its fields.
func TestHeads(t *testing.T) {
	numbers := []uint32{0, 1, 2, 3, 4, 1<<16 - 1, 1<<24 - 1, 1 << 24, 500_000_000, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	for _, version := range numbers {
		for _, lock := range numbers {
			for _, witness := range []bool{false, true} {
				h := Head{Version: version, LockTime: lock, Witness: witness}
				run := AppendHead(nil, h)
				if len(run) > MaxHead {
					t.Fatalf("%+v takes %d bytes", h, len(run))
				}
				if got, n, ok := DecodeHead(append(run, 9)); !ok || got != h || n != len(run) {
					t.Fatalf("%+v comes back as %+v, %d bytes, %v", h, got, n, ok)
				}
				for cut := range run {
					if _, _, ok := DecodeHead(run[:cut]); ok {
						t.Fatalf("%d of %d bytes decode", cut, len(run))
					}
				}
			}
		}
	}
	for kind := range 256 {
		for n := range byte(6) {
			oneSpellingHead(t, []byte{byte(kind), n, 0, 0, 0, n, 0, 0, 0})
		}
		oneSpellingHead(t, []byte{byte(kind), 9, 9, 9, 9, 9, 9, 9, 9})
	}
}

func oneSpellingHead(t rapid.TB, b []byte) {
	if h, n, ok := DecodeHead(b); ok && !bytes.Equal(AppendHead(nil, h), b[:n]) {
		t.Fatalf("%x is accepted and spelt %x", b[:n], AppendHead(nil, h))
	}
}

// TestAmounts compares the choice of a class with the rule that the table states: fewest bytes, then the first.
func TestAmounts(t *testing.T) {
	check := func(t rapid.TB, v uint64) {
		best := -1
		for c := range amounts {
			a := &amounts[c]
			q := v - uint64(a.add)
			fits := v >= uint64(a.add) && q%uint64(max(a.unit, 1)) == 0 && q/uint64(max(a.unit, 1)) <= amountMask[a.width]
			if a.unit == 0 {
				fits = v == uint64(a.add)
			}
			if fits && (best < 0 || a.width < amounts[best].width) {
				best = c
			}
		}
		class := amountClassOf(v)
		if int(class) != best {
			t.Fatalf("%d has class %d, want %d", v, class, best)
		}
		if b := appendAmount(nil, v, class); len(b) != int(amounts[class].width) || amount(b, class) != v {
			t.Fatalf("%d in class %d is %x", v, class, b)
		}
	}
	for v := range uint64(300_000) {
		check(t, v)
	}
	for _, c := range amounts {
		for e := uint64(1); e <= 1e12; e *= 10 {
			check(t, amountMask[c.width]*e)
			check(t, (amountMask[c.width]+1)*e)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, uint64(drawValue(t))) })
}

// TestAllocations holds every call to the growth of what its caller passed.
func TestAllocations(t *testing.T) {
	script, witness := goldenNested()
	run, out, buf := make([]byte, 0, 1024), make([]byte, 0, 1024), make([]byte, 0, 1024)
	var in Input
	in.Decode(AppendInput(run, 5, script, witness), true)
	if n := testing.AllocsPerRun(100, func() {
		run = AppendInput(AppendHead(run[:0], Head{Version: 9}), 5, script, witness)
		h, n, _ := DecodeHead(run)
		_, ok := in.Decode(run[n:], true)
		_, _, _, sized := InputSize(run[n:], true)
		var rebuilt, stacked bool
		buf, _, rebuilt = AppendWireInput(buf[:0], run[n:], true)
		buf, _, stacked = AppendWireStack(buf, run[n:])
		if !ok || !sized || !rebuilt || !stacked || h.Version != 9 {
			t.Error("input does not decode")
		}
		var b ScriptBuffer
		out = AppendOutput(out[:0], 5, script)
		o, _, ok := DecodeOutput(AppendOutput(out, 546, goldenP2PKH), &b)
		var wired bool
		buf, _, wired = AppendWireOutput(buf, out)
		if !ok || !wired || len(o.Script) == 0 {
			t.Error("output does not decode")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
