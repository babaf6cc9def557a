package hashmap

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc64"
	"slices"
	"strings"
	"testing"

	"stele/store"
)

// TestHeaderBytes pins the header page's fields.
func TestHeaderBytes(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, Spec{Name: "blockhash", UniformBits: 160, Window: 33}, nil)
	f.add(mapKeyOf(1), mapKeyOf(2), mapKeyOf(3))
	f.merge()
	h := fileBytes(t, disk, "blockhash.lines-1")
	want := hex.EncodeToString([]byte("stelelns")) + "01000000" + "00000000" + // generation
		"a003000000000000" + "c003000000000000" + // 928 buckets, 960 lines
		"01020300000000000000000000000000" + // store id
		"21" + "00" + "a000" + "00000000" + // window, mixed, uniform bits
		hex.EncodeToString([]byte("blockhash")) + strings.Repeat("00", 32-9)
	if have := hex.EncodeToString(h[:88]); have != want {
		t.Fatalf("header is\n%s, want\n%s", have, want)
	}
	table := crc64.MakeTable(crc64.ECMA)
	for _, sector := range []struct{ from, sum int }{{0, 88}, {512, 520}} {
		if binary.LittleEndian.Uint64(h[sector.sum:]) != crc64.Checksum(h[sector.from:sector.sum], table) {
			t.Fatalf("the checksum at %d does not fit", sector.sum)
		}
	}
	if binary.LittleEndian.Uint64(h[512:]) != 3 || len(h) != 64<<10 {
		t.Fatalf("stamp %d, file of %d bytes", binary.LittleEndian.Uint64(h[512:]), len(h))
	}
}

