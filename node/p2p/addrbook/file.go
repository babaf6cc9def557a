package addrbook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"stele/internal/durable"
)

// FileError says why the file of a book could not be used. It unwraps to ErrDamaged, ErrForeign or ErrNewer.
type FileError struct {
	Path  string // the book's
	Aside string // where the file is now
	Err   error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %v; kept as %s", e.Path, e.Err, filepath.Base(e.Aside))
}

func (e *FileError) Unwrap() error { return e.Err }

// Open reads the book at path, or begins an empty one where no file is. With a *FileError it returns an empty book to go
// on with, since the file was moved aside; with any other error, which is the medium's, no book.
func Open(path string, o Options) (*Book, error) {
	b := New(o)
	b.path = path
	raw, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("address book: %w", err)
	}
	if err = b.decode(raw); err == nil {
		b.changed = false
		return b, nil
	}
	bad := &FileError{Path: path, Aside: path + ".damaged", Err: err}
	switch {
	case errors.Is(err, ErrForeign):
		bad.Aside = path + ".foreign"
	case errors.Is(err, ErrNewer):
		bad.Aside = path + ".newer"
	}
	if err := os.Rename(path, bad.Aside); err != nil {
		return nil, fmt.Errorf("address book: %w, and it cannot be moved aside: %w", bad.Err, err)
	}
	b = New(o)
	b.path = path
	return b, bad
}

// read returns the file, cut behind the largest size that it may have.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Save writes the book to its file, where it changed since it was read or saved. A failure leaves the old file as it was
// and the book as it is; it may be tried again. A book in memory is not written.
func (b *Book) Save() error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	if b.path == "" || !b.changed {
		b.mu.Unlock()
		return nil
	}
	raw := b.encode(make([]byte, 0, headSize+len(b.entries)*maxEntry+maxPending*maxAddress+sumSize))
	b.changed = false
	b.mu.Unlock()
	if err := durable.Replace(b.path, raw); err != nil {
		b.mu.Lock()
		b.changed = true
		b.mu.Unlock()
		return fmt.Errorf("address book: %w", err)
	}
	return nil
}

// Close saves the book. It may be used on, and closed again.
func (b *Book) Close() error { return b.Save() }
