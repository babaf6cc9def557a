package blockfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"stele/internal/mainnet"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

var (
	testnet4 = Network{Name: "testnet4", Magic: [4]byte{0x1c, 0x16, 0x3f, 0x28}}
	options  = Options{Magic: mainnet.Magic, Foreign: []Network{{"main", mainnet.Magic}, testnet4}}
)

func mainBlocks(tb testing.TB) [][]byte {
	tb.Helper()
	file, err := mainnet.Blocks()
	if err != nil {
		tb.Fatal(err)
	}
	return realdata.Split(tb, file)
}

// record frames a block.
func record(block []byte) []byte {
	b := append([]byte(nil), mainnet.Magic[:]...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(block))), block...)
}

func records(blocks ...[]byte) []byte {
	var file []byte
	for _, b := range blocks {
		file = append(file, record(b)...)
	}
	return file
}

func zeros(n int) []byte { return make([]byte, n) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func write(tb testing.TB, elem ...any) string {
	tb.Helper()
	path := elem[0].(string)
	for _, e := range elem[1 : len(elem)-1] {
		path = filepath.Join(path, e.(string))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, elem[len(elem)-1].([]byte), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func open(tb testing.TB, o Options, paths ...string) *Set {
	tb.Helper()
	s, err := Open(paths, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// found is what a pass over an input came to.
type found struct {
	places  []Place // sound records
	damaged []Place
	notes   []Note // without paths
	report  Report // without reads
	blocks  [][]byte
}

func collect(f *found) Options {
	o := options
	o.Note = func(n Note) {
		n.Path = ""
		f.notes = append(f.notes, n)
	}
	return o
}

func (f *found) add(tb testing.TB, r *Record, block []byte) {
	tb.Helper()
	if r.Err != nil {
		var d *Damaged
		if !errors.As(r.Err, &d) || d.Off != r.Off-headLen || d.Len != r.Len {
			tb.Fatalf("record %+v has error %v", r.Place, r.Err)
		}
		f.damaged = append(f.damaged, r.Place)
		return
	}
	if !bytes.Equal(r.Header[:], block[:HeaderSize]) {
		tb.Fatalf("header at %+v is not the block's first bytes", r.Place)
	}
	f.places = append(f.places, r.Place)
	f.blocks = append(f.blocks, bytes.Clone(block))
}

// index reads the set of paths by Index and ReadBlock.
func index(tb testing.TB, paths ...string) (found, error) {
	tb.Helper()
	var f found
	s := open(tb, collect(&f), paths...)
	err := s.Index(func(r *Record) bool {
		var block []byte
		if r.Err == nil {
			var err error
			if block, err = s.ReadBlock(r.Place, nil); err != nil {
				tb.Fatal(err)
			}
		}
		f.add(tb, r, block)
		return true
	})
	f.report = s.Report()
	f.report.Reads = 0
	if err == nil && s.Done() != s.Size() {
		tb.Fatalf("done %d of %d bytes", s.Done(), s.Size())
	}
	return f, err
}

// stream reads r as standard input.
func stream(tb testing.TB, r io.Reader) (found, error) {
	tb.Helper()
	var f found
	o := collect(&f)
	o.Stdin = r
	s := open(tb, o, "-")
	var rec Record
	for {
		block, err := s.Streams()[0].Next(&rec)
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			f.add(tb, &rec, block)
			continue
		}
		f.report = s.Report()
		return f, err
	}
}

func sameBlocks(tb testing.TB, got, want [][]byte) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%d blocks, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			tb.Fatalf("block %d differs", i)
		}
	}
}
