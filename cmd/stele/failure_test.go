package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// lookups are the verbs that only answer.
var lookups = [][]string{
	{"tx", payment}, {"spender", spent + ":0"}, {"block", "9"}, {"header", "9"}, {"utxo", "get", payment + ":0"},
	{"utxo", "stats"}, {"info"}, {"check"}, {"check", "--deep"},
}

// wrongLines are command lines that cannot be meant, with what must be told of them.
var wrongLines = []struct {
	args []string
	tell string
}{
	{nil, "missing verb"},
	{[]string{"nosuch"}, "nosuch"},
	{[]string{"imprt"}, "did you mean import?"},
	{[]string{"utxo"}, "missing verb"},
	{[]string{"utxo", "nosuch"}, "nosuch"},
	{[]string{"utxo", "dump"}, "FILE"},
	{[]string{"utxo", "dump", "a", "b"}, "too many"},
	{[]string{"utxo", "load"}, "FILE"},
	{[]string{"config"}, "missing verb"},
	{[]string{"completion", "nosuch"}, "nosuch"},
	{[]string{"help", "nosuch"}, "nosuch"},
	{[]string{"--nosuch"}, "--nosuch"},
	{[]string{"tx", "--nosuch", payment}, "--nosuch"},
	{[]string{"tx"}, "TXID"},
	{[]string{"tx", payment, payment}, "too many"},
	{[]string{"tx", "f4184f"}, "64 hex digits"},
	{[]string{"tx", payment[:63] + "g"}, "64 hex digits"},
	{[]string{"spender"}, "TXID:VOUT"},
	{[]string{"spender", payment}, "TXID:VOUT"},
	{[]string{"spender", payment + ":"}, "2^32"},
	{[]string{"spender", payment + ":-1"}, "2^32"},
	{[]string{"spender", payment + ":4294967296"}, "2^32"},
	{[]string{"spender", payment + ":0:0"}, "2^32"},
	{[]string{"spender", payment + ":0", "x:1"}, "64 hex digits"},
	{[]string{"block"}, "HASH|HEIGHT"},
	{[]string{"block", "-1"}, "-1"}, // a flag, to who parses
	{[]string{"block", "4294967296"}, "neither a height"},
	{[]string{"block", hash170[1:]}, "neither a height"},
	{[]string{"header", "tip"}, "neither a height"},
	{[]string{"utxo", "stats", "--height", "-3"}, "--height"},
	{[]string{"import"}, "PATH"},
	{[]string{"import", "--stop-height", "x", "-"}, "--stop-height"},
	{[]string{"import", "--threads", "-1", "-"}, "--threads"},
	{[]string{"import", "--threads", "many", "-"}, "--threads"},
	{[]string{"import", "--utxo", "maybe", "-"}, "--utxo"},
	{[]string{"import", "--memory", "lots", "-"}, "--memory"},
	{[]string{"import", "--memory", "1K", "-"}, "--memory"},
	{[]string{"import", "--memory", "99999999999G", "-"}, "--memory"},
	{[]string{"import", "--assume-valid", "00ff", "-"}, "--assume-valid"},
	{[]string{"import", "--verifier", "magic", "-"}, "--verifier"},
	{[]string{"import", "--test-activation-height", "csv@1", "-"}, "--test-activation-height"},
	{[]string{"import", "--network", "regtest", "--test-activation-height", "csv@1,csv", "-"}, "--test-activation-height"},
	{[]string{"info", "--network", "mainnet"}, "--network"},
	{[]string{"info", "--log-level", "loud"}, "--log-level"},
	{[]string{"info", "--log-format", "xml"}, "--log-format"},
	{[]string{"info", "more"}, "too many"},
	{[]string{"version", "more"}, "too many"},
	{[]string{"run", "more"}, "too many"},
	{[]string{"run", "--listen", "nowhere"}, "host:port"},
	{[]string{"run", "--connect", "a:0"}, "port"},
	{[]string{"run", "--encrypt", "perhaps"}, "--encrypt"},
	{[]string{"run", "--minimum-chain-work", "xyz"}, "hex"},
	{[]string{"invalidate"}, "HASH"},
	{[]string{"reconsider", "12"}, "block hash"},
	{[]string{"backup"}, "DIR"},
	{[]string{"backup", "a", "b"}, "too many"},
	{[]string{"restore"}, "DIR"},
	{[]string{"restore", "a", "b"}, "too many"},
	{[]string{"rebuild", "ins"}, "none of header, tx, spend, conflict"},
	{[]string{"rebuild", "tx", "state"}, "state"},
	{[]string{"bench", "nothing"}, "unknown experiment"},
}

func TestUsage(t *testing.T) {
	for _, c := range wrongLines {
		dir := t.TempDir()
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := stele(append([]string{"--datadir", dir}, c.args...)...).want(t, codeUsage, c.tell)
			if strings.Count(r.errOut, "\n") != 1 || r.out != "" {
				t.Errorf("more than one line: %q %q", r.out, r.errOut)
			}
			refuse(t, codeUsage, dir, c.args, c.tell)
			if left := entries(t, dir); len(left) != 0 {
				t.Errorf("made %v", left)
			}
		})
	}
}

