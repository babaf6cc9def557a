package blockfile

import (
	"errors"
	"fmt"
)

// ErrNoBlocks says that the input was read to its end, or a folder was looked
// through, and held no record of the network.
var ErrNoBlocks = errors.New("no block record found")

// ForeignNetwork says that a file begins with the magic of another network.
type ForeignNetwork struct {
	Path string
	Have string // name of the network whose blocks these are
}

func (e *ForeignNetwork) Error() string {
	return fmt.Sprintf("%s: holds blocks of network %s", e.Path, e.Have)
}

// ReadError is a fault of the medium, or a file that became shorter while it
// was read (then Err is io.ErrUnexpectedEOF).
type ReadError struct {
	Path string
	Off  int64 // offset of the first byte that could not be read
	Err  error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("read %s at byte %d: %v", e.Path, e.Off, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// Damaged is the Err of a record whose length cannot be a block's.
type Damaged struct {
	Path string
	Off  int64 // of the record's magic
	Len  uint32
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("%s: record at byte %d: length %d is outside %d..%d", e.Path, e.Off, e.Len, MinLen, MaxLen)
}
