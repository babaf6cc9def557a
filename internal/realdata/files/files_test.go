package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What is absent says so by its error, and what is there but broken does not.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	for name, text := range map[string]string{"plain": "abc", "broken.gz": "abc", "broken.bz2": "abc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Read("plain"); err != nil || string(got) != "abc" {
		t.Errorf("plain: %q, %v", got, err)
	}
	for _, name := range []string{"broken.gz", "broken.bz2"} {
		if _, err := Read(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("none", "such"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	t.Setenv(Env, filepath.Join(dir, "none"))
	if _, err := Read("plain"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder: %v", err)
	}
}

func TestModule(t *testing.T) {
	if _, err := Module("example.invalid/none", "go.mod"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a module that go.mod does not know: %v", err)
	}
}
