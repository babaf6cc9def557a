package hashmap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
	"stele/store"
)

// TestDeltaAgainstModel inserts rows of few windows, with growth in between, and asks for candidates by limit.
func TestDeltaAgainstModel(t *testing.T) {
	windows := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 32, 1<<64 - 1, 1<<64 - 1<<32}))
	rapid.Check(t, func(t *rapid.T) {
		d := newDelta(0)
		model := make(map[uint32][]uint32) // fragment -> links
		n := rapid.IntRange(0, 300).Draw(t, "rows")
		for link := range uint32(n) {
			w := windows.Draw(t, "window")
			d.insert(w, link)
			model[uint32(w>>32)] = append(model[uint32(w>>32)], link)
		}
		if have := d.count.Load(); have != uint64(n) {
			t.Fatalf("count %d, want %d", have, n)
		}
		first := rapid.Uint32Range(0, uint32(n)).Draw(t, "first")
		later := d.from(uint64(first))
		w, below := windows.Draw(t, "window"), rapid.Uint32Range(0, uint32(n)).Draw(t, "below")
		links := model[uint32(w>>32)]
		known := slices.ContainsFunc(links, func(l uint32) bool { return l < below })
		have := d.candidate(w, below)
		if known != (have != NoLink) || known && (have >= below || !slices.Contains(links, have)) {
			t.Fatalf("candidate %d of %v below %d", have, links, below)
		}
		kept := 0
		for fragment, links := range model {
			for _, l := range links {
				if l >= first {
					kept++
					if later.candidate(uint64(fragment)<<32, NoLink) == NoLink {
						t.Fatalf("link %d is lost from %d on", l, first)
					}
				}
			}
		}
		if later.count.Load() != uint64(kept) {
			t.Fatalf("%d rows from %d on, want %d", later.count.Load(), first, kept)
		}
	})
}

// TestDeltaMemory: what a row costs stays within the 12.8 to 25.6 bytes that the comment promises.
func TestDeltaMemory(t *testing.T) {
	d := newDelta(0)
	for n := range uint32(100_000) {
		d.insert(Mix64(uint64(n), 1), n)
		if row := float64(d.bytes()) / float64(n+1); n > minDelta && (row < 12.7 || row > 26) {
			t.Fatalf("%d rows take %.1f bytes each", n+1, row)
		}
	}
}

// TestDeltaSlots counts the slots that lookups of absent keys read in tables that are nearly full: at five eighths
// linear probing reads (1 + 1/(1-5/8)^2)/2 = 4.06 slots on average (Knuth, 6.4).
func TestDeltaSlots(t *testing.T) {
	f := newMapFixture(t, store.NewMemDisk(), txidSpec(), nil)
	f.add(mapKeysOf(0, minDelta<<9/8*5)...)
	slots, misses := uint32(0), uint64(20_000)
	for n := range misses {
		key := mapKeyOf(1e6 + n)
		_, ok, c := f.m.View().Probe(&key, uint32(len(f.keys)))
		if ok || c.Lines != 0 {
			t.Fatalf("an absent key: %v, %+v", ok, c)
		}
		slots += c.Slots
	}
	if mean := float64(slots) / float64(misses); mean < 3.7 || mean > 4.4 {
		t.Fatalf("%.2f slots a lookup, want about 4.06", mean)
	}
}
