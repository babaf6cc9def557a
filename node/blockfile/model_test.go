package blockfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model reads a file byte by byte. plain is unmasked; disk is what lies on
// disk, nil for a plain file. It knows nothing of foreign networks.
func model(plain, disk []byte) found {
	var f found
	magic := options.Magic[:]
	var garbage Note
	end := 0 // behind the last byte of garbage
	flush := func() {
		if end > 0 {
			garbage.Bytes = int64(end) - garbage.Off
			f.notes = append(f.notes, garbage)
			f.report.Skipped += garbage.Bytes
		}
		end = 0
	}
	empty := func(b []byte) bool { return b != nil && len(bytes.TrimLeft(b, "\x00")) == 0 }
	cut := func(i int) found {
		flush()
		f.notes = append(f.notes, Note{Kind: CutTail, Off: int64(i), Bytes: int64(len(plain) - i)})
		f.report.Cut++
		return f
	}
	for i := 0; i < len(plain); {
		rest := plain[i:]
		var raw []byte // the head on disk
		if disk != nil {
			raw = disk[i:min(i+8, len(disk))]
		}
		switch {
		case bytes.HasPrefix(rest, magic) && !empty(raw):
			if len(rest) < 8 {
				return cut(i)
			}
			flush()
			n := int(binary.LittleEndian.Uint32(rest[4:]))
			place := Place{Off: int64(i + 8), Len: uint32(n)}
			switch {
			case n < MinLen || n > MaxLen:
				f.damaged = append(f.damaged, place)
				f.report.Damaged++
				i += 4
			case len(rest)-8 < n:
				return cut(i)
			default:
				f.places = append(f.places, place)
				f.report.Records++
				i += 8 + n
			}
		case len(rest) < 4 && bytes.HasPrefix(magic, rest) && !empty(raw):
			return cut(i)
		case rest[0] == 0 || raw != nil && raw[0] == 0:
			i++
		default:
			if end == 0 {
				garbage = Note{Kind: Garbage, Off: int64(i)}
			}
			i++
			end = i
		}
	}
	flush()
	return f
}

// part draws a stretch of a file: what a reader must expect and what it must
// survive, with sizes about the limits of its buffers.
func part(t *rapid.T) []byte {
	size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(piece-5, piece+5), rapid.IntRange(sparse-90, sparse+9))
	length := rapid.OneOf(rapid.IntRange(MinLen, 300), rapid.IntRange(2*piece-200, 2*piece+100))
	body := func(n int) []byte {
		b := bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, n)
		copy(b, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "start"))
		return b
	}
	head := func(n uint32) []byte {
		return binary.LittleEndian.AppendUint32(slices.Clone(options.Magic[:]), n)
	}
	switch rapid.SampledFrom([]string{"record", "record", "record", "zeros", "garbage", "head", "piece"}).Draw(t, "part") {
	case "record":
		return record(body(length.Draw(t, "length")))
	case "zeros":
		return zeros(size.Draw(t, "zeros"))
	case "garbage":
		return body(size.Draw(t, "garbage"))
	case "head":
		return head(rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 500)).Draw(t, "any length"))
	default:
		return head(200)[:rapid.IntRange(1, 7).Draw(t, "bytes of a head")]
	}
}

func anyFile(t *rapid.T) []byte {
	var b []byte
	for range rapid.IntRange(0, 12).Draw(t, "parts") {
		b = append(b, part(t)...)
	}
	return b[:len(b)-min(len(b), rapid.SampledFrom([]int{0, 0, 1, 3, 7, 50}).Draw(t, "cut"))]
}

