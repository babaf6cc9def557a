package store

import (
	"encoding/binary"
	"testing"
)

// benchBody returns a body of rows of 42 bytes on the disk, all flushed.
func benchBody(b *testing.B, d Disk, rows int) *Body {
	b.Helper()
	body, err := OpenBody(d, BodySpec{Name: "rows", Kind: "rows", Width: 42, Reserve: 1 << 30}, [16]byte{1}, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := body.Reserve(int64(rows) * 42); err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		binary.LittleEndian.PutUint64(body.Grow(42), uint64(i))
	}
	if err := body.Flush(); err != nil {
		b.Fatal(err)
	}
	return body
}

func benchDir(b *testing.B) *Dir {
	b.Helper()
	d, err := OpenDir(b.TempDir(), DirOptions{Verb: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

var sink uint64

func BenchmarkBodyAt(b *testing.B) {
	body := benchBody(b, benchDir(b), 1<<12)
	b.ReportAllocs()
	var sum uint64
	for i := range b.N {
		sum += binary.LittleEndian.Uint64(body.At(int64(i&(1<<12-1))*42, 42))
	}
	sink = sum
}

func BenchmarkBodyData(b *testing.B) {
	body := benchBody(b, benchDir(b), 1<<12)
	data := body.Data()
	b.ReportAllocs()
	var sum uint64
	for i := range b.N {
		sum += binary.LittleEndian.Uint64(data[(i&(1<<12-1))*42:])
	}
	sink = sum
}

// BenchmarkBodyAppend appends rows of 42 bytes by Grow, flushing as a writer does.
func BenchmarkBodyAppend(b *testing.B) {
	body := benchBody(b, benchDir(b), 1)
	b.ReportAllocs()
	b.SetBytes(42)
	for i := range b.N {
		if i&(1<<12-1) == 0 {
			if body.Len() > 256<<20 {
				if err := body.Truncate(0); err != nil {
					b.Fatal(err)
				}
			}
			if err := body.Reserve(42 << 12); err != nil {
				b.Fatal(err)
			}
		}
		binary.LittleEndian.PutUint64(body.Grow(42), uint64(i))
		if err := body.FlushIfLarge(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManifestWrite is the cost of one durable checkpoint record.
func BenchmarkManifestWrite(b *testing.B) {
	m, err := CreateManifest(benchDir(b), Preamble{Format: 1})
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 1000)
	for range b.N {
		if _, err := m.Write(payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemDisk is the cost of a heap twin with one file.
func BenchmarkMemDisk(b *testing.B) {
	for range b.N {
		if _, err := NewMemDisk().Open("x", FileOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	f := func() error { return nil }
	b.ReportAllocs()
	for range b.N {
		if err := Guard(f); err != nil {
			b.Fatal(err)
		}
	}
}
