package bench

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"stele/store"
)

// chunk is how much of two files is compared at a time, in bytes.
const chunk = 1 << 20

// mirror makes the files of folder dst equal to those of src, and both folders' pages clean. It writes only what
// differs and keeps the folder itself, whose identity is part of a live record. The lock file stays out of it.
func mirror(dst, src string) error {
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return err
	}
	wanted, err := fileNames(src)
	if err != nil {
		return err
	}
	have, err := fileNames(dst)
	if err != nil {
		return err
	}
	for _, name := range have {
		if !slices.Contains(wanted, name) {
			if err := os.Remove(filepath.Join(dst, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range wanted {
		if err := mirrorFile(filepath.Join(dst, name), filepath.Join(src, name)); err != nil {
			return err
		}
	}
	return nil
}

// fileNames lists the files of a store's folder.
func fileNames(dir string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		if e.Type().IsRegular() && e.Name() != store.LockName {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func mirrorFile(dst, src string) error {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(dst, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	st, err := from.Stat()
	if err != nil {
		return err
	}
	if err := to.Truncate(st.Size()); err != nil {
		return err
	}
	want, have := make([]byte, chunk), make([]byte, chunk)
	for off := int64(0); off < st.Size(); off += chunk {
		n := min(chunk, st.Size()-off)
		if _, err := from.ReadAt(want[:n], off); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := to.ReadAt(have[:n], off); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(want[:n], have[:n]) {
			if _, err := to.WriteAt(want[:n], off); err != nil {
				return err
			}
		}
	}
	return to.Sync()
}

// cutPower makes a store's folder what it may be after the machine lost its power: no live record is valid, and nothing
// is in memory. (Everything that was written is on the disk still; a cut that loses unsynced bytes leaves less to look
// at.)
func cutPower(dir string) error {
	if err := os.Remove(filepath.Join(dir, store.LiveName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names, err := fileNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := errors.Join(dropCache(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
