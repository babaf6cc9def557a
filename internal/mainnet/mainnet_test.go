package mainnet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"

	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

func unpacked(tb testing.TB) []byte {
	tb.Helper()
	file, err := Blocks()
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestBlocksEqualsChainFile(t *testing.T) {
	want := realdata.Read(t, "chains", "mainnet_0_14131.blk.gz")
	if !bytes.Equal(unpacked(t), want) {
		t.Fatal("embedded blocks differ from the chain file")
	}
}

func TestBlocksEqualsModuleFile(t *testing.T) {
	path := realdata.Module(t, "github.com/btcsuite/btcd", "blockchain/testdata/blk_0_to_14131.dat")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := unpacked(t)
	if !bytes.HasPrefix(source, file) || len(bytes.TrimLeft(source[len(file):], "\x00")) != 0 {
		t.Fatal("embedded blocks are not the module's file without its padding")
	}
}

func TestBlocksIsTheCallers(t *testing.T) {
	first := unpacked(t)
	clear(first)
	if blocks := realdata.Split(t, unpacked(t)); len(blocks) != Count {
		t.Fatalf("%d blocks, want %d", len(blocks), Count)
	}
}

// The embedded file is what the source packs to: one that was packed from
// other blocks or by another layout would not be. Only the deflated text may
// differ between Go releases.
func TestPackIsDeterministic(t *testing.T) {
	blocks := realdata.Split(t, unpacked(t))
	first, err := Pack(blocks)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Pack(blocks)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("packs differ, %v", err)
	}
	if !bytes.Equal(first[:8], columns[:8]) || !bytes.Equal(keysOf(first), keysOf(columns)) {
		t.Fatal("the embedded file is not what Pack makes: run go generate")
	}
}

func keysOf(packed []byte) []byte {
	return packed[preamble+binary.LittleEndian.Uint32(packed[8:]):]
}

// block draws a block of any body and links it to prev; most bodies have the
// shape of a lone coinbase that pays to a key.
func block(t *rapid.T, prev [32]byte) []byte {
	b := make([]byte, head, head+256)
	binary.LittleEndian.PutUint32(b, rapid.Uint32().Draw(t, "version"))
	copy(b[4:], prev[:])
	copy(b[68:], rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "rest of header"))
	b = append(b, rapid.SampledFrom([]byte{0, 1, 1, 1, 2}).Draw(t, "txs"))
	b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 150).Draw(t, "body")...)
	if i := len(b) - keyEnd - 1; i > head && rapid.Bool().Draw(t, "key") {
		b[i] = keyTag
	}
	if root := doubleSHA256(b[head+1:]); rapid.Bool().Draw(t, "right root") {
		copy(b[36:], root[:])
	}
	return b
}

func TestPackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks [][]byte
		var want []byte
		var prev [32]byte
		for range rapid.IntRange(0, 8).Draw(t, "blocks") {
			b := block(t, prev)
			prev = doubleSHA256(b[:head])
			blocks = append(blocks, b)
			want = append(binary.LittleEndian.AppendUint32(append(want, Magic[:]...), uint32(len(b))), b...)
		}
		packed, err := Pack(blocks)
		if err != nil {
			t.Fatal(err)
		}
		got, tip, err := Unpack(packed)
		if err != nil || tip != prev || !bytes.Equal(got, want) {
			t.Fatalf("%v\n got %x\nwant %x", err, got, want)
		}
		cut := rapid.IntRange(0, len(packed)-1).Draw(t, "cut")
		if _, _, err := Unpack(packed[:cut]); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", cut, len(packed))
		}
	})
}

func TestPackRefuses(t *testing.T) {
	good := realdata.Split(t, unpacked(t))[:2]
	if _, err := Pack(good); err != nil {
		t.Fatal(err)
	}
	for name, blocks := range map[string][][]byte{
		"unlinked":    {good[1]},
		"header only": {good[0][:head]},
	} {
		if _, err := Pack(blocks); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	blocks := realdata.Split(f, unpacked(f))
	for _, n := range []int{0, 1, 3} {
		packed, err := Pack(blocks[:n])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if len(packed) >= 8 && binary.LittleEndian.Uint32(packed[4:]) > 1<<20 {
			return // within the limit, but too slow to allocate again and again
		}
		file, _, err := Unpack(packed)
		if err == nil && len(file) != int(binary.LittleEndian.Uint32(packed)) {
			t.Fatalf("%d bytes, the preamble says %d", len(file), binary.LittleEndian.Uint32(packed))
		}
	})
}

func BenchmarkBlocks(b *testing.B) {
	b.SetBytes(Size)
	b.ReportAllocs()
	for b.Loop() {
		unpacked(b)
	}
}

// BenchmarkGzip is what the columns compete with: the whole block file, gzip -9.
func BenchmarkGzip(b *testing.B) {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	w.Write(unpacked(b))
	w.Close()
	b.SetBytes(Size)
	b.ReportAllocs()
	for b.Loop() {
		r, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, Size)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(packed.Len()), "packed-bytes")
}
