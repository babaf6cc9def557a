package hashmap

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/store"
)

// multiSpecs draws few buckets, so that all of them overflow, and merges that sort a few pairs at a time.
func multiSpecs() *rapid.Generator[MultimapSpec] {
	return rapid.Custom(func(t *rapid.T) MultimapSpec {
		return MultimapSpec{
			Buckets:    rapid.Uint64Range(1, 3).Draw(t, "buckets"),
			Once:       rapid.Bool().Draw(t, "once"),
			Mixed:      rapid.Bool().Draw(t, "mixed"),
			Secret:     cellsTestID,
			MergePairs: rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "sorted"),
		}
	})
}

// multiKeys draws keys of which some have equal tags in the same bucket, some equal tags in different ones.
func multiKeys() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		high := rapid.SampledFrom([]uint64{0, 1, 0x55555555, 0x80000000, 0xffffffff}).Draw(t, "high")
		return high<<32 | rapid.Uint64Range(0, 2).Draw(t, "low")
	})
}

type multiMachine struct{ *multiFixture }

func (m multiMachine) actions() map[string]func(*rapid.T) {
	add := func(t *rapid.T) {
		m.add(multiKeys().Draw(t, "key"), rapid.OneOf(rapid.Uint64Range(0, 40),
			rapid.SampledFrom([]uint64{MaxMultiValue, 1 << 39, 1 << 32})).Draw(t, "value"))
	}
	merged := func(t *rapid.T, err error) {
		if err != nil && !errors.Is(err, ErrUnsettled) {
			t.Fatal(err)
		}
	}
	return map[string]func(*rapid.T){
		"add":   add,
		"again": add,
		"many": func(t *rapid.T) {
			key := multiKeys().Draw(t, "key")
			for range rapid.IntRange(1, 30).Draw(t, "many") {
				m.add(key, 100+uint64(len(m.log)))
			}
		},
		"keep":         func(*rapid.T) { m.keep() },
		"merge":        func(t *rapid.T) { merged(t, m.m.Merge(uint64(m.applied))) },
		"merge sealed": func(t *rapid.T) { merged(t, m.m.MergeSealed()) },
		"seal": func(t *rapid.T) {
			if m.m.View().sealed != nil {
				t.Skip("sealed already")
			}
			m.seal()
		},
		"settle":  func(*rapid.T) { m.settle() },
		"state":   func(*rapid.T) { m.durable = m.m.State() }, // a manifest that Retire has not heard of
		"rebuild": func(t *rapid.T) { m.rebuild(rapid.Uint64Range(1, 4).Draw(t, "buckets")) },
		"kill": func(*rapid.T) {
			m.open()
			m.replay(nil)
		},
		"": func(*rapid.T) { m.check() },
	}
}

// The multimap against its log, with views that are kept over merges and rebuilds, and restarts at the last manifest
// with merges that it does not know of in the file.
func TestMultimapAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := multiMachine{newMultiFixture(t, cellsTestDisk(1<<15), multiSpecs().Draw(t, "spec"))}
		t.Repeat(m.actions())
	})
}

