package blockfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"stele/internal/realdata"
)

func TestChainFile(t *testing.T) {
	blocks := mainBlocks(t)
	file := records(blocks...)
	path := write(t, t.TempDir(), "chain.blk", file)
	got, err := index(t, path)
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, got.blocks, blocks)
	if got.report != (Report{Records: 14132}) || got.notes != nil {
		t.Fatalf("report %+v, notes %v", got.report, got.notes)
	}
	piped, err := stream(t, iotest.HalfReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, piped.blocks, blocks)
}

// A published file: blocks 300 to 599 end at byte 70,449, where readers that
// take records side by side only must stop. Behind lie a stray zero byte, the
// record of block 598 once more, and zeros.
func TestTruncatedTail(t *testing.T) {
	const end = 70_449
	path := realdata.Path(t, "chains", "blkfile_truncated_tail.dat")
	file := realdata.Read(t, "chains", "blkfile_truncated_tail.dat")
	blocks := mainBlocks(t)
	got, err := index(t, path)
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, got.blocks, append(blocks[300:600:600], blocks[598]))
	if p := got.places[299]; p.Off+int64(p.Len) != end {
		t.Fatalf("block 599 at %+v ends elsewhere than at %d", p, end)
	}
	if p := got.places[300]; p.Off != end+1+headLen || got.notes != nil {
		t.Fatalf("the repeated record is at %+v, notes %v", p, got.notes)
	}
	// Cut in the repeated record, it ends quietly too.
	for _, n := range []int{end, end + 1, end + 20, end + 200} {
		got, err := index(t, write(t, t.TempDir(), "f", file[:n]))
		if want := min(uint64(n-end)/2, 1); err != nil || got.report != (Report{Records: 300, Cut: want}) {
			t.Fatalf("cut at %d: %+v, %v", n, got.report, err)
		}
	}
}

// masked writes a folder as Core 28 does: three files whose names do not sort
// by letters, the last one with preallocated space that was never written.
func masked(t *testing.T, key []byte, blocks [][]byte) string {
	t.Helper()
	dir := t.TempDir()
	third := len(blocks) / 3
	for i, part := range [][][]byte{blocks[:third], blocks[third : 2*third], blocks[2*third:]} {
		file := records(part...)
		for i := range file {
			file[i] ^= key[i%8]
		}
		if i == 2 {
			file = append(file, zeros(1<<20+3)...)
		}
		write(t, dir, []string{"blk00002.dat", "blk00010.dat", "blk100000.dat"}[i], file)
	}
	write(t, dir, "xor.dat", key)
	write(t, dir, "rev00002.dat", []byte("undo data is not read"))
	return dir
}

