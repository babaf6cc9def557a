package codec

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

func drawStack(t *rapid.T) []byte {
	items := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 0, 5).Draw(t, "stack")
	b := chain.AppendCompactSize(nil, uint64(len(items)))
	for _, item := range items {
		b = chain.AppendCompactSize(b, uint64(len(item)))
		b = append(b, item...)
	}
	return b
}

// TestOutput is the contract for outputs: what goes in comes out, in a run of the wire's length and one byte more.
func TestOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Int64().Draw(t, "value")
		script := rapid.SliceOfN(rapid.Byte(), 0, 70_000).Draw(t, "script")
		after := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "after")
		run := AppendOutput([]byte("before"), value, script)[6:]
		if wire := 8 + chain.CompactSizeLen(uint64(len(script))) + len(script); len(run) > wire+1 {
			t.Fatalf("%d bytes for %d on the wire", len(run), wire)
		}
		o, n, ok := DecodeOutput(append(bytes.Clone(run), after...))
		if !ok || n != len(run) || o.Value != value || !bytes.Equal(o.Script, script) {
			t.Fatalf("decoded %v, %d of %d bytes", ok, n, len(run))
		}
		if n, ok := SkipOutput(run); !ok || n != len(run) {
			t.Fatalf("skipped %d of %d bytes", n, len(run))
		}
		for cut := range min(len(run), 12) {
			if _, _, ok := DecodeOutput(run[:cut]); ok {
				t.Fatalf("%d of %d bytes decode", cut, len(run))
			}
		}
	})
}

// TestInputs is the same for the inputs of a transaction.
func TestInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Head{
			Version: rapid.Uint32().Draw(t, "version"), LockTime: rapid.Uint32().Draw(t, "lock"),
			Witness: rapid.Bool().Draw(t, "witness"),
		}
		run := AppendHead(nil, h)
		var want []Input
		wire := 8
		for range rapid.IntRange(1, 4).Draw(t, "ins") {
			in := Input{Sequence: rapid.Uint32().Draw(t, "sequence"), Script: rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "script")}
			if h.Witness {
				in.Witness = drawStack(t)
			}
			wire += 36 + 4 + chain.CompactSizeLen(uint64(len(in.Script))) + len(in.Script) + len(in.Witness)
			run = AppendInput(run, in.Sequence, in.Script, in.Witness)
			want = append(want, in)
		}
		if len(run) > wire+1 {
			t.Fatalf("%d bytes for %d on the wire", len(run), wire)
		}
		got, ok := DecodeHead(run)
		if !ok || got != h {
			t.Fatalf("head %+v, %v", got, ok)
		}
		rest := run[HeadSize:]
		for _, w := range want {
			in, n, ok := DecodeInput(rest, h.Witness)
			if !ok || in.Sequence != w.Sequence || !bytes.Equal(in.Script, w.Script) || !bytes.Equal(in.Witness, w.Witness) {
				t.Fatalf("input %+v, want %+v (%v)", in, w, ok)
			}
			if m, ok := SkipInput(rest, h.Witness); !ok || m != n {
				t.Fatalf("skipped %d, want %d", m, n)
			}
			rest = rest[n:]
		}
		if len(rest) != 0 {
			t.Fatalf("%d bytes are left", len(rest))
		}
	})
}

func TestAllocations(t *testing.T) {
	out := AppendOutput(nil, 5, make([]byte, 25))
	in := AppendInput(nil, 1, make([]byte, 100), []byte{2, 1, 0, 1, 0})
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		buf = AppendOutput(buf[:0], 5, out[9:])
		buf = AppendInput(buf, 5, in[5:90], nil)
		if _, _, ok := DecodeOutput(out); !ok {
			t.Error("output does not decode")
		}
		if _, _, ok := DecodeInput(in, true); !ok {
			t.Error("input does not decode")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOutput feeds bytes that a disk made up: what is accepted is what the encoder spells, and nothing panics.
func FuzzOutput(f *testing.F) {
	f.Add(AppendOutput(nil, 21e14, []byte{0x6a, 1, 2}))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 0xfd, 1, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, n, ok := DecodeOutput(b)
		if m, skipped := SkipOutput(b); skipped != ok || ok && m != n {
			t.Fatalf("decode says %d %v, skip %d %v", n, ok, m, skipped)
		}
		if ok && !bytes.Equal(AppendOutput(nil, o.Value, o.Script), b[:n]) {
			t.Fatal("accepted bytes are not the encoder's")
		}
	})
}

// FuzzInputs does the same with a head and as many inputs as follow it.
func FuzzInputs(f *testing.F) {
	f.Add(AppendInput(AppendHead(nil, Head{Version: 2, Witness: true}), 7, []byte{1}, []byte{2, 1, 9, 0}))
	f.Add(AppendInput(AppendHead(nil, Head{Version: 1}), 7, []byte{1}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := DecodeHead(b)
		if !ok {
			return
		}
		again := AppendHead(nil, h)
		for rest := b[HeadSize:]; ; {
			in, n, ok := DecodeInput(rest, h.Witness)
			if m, skipped := SkipInput(rest, h.Witness); skipped != ok || ok && m != n {
				t.Fatalf("decode says %d %v, skip %d %v", n, ok, m, skipped)
			}
			if !ok {
				break
			}
			again = AppendInput(again, in.Sequence, in.Script, in.Witness)
			rest = rest[n:]
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatal("accepted bytes are not the encoder's")
		}
	})
}