// TestOpenRefuses opens a merged map as something else, and with a file that is not whole.
func TestOpenRefuses(t *testing.T) {
	good := newMapFixture(t, store.NewMemDisk(), txidSpec(), crowded)
	good.add(mapKeysOf(0, 100)...)
	good.merge()
	st := good.m.State()
	name := good.m.fileName(1)
	image := good.disk.(*store.MemDisk)
	whole := headerSize + int64(good.m.View().gen.lines)*lineSize

	type env struct {
		disk *store.MemDisk
		id   [16]byte
		spec Spec
		st   State
	}
	var damaged *store.Damaged
	var foreign *store.Foreign
	for _, c := range []struct {
		what   string
		change func(e *env)
		as     any
		text   string
	}{
		{"no file", func(e *env) { _ = e.disk.Remove(name) }, &damaged, "is missing"},
		{"generation", func(e *env) { e.st.Generation = 2 }, &damaged, "is missing"},
		{"buckets", func(e *env) { e.st.Buckets++ }, &damaged, "another index, generation or number of buckets"},
		{"no buckets", func(e *env) { e.st.Buckets = 0 }, &damaged, "0 buckets"},
		{"too many buckets", func(e *env) { e.st.Buckets = 1 << 40 }, &damaged, "buckets"},
		{"watermark", func(e *env) { e.st.Watermark, e.st.Entries = 101, 101 }, &damaged, "101 rows of the 100"},
		{"entries", func(e *env) { e.st.Entries = 99 }, &damaged, "99 entries for 100 rows"},
		{"no generation", func(e *env) { e.st.Generation = 0 }, &damaged, "without a generation"},
		{"window", func(e *env) { e.spec.Window++ }, &damaged, "another index"},
		{"uniform bits", func(e *env) { e.spec.UniformBits-- }, &damaged, "another index"},
		{"mixed", func(e *env) { e.spec.Mixed = true }, &damaged, "another index"},
		{"other store", func(e *env) { e.id[15] = 9 }, &foreign, "store id of file tx.lines-1"},
		{"cut off in the lines", func(e *env) { cutFile(t, e.disk, name, whole-1) }, &damaged, "cut short"},
		{"cut off by a page", func(e *env) { cutFile(t, e.disk, name, 4096) }, &damaged, "cut short"},
		{"cut off in the header", func(e *env) { cutFile(t, e.disk, name, 4095) }, &damaged, "cut short"},
		{"empty", func(e *env) { cutFile(t, e.disk, name, 0) }, &damaged, "cut short"},
		{"magic", func(e *env) { fileBytes(t, e.disk, name)[0]++ }, &damaged, "header page"},
		{"header sum", func(e *env) { fileBytes(t, e.disk, name)[90]++ }, &damaged, "checksum"},
		{"few lines", func(e *env) {
			copy(fileBytes(t, e.disk, name), good.m.header(1, st.Buckets, st.Buckets-1))
		}, &damaged, "lines for"},
		{"many lines", func(e *env) {
			copy(fileBytes(t, e.disk, name), good.m.header(1, st.Buckets, 1<<58))
		}, &damaged, "lines for"},
		{"stamp sum", func(e *env) { fileBytes(t, e.disk, name)[520]++ }, &damaged, "merge stamp"},
		{"stamp", func(e *env) { copy(fileBytes(t, e.disk, name)[512:], stamp(99)) }, &damaged, "merged to row 99"},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := env{image.Clone(), mapID, good.spec, st}
			c.change(&e)
			m, err := OpenMap(e.disk, e.id, e.spec, good.rows(), e.st)
			if m != nil || !errors.As(err, c.as) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want %T with %q", err, c.as, c.text)
			}
			if err := e.disk.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestOpenRefusesSpecs opens maps that cannot be.
func TestOpenRefusesSpecs(t *testing.T) {
	good := newMapFixture(t, store.NewMemDisk(), txidSpec(), nil)
	for _, rows := range []Rows{{good.body, 31, 0}, {good.body, 45, 14}, {good.body, 45, -1}} {
		if m, err := OpenMap(good.disk, mapID, good.spec, rows, State{}); m != nil || err == nil {
			t.Errorf("keys at %d of %d bytes are accepted", rows.KeyOff, rows.Width)
		}
	}
	for _, name := range []string{"", strings.Repeat("n", 33)} {
		spec := good.spec
		spec.Name = name
		if m, err := OpenMap(good.disk, mapID, spec, good.rows(), State{}); m != nil || err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
}

func cutFile(t *testing.T, disk store.Disk, name string, size int64) {
	t.Helper()
	f, err := disk.Open(name, store.FileOptions{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}

// TestAhead adopts a manifest of before a merge's rows existed: the lines know of more rows than there are, are
// refused, and are rebuilt from the zero State into a file of another number.
func TestAhead(t *testing.T) {
	f := newMapFixture(t, store.NewMemDisk(), txidSpec(), nil)
	f.add(mapKeysOf(0, 100)...)
	f.merge()
	old := f.m.State()
	f.add(mapKeysOf(100, 150)...)
	f.merge()
	f.close()
	keys := f.keys[:120]
	spec := store.BodySpec{Name: "rows", Kind: "test", Width: mapWidth}
	body, err := store.OpenBody(f.disk, spec, mapID, 120*mapWidth)
	if err != nil {
		t.Fatal(err)
	}
	var ahead *Ahead
	m, err := OpenMap(f.disk, mapID, f.spec, Rows{body, mapWidth, mapKeyOff}, old)
	if m != nil || !errors.As(err, &ahead) || ahead.Stamp != 150 || ahead.Existing != 120 {
		t.Fatalf("error %v", err)
	}
	f.open(State{}, keys)
	f.checkAll()
	f.merge()
	if st := f.m.State(); st.Generation != 2 || st.Watermark != 120 {
		t.Fatalf("state %+v", st)
	}
	f.checkAll()
}

// TestRetireKeepsTheManifests: a merge that finishes after State was asked must not cost the file that the manifest
// names; views go on reading files that were removed.
func TestRetireKeepsTheManifests(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, txidSpec(), crowded)
	files := func(want ...string) {
		t.Helper()
		names, err := disk.List()
		if err != nil || !slices.Equal(names, append([]string{"rows"}, want...)) {
			t.Fatalf("files %q, %v, want %q", names, err, want)
		}
	}
	retire := func() {
		t.Helper()
		if err := f.m.Retire(); err != nil {
			t.Fatal(err)
		}
	}
	f.add(mapKeysOf(0, 50)...)
	f.merge()
	f.m.State() // a manifest names generation 1
	first := keptView{f.m.View(), 50}
	f.add(mapKeysOf(50, 200)...)
	f.merge()
	retire()
	files("tx.lines-1", "tx.lines-2")
	f.m.State()
	// Not of this map, or not by its rules: other names stay.
	for _, name := range []string{"tx.lines-01", "tx.lines-x", "tx2.lines-7", "tx.lines-9", "tx.lines-4294967296"} {
		if _, err := disk.Open(name, store.FileOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	retire()
	files("tx.lines-01", "tx.lines-2", "tx.lines-4294967296", "tx.lines-x", "tx2.lines-7")
	for i := range f.keys {
		f.checkKey(first.view, &f.keys[i], first.below)
	}
}

// TestReadOnly serves from a disk that cannot be written, and refuses to merge.
func TestReadOnly(t *testing.T) {
	disk := store.NewMemDisk()
	f := newMapFixture(t, disk, txidSpec(), crowded)
	f.add(mapKeysOf(0, 100)...)
	f.merge()
	f.add(mapKeysOf(100, 110)...)
	f.flush()
	st := f.m.State()
	f.close()
	disk.SetReadOnly(true)
	f.open(st, f.keys)
	f.checkAll()
	if err := f.m.Merge(110); !errors.Is(err, store.ErrReadOnly) {
		t.Fatalf("merge: %v", err)
	}
	f.checkAll()
}

// TestOnFileSystem runs the map's life over mapped files: growth, merges in place, views that outlive their file, and
// opening again.
func TestOnFileSystem(t *testing.T) {
	path := t.TempDir()
	open := func() *store.Dir {
		disk, err := store.OpenDir(path, store.DirOptions{Verb: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return disk
	}
	disk := open()
	f := newMapFixture(t, disk, txidSpec(), nil)
	f.add(mapKeysOf(0, 8000)...)
	f.merge()
	old := keptView{f.m.View(), 8000}
	f.add(mapKeysOf(8000, 20_000)...)
	f.merge()
	f.m.State()
	if err := f.m.Retire(); err != nil {
		t.Fatal(err)
	}
	f.add(mapKeysOf(20_000, 24_000)...)
	f.merge()
	f.add(mapKeysOf(24_000, 24_100)...)
	f.checkAll()
	for i := range f.keys[:8000] {
		if link, ok := old.view.Find(&f.keys[i], old.below); !ok || link != uint32(i) {
			t.Fatalf("row %d in the old view: %d, %v", i, link, ok)
		}
	}
	f.flush()
	st := f.m.State()
	f.close()
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	f.disk = open()
	f.open(st, f.keys)
	f.checkAll()
	f.close()
	if err := f.disk.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzOpenLines opens damaged files: they are refused, or looked up in and verified without a panic, and never answer
// with a row of another key. Mode 0 takes the bytes as a file, mode 1 as lines under a good header.
func FuzzOpenLines(f *testing.F) {
	good := newMapFixture(f, store.NewMemDisk(), txidSpec(), crowded)
	for range 3 {
		good.add(mapKeysOf(0, 12)...)
		good.add(mapKeysOf(0, 30)...)
	}
	good.merge()
	st := good.m.State()
	lines := good.m.View().gen.lines
	whole := slices.Clone(fileBytes(f, good.disk, "tx.lines-1")[:headerSize+lines*lineSize])
	rows := uint32(len(good.keys))
	f.Add(byte(0), whole)
	f.Add(byte(0), whole[:len(whole)-1])
	f.Add(byte(0), whole[:100])
	f.Add(byte(0), []byte{})
	f.Add(byte(1), whole[headerSize:])
	f.Add(byte(1), slices.Repeat([]byte{0xff}, int(lines)*lineSize))
	f.Fuzz(func(t *testing.T, mode byte, b []byte) {
		if mode == 1 {
			b = append(slices.Clone(whole[:headerSize]), b...)
		}
		disk := store.NewMemDisk()
		disk.SetReserveCap(64 << 10)
		file, err := disk.Open("tx.lines-1", store.FileOptions{Reserve: int64(len(b))})
		if err != nil {
			t.Fatal(err)
		}
		b = b[:min(len(b), 64<<10)]
		if err := file.Allocate(int64(len(b))); err != nil {
			t.Fatal(err)
		}
		if err := file.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		m, err := OpenMap(disk, mapID, good.spec, good.rows(), st)
		if err != nil {
			return
		}
		crowded(m)
		v := m.View()
		for i := range good.keys {
			key := &good.keys[i]
			if link, ok := v.Find(key, rows); ok && good.keys[link] != *key {
				t.Fatal("Find answers with a row of another key")
			}
			for _, link := range v.FindAll(nil, key, rows) {
				if good.keys[link] != *key {
					t.Fatal("FindAll answers with a row of another key")
				}
			}
		}
		v.FindGroup(good.keys, rows, make([]uint32, rows))
		m.Stats()
		if problems := m.Verify(rows); len(problems) > 0 {
			return
		}
		for i := range good.keys {
			if _, ok := v.Find(&good.keys[i], rows); !ok {
				t.Fatalf("Verify finds nothing wrong, but row %d is lost", i)
			}
		}
	})
}
