package btcdpeer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Module is what is built, in the version that go.mod names.
const Module = "github.com/btcsuite/btcd"

var built struct {
	sync.Mutex
	tried  bool
	folder string // of the program; Clean removes it
	path   string
	err    error
}

// Build returns the path of the program; the first call builds it. The test is skipped where that fails.
func Build(tb testing.TB) string {
	tb.Helper()
	built.Lock()
	defer built.Unlock()
	if !built.tried {
		built.tried = true
		built.path, built.err = build()
	}
	if built.err != nil {
		tb.Skipf("btcd absent: it cannot be built: %v", built.err)
	}
	return built.path
}

// Clean removes the program. The next Build makes it again.
func Clean() {
	built.Lock()
	defer built.Unlock()
	if built.folder != "" {
		os.RemoveAll(built.folder)
	}
	built.tried, built.folder, built.path = false, "", ""
}

func build() (path string, err error) {
	mod, err := run("", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("no go.mod above the test")
	}
	if built.folder, err = os.MkdirTemp("", "btcdpeer"); err != nil {
		return "", err
	}
	// What the program needs beyond our own modules goes into copies: the repository's files are not touched.
	root := filepath.Dir(mod)
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(built.folder, name), raw, 0o600); err != nil {
			return "", err
		}
	}
	path = filepath.Join(built.folder, "btcd")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	_, err = run(root, "go", "build", "-modfile", filepath.Join(built.folder, "go.mod"), "-mod=mod", "-buildvcs=false",
		"-o", path, Module)
	return path, err
}

// run returns the output of a command, or an error with the last line of its complaint.
func run(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), err
}
