package addrbook

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// sealed puts the right checksum under a file that was altered.
func sealed(raw []byte) []byte {
	body := raw[:max(0, len(raw)-sumSize)]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

// small makes a book with entries of every network in both tables, some of many slots, and newcomers that wait.
func small(t testing.TB, h *hand) *Book {
	t.Helper()
	b := New(options(h, 1))
	for i := range 60 {
		b.Add([]Known{heard(v4(i%3, i), h, time.Hour)}, v4(i%5, 1), 0)
		b.Good(v4(i%3, i*2))
	}
	for i := range byte(4) {
		for _, a := range []Address{fromBytes(TorV3, []byte{i, 1}, 1), fromBytes(I2P, []byte{i, 1}, 0),
			fromBytes(CJDNS, []byte{0xfc, i}, 1), fromBytes(IPv6, []byte{0x2a, i}, 1)} {
			b.Add([]Known{heard(a, h, time.Hour)}, a, 0)
			b.Add([]Known{heard(a, h, 0)}, Named("seed.example"), 0)
			b.Attempt(a, true)
			if i == 0 {
				b.Good(a)
			}
		}
	}
	for i := 100; len(b.pending) == 0; i++ {
		b.Add([]Known{heard(v4(1, i), h, 0)}, v4(1, 1), 0)
		b.Good(v4(1, i))
	}
	check(t, b)
	return b
}

func TestSaveOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers")
	h := &hand{begin}
	b, err := Open(path, options(h, 1))
	if err != nil || b.Len() != 0 {
		t.Fatalf("%d, %v", b.Len(), err)
	}
	if err := b.Save(); err != nil { // nothing to save: no file
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("an empty book has a file: %v", err)
	}
	was := small(t, h)
	was.path = path
	if err := was.Save(); err != nil {
		t.Fatal(err)
	}
	b, err = Open(path, options(h, 99))
	if err != nil {
		t.Fatal(err)
	}
	check(t, b)
	if err := same(was, b); err != nil {
		t.Fatal(err)
	}
	if len(b.pending) == 0 || b.count == [networks][2]int{} {
		t.Error("the book has nothing to prove")
	}
	// Nothing changed: the file is not touched. Then it is, over what a crash left beside it.
	before, _ := os.Stat(path)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("written though nothing changed")
	}
	os.WriteFile(path+".part", []byte("half a book"), 0o600)
	b.Add([]Known{heard(v4(200, 1), h, 0)}, v4(200, 1), 0)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(path, options(h, 3)); err != nil || same(b, c) != nil {
		t.Errorf("%v, %v", err, same(b, c))
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if err := New(options(h, 1)).Close(); err != nil {
		t.Errorf("a book in memory: %v", err)
	}
}

// TestDamage flips every byte of a file, cuts it at every length, and appends to it. Nothing passes.
func TestDamage(t *testing.T) {
	h := &hand{begin}
	raw := small(t, h).encode(nil)
	b := New(options(h, 2)) // for what must fail before the book is touched
	try := func(what string, at int, raw []byte) {
		t.Helper()
		if err := b.decode(raw); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s at %d: %v", what, at, err)
		}
	}
	for i := 0; i < len(raw); i++ {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x10
		try("flipped", i, bad)
		if i%7 == 0 {
			try("cut", i, raw[:i])
		}
		if i > headSize && i < len(raw)-sumSize && i%3 == 0 {
			b = New(options(h, 2))
			try("cut and sealed", i, sealed(raw[:i+sumSize]))
		}
	}
	try("longer", len(raw), append(bytes.Clone(raw), 0))
	b = New(options(h, 2))
	try("longer and sealed", len(raw), sealed(append(bytes.Clone(raw), 0)))
	b = New(options(h, 2))
	huge := bytes.Clone(raw)
	binary.LittleEndian.PutUint32(huge[52:], maxEntries)
	try("many entries", 52, sealed(huge))
	binary.LittleEndian.PutUint32(huge[52:], maxEntries+1)
	try("too many entries", 52, sealed(huge))
}

