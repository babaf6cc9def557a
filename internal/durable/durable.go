package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts raw at path, readable by its owner alone. Write order: the bytes beside it, sync, rename over it, sync of
// the folder. A failure before the rename leaves the old file and nothing else. One caller a path at a time.
func Replace(path string, raw []byte) error {
	beside := path + ".part"
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = os.Remove(beside)
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes the names in a folder durable. Windows has no such call, there renames are in the file system's journal.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