func TestMaskedFolder(t *testing.T) {
	blocks := mainBlocks(t)[:3000]
	for _, key := range []string{
		"\x1f\xa0\x55\x01\xc3\x7e\x00\x98",
		"\x00\x00\x00\x00\x00\x00\x00\x00", // none
		"\xf9\x11\x22\x33\x44\x55\x66\x77", // makes the magic's first byte zero on disk
		"\xf9\xbe\xb4\xd9\x60\x00\x00\x00", // unwritten space looks like records of 96 bytes
		"\x00\x00\xf9\xbe\xb4\xd9\x00\x01", // and like damaged ones
	} {
		t.Run(fmt.Sprintf("%x", key), func(t *testing.T) {
			dir := masked(t, []byte(key), blocks)
			got, err := index(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			sameBlocks(t, got.blocks, blocks)
			if got.report != (Report{Records: 3000}) || got.notes != nil {
				t.Fatalf("report %+v, notes %v", got.report, got.notes)
			}
			// A file that is named itself is unmasked as well.
			one, err := index(t, filepath.Join(dir, "blk00010.dat"))
			if err != nil {
				t.Fatal(err)
			}
			sameBlocks(t, one.blocks, blocks[1000:2000])
		})
	}
	dir := masked(t, []byte("12345678"), blocks)
	write(t, dir, "xor.dat", []byte("1234567"))
	if _, err := Open([]string{dir}, options); err == nil {
		t.Fatal("a key of 7 bytes was taken")
	}
}

// A magic that straddles the end of a buffer, in a plain file and where its
// bytes are zero on disk.
func TestMagicAtBufferEnd(t *testing.T) {
	blocks := mainBlocks(t)[:2]
	for shift := -12; shift <= 4; shift++ {
		file := join(zeros(piece+shift), records(blocks...))
		dir := t.TempDir()
		plain := write(t, dir, "plain", file)
		key := []byte{options.Magic[0], options.Magic[1], 1, 2, 3, 4, 5, 6}
		for i := piece + shift; i < len(file); i++ {
			file[i] ^= key[i%8]
		}
		write(t, dir, "xor.dat", key)
		masked := write(t, dir, "blk0.dat", file)
		for _, path := range []string{plain, masked} {
			got, err := index(t, path)
			if err != nil || got.notes != nil {
				t.Fatalf("%s, shift %d: %v, notes %v", path, shift, err, got.notes)
			}
			sameBlocks(t, got.blocks, blocks)
		}
	}
}

func TestSamePathsAreReadOnce(t *testing.T) {
	blocks := mainBlocks(t)[:300]
	dir := masked(t, []byte("12345678"), blocks)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	got, err := index(t, dir, dir+"/", filepath.Join(dir, "blk00002.dat"), link)
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, got.blocks, blocks)
}

func TestShuffledPaddedAndDirty(t *testing.T) {
	blocks := mainBlocks(t)[:400]
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	var file []byte
	var skipped int64
	for i, b := range blocks {
		file = append(file, record(b)...)
		switch i % 4 {
		case 1:
			file = append(file, zeros(rng.IntN(3*piece))...)
		case 2:
			n := 1 + rng.IntN(100)
			file = append(append(append(file, 0), bytes.Repeat([]byte{0xf9}, n)...), 0)
			skipped += int64(n)
		}
	}
	got, err := index(t, write(t, t.TempDir(), "f", file))
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, got.blocks, blocks)
	if want := (Report{Records: 400, Skipped: skipped}); got.report != want {
		t.Fatalf("report %+v, want %+v", got.report, want)
	}
	if len(got.notes) != 100 || got.notes[0].Kind != Garbage {
		t.Fatalf("%d notes, first %+v", len(got.notes), got.notes[0])
	}
}

// Whatever the length to which the last record is cut, the ones before it are
// read and the cut is counted; at no bytes there is none.
func TestCutEverywhere(t *testing.T) {
	blocks := mainBlocks(t)[:3]
	whole := records(blocks...)
	start := len(records(blocks[:2]...))
	path := filepath.Join(t.TempDir(), "f")
	for end := start; end <= len(whole); end++ {
		want := Report{Records: 2, Cut: 1}
		switch end {
		case start:
			want.Cut = 0
		case len(whole):
			want = Report{Records: 3}
		}
		got, err := index(t, write(t, path, whole[:end]))
		if err != nil || got.report != want {
			t.Fatalf("cut to %d: %+v, %v; want %+v", end-start, got.report, err, want)
		}
		piped, err := stream(t, iotest.OneByteReader(bytes.NewReader(whole[:end])))
		if err != nil || piped.report != want {
			t.Fatalf("stream cut to %d: %+v, %v; want %+v", end-start, piped.report, err, want)
		}
	}
}

