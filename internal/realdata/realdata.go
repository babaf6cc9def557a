package realdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"stele/internal/realdata/files"
)

// Env names the environment variable that holds the data folder.
const Env = files.Env

// Dir returns the data folder and whether it exists.
func Dir() (string, bool) { return files.Dir() }

// Path returns the path of a file or folder in the data folder. The test is
// skipped by name when it is absent.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	path, ok := files.Path(elem...)
	if !ok {
		skip(tb, filepath.ToSlash(filepath.Join(elem...)))
	}
	return path
}

// Read returns a file's bytes; those of a *.gz or *.bz2 file are unpacked. The
// test is skipped when the file is absent and fails when it cannot be read.
func Read(tb testing.TB, elem ...string) []byte {
	tb.Helper()
	raw, err := files.ReadPath(Path(tb, elem...))
	if err != nil {
		tb.Fatalf("realdata: %v", err)
	}
	return raw
}

// Blocks reads a block file of the data folder (see Read) and splits it.
func Blocks(tb testing.TB, elem ...string) [][]byte {
	tb.Helper()
	return Split(tb, Read(tb, elem...))
}

// Split cuts a block file (magic 4, length 4, block, and so on) into its
// blocks, which are views of file. The first record sets the magic; zero bytes
// between and after records are passed over. Anything else fails the test:
// this is for known good files, damaged ones are the business of
// node/blockfile.
func Split(tb testing.TB, file []byte) [][]byte {
	tb.Helper()
	blocks, err := split(file)
	if err != nil {
		tb.Fatalf("realdata: %v", err)
	}
	return blocks
}

func split(file []byte) ([][]byte, error) {
	var blocks [][]byte
	for rest := file; ; {
		rest = bytes.TrimLeft(rest, "\x00")
		if len(rest) == 0 {
			return blocks, nil
		}
		at := len(file) - len(rest)
		if len(rest) < 8 || !bytes.Equal(rest[:4], file[:4]) {
			return nil, fmt.Errorf("no record at byte %d of a block file", at)
		}
		n := int64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if n > int64(len(rest)) {
			return nil, fmt.Errorf("record at byte %d of a block file is cut", at)
		}
		blocks = append(blocks, rest[:n:n])
		rest = rest[n:]
	}
}

// Module returns the path of a file inside a module of go.mod. The test is
// skipped when the module (or the go command) is not on this machine; a file
// that is missing inside a module that is there fails it.
func Module(tb testing.TB, module, path string) string {
	tb.Helper()
	full, err := files.Module(module, path)
	if errors.Is(err, fs.ErrNotExist) {
		skip(tb, "module "+module)
	}
	if err != nil {
		tb.Fatalf("realdata: %v", err)
	}
	return full
}

var skips struct {
	sync.Mutex
	count int
	names map[string]bool
}

func skip(tb testing.TB, what string) {
	tb.Helper()
	skips.Lock()
	skips.count++
	if skips.names == nil {
		skips.names = make(map[string]bool)
	}
	skips.names[what] = true
	skips.Unlock()
	tb.Skipf("realdata absent: %s", what)
}

// Skipped returns how many tests this process skipped for want of data, and
// the sorted names of what was missing.
func Skipped() (count int, names []string) {
	skips.Lock()
	defer skips.Unlock()
	for name := range skips.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return skips.count, names
}

// Main runs a package's tests and reports on standard error how many were
// skipped for want of data: func TestMain(m *testing.M) { realdata.Main(m) }
func Main(m interface{ Run() int }) {
	code := m.Run()
	if count, names := Skipped(); count > 0 {
		fmt.Fprintf(os.Stderr, "realdata: %d skipped; absent: %s\n", count, strings.Join(names, ", "))
	}
	os.Exit(code)
}
