package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stele/chain"
	"stele/internal/btcdpeer"
	"stele/internal/mainnet"
	"stele/internal/realdata"
)

// asProgram makes the test binary be the program, for tests that need a process.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	realdata.Main(cleaned{m})
}

// cleaned are tests after which the other implementation's program is removed.
type cleaned struct{ *testing.M }

func (c cleaned) Run() int {
	defer btcdpeer.Clean()
	return c.M.Run()
}

// Txids of the embedded chain: the first payment, the coinbase of block 9 that it spends, the coinbase of genesis.
const (
	payment  = firstPayment
	spent    = firstSpent
	genesis  = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
	unknown  = absentTxid
	hash170  = "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee"
	height   = 199 // of the fixture's tip
	mainTip  = mainnet.TipHash
	mainHigh = mainnet.Count - 1
)

// result is what one run did.
type result struct {
	code        int
	out, errOut string
}

// stele runs the program inside the test, with nothing on standard input.
func stele(args ...string) result { return steleIn(strings.NewReader(""), args...) }

func steleIn(stdin io.Reader, args ...string) result {
	var out, errOut bytes.Buffer
	code := run(args, stdin, &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// want checks the exit code; a failure must have told one line that begins right and holds each of the texts.
func (r result) want(t *testing.T, code int, texts ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit %d, want %d\n%.300s\n%s", r.code, code, r.out, r.errOut)
	}
	line := r.errOut
	if code != codeOK {
		line = lastLine(r.errOut)
		if !strings.HasPrefix(line, "stele: ") || strings.Contains(line, "bug:") {
			t.Errorf("the failure is told as %q", r.errOut)
		}
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			t.Errorf("%q does not tell %q", line, text)
		}
	}
	return r
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// document reads the one JSON document that the run printed.
func document[T any](t *testing.T, r result) T {
	t.Helper()
	var doc T
	d := json.NewDecoder(strings.NewReader(r.out))
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in %q", err, r.out)
	}
	if rest, _ := io.ReadAll(d.Buffered()); strings.TrimSpace(string(rest)) != "" {
		t.Fatalf("more than one document: %q", r.out)
	}
	return doc
}

// answer is the document of a run on a data folder that must succeed.
func answer[T any](t *testing.T, dir string, args ...string) T {
	t.Helper()
	return document[T](t, stele(append([]string{"--datadir", dir, "--json"}, args...)...).want(t, codeOK))
}

// refuse runs on a data folder and expects an exit code, told in a line and in a document.
func refuse(t *testing.T, code int, dir string, args []string, texts ...string) {
	t.Helper()
	args = append([]string{"--datadir", dir}, args...)
	stele(args...).want(t, code, texts...)
	doc := document[errorDocument](t, stele(append([]string{"--json"}, args...)...).want(t, code, texts...))
	if doc.Error.Code != code || doc.Error.Message == "" {
		t.Errorf("%v: %+v", args, doc)
	}
}

// mainRecords are the embedded blocks, each with magic and length.
var mainRecords = sync.OnceValues(func() ([][]byte, error) {
	file, err := mainnet.Blocks()
	var records [][]byte
	for err == nil && len(file) > 0 {
		n := 8 + binary.LittleEndian.Uint32(file[4:])
		records = append(records, file[:n:n])
		file = file[n:]
	}
	return records, err
})

func records(t testing.TB) [][]byte {
	t.Helper()
	r, err := mainRecords()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// blockFile writes the embedded blocks of some heights into a file.
func blockFile(t testing.TB, from, to int) string {
	t.Helper()
	return writeFile(t, "blocks.dat", bytes.Join(records(t)[from:to], nil))
}

func writeFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// imported holds the files of a store of the first 200 blocks, closed cleanly.
var imported struct {
	sync.Once
	files map[string][]byte
}

// makeStore puts the store of the first 200 blocks into a new data folder, which it returns.
func makeStore(t testing.TB) string {
	t.Helper()
	imported.Do(func() {
		dir := t.TempDir()
		if r := stele("--datadir", dir, "import", blockFile(t, 0, height+1)); r.code != codeOK {
			t.Fatal(r)
		}
		imported.files = map[string][]byte{}
		entries, err := os.ReadDir(filepath.Join(dir, "archive"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, "archive", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			imported.files[e.Name()] = b
		}
	})
	dir := t.TempDir()
	putStore(t, filepath.Join(dir, "archive"))
	return dir
}

// putStore writes the files of the fixture's store into a folder.
func putStore(t testing.TB, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range imported.files {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// altered writes one file of a store again, changed.
func altered(t testing.TB, datadir, name string, change func(b []byte) []byte) {
	t.Helper()
	path := filepath.Join(datadir, "archive", name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustHash(t testing.TB, s string) chain.Hash {
	t.Helper()
	h, err := chain.ParseHash(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