// TestForged seals books that break an invariant. A checksum does not make them good.
func TestForged(t *testing.T) {
	h := &hand{begin}
	for _, c := range []struct {
		name  string
		forge func(b *Book)
	}{
		{"an entry twice", func(b *Book) {
			e := b.entries[b.fresh[used0(b.fresh[:])].entry()]
			for bucket := uint16(0); b.fresh[e.slots[0]] != 0; bucket++ { // where it may stand, and nobody does
				e.slots[0] = b.slotIn(tagNewSlot, bucket, e.addr)
			}
			e.refs = 1
			b.entries = append(b.entries, e)
		}},
		{"a source with a port", func(b *Book) { b.entries[3].source.Port = 1 }},
		{"no port", func(b *Book) { b.entries[0].addr.Port = 0 }},
		{"a private address", func(b *Book) { b.entries[0].addr = ip("10.0.0.1:8333") }},
		{"a place of another", func(b *Book) { b.entries[b.fresh[used0(b.fresh[:])].entry()].slots[0] ^= 1 }},
		{"a place twice", func(b *Book) {
			e := &b.entries[b.fresh[used0(b.fresh[:])].entry()]
			for e.refs < maxRefs {
				e.slots[e.refs] = e.slots[0]
				e.refs++
			}
		}},
		{"waits twice", func(b *Book) { b.pending = append(b.pending, b.pending[0]) }},
		{"a stranger waits", func(b *Book) { b.pending[0] = v4(99, 99) }},
		{"one of tried waits", func(b *Book) { b.pending[0] = b.entries[b.tried[used0(b.tried[:])].entry()].addr }},
	} {
		b := small(t, h)
		c.forge(b)
		if err := New(options(h, 2)).decode(b.encode(nil)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// used0 returns the first slot that is taken.
func used0(table []cell) int { return slices.IndexFunc(table, func(c cell) bool { return c != 0 }) }

// TestAside: a file that cannot be used is kept, the error says what it is, and the book is empty and works.
func TestAside(t *testing.T) {
	h := &hand{begin}
	raw := small(t, h).encode(nil)
	altered := func(at int, to byte) []byte {
		bad := bytes.Clone(raw)
		bad[at] = to
		return bad
	}
	for _, c := range []struct {
		name, suffix string
		file         []byte
		want         error
	}{
		{"damaged", ".damaged", altered(200, raw[200]^1), ErrDamaged},
		{"empty", ".damaged", nil, ErrDamaged},
		{"cut", ".damaged", raw[:len(raw)/2], ErrDamaged},
		{"something else", ".damaged", bytes.Repeat([]byte("x"), maxFile+100), ErrDamaged},
		{"another network", ".foreign", sealed(altered(12, 1)), ErrForeign},
		{"newer", ".newer", sealed(altered(8, fileVersion+1)), ErrNewer},
		{"version 0", ".damaged", sealed(altered(8, 0)), ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "peers")
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := Open(path, options(h, 2))
			var bad *FileError
			if !errors.Is(err, c.want) || !errors.As(err, &bad) || bad.Aside != path+c.suffix || b == nil || b.Len() != 0 {
				t.Fatalf("%v, %v", b, err)
			}
			check(t, b)
			if kept, err := os.ReadFile(bad.Aside); err != nil || !bytes.Equal(kept, c.file) {
				t.Errorf("kept %d bytes of %d: %v", len(kept), len(c.file), err)
			}
			b.Add([]Known{heard(v4(1, 1), h, 0)}, v4(1, 1), 0)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if again, err := Open(path, options(h, 2)); err != nil || again.Len() != 1 {
				t.Errorf("the new book: %v", err)
			}
		})
	}
}

// TestMediumFails: no book where the file cannot be read, and none is lost where it cannot be written.
func TestMediumFails(t *testing.T) {
	h := &hand{begin}
	dir := t.TempDir()
	if b, err := Open(dir, options(h, 1)); b != nil || err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a folder is opened as a book: %v, %v", b, err)
	}
	folder := filepath.Join(dir, "below")
	b := small(t, h)
	b.path = filepath.Join(folder, "peers")
	if err := b.Save(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("saved into a folder that is not there: %v", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(); err != nil { // it was not forgotten that there is something to save
		t.Fatal(err)
	}
	if c, err := Open(b.path, options(h, 2)); err != nil || same(b, c) != nil {
		t.Errorf("%v, %v", err, same(b, c))
	}
}

// FuzzOpen reads any bytes as a file, with the right checksum so that it gets far. What is taken is a whole book, and is
// written as the same bytes.
func FuzzOpen(f *testing.F) {
	h := &hand{begin}
	raw := small(f, h).encode(nil)
	f.Add(raw)
	f.Add(New(options(h, 1)).encode(nil))
	f.Add(raw[:len(raw)/2])
	for i := headSize; i < headSize+400; i += 9 {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x41
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = sealed(raw)
		b := New(options(h, 2))
		if err := b.decode(raw); err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
				t.Fatalf("not typed: %v", err)
			}
			return
		}
		check(t, b)
		if back := b.encode(nil); !bytes.Equal(back, raw) {
			t.Fatal("written as other bytes")
		}
		b.Resolve()
		if f, ok := b.Select(false); ok {
			b.Good(f.Address)
		}
		check(t, b)
	})
}

func BenchmarkSave(b *testing.B) {
	book, clock := newBook(1)
	for i := range 300_000 {
		book.Add([]Known{heard(v4(i%20000, i), clock, 0)}, v4(i%9973, 1), 0)
	}
	raw := book.encode(nil)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if raw = book.encode(raw[:0]); New(options(clock, 1)).decode(raw) != nil {
			b.Fatal("not read")
		}
	}
}
