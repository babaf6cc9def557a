package realdata

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestPathAndRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("abc"))
	w.Close()
	if err := os.WriteFile(filepath.Join(dir, "f.gz"), packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := Dir(); got != dir || !ok {
		t.Fatalf("Dir = %q, %v; want %q", got, ok, dir)
	}
	if got := Read(t, "f.gz"); string(got) != "abc" {
		t.Fatalf("Read = %q, want abc", got)
	}
}

func TestAbsentSkipsAndCounts(t *testing.T) {
	t.Setenv(Env, filepath.Join(t.TempDir(), "none"))
	if _, ok := Dir(); ok {
		t.Fatal("a folder that does not exist was found")
	}
	before, _ := Skipped()
	var skipped bool
	t.Run("inner", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Path(t, "a", "b")
		t.Error("went on without the file")
	})
	if after, names := Skipped(); !skipped || after != before+1 || !strings.Contains(strings.Join(names, " "), "a/b") {
		t.Fatalf("skipped %v, count %d -> %d, names %v", skipped, before, after, names)
	}
	// The skip above is part of the test, not missing data.
	skips.Lock()
	skips.count--
	delete(skips.names, "a/b")
	skips.Unlock()
}

func TestSplit(t *testing.T) {
	file := []byte("MAGC\x03\x00\x00\x00abc\x00\x00MAGC\x00\x00\x00\x00MAGC\x01\x00\x00\x00d\x00")
	blocks := Split(t, file)
	if got := bytes.Join(blocks, []byte("|")); string(got) != "abc||d" {
		t.Fatalf("blocks %q", got)
	}
	for _, bad := range []string{"MAGC\x03\x00\x00\x00ab", "MAGC\x00\x00", "MAGC\x00\x00\x00\x00X"} {
		if _, err := split([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestModule(t *testing.T) {
	first := Module(t, "pgregory.net/rapid", "go.mod")
	text, err := os.ReadFile(first)
	if err != nil || !strings.Contains(string(text), "module pgregory.net/rapid") {
		t.Fatalf("%s: %v", first, err)
	}
}

func TestBlocks(t *testing.T) {
	blocks := Blocks(t, "chains", "mainnet_0_14131.blk.gz")
	if len(blocks) != 14132 || len(blocks[0]) != 285 {
		t.Fatalf("%d blocks, genesis %d bytes", len(blocks), len(blocks[0]))
	}
}
