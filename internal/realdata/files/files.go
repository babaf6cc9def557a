package files

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// moduleRoot is the nearest folder at or above the working directory that holds a go.mod. The go tool runs a test in its
// package's folder.
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
			return "", fmt.Errorf("no go.mod above the working directory: %w", fs.ErrNotExist)
		}
		dir = up
	}
}

// Path returns the path of a file or folder in the data folder, and whether it is there.
func Path(elem ...string) (string, bool) {
	dir, ok := Dir()
	if !ok {
		return "", false
	}
	path := filepath.Join(dir, filepath.Join(elem...))
	_, err := os.Stat(path)
	return path, err == nil
}

// Read returns the bytes of a file in the data folder; those of a *.gz or *.bz2 file are unpacked.
func Read(elem ...string) ([]byte, error) {
	path, ok := Path(elem...)
	if !ok {
		return nil, fmt.Errorf("realdata: %s: %w", filepath.ToSlash(filepath.Join(elem...)), fs.ErrNotExist)
	}
	return ReadPath(path)
}

// ReadPath does the same for a path.
func ReadPath(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if raw, err = unpack(raw, path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return raw, nil
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

// modules maps a module path to a func() (string, error) that yields its folder; the go command runs once for each.
var modules sync.Map

// Module returns the path of a file inside a module of go.mod. Where the module, or the go command, is not on this
// machine the error wraps fs.ErrNotExist; that the module has no such file is another error.
func Module(module, path string) (string, error) {
	find, _ := modules.LoadOrStore(module, sync.OnceValues(func() (string, error) { return moduleDir(module) }))
	dir, err := find.(func() (string, error))()
	if err != nil || dir == "" {
		return "", fmt.Errorf("module %s: %w", module, errors.Join(fs.ErrNotExist, err))
	}
	full := filepath.Join(dir, filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		return "", fmt.Errorf("module %s has no %s", module, path)
	}
	return full, nil
}

// moduleDir asks the go command. A module that go.mod knows of may not be downloaded where no package of it is imported.
func moduleDir(module string) (string, error) {
	list := func() (string, error) {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		return strings.TrimSpace(string(out)), err
	}
	dir, err := list()
	if err == nil && dir == "" {
		if err = exec.Command("go", "mod", "download", module).Run(); err == nil {
			dir, err = list()
		}
	}
	return dir, err
}
