package hashmap

import (
	"encoding/hex"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestStateBytes(t *testing.T) {
	s := State{Generation: 0x01020304, Buckets: 5, Watermark: 0x0607, Entries: 1 << 63}
	const want = "0403020100000000" + "0500000000000000" + "0706000000000000" + "0000000000000080"
	if have := hex.EncodeToString(s.AppendTo(nil)); have != want {
		t.Fatalf("state is %s, want %s", have, want)
	}
}

func TestStateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{
			Generation: rapid.Uint32().Draw(t, "generation"), Buckets: rapid.Uint64().Draw(t, "buckets"),
			Watermark: rapid.Uint64().Draw(t, "watermark"), Entries: rapid.Uint64().Draw(t, "entries"),
		}
		b := append(s.AppendTo([]byte{9}), 8, 7)
		if have, err := ParseState(b[1:]); have != s || err != nil || len(b) != StateSize+3 {
			t.Fatalf("parsed %+v, %v, want %+v", have, err, s)
		}
		if _, err := ParseState(b[1:StateSize]); err == nil {
			t.Fatal("a short state is accepted")
		}
		b[1+4+rapid.IntRange(0, 3).Draw(t, "byte")] = 1
		if _, err := ParseState(b[1:]); err == nil {
			t.Fatal("a state whose zeros are none is accepted")
		}
	})
}

// TestLinkOverflow: the last link that fits, and the first that does not, which must not wrap to an empty slot.
func TestLinkOverflow(t *testing.T) {
	if link, err := ToLink("tx", 1<<32-2); link != 0xfffffffe || err != nil {
		t.Fatalf("ToLink: %#x, %v", link, err)
	}
	for _, row := range []uint64{1<<32 - 1, 1 << 32, 1<<64 - 1} {
		link, err := ToLink("tx", row)
		var overflow *LinkOverflow
		if link != NoLink || !errors.As(err, &overflow) || overflow.Row != row {
			t.Fatalf("ToLink(%#x) = %#x, %v", row, link, err)
		}
	}
}
