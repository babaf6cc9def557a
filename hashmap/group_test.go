package hashmap

import (
	"math/rand/v2"
	"testing"

	"stele/store"
)

// TestFindGroupSizes compares groups of all sizes around the group's own with single lookups, with rows in lines, in
// the sealed and in the active delta, and with absent keys.
func TestFindGroupSizes(t *testing.T) {
	f := newMapFixture(t, store.NewMemDisk(), txidSpec(), crowded)
	f.add(mapKeysOf(0, 500)...)
	f.merge()
	f.add(mapKeysOf(400, 700)...) // some again
	f.flush()
	if err := f.m.Seal(600); err != nil {
		t.Fatal(err)
	}
	f.add(mapKeysOf(650, 900)...)
	v := f.m.View()
	if v.sealed == nil || v.gen == nil || v.active.count.Load() == 0 {
		t.Fatalf("view %+v misses a part", v)
	}
	r := rand.New(rand.NewPCG(4, 4))
	for n := range 3*groupSize + 2 {
		for _, below := range []uint32{0, 1, 500, 777, uint32(len(f.keys))} {
			keys := make([]mapKey, n)
			for i := range keys {
				keys[i] = mapKeyOf(r.Uint64N(1200))
			}
			dst := make([]uint32, n+1)
			dst[n] = 12345
			v.FindGroup(keys, below, dst)
			for i := range keys {
				want := NoLink
				if links := f.want(&keys[i], below); len(links) > 0 {
					want = links[0]
				}
				if dst[i] != want {
					t.Fatalf("group of %d below %d: key %d is %d, want %d", n, below, i, dst[i], want)
				}
			}
			if dst[n] != 12345 {
				t.Fatal("FindGroup wrote beyond its keys")
			}
		}
	}
}