func TestForeignNetwork(t *testing.T) {
	block := mainBlocks(t)[0]
	foreign := join(testnet4.Magic[:], record(block)[4:])
	dir := t.TempDir()
	good := write(t, dir, "good", record(block))
	for name, file := range map[string][]byte{
		"alone":         foreign,
		"behind zeros":  join(zeros(piece-2), foreign),
		"magic only":    testnet4.Magic[:],
		"before a good": join(foreign, record(block)),
	} {
		path := write(t, dir, "bad", file)
		for _, paths := range [][]string{{path}, {good, path}} {
			_, err := index(t, paths...)
			var f *ForeignNetwork
			if !errors.As(err, &f) || f.Have != "testnet4" || f.Path != path {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := stream(t, bytes.NewReader(file)); !errors.As(err, new(*ForeignNetwork)) {
			t.Errorf("%s: stream error %v", name, err)
		}
	}
	// Behind the first record it is garbage like any other.
	got, err := index(t, write(t, dir, "late", join(record(block), foreign)))
	if err != nil || got.report.Records != 1 || got.report.Skipped == 0 {
		t.Fatalf("%+v, %v", got.report, err)
	}
}

func TestNoBlocks(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string][]byte{
		"empty":   nil,
		"zeros":   zeros(2*piece + 1),
		"text":    []byte("this is no block file"),
		"one cut": record(mainBlocks(t)[0])[:200],
	} {
		if _, err := index(t, write(t, dir, "f", file)); !errors.Is(err, ErrNoBlocks) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := stream(t, bytes.NewReader(file)); !errors.Is(err, ErrNoBlocks) {
			t.Errorf("%s: stream error %v", name, err)
		}
	}
	if _, err := Open([]string{t.TempDir()}, options); !errors.Is(err, ErrNoBlocks) {
		t.Errorf("empty folder: error %v", err)
	}
	if _, err := Open([]string{filepath.Join(dir, "none")}, options); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: error %v", err)
	}
	// One file without blocks does not spoil the others.
	good := write(t, dir, "good", record(mainBlocks(t)[0]))
	if got, err := index(t, write(t, dir, "f", []byte(nil)), good); err != nil || len(got.blocks) != 1 {
		t.Errorf("%d blocks, error %v", len(got.blocks), err)
	}
}

func TestDamagedLength(t *testing.T) {
	blocks := mainBlocks(t)[:2]
	for _, n := range []uint32{0, 79, MaxLen + 1, 1 << 31, 0xd9b4bef9} {
		bad := binary.LittleEndian.AppendUint32(slices.Clone(options.Magic[:]), n)
		// With 0xd9b4bef9 the length is a magic itself: that of the next record.
		file := join(record(blocks[0]), bad, record(blocks[1]))
		if n == 0xd9b4bef9 {
			file = join(record(blocks[0]), bad[:4], record(blocks[1]))
		}
		got, err := index(t, write(t, t.TempDir(), "f", file))
		if err != nil {
			t.Fatal(err)
		}
		sameBlocks(t, got.blocks, blocks)
		if len(got.damaged) != 1 || got.damaged[0].Len != n || got.report.Damaged != 1 {
			t.Fatalf("length %d: damaged %+v", n, got.damaged)
		}
	}
}

// swallowing is a file whose second record's length covers the third and part
// of the fourth.
func swallowing(blocks [][]byte) []byte {
	file := records(blocks...)
	at := len(record(blocks[0]))
	binary.LittleEndian.PutUint32(file[at+4:], uint32(len(blocks[1])+len(record(blocks[2]))+90))
	return file
}