// A key with 100,000 values: they come back in order, and neither adding nor merging looks at the ones that were there.
func TestMultimapHotKey(t *testing.T) {
	const values, batches = 100_000, 100
	f := newMultiFixture(t, cellsTestDisk(4<<20), MultimapSpec{Once: true, Buckets: 1})
	for i := range uint64(values) {
		f.m.Add(42, i)
		if i%(values/batches) == 0 {
			if err := f.m.Merge(i + 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, c := f.m.View().Probe(nil, 42)
	if len(got) != values {
		t.Fatalf("%d values, want %d", len(got), values)
	}
	for i, v := range got {
		if v != uint64(values-1-i) {
			t.Fatalf("value %d from the newest is %d", i, v)
		}
	}
	merged := values - values/batches + 1
	lines := (merged + multiEntries - 1) / multiEntries
	if want := (MultiCounters{Heads: 1, Pairs: values - merged, Lines: lines, Passes: merged}); c != want {
		t.Errorf("it cost %+v, want %+v", c, want)
	}

	g, err := f.m.newFile(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(batches) {
		batch := make([]multiPair, values/batches)
		for j := range batch {
			batch[j] = newMultiPair(42, i*uint64(len(batch))+uint64(j), 0)
		}
		w := newMultiMerge(g, 0, 100, false)
		if err := w.run(batch); err != nil {
			t.Fatal(err)
		}
		if w.looked > 1 {
			t.Fatalf("merge %d of a hot key read %d lines of its chain, want 1", i, w.looked)
		}
	}
}

// The bytes of a file, written out by hand from the drawings.
func TestMultimapFormat(t *testing.T) {
	d := cellsTestDisk(1 << 16)
	m, err := OpenMultimap(d, cellsTestID, MultimapSpec{Name: "script", Buckets: 2}, State{})
	if err != nil {
		t.Fatal(err)
	}
	// Twice this key has the high word 1 and a low word that begins with 0x555556.
	const key = 0x80000000_00000000 + 0x555556_00000000/2<<8
	for value := range uint64(9) {
		m.Add(key, 0x0102030400+value)
	}
	if err := m.Merge(0x1122); err != nil {
		t.Fatal(err)
	}
	data := cellsTestBytes(t, d, "script.multi-1")
	zeros := strings.Repeat("00", 8)
	entry := func(low byte) string { return hex.EncodeToString([]byte{low, 4, 3, 2, 1}) + "565555" }
	home, over := "", entry(8)+entry(9)
	for low := range byte(7) {
		home += entry(low + 1)
	}
	for _, part := range []struct {
		what     string
		from, to int
		want     string
	}{
		{"magic, generation, buckets", 0, 32, "7374656c656d756c" + "01000000" + "00000000" + "02" + zeros[2:] + zeros},
		{"store id", 32, 48, "0102030405060708090a0b0c0d0e0f10"},
		{"name", 48, 88, "0000000000000000" + hex.EncodeToString(append([]byte("script"), make([]byte, 26)...))},
		{"stamp", 512, 528, "2211000000000000" + "0000000000000000"},
		{"home line 0", 4096, 4160, hex.EncodeToString(make([]byte, 64))},
		{"home line 1", 4160, 4224, home + "01000000" + "00000000"},
		{"overflow line 0", 4224, 4288, over + hex.EncodeToString(make([]byte, 40)) + "00000000" + "01000000"},
	} {
		if have := hex.EncodeToString(data[part.from:part.to]); have != part.want {
			t.Errorf("%s is\n%s, want\n%s", part.what, have, part.want)
		}
	}
	if want := (State{Generation: 1, Buckets: 2, Watermark: 0x1122, Entries: 1}); m.State() != want {
		t.Errorf("state %+v, want %+v", m.State(), want)
	}
}

// A file whose header was changed in any byte, that was cut, or that is another one, is refused.
func TestMultimapDamagedHeader(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 2})
	for i := range uint64(40) {
		f.add(1, i)
	}
	f.merge()
	state, name := f.m.State(), "conflict.multi-1"
	good := cellsTestBytes(t, f.disk, name)
	open := func(data []byte, id [16]byte, st State) error {
		m, err := OpenMultimap(cellsTestFile(t, name, data), id, f.spec, st)
		if err == nil {
			m.Close()
		}
		return err
	}
	if err := open(good, cellsTestID, state); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	for at := range cellsStampEnd {
		if at >= cellsHeadEnd && at < cellsHeadStamp {
			continue
		}
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		if err := open(bad, cellsTestID, state); !cellsIsDamaged(err) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
	for _, size := range []int{0, 1, store.PageSize, store.PageSize + 2*lineSize, int(multiEnd(2, state.Entries)) - 1} {
		if err := open(good[:size], cellsTestID, state); !cellsIsDamaged(err) {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
	}
	if err := open(good, [16]byte{9}, state); !cellsIsForeign(err) {
		t.Errorf("another store: %v", err)
	}
	for what, change := range map[string]func(*State){
		"missing":    func(s *State) { s.Generation = 2 },
		"no file":    func(s *State) { s.Generation = 0 },
		"buckets":    func(s *State) { s.Buckets = 3 },
		"no buckets": func(s *State) { s.Buckets = 0 },
		"huge":       func(s *State) { s.Buckets = 1 << 60 },
		"lines":      func(s *State) { s.Entries = 1 << 40 },
	} {
		st := state
		change(&st)
		if err := open(good, cellsTestID, st); !cellsIsDamaged(err) {
			t.Errorf("state %s: %v", what, err)
		}
	}
}

// Verify names what is wrong with lines that were damaged in each way.
func TestMultimapVerify(t *testing.T) {
	f := newMultiFixture(t, cellsTestDisk(1<<16), MultimapSpec{Buckets: 2, Once: true})
	for i := range uint64(30) {
		f.add(i%2<<63, i)
	}
	f.merge()
	s, problems := f.m.Survey()
	if s.Pairs != 30 || s.Lines != 6 || s.Lost != 0 || s.LinesMax != 3 || s.LinesMean != 3 || len(problems) != 0 {
		t.Fatalf("%+v %v", s, problems)
	}
	if st := f.m.Stats(); st.Overflow != 4 || st.Buckets != 2 || st.Delta != 0 || st.Bytes != 4096+6*64 {
		t.Fatalf("%+v", st)
	}
	file := f.m.View().file.file
	for what, damage := range map[string]struct {
		line, word int
		value      uint64
	}{
		"which is not its own":       {0, 7, 99},
		"breaks off":                 {2, 7, 1 << 32},
		"with a tag and no value":    {0, 2, 5 << 40},
		"behind a free place":        {2, 1, 0},
		"has room, and is not":       {2, 6, 0},
		"beside a home line with ro": {1, 6, 0},
	} {
		at := int64(store.PageSize + damage.line*lineSize + damage.word*8)
		old := bytes.Clone(file.Mapping().Bytes()[at : at+8])
		if err := file.Rewrite(binary.LittleEndian.AppendUint64(nil, damage.value), at); err != nil {
			t.Fatal(err)
		}
		problems := f.m.Verify()
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, what) }) {
			t.Errorf("%s: %v", what, problems)
		}
		if err := file.Rewrite(old, at); err != nil {
			t.Fatal(err)
		}
	}
	if problems := f.m.Verify(); len(problems) != 0 {
		t.Errorf("after all was mended: %v", problems)
	}
}
