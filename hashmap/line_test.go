package hashmap

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestLineBytes pins the layout: three entries at the offsets of the drawing, the marks, and a full line.
func TestLineBytes(t *testing.T) {
	var l line
	l.put(0x3a1, 1)
	l.put(0x0b2, 0x01020304)
	l.put(0x1c3, 0xfffffffe)
	want := "a1b2c3000000000000000000" + // low tag bits
		"130000" + // high tag bits: 3, 0, 1
		"00" + // marks
		"01000000" + "04030201" + "feffffff" // links plus one
	if have := hex.EncodeToString(l[:]); have != want+string(bytes.Repeat([]byte{'0'}, 128-len(want))) {
		t.Fatalf("line is\n%s, want\n%s", have, want)
	}
	for s := 3; s < lineSlots; s++ {
		if !l.put(uint32(s)<<8&0x300|uint32(s), uint32(s+100)) {
			t.Fatalf("no room in slot %d", s)
		}
	}
	full := l
	// The marks of tags 0-146, 147-292, ..., 878-1023; then the twin's.
	for _, c := range []struct {
		tag  uint32
		want byte
	}{{0, 0x01}, {146, 0x01}, {147, 0x03}, {0x3a0, 0x43}, {0x2a1, 0x53}, {1023, 0x53}, {0x3a1, 0xd3}, {700, 0xd3}} {
		if l.put(c.tag, 1000+c.tag) || l[lineMeta] != c.want {
			t.Fatalf("marks %#x after tag %#x passed, want %#x", l[lineMeta], c.tag, c.want)
		}
	}
	l[lineMeta] = 0
	if l != full {
		t.Fatal("a spill changed more than the marks")
	}
}

// TestLineAgainstModel fills lines and compares the words that lookups see with a plain list.
func TestLineAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct{ tag, stored uint32 }
		var words [lineSize / 8]uint64 // aligned, as a mapped line is
		p := unsafe.Pointer(&words)
		l := (*line)(p)
		var model []entry
		tags := rapid.OneOf(rapid.Uint32Range(0, 1023), rapid.SampledFrom([]uint32{0, 1, 255, 256, 512, 1023}))
		for range rapid.IntRange(0, 30).Draw(t, "puts") {
			e := entry{tags.Draw(t, "tag"), rapid.Uint32Range(1, 20).Draw(t, "stored")}
			known := slices.IndexFunc(model, func(m entry) bool { return m.stored == e.stored })
			placed := l.put(e.tag, e.stored)
			switch {
			case known >= 0:
				model[known].tag = e.tag
			case len(model) < lineSlots:
				model = append(model, e)
			}
			if want := known >= 0 || slices.Contains(model, e); placed != want {
				t.Fatalf("put(%d, %d) = %v among %v", e.tag, e.stored, placed, model)
			}
		}
		for s := range lineSlots {
			want := entry{}
			if s < len(model) {
				want = model[s]
			}
			if have := (entry{l.tag(s), l.stored(s)}); have != want || loadStored(p, uint(s)) != want.stored {
				t.Fatalf("slot %d: %v, want %v", s, have, want)
			}
			if want.stored != 0 && l.slotWith(want.stored) != s {
				t.Fatalf("slot with %d: %d, want %d", want.stored, l.slotWith(want.stored), s)
			}
		}
		tag := tags.Draw(t, "looked for")
		var have, want []uint
		w1 := loadWord(p, 1)
		for m := matchTags(loadWord(p, 0), w1, tag); m != 0; m &= m - 1 {
			if highBits(w1, slotOf(m)) == tag>>8 {
				have = append(have, slotOf(m))
			}
		}
		slices.Sort(have)
		for s := range lineSlots {
			if l.tag(s) == tag {
				want = append(want, uint(s))
			}
		}
		if !slices.Equal(have, want) || l.hasTag(tag) != (len(want) > 0) {
			t.Fatalf("tag %d matches slots %v, want %v", tag, have, want)
		}
	})
}
