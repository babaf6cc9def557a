package hashmap

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"pgregory.net/rapid"
	"stele/store"
)

// mapKey is the key of a row.
type mapKey = [32]byte

// mapRows describes the rows of the fixture: something, the key, something.
const (
	mapWidth  = 45
	mapKeyOff = 5
)

var mapID = [16]byte{1, 2, 3}

// mapFixture is a map over a body on a disk, and beside it the naive model: the list of all keys.
type mapFixture struct {
	tb     rapid.TB
	disk   store.Disk
	spec   Spec
	body   *store.Body
	m      *Map
	keys   []mapKey // of all rows
	adjust func(m *Map)
}

// newMapFixture opens an empty map; adjust may change it after each opening.
func newMapFixture(tb rapid.TB, disk store.Disk, spec Spec, adjust func(m *Map)) *mapFixture {
	tb.Helper()
	f := &mapFixture{tb: tb, disk: disk, spec: spec, adjust: adjust}
	f.open(State{}, nil)
	return f
}

// crowded makes generations of few buckets, so that what is rare becomes common.
func crowded(m *Map) { m.leastBuckets, m.spare, m.piece = 1, 2, 3 }

// txidSpec is a map whose keys are uniform.
func txidSpec() Spec { return Spec{Name: "tx", UniformBits: 256, Window: 77} }

func (f *mapFixture) rows() Rows { return Rows{Body: f.body, Width: mapWidth, KeyOff: mapKeyOff} }

// open opens body and map of the given rows, and fills the delta as the owner of a map does.
func (f *mapFixture) open(st State, keys []mapKey) {
	f.tb.Helper()
	spec := store.BodySpec{Name: "rows", Kind: "test", Width: mapWidth, Reserve: 8 << 20}
	body, err := store.OpenBody(f.disk, spec, mapID, int64(len(keys))*mapWidth)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.body, f.keys = body, keys
	if f.m, err = OpenMap(f.disk, mapID, f.spec, f.rows(), st); err != nil {
		f.tb.Fatal(err)
	}
	if f.adjust != nil {
		f.adjust(f.m)
	}
	for i := st.Watermark; i < uint64(len(keys)); i++ {
		f.insertLink(uint32(i))
	}
}

// reopen closes everything and opens it at the map's state.
func (f *mapFixture) reopen() {
	f.tb.Helper()
	f.flush()
	st := f.m.State()
	f.close()
	f.open(st, f.keys)
}

func (f *mapFixture) close() {
	f.tb.Helper()
	if err := f.m.Close(); err != nil {
		f.tb.Fatal(err)
	}
	if err := f.body.Close(); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *mapFixture) flush() {
	f.tb.Helper()
	if err := f.body.Flush(); err != nil {
		f.tb.Fatal(err)
	}
}

// add appends a row and inserts it.
func (f *mapFixture) add(keys ...mapKey) {
	f.tb.Helper()
	if err := f.body.Reserve(int64(len(keys)) * mapWidth); err != nil {
		f.tb.Fatal(err)
	}
	for _, k := range keys {
		row := f.body.Grow(mapWidth)
		copy(row[mapKeyOff:], k[:])
		for i := range mapKeyOff {
			row[i], row[mapWidth-1-i] = 0xee, 0xee
		}
		f.keys = append(f.keys, k)
		f.insertLink(uint32(len(f.keys) - 1))
	}
}

func (f *mapFixture) insertLink(link uint32) {
	f.tb.Helper()
	if err := f.m.Insert(link); err != nil {
		f.tb.Fatal(err)
	}
}

// merge merges all rows.
func (f *mapFixture) merge() {
	f.tb.Helper()
	f.flush()
	if err := f.m.Merge(uint32(len(f.keys))); err != nil {
		f.tb.Fatal(err)
	}
}

// want returns the links of a key below a limit, newest first: the naive model's answer.
func (f *mapFixture) want(key *mapKey, below uint32) []uint32 {
	var links []uint32
	for i, k := range f.keys[:min(len(f.keys), int(below))] {
		if k == *key {
			links = append(links, uint32(i))
		}
	}
	slices.Reverse(links)
	return links
}

// checkKey compares all kinds of lookup with the model.
func (f *mapFixture) checkKey(v MapView, key *mapKey, below uint32) {
	f.tb.Helper()
	want := f.want(key, below)
	first := NoLink
	if len(want) > 0 {
		first = want[0]
	}
	if link, ok := v.Find(key, below); link != first || ok != (first != NoLink) {
		f.tb.Fatalf("Find(%x, %d) = %d, %v, want %d", key[:8], below, link, ok, first)
	}
	if link, ok, c := v.Probe(key, below); link != first || ok != (first != NoLink) || c.Rows > c.TagPasses {
		f.tb.Fatalf("Probe(%x, %d) = %d, %v, %+v, want %d", key[:8], below, link, ok, c, first)
	}
	if have := v.FindAll([]uint32{7}, key, below); have[0] != 7 || !slices.Equal(have[1:], want) {
		f.tb.Fatalf("FindAll(%x, %d) = %v, want 7 and %v", key[:8], below, have, want)
	}
}

// checkAll compares the lookups of all keys, and the verification, with what must be.
func (f *mapFixture) checkAll() {
	f.tb.Helper()
	newest := make(map[mapKey]uint32)
	for i, k := range f.keys {
		newest[k] = uint32(i)
	}
	v, below := f.m.View(), uint32(len(f.keys))
	dst := make([]uint32, len(f.keys))
	v.FindGroup(f.keys, below, dst)
	for i := range f.keys {
		want := newest[f.keys[i]]
		if link, ok := v.Find(&f.keys[i], below); !ok || link != want || dst[i] != want {
			f.tb.Fatalf("row %d: Find = %d, %v, FindGroup = %d, want %d", i, link, ok, dst[i], want)
		}
	}
	if problems := f.m.Verify(below); len(problems) != 0 {
		f.tb.Fatalf("Verify: %q", problems)
	}
}

// mapKeyOf returns the n-th of the uniform keys: the SHA-256 of a counter.
func mapKeyOf(n uint64) mapKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64(nil, n))
}

// mapKeysOf returns the keys from first to end.
func mapKeysOf(first, end uint64) []mapKey {
	keys := make([]mapKey, 0, end-first)
	for n := first; n < end; n++ {
		keys = append(keys, mapKeyOf(n))
	}
	return keys
}

// setBits overwrites n bits of a key from bit off on.
func setBits(key *mapKey, off, n int, value uint64) {
	for i := range n {
		at, bit := (off+i)/8, byte(1)<<((off+i)%8)
		key[at] &^= bit
		if value>>i&1 != 0 {
			key[at] |= bit
		}
	}
}

// getBits is the naive reading of a key's bits.
func getBits(key *mapKey, off, n int) (value uint64) {
	for i := range n {
		value |= uint64(key[(off+i)/8]>>((off+i)%8)&1) << i
	}
	return value
}
