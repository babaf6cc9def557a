package style

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits of a file. They are what a reader holds in the head, not what a tool can bear.
const (
	maxFileLines = 600
	maxFuncLines = 70
	maxColumns   = 125
)

// root returns the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// files returns the paths, below the root, of the files that f accepts.
func files(t *testing.T, f func(name string) bool) []string {
	t.Helper()
	var all []string
	base := root(t)
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(base, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(rel, d.Name())
		}
		if f(filepath.ToSlash(rel)) {
			all = append(all, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// skipFolder leaves out what is not text of ours: seeds and golden files under testdata, and hidden folders.
func skipFolder(rel, name string) error {
	if rel == "." || rel == "internal/realdata" || name == ".ci" {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") {
		return filepath.SkipDir
	}
	return nil
}

func goFile(name string) bool { return strings.HasSuffix(name, ".go") }

// packageDirs returns every folder that holds Go files which are not tests.
func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, f := range files(t, func(n string) bool { return goFile(n) && !strings.HasSuffix(n, "_test.go") }) {
		if dir := filepath.ToSlash(filepath.Dir(f)); len(dirs) == 0 || dirs[len(dirs)-1] != dir {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// TestFileShape measures every Go file: its length, its lines' and its functions'.
func TestFileShape(t *testing.T) {
	all := files(t, goFile)
	for _, name := range all {
		src, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(src, []byte("// Code generated ")) {
			continue
		}
		checkLines(t, name, src)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFuncLines {
					t.Errorf("%s: %s has %d lines, %d at most fit a screen", name, f.Name.Name, n, maxFuncLines)
				}
			}
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d Go files found", len(all))
	}
}

func checkLines(t *testing.T, name string, src []byte) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(src))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		if columns(lines.Text()) > maxColumns {
			t.Errorf("%s:%d: longer than %d columns", name, n, maxColumns)
		}
	}
	if n > maxFileLines {
		t.Errorf("%s: %d lines, %d at most: it holds more than one thing", name, n, maxFileLines)
	}
}

// columns counts runes, a tab as one.
func columns(line string) int { return utf8.RuneCountInString(line) }

// TestPackageComments wants a doc.go with the package comment in every package, a page for those that are more than a
// helper of tests.
func TestPackageComments(t *testing.T) {
	for _, dir := range packageDirs(t) {
		if filepath.Base(dir) == "gen" { // a generator: its one file tells
			continue
		}
		src, err := os.ReadFile(filepath.Join(root(t), dir, "doc.go"))
		if err != nil {
			t.Errorf("%s: no doc.go: %v", dir, err)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "doc.go", src, parser.ParseComments)
		if err != nil || file.Doc == nil {
			t.Errorf("%s: doc.go has no package comment (%v)", dir, err)
			continue
		}
		want := "Package " + file.Name.Name + " "
		if file.Name.Name == "main" {
			want = "Command stele "
		}
		text := file.Doc.Text()
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: package comment begins %.40q, want %q", dir, text, want)
		}
		if lines := strings.Count(text, "\n"); lines < 10 && !strings.HasPrefix(dir, "internal/") {
			t.Errorf("%s: package comment of %d lines: say what the package is, its invariants, and who owns what", dir, lines)
		}
	}
}

// banned lists what no committed text may contain, with the reason.
var banned = []struct {
	what *regexp.Regexp
	why  string
	in   func(name string) bool
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "finish it, or file it", text},
	{regexp.MustCompile(`not imple` + `mented|unimple` + `mented`), "a name must not promise what is not there", goFile},
	{regexp.MustCompile("[\"( =`']/(wo" + `rk|ro` + `ot|fa` + `rm|ho` + `me)/`), "no path of a machine", text},
	{regexp.MustCompile(`proxy\.golang\.` + `org|registry\.npmjs|deb\.deb` + `ian`), "no registry's host", text},
	{regexp.MustCompile(`\bt\.Skip\(\)`), "a skip says why", goFile},
	{regexp.MustCompile(`time\.Since\([^)]*\)\s*[<>]`), "count work in tests; time belongs into benchmarks", testFile},
	{regexp.MustCompile(`\bfmt\.Print(ln|f)?\(`), "libraries return, they do not print", libraryFile},
	{regexp.MustCompile(`\blog\.(Print|Fatal|Panic)`), "zerolog is the logger", goFile},
}

func text(name string) bool {
	return name != "go.sum" && !strings.HasSuffix(name, ".gz") && !strings.HasSuffix(name, ".bin")
}

func testFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

func libraryFile(name string) bool {
	return goFile(name) && !testFile(name) && !strings.HasPrefix(name, "cmd/") && !strings.Contains(name, "/gen/")
}

// TestBannedWords reads every text file of the tree.
func TestBannedWords(t *testing.T) {
	for _, name := range files(t, text) {
		src, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range banned {
			if !b.in(name) {
				continue
			}
			if at := b.what.FindIndex(src); at != nil {
				line := 1 + bytes.Count(src[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", name, line, src[at[0]:at[1]], b.why)
			}
		}
	}
}
