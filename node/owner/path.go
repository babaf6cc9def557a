package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SocketName is the socket's file in a store's folder.
const SocketName = "socket"

// ErrUnsupported says that this system has no sockets of this kind.
var ErrUnsupported = errors.New("this system has no local sockets")

// place is where a socket may lie.
type place struct {
	path   string
	folder string // to be made, and private; empty: the store's, which is there
}

// places lists where the socket of a store's folder may lie, the preferred place first.
func places(folder string) []place {
	var all []place
	add := func(p place) {
		if len(p.path) <= maxAddress && !strings.ContainsAny(p.path, "\r\n") { // the lock file has it in a line
			all = append(all, p)
		}
	}
	add(place{path: filepath.Join(folder, SocketName)})
	sum := sha256.Sum256([]byte(folder))
	name := hex.EncodeToString(sum[:10])
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dir = filepath.Join(dir, "stele")
		add(place{filepath.Join(dir, name), dir})
	}
	dir := filepath.Join(os.TempDir(), "stele-"+strconv.Itoa(os.Geteuid()))
	add(place{filepath.Join(dir, name), dir})
	return all
}

// prepare makes the folder of a place, or proves that it is private: what is under a folder that others can write is
// theirs to replace.
func (p *place) prepare() error {
	if p.folder == "" {
		return nil
	}
	if err := os.Mkdir(p.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(p.folder)
	if err != nil {
		return err
	}
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || !mine(st) {
		return fmt.Errorf("%s is not a folder that only this user can enter", p.folder)
	}
	return nil
}

// removeSocket removes a socket that a killed owner left, and nothing else.
func removeSocket(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is in the way of the socket", path)
	}
	return os.Remove(path)
}

// RemoveStale removes the socket that the last owner of a store noted, where that was killed; empty: none. The caller
// has the store's lock.
func RemoveStale(path string) {
	if path != "" {
		_ = removeSocket(path) // what is something else stays
	}
}
