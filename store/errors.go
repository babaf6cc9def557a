package store

import (
	"errors"
	"fmt"
)

var (
	// ErrReserve is wrapped by the *Fault of an allocation that would outgrow the address space mapped for the file.
	ErrReserve = errors.New("the address space reserved for the file is used up")

	// ErrReadOnly is wrapped by the *Fault of a change to a disk that was opened for reading only.
	ErrReadOnly = errors.New("the store is open for reading only")

	// ErrClosed is wrapped by the *Fault of a call on a closed file or disk.
	ErrClosed = errors.New("the file is closed")
)

// DiskFull says that space could not be had (ENOSPC, EDQUOT, or the capacity set on a MemDisk). Nothing was changed and
// nothing is remembered: the same call succeeds once there is room.
type DiskFull struct {
	Name string // the first file that found no room
	Need int64  // bytes that were missing, over all files of the request
	Err  error
}

func (e *DiskFull) Error() string {
	return fmt.Sprintf("disk full: %s needs %d more bytes (free some space and go on): %v", e.Name, e.Need, e.Err)
}

func (e *DiskFull) Unwrap() error { return e.Err }

// NoRoom tells a full disk, which is waited out, from every other error.
func NoRoom(err error) (full, other error) {
	var f *DiskFull
	if errors.As(err, &f) {
		return err, nil
	}
	return nil, err
}

// Fault is a failed operation of the disk, or a memory fault in a mapping. It is never a verdict on what was stored.
type Fault struct {
	Op   string // open, map, allocate, read, write, rewrite, sync, truncate, remove, list, lock or close
	Name string // file
	Off  int64  // byte offset in the file, or -1
	Err  error
}

func (e *Fault) Error() string {
	if e.Off < 0 {
		return fmt.Sprintf("store fault: %s %s: %v", e.Op, e.Name, e.Err)
	}
	return fmt.Sprintf("store fault: %s %s at byte %d: %v", e.Op, e.Name, e.Off, e.Err)
}

func (e *Fault) Unwrap() error { return e.Err }

// Damaged says that a file does not hold what the store needs of it.
type Damaged struct {
	Name string // file
	What string // what is wrong, as the rest of a sentence that begins with the name
}

func (e *Damaged) Error() string { return "store damaged: " + e.Name + " " + e.What }

// Foreign says that a file is in order, but of another format, network, store, kind or width than asked for.
type Foreign struct {
	What string // what differs
	Have string // in the file
	Want string // in this program or store
}

func (e *Foreign) Error() string {
	return fmt.Sprintf("foreign store: %s is %s, want %s", e.What, e.Have, e.Want)
}

// ErrInUse says that another owner holds the lock of the folder.
type ErrInUse struct {
	Dir   string
	Owner Owner // as the lock file tells; zero where it could not be read
}

func (e *ErrInUse) Error() string {
	return fmt.Sprintf("data folder %s is in use by %s", e.Dir, e.Owner)
}
