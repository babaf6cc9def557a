package hashmap

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"stele/store"
)

// mapMachine drives a map and the naive model beside each other.
type mapMachine struct {
	*mapFixture
	keyGen *rapid.Generator[mapKey]
	kept   []keptView
}

// keptView is a view that was taken earlier and must go on answering for its rows.
type keptView struct {
	view  MapView
	below uint32
}

// crowdedKeys draws keys of few windows, tags and rests, so that buckets, tags and whole keys meet.
func crowdedKeys(spec Spec) *rapid.Generator[mapKey] {
	window := int(spec.Window)
	return rapid.Custom(func(t *rapid.T) mapKey {
		var key mapKey
		windows := []uint64{0, 1 << 32, 1 << 63, 3 << 62, 1<<64 - 1}
		setBits(&key, window, 64, rapid.SampledFrom(windows).Draw(t, "window"))
		tag := window + 64
		if tag+10 > spec.UniformBits {
			tag = 0
		}
		setBits(&key, tag, 10, rapid.SampledFrom([]uint64{0, 1, 256, 1023}).Draw(t, "tag"))
		rest := 100
		if window > 26 {
			rest = 10
		}
		setBits(&key, rest, 3, rapid.Uint64Range(0, 7).Draw(t, "rest"))
		return key
	})
}

func mapUniformKeys() *rapid.Generator[mapKey] {
	return rapid.Map(rapid.Uint64Range(0, 400), mapKeyOf)
}

func (s *mapMachine) insert(t *rapid.T) {
	s.add(rapid.SliceOfN(s.keyGen, 1, 30).Draw(t, "keys")...)
}

func (s *mapMachine) insertOne(t *rapid.T) { s.add(s.keyGen.Draw(t, "key")) }

func (s *mapMachine) mergeSome(t *rapid.T) {
	s.flush()
	to := rapid.Uint32Range(0, uint32(len(s.keys))).Draw(t, "to")
	if err := s.m.Merge(to); err != nil {
		t.Fatal(err)
	}
	if have := s.m.now().Watermark; have < uint64(to) {
		t.Fatalf("watermark %d after a merge to %d", have, to)
	}
}

// mergeApart seals, goes on inserting, and merges then.
func (s *mapMachine) mergeApart(t *rapid.T) {
	s.flush()
	if err := s.m.Seal(rapid.Uint32Range(0, uint32(len(s.keys))).Draw(t, "to")); err != nil {
		t.Fatal(err)
	}
	s.insert(t)
	s.keepView(t)
	if err := s.m.MergeSealed(); err != nil {
		t.Fatal(err)
	}
}

// mergeFull merges on a full disk: it may need no room, but if it does, nothing may change.
func (s *mapMachine) mergeFull(t *rapid.T) {
	s.flush()
	disk := s.disk.(*store.MemDisk)
	disk.SetCapacity(disk.Used())
	before := s.m.now()
	err := s.m.Merge(uint32(len(s.keys)))
	disk.SetCapacity(-1)
	var full *store.DiskFull
	if err != nil && (!errors.As(err, &full) || s.m.now() != before) {
		t.Fatalf("merge on a full disk: %v, state %+v, before %+v", err, s.m.now(), before)
	}
}

func (s *mapMachine) retire(t *rapid.T) {
	st := s.m.State()
	if err := s.m.Retire(); err != nil {
		t.Fatal(err)
	}
	names, err := s.disk.List()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"rows"}
	if st.Generation != 0 {
		want = append(want, fmt.Sprintf("tx.lines-%d", st.Generation))
	}
	if !slices.Equal(names, want) {
		t.Fatalf("files after Retire: %q, want %q", names, want)
	}
}

func (s *mapMachine) restart(*rapid.T) {
	s.reopen()
	s.kept = nil
}

func (s *mapMachine) keepView(*rapid.T) {
	s.kept = append(s.kept, keptView{s.m.View(), uint32(len(s.keys))})
	if len(s.kept) > 4 {
		s.kept = s.kept[1:]
	}
}

// check looks up in the newest view, which the writer alone may do with rows that are not flushed, and in kept ones.
func (s *mapMachine) check(t *rapid.T) {
	views := append(slices.Clone(s.kept), keptView{s.m.View(), uint32(len(s.keys))})
	keys := rapid.SliceOfN(s.keyGen, 1, 20).Draw(t, "keys")
	for _, k := range views {
		below := rapid.Uint32Range(0, k.below).Draw(t, "below")
		dst := make([]uint32, len(keys))
		k.view.FindGroup(keys, below, dst)
		for i := range keys {
			s.checkKey(k.view, &keys[i], below)
			if link, _ := k.view.Find(&keys[i], below); dst[i] != link {
				t.Fatalf("FindGroup found %d, Find %d", dst[i], link)
			}
		}
	}
}

func (s *mapMachine) verify(t *rapid.T) {
	if problems := s.m.Verify(uint32(len(s.keys))); len(problems) != 0 {
		t.Fatalf("Verify: %q", problems)
	}
	pending, _ := s.m.Pending()
	st := s.m.Stats()
	rows := uint64(len(s.keys))
	if st.Rows != s.m.now().Watermark || st.Scanned < st.Rows || st.Pending != pending || pending+st.Rows < rows {
		t.Fatalf("Stats: %+v of %d rows", st, rows)
	}
}

func testMapMachine(t *testing.T, spec Spec, keys *rapid.Generator[mapKey], adjust func(*Map)) {
	rapid.Check(t, func(t *rapid.T) {
		spec := spec
		spec.MergeBytes = rapid.SampledFrom([]int64{1, 3 * lineSize, 5 * rowBytes, 1 << 20}).Draw(t, "memory")
		s := &mapMachine{mapFixture: newMapFixture(t, store.NewMemDisk(), spec, adjust), keyGen: keys}
		t.Repeat(map[string]func(*rapid.T){
			"":          s.verify,
			"insert":    s.insert,
			"insertOne": s.insertOne,
			"merge":     s.mergeSome,
			"apart":     s.mergeApart,
			"full":      s.mergeFull,
			"retire":    s.retire,
			"restart":   s.restart,
			"view":      s.keepView,
			"check":     s.check,
		})
		s.merge()
		s.checkAll()
	})
}

func TestMapAgainstModel(t *testing.T) {
	t.Run("crowded", func(t *testing.T) { testMapMachine(t, txidSpec(), crowdedKeys(txidSpec()), crowded) })
	t.Run("uniform", func(t *testing.T) { testMapMachine(t, txidSpec(), mapUniformKeys(), crowded) })
	t.Run("ordinary", func(t *testing.T) { testMapMachine(t, txidSpec(), mapUniformKeys(), nil) })
	t.Run("mixed", func(t *testing.T) {
		spec := Spec{Name: "tx", Mixed: true, Secret: [16]byte{9, 8, 7}}
		testMapMachine(t, spec, rapid.Map(rapid.Uint64Range(0, 99), func(n uint64) (k mapKey) {
			setBits(&k, 0, 64, n) // as far from uniform as keys are
			return k
		}), crowded)
	})
	t.Run("header", func(t *testing.T) {
		spec := Spec{Name: "tx", UniformBits: 160, Window: 96}
		testMapMachine(t, spec, crowdedKeys(spec), crowded)
	})
}