func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	for _, args := range append(slices.Clone(lookups), []string{"checkpoint"}) {
		refuse(t, codeFailed, dir, args, "no store", dir, "stele import")
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("a lookup made %v", left)
	}
	// A folder that is there and holds nothing is no store either.
	if err := os.Mkdir(filepath.Join(dir, "archive"), 0o755); err != nil {
		t.Fatal(err)
	}
	stele("--datadir", dir, "info").want(t, codeFailed, "no store")
	// A file where the folder should be.
	stele("--datadir", writeFile(t, "file", nil), "import", blockFile(t, 0, 1)).want(t, codeFailed, "not a directory")
}

func TestImportInput(t *testing.T) {
	dir := t.TempDir()
	stele("--datadir", dir, "import", filepath.Join(dir, "nosuch")).want(t, codeFailed, "nosuch")
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("made %v for a path that is not there", left)
	}
	prose := bytes.Repeat([]byte("no blocks here\n"), 9999)
	for _, path := range []string{"-", writeFile(t, "empty", nil), writeFile(t, "text", prose)} {
		refuse(t, codeFailed, dir, []string{"import", path}, "no block record")
	}
	stele("--datadir", dir, "import", t.TempDir()).want(t, codeFailed)
	foreign := append([]byte{0xfa, 0xbf, 0xb5, 0xda}, records(t)[1][4:]...)
	path := writeFile(t, "regtest.dat", foreign)
	refuse(t, codeForeign, dir, []string{"import", path}, path, "regtest", "--network")
	// A cut tail and garbage are no failures.
	cut := slices.Concat(records(t)[0], []byte("garbage"), records(t)[1], records(t)[2][:100])
	r := stele("--datadir", dir, "import", writeFile(t, "cut.dat", cut))
	tells(t, r.want(t, codeOK, "skipped bytes", "inside a record").out, "height 1,")
}