func TestResync(t *testing.T) {
	blocks := mainBlocks(t)[:6]
	path := write(t, t.TempDir(), "f", swallowing(blocks))
	got, err := index(t, path)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]byte{blocks[0], got.blocks[1], blocks[4], blocks[5]}
	sameBlocks(t, got.blocks, want)
	var inside [][]byte
	s := open(t, options, path)
	err = s.Resync(got.places[1], func(r *Record) bool {
		b, err := s.ReadBlock(r.Place, nil)
		if err != nil {
			t.Fatal(err)
		}
		inside = append(inside, b)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	sameBlocks(t, inside, blocks[2:4])
	if r := s.Report(); r.Skipped != 0 || r.Cut != 0 || r.Damaged != 0 {
		t.Fatalf("report %+v", r)
	}
}

func TestReject(t *testing.T) {
	blocks := mainBlocks(t)[:6]
	// A block whose body holds magics: with a bad length, and with one that
	// leads beyond the end. Neither may hide what follows.
	body := join(blocks[0][:80], options.Magic[:], zeros(4), options.Magic[:], []byte{0, 0, 9, 0}, zeros(9))
	file := join(swallowing(blocks), record(body), record(blocks[0]))
	o := options
	o.Stdin = iotest.OneByteReader(bytes.NewReader(file))
	s := open(t, o, "-")
	st := s.Streams()[0]
	var got [][]byte
	var r Record
	for {
		b, err := st.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if slices.ContainsFunc(blocks, func(x []byte) bool { return bytes.Equal(x, b) }) {
			got = append(got, bytes.Clone(b))
		} else {
			st.Reject()
		}
	}
	sameBlocks(t, got, [][]byte{blocks[0], blocks[2], blocks[3], blocks[4], blocks[5], blocks[0]})
	if r := s.Report(); r.Skipped != 0 || r.Cut != 0 || r.Damaged != 0 {
		t.Fatalf("report %+v", r)
	}
}

func TestFileShrinksOrVanishes(t *testing.T) {
	blocks := mainBlocks(t)[:2]
	path := write(t, t.TempDir(), "f", records(blocks...))
	s := open(t, options, path)
	var places []Place
	if err := s.Index(func(r *Record) bool { places = append(places, r.Place); return true }); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, places[1].Off+5); err != nil {
		t.Fatal(err)
	}
	_, err := s.ReadBlock(places[1], nil)
	var re *ReadError
	if !errors.As(err, &re) || re.Path != path || re.Off != places[1].Off+5 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("shrunk: error %v", err)
	}
	if err := s.Index(func(*Record) bool { return true }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("index of a shrunk file: error %v", err)
	}
	later := open(t, options, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := later.ReadBlock(places[0], nil); !errors.As(err, &re) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("vanished: error %v", err)
	}
	s.Close()
	if _, err := s.ReadBlock(places[0], nil); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("closed: error %v", err)
	}
}

func TestStreamFault(t *testing.T) {
	fault := errors.New("cable pulled")
	half := record(mainBlocks(t)[0])[:100]
	_, err := stream(t, io.MultiReader(bytes.NewReader(half), iotest.ErrReader(fault)))
	var re *ReadError
	if !errors.As(err, &re) || re.Off != 100 || !errors.Is(err, fault) {
		t.Fatalf("error %v", err)
	}
}

// More files than handles, read from several goroutines in any order.
func TestReadBlockConcurrently(t *testing.T) {
	blocks := mainBlocks(t)[:2*maxOpen]
	dir := t.TempDir()
	for i, b := range blocks {
		write(t, dir, fmt.Sprintf("blk%05d.dat", i), record(b))
	}
	s := open(t, options, dir)
	var places []Place
	if err := s.Index(func(r *Record) bool { places = append(places, r.Place); return true }); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			var buf []byte
			for range 2000 {
				i := rng.IntN(len(places))
				var err error
				if buf, err = s.ReadBlock(places[i], buf); err != nil || !bytes.Equal(buf, blocks[i]) {
					t.Errorf("block %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(s.open) > maxOpen {
		t.Fatalf("%d handles are open", len(s.open))
	}
}

func TestStopEarlyAndMixedInput(t *testing.T) {
	blocks := mainBlocks(t)[:9]
	o := options
	o.Stdin = bytes.NewReader(records(blocks[4:]...))
	s := open(t, o, write(t, t.TempDir(), "f", records(blocks[:4]...)), "-")
	n := 0
	if err := s.Index(func(*Record) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Fatalf("%d records, %v", n, err)
	}
	var r Record
	for i := 4; i < 9; i++ {
		if b, err := s.Streams()[0].Next(&r); err != nil || !bytes.Equal(b, blocks[i]) {
			t.Fatalf("block %d: %v", i, err)
		}
	}
	if _, err := s.Streams()[0].Next(&r); !errors.Is(err, io.EOF) {
		t.Fatalf("error %v at the end", err)
	}
}