func same(t *rapid.T, what string, got found, err error, want found) {
	t.Helper()
	if want.report.Records+want.report.Damaged == 0 {
		if err != ErrNoBlocks {
			t.Fatalf("%s: error %v, want %v", what, err, ErrNoBlocks)
		}
	} else if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got.report != want.report || !slices.Equal(got.places, want.places) ||
		!slices.Equal(got.damaged, want.damaged) || !slices.Equal(got.notes, want.notes) {
		got.blocks = nil
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestAgainstModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	rapid.Check(t, func(r *rapid.T) {
		plain := anyFile(r)
		if err := os.WriteFile(path, plain, 0o600); err != nil {
			r.Fatal(err)
		}
		want := model(plain, nil)
		got, err := index(t, path)
		same(r, "file", got, err, want)
		step := rapid.IntRange(1, 5000).Draw(r, "step")
		got, err = stream(t, &stepReader{plain, step})
		same(r, "stream", got, err, want)
		for i, b := range got.blocks {
			if p := got.places[i]; !bytes.Equal(b, plain[p.Off:p.Off+int64(p.Len)]) {
				r.Fatalf("block at %+v differs", p)
			}
		}
	})
}

func TestMaskedAgainstModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		plain := anyFile(r)
		key := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom(options.Magic[:])), 8, 8).Draw(r, "key")
		if bytes.Equal(key, zeros(8)) {
			key[0] = 1 // a key of zeros is none
		}
		disk := append(bytes.Clone(plain), zeros(rapid.IntRange(0, 40).Draw(r, "unwritten"))...)
		plain = bytes.Clone(disk)
		written := len(plain) - rapid.IntRange(0, min(len(plain), 40)).Draw(r, "hole")
		for i := range plain {
			if i < written {
				disk[i] ^= key[i%8]
			} else {
				disk[i] = 0
				plain[i] = key[i%8]
			}
		}
		write(t, dir, "blk0.dat", disk)
		write(t, dir, "xor.dat", key)
		got, err := index(t, dir)
		same(r, "masked file", got, err, model(plain, disk))
	})
}

// stepReader hands out at most step bytes a call.
type stepReader struct {
	b    []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b[:min(r.step, len(r.b))])
	r.b = r.b[n:]
	return n, nil
}

// FuzzScan reads any bytes as a masked file and as a stream whose records are
// all rejected: nothing panics, every step goes forward, records do not
// overlap, and the file agrees with the model.
func FuzzScan(f *testing.F) {
	blocks := mainBlocks(f)[:3]
	f.Add(records(blocks...), []byte(nil))
	f.Add(swallowing(mainBlocks(f)[:6]), []byte("\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(join(record(blocks[0]), zeros(30)), []byte("\xf9\xbe\xb4\xd9\x60\x00\x00\x00"))
	f.Add(join([]byte("x"), options.Magic[:], options.Magic[:3]), []byte("12345678"))
	f.Add(join(testnet4.Magic[:], zeros(90)), []byte(nil))
	f.Fuzz(func(t *testing.T, disk, key []byte) {
		var m mask
		if len(key) == 8 {
			m = mask(binary.LittleEndian.Uint64(key))
		}
		plain := bytes.Clone(disk)
		m.apply(plain, 0)
		got := scanMasked(t, plain, m)
		want := model(plain, map[bool][]byte{true: append([]byte{}, disk...)}[m != 0])
		if !slices.Equal(got, want.places) {
			t.Fatalf("records %+v, want %+v", got, want.places)
		}
		rejectAll(t, plain)
	})
}

// scanMasked scans bytes that are unmasked already.
func scanMasked(t *testing.T, plain []byte, m mask) []Place {
	var places []Place
	o := Options{Magic: options.Magic}
	sc := scanner{
		src: &streamSource{r: bytes.NewReader(plain)}, o: &o, report: new(Report), mask: m, limit: math.MaxInt64,
	}
	var r Record
	last := int64(0)
	for sc.next(&r) == nil {
		if sc.pos <= last || r.Off < last {
			t.Fatalf("record at %d, next at %d, after %d", r.Off, sc.pos, last)
		}
		last = sc.pos
		if r.Err == nil {
			if r.Off+int64(r.Len) != sc.pos {
				t.Fatalf("record %+v ends elsewhere than at %d", r.Place, sc.pos)
			}
			places = append(places, r.Place)
		}
	}
	return places
}

func rejectAll(t *testing.T, plain []byte) {
	o := options
	o.Stdin = bytes.NewReader(plain)
	s := open(t, o, "-")
	st := s.Streams()[0]
	var r Record
	for last := int64(-1); ; last = r.Off {
		b, err := st.Next(&r)
		if err != nil {
			return
		}
		if r.Off <= last {
			t.Fatalf("record at %d after %d", r.Off, last)
		}
		if r.Err == nil && !bytes.Equal(b, plain[r.Off:r.Off+int64(r.Len)]) {
			t.Fatalf("block at %+v differs", r.Place)
		}
		st.Reject()
	}
}
