//go:build unix

package blockfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A path that cannot be sought is a stream, whatever its name.
func TestNamedPipe(t *testing.T) {
	blocks := mainBlocks(t)[:50]
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, records(blocks...), 0o600) }()
	s := open(t, options, path)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if err := s.Index(all); err != nil || s.Files() != 0 {
		t.Fatalf("%d files, error %v", s.Files(), err)
	}
	var got [][]byte
	var r Record
	for {
		b, err := s.Streams()[0].Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, bytes.Clone(b))
	}
	sameBlocks(t, got, blocks)
}