func TestInUse(t *testing.T) {
	dir := makeStore(t)
	d, err := store.OpenDir(filepath.Join(dir, "archive"), store.DirOptions{Verb: "holding"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, args := range append(slices.Clone(lookups), []string{"checkpoint"}, []string{"import", blockFile(t, 0, 5)}) {
		refuse(t, codeInUse, dir, args, "in use", dir, fmt.Sprint(os.Getpid()), "holding")
	}
}

// TestForeignStore meets a store of another network, and one of another format.
func TestForeignStore(t *testing.T) {
	dir := makeStore(t)
	putStore(t, filepath.Join(dir, "regtest", "archive"))
	for _, args := range append(slices.Clone(lookups), []string{"import", blockFile(t, 0, 5)}) {
		refuse(t, codeForeign, dir, append([]string{"--network", "regtest"}, args...), "network magic", "f9beb4d9")
	}
	other := t.TempDir()
	d, err := store.OpenDir(filepath.Join(other, "archive"), store.DirOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.CreateManifest(d, store.Preamble{Format: tables.Format + 1, Network: chain.Main().Magic})
	if err == nil {
		_, err = m.Write([]byte("of the future"))
	}
	if err = errors.Join(err, m.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	before := entries(t, filepath.Join(other, "archive"))
	for _, args := range append(slices.Clone(lookups), []string{"checkpoint"}, []string{"import", blockFile(t, 0, 5)}) {
		refuse(t, codeForeign, other, args, "format version")
	}
	if after := entries(t, filepath.Join(other, "archive")); !slices.Equal(before, after) {
		t.Errorf("files are %v, were %v", after, before)
	}
}

// TestTruncated cuts each file of a store behind its first page and a few bytes.
func TestTruncated(t *testing.T) {
	makeStore(t)
	for name, b := range imported.files {
		if name == store.LockName || len(b) <= store.PageSize {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := makeStore(t)
			altered(t, dir, name, func(b []byte) []byte { return b[:store.PageSize+2] })
			refuse(t, codeDamaged, dir, []string{"info"}, "store damaged", name)
			altered(t, dir, name, func([]byte) []byte { return []byte("this is no file of a store\n") })
			stele("--datadir", dir, "tx", payment).want(t, codeDamaged, name)
			if err := os.Remove(filepath.Join(dir, "archive", name)); err != nil {
				t.Fatal(err)
			}
			if name == store.ManifestName {
				refuse(t, codeFailed, dir, []string{"tx", payment}, "no store")
			} else {
				refuse(t, codeDamaged, dir, []string{"tx", payment}, name)
			}
		})
	}
}

// TestFlippedBits flips single bits of a store. Whatever a lookup then says, it is an answer or a failure in one line.
func TestFlippedBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	allowed := []int{codeOK, codeFailed, codeDamaged, codeForeign, codeNotFound}
	makeStore(t)
	names := []string{}
	for name, b := range imported.files {
		if name != store.LockName && len(b) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for round := range 120 {
		name := names[round%len(names)]
		dir := makeStore(t)
		var at int
		altered(t, dir, name, func(b []byte) []byte {
			at = rnd.IntN(len(b) * 8)
			b[at/8] ^= 1 << (at % 8)
			return b
		})
		for _, args := range lookups {
			r := stele(append([]string{"--json", "--datadir", dir}, args...)...)
			if !slices.Contains(allowed, r.code) || strings.Contains(r.errOut, "bug:") {
				t.Fatalf("%s bit %d: %v exits %d: %s", name, at, args, r.code, r.errOut)
			}
			if r.code != codeOK {
				r.want(t, r.code)
			}
			document[any](t, r)
		}
	}
}

// TestCheckTells damages a row behind the back of every checksum.
func TestCheckTells(t *testing.T) {
	dir := makeStore(t)
	altered(t, dir, "tx", func(b []byte) []byte { b[store.PageSize+42*100] ^= 1; return b })
	r := stele("--json", "--datadir", dir, "check", "--deep").want(t, codeDamaged, "problems")
	doc := document[checkDocument](t, r)
	if doc.OK || len(doc.Problems) == 0 {
		t.Errorf("%+v", doc)
	}
}

// TestUnclean leaves a store as a killed process would, with and without permission to recover it.
func TestUnclean(t *testing.T) {
	dir := makeStore(t)
	d, err := store.OpenDir(filepath.Join(dir, "archive"), store.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := tables.Open(d, chain.Main(), tables.Options{})
	if err != nil || tab == nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil { // without closing the tables: no clean mark
		t.Fatal(err)
	}
	mounted := readOnly(t, dir)
	if mounted != "" {
		for _, args := range lookups {
			stele(append([]string{"--datadir", mounted}, args...)...).want(t, codeFailed, "not closed cleanly")
		}
	}
	for range 2 { // the first one recovers
		for _, args := range lookups {
			stele(append([]string{"--datadir", dir}, args...)...).want(t, codeOK)
		}
	}
}

// TestLookupsWriteNothing compares the bytes of a clean store before and after lookups.
func TestLookupsWriteNothing(t *testing.T) {
	dir := makeStore(t)
	for _, args := range lookups {
		stele(append([]string{"--datadir", dir}, args...)...).want(t, codeOK)
	}
	if names := entries(t, filepath.Join(dir, "archive")); len(names) != len(imported.files) {
		t.Errorf("the files are %v", names)
	}
	for name, was := range imported.files {
		if is, err := os.ReadFile(filepath.Join(dir, "archive", name)); err != nil || !bytes.Equal(is, was) {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
}

// TestReadOnly looks things up on a medium that cannot be written.
func TestReadOnly(t *testing.T) {
	mounted := readOnly(t, makeStore(t))
	if mounted == "" {
		t.Skip("absent: a read-only bind mount (not allowed here)")
	}
	for _, args := range lookups {
		stele(append([]string{"--datadir", mounted}, args...)...).want(t, codeOK)
	}
	stele("--datadir", mounted, "import", blockFile(t, 0, 5)).want(t, codeFailed, "read-only")
	stele("--datadir", filepath.Join(mounted, "new"), "import", blockFile(t, 0, 5)).want(t, codeFailed, "read-only")
}

// TestDiskFull starts on a file system with room for nothing, and with room for a little.
func TestDiskFull(t *testing.T) {
	for _, size := range []string{"16k", "256k", "1m"} {
		m := tiny(t, size)
		if m == "" {
			t.Skip("absent: a small file system (not allowed to mount one here)")
		}
		r := stele("--json", "--datadir", m, "import", blockFile(t, 0, mainHigh+1)).want(t, codeDiskFull, "disk full", m)
		if doc := document[errorDocument](t, r); doc.Error.Code != codeDiskFull {
			t.Errorf("%+v", doc)
		}
		if r := stele("--datadir", m, "info"); !slices.Contains([]int{codeOK, codeFailed, codeDiskFull}, r.code) {
			t.Errorf("%s: info exits %d: %s", size, r.code, r.errOut)
		}
	}
}

// TestPanic makes a verb panic: the program tells a line and ends in order.
func TestPanic(t *testing.T) {
	err := guarded(func() error { panic("as a test") })
	if err == nil || !strings.Contains(err.Error(), "bug: as a test at failure_test.go:") {
		t.Error(err)
	}
	var errOut bytes.Buffer
	if code := run([]string{"help"}, nil, panics{}, &errOut); code != codeFailed {
		t.Error(code)
	}
	tells(t, errOut.String(), "stele: bug: written at failure_test.go:")
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("written") }

// TestBrokenOutput cannot write its answer.
func TestBrokenOutput(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	var errOut bytes.Buffer
	if code := run([]string{"version"}, nil, w, &errOut); code != codeFailed {
		t.Error(code)
	}
	tells(t, errOut.String(), "stele: cannot write the answer")
}
