package blockfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// sparseFile holds n records of size bytes that were never written but for
// their heads.
func sparseFile(tb testing.TB, n, size int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	head := binary.LittleEndian.AppendUint32(append([]byte(nil), options.Magic[:]...), uint32(size))
	for i := range n {
		if _, err := f.WriteAt(head, int64(i*(headLen+size))); err != nil {
			tb.Fatal(err)
		}
	}
	if err := f.Truncate(int64(n * (headLen + size))); err != nil {
		tb.Fatal(err)
	}
	return path
}

func all(*Record) bool { return true }

func TestIndexReadsLittle(t *testing.T) {
	large := open(t, options, sparseFile(t, 100, 1_000_000))
	if err := large.Index(all); err != nil {
		t.Fatal(err)
	}
	if r := large.Report(); r.Records != 100 || r.Reads > 102 {
		t.Errorf("large blocks: %+v, want a read a record", r)
	}
	file := records(mainBlocks(t)...)
	small := open(t, options, write(t, t.TempDir(), "f", file))
	if err := small.Index(all); err != nil {
		t.Fatal(err)
	}
	if r := small.Report(); r.Reads > uint64(len(file)/(piece-8*1024)+2) {
		t.Errorf("small blocks: %+v for %d bytes", r, len(file))
	}
	// Neither padding nor garbage between records makes it read anything twice,
	// nor does a mask whose unwritten space looks like records.
	key := append(options.Magic[:], 200, 0, 0, 0)
	for name, gap := range map[string][]byte{"padded": zeros(9), "dirty": []byte("dirt"), "damaged": options.Magic[:]} {
		file := bytes.Repeat(join(record(zeros(90)), gap), 10_000)
		dir := t.TempDir()
		mask(binary.LittleEndian.Uint64(key)).apply(file, 0)
		file = append(file, zeros(1<<20)...)
		write(t, dir, "blk0.dat", file)
		write(t, dir, "xor.dat", key)
		s := open(t, options, dir)
		if err := s.Index(all); err != nil {
			t.Fatal(err)
		}
		if r := s.Report(); r.Records != 10_000 || r.Reads > uint64(len(file)/(piece-1024)+2) {
			t.Errorf("%s: %+v for %d bytes", name, r, len(file))
		}
	}
}

func TestAllocations(t *testing.T) {
	blocks := mainBlocks(t)
	file := records(blocks...)
	path := write(t, t.TempDir(), "f", file)
	s := open(t, options, path)
	var places []Place
	if err := s.Index(func(r *Record) bool { places = append(places, r.Place); return true }); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, func() { s.Index(all) }); n > 5 {
		t.Errorf("Index: %v allocations for %d records", n, len(places))
	}
	buf := make([]byte, 0, MaxLen)
	i := 0
	if n := testing.AllocsPerRun(100, func() { s.ReadBlock(places[i], buf); i++ }); n != 0 {
		t.Errorf("ReadBlock: %v allocations", n)
	}
	if n := testing.AllocsPerRun(3, func() { drain(t, file) }); n > 20 {
		t.Errorf("stream: %v allocations for %d records", n, len(places))
	}
}

// drain reads file as a stream and looks at the room that its buffer takes.
func drain(tb testing.TB, file []byte) {
	o := options
	o.Stdin = bytes.NewReader(file)
	s, err := Open([]string{"-"}, o)
	if err != nil {
		tb.Fatal(err)
	}
	var r Record
	for err == nil {
		_, err = s.Streams()[0].Next(&r)
	}
	if err != io.EOF {
		tb.Fatal(err)
	}
	if n := cap(s.Streams()[0].sc.src.(*streamSource).buf); n > headLen+MaxLen+spare {
		tb.Fatalf("buffer of %d bytes", n)
	}
}

func TestStreamBufferIsBounded(t *testing.T) {
	big := record(make([]byte, MaxLen))
	drain(t, join(big, big, zeros(3*MaxLen), bytes.Repeat([]byte("garbage"), MaxLen/4), big))
}

func BenchmarkIndexSmallBlocks(b *testing.B) {
	file := records(mainBlocks(b)...)
	s := open(b, options, write(b, b.TempDir(), "f", file))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Index(all); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*14132/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkIndexLargeBlocks(b *testing.B) {
	s := open(b, options, sparseFile(b, 128, 1_000_000))
	for b.Loop() {
		if err := s.Index(all); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*128/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkStream(b *testing.B) {
	file := records(mainBlocks(b)...)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		drain(b, file)
	}
}

// BenchmarkPadding is the preallocated tail of a block file.
func BenchmarkPadding(b *testing.B) {
	file := join(record(mainBlocks(b)[0]), zeros(16<<20))
	s := open(b, options, write(b, b.TempDir(), "f", file))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if err := s.Index(all); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadBlock(b *testing.B) {
	s := open(b, options, sparseFile(b, 16, 1_000_000))
	var places []Place
	if err := s.Index(func(r *Record) bool { places = append(places, r.Place); return true }); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1_000_000)
	var buf []byte
	i := 0
	for b.Loop() {
		var err error
		if buf, err = s.ReadBlock(places[i%len(places)], buf); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
