package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The system's allocation call makes a file exactly as long as asked, from and to odd sizes, and keeps what it holds.
func TestAllocateOddSizes(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	must(t, err)
	defer f.Close()
	size := int64(0)
	for _, to := range []int64{1, 4095, 4096, 4097, 70_001, 1<<20 + 3} {
		must(t, allocate(f, size, size, to))
		st, err := f.Stat()
		must(t, err)
		if st.Size() != to || hasHoles(st) {
			t.Fatalf("allocated to %d bytes: size %d, holes %v", to, st.Size(), hasHoles(st))
		}
		_, err = f.WriteAt([]byte{0xaa}, to-1)
		must(t, err)
		size = to
	}
	b, err := os.ReadFile(f.Name())
	must(t, err)
	if n := bytes.Count(b, []byte{0xaa}); n != 6 || len(b)-n != bytes.Count(b, []byte{0}) {
		t.Fatalf("%d of 6 bytes written are there, %d zeros of %d", n, bytes.Count(b, []byte{0}), len(b))
	}
}

// What was cut off reads as zeros when the file has grown again.
func TestCutBytesDoNotComeBack(t *testing.T) {
	for _, kind := range []string{"folder", "heap"} {
		t.Run(kind, func(t *testing.T) {
			f, err := diskKinds[kind](t).Open("f", FileOptions{})
			must(t, err)
			must(t, f.Allocate(3*PageSize))
			must(t, f.WriteAt(bytes.Repeat([]byte{1}, 3*PageSize), 0))
			must(t, f.Truncate(PageSize+100))
			if f.Size() != PageSize+100 {
				t.Fatalf("cut to %d bytes", f.Size())
			}
			must(t, f.Allocate(3*PageSize))
			want := append(bytes.Repeat([]byte{1}, PageSize+100), make([]byte, 2*PageSize-100)...)
			if !bytes.Equal(f.Mapping().Bytes()[:3*PageSize], want) {
				t.Fatal("the bytes differ from what was kept and zeros")
			}
		})
	}
}
