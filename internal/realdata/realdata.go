package realdata

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Env names the environment variable that holds the data folder.
const Env = "STELE_DATA"

// Dir returns the data folder and whether it exists.
func Dir() (string, bool) {
	dir := os.Getenv(Env)
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", false
		}
		dir = filepath.Join(filepath.Dir(root), "shared", "data")
	}
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

// moduleRoot is the nearest folder at or above the working directory that
// holds a go.mod. The go tool runs a test in its package's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory: %w", os.ErrNotExist)
		}
		dir = up
	}
}

// Path returns the path of a file or folder in the data folder. The test is
// skipped by name when it is absent.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	what := filepath.Join(elem...)
	if dir, ok := Dir(); ok {
		path := filepath.Join(dir, what)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	skip(tb, filepath.ToSlash(what))
	return ""
}

// Read returns a file's bytes; those of a *.gz or *.bz2 file are unpacked. The
// test is skipped when the file is absent and fails when it cannot be read.
func Read(tb testing.TB, elem ...string) []byte {
	tb.Helper()
	path := Path(tb, elem...)
	raw, err := os.ReadFile(path)
	if err == nil {
		raw, err = unpack(raw, path)
	}
	if err != nil {
		tb.Fatalf("realdata: %s: %v", path, err)
	}
	return raw
}

func unpack(raw []byte, path string) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".gz":
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case ".bz2":
		return io.ReadAll(bzip2.NewReader(bytes.NewReader(raw)))
	}
	return raw, nil
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

// modules maps a module path to a func() (string, error) that yields its
// folder; the go command runs once for each.
var modules sync.Map

// Module returns the path of a file inside a module of go.mod. The test is
// skipped when the module (or the go command) is not on this machine; a file
// that is missing inside a module that is there fails it.
func Module(tb testing.TB, module, path string) string {
	tb.Helper()
	find, _ := modules.LoadOrStore(module, sync.OnceValues(func() (string, error) {
		list := func() (string, error) {
			out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
			return strings.TrimSpace(string(out)), err
		}
		dir, err := list()
		if err == nil && dir == "" { // known to go.mod, but not downloaded: no package of it is imported
			if err = exec.Command("go", "mod", "download", module).Run(); err == nil {
				dir, err = list()
			}
		}
		return dir, err
	}))
	dir, err := find.(func() (string, error))()
	if err != nil {
		skip(tb, "module "+module)
	}
	full := filepath.Join(dir, filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		tb.Fatalf("realdata: module %s has no %s: %v", module, path, err)
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
func Main(m *testing.M) {
	code := m.Run()
	if count, names := Skipped(); count > 0 {
		fmt.Fprintf(os.Stderr, "realdata: %d skipped; absent: %s\n", count, strings.Join(names, ", "))
	}
	os.Exit(code)
}
