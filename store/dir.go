package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// DirOptions say how a data folder is opened.
type DirOptions struct {
	Create     bool   // make the folder (and its parents) if it is absent
	ReadOnly   bool   // shared lock; no file is created, grown or cut
	Verb       string // what the owner does, for the lock file
	ReserveCap int64  // caps FileOptions.Reserve of every file, bytes; 0: no cap. For many stores in one process
}

// Dir is a Disk on a folder, owned by this process until Close.
type Dir struct {
	path   string
	opts   DirOptions
	lock   *folderLock
	health Health

	mu     sync.Mutex             // guards what follows; held alone, but for regions'
	files  map[*diskFile]struct{} // open ones
	dirty  bool                   // a file was created or removed since the folder was synced
	closed bool
}

// OpenDir locks a folder and opens it as a Disk. It fails with *ErrInUse where another owner has it, fs.ErrNotExist
// where the folder is absent and is not to be created, and with *DiskFull or *Fault; after a failure nothing is held.
func OpenDir(dir string, o DirOptions) (*Dir, error) {
	if o.Create && !o.ReadOnly {
		if err := createFolder(dir); err != nil {
			return nil, err
		}
	}
	switch st, err := os.Stat(dir); {
	case err != nil:
		return nil, &Fault{Op: "open", Name: dir, Off: -1, Err: err}
	case !st.IsDir():
		return nil, &Fault{Op: "open", Name: dir, Off: -1, Err: errors.New("is not a folder")}
	}
	lock, err := lockFolder(dir, o)
	if err != nil {
		return nil, err
	}
	return &Dir{path: dir, opts: o, lock: lock, files: make(map[*diskFile]struct{})}, nil
}

// createFolder makes dir and its missing parents, each durable in its own parent.
func createFolder(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if parent != dir {
		if err := createFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		if isFull(err) {
			return &DiskFull{Name: dir, Need: PageSize, Err: err}
		}
		return &Fault{Op: "open", Name: dir, Off: -1, Err: err}
	}
	if err := syncFolder(parent); err != nil {
		return &Fault{Op: "sync", Name: parent, Off: -1, Err: err}
	}
	return nil
}

// Path returns the folder.
func (d *Dir) Path() string { return d.path }

// Announce adds the socket where this owner answers other processes to the text in the lock file.
func (d *Dir) Announce(socket string) {
	if l := d.lock; l != nil && !l.shared {
		l.owner.Socket = socket
		l.write(l.owner.text())
	}
}

// Previous returns who had the folder before and ended without closing it, as far as its text in the lock file tells.
func (d *Dir) Previous() Owner {
	if d.lock == nil {
		return Owner{}
	}
	return d.lock.previous
}

// ReadOnly implements Disk.
func (d *Dir) ReadOnly() bool { return d.opts.ReadOnly }

// Health implements Disk.
func (d *Dir) Health() *Health { return &d.health }

// checkName admits plain file names only.
func checkName(name string) error {
	if name == "" || name == LockName || name != filepath.Base(name) || strings.ContainsAny(name, `/\:`) ||
		!fs.ValidPath(name) || name == "." {
		return &Fault{Op: "open", Name: fmt.Sprintf("%q", name), Off: -1, Err: fs.ErrInvalid}
	}
	return nil
}

// Open implements Disk. Failing at any step leaves nothing open, mapped or created but the empty file.
func (d *Dir) Open(name string, o FileOptions) (File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &Fault{Op: "open", Name: name, Off: -1, Err: ErrClosed}
	}
	f, err := openFile(d, name, o)
	if err != nil {
		return nil, err
	}
	d.files[f] = struct{}{}
	return f, nil
}

// Remove implements Disk.
func (d *Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if d.opts.ReadOnly {
		return &Fault{Op: "remove", Name: name, Off: -1, Err: ErrReadOnly}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.Remove(filepath.Join(d.path, name)); err != nil {
		return &Fault{Op: "remove", Name: name, Off: -1, Err: err}
	}
	d.dirty = true
	return nil
}

// List implements Disk.
func (d *Dir) List() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, &Fault{Op: "list", Name: d.path, Off: -1, Err: err}
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != LockName {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Sync implements Disk.
func (d *Dir) Sync() error {
	if err := d.health.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dirty {
		return nil
	}
	if err := syncFolder(d.path); err != nil {
		return d.health.fail(&Fault{Op: "sync", Name: d.path, Off: -1, Err: err})
	}
	d.dirty = false
	return nil
}

// Close implements Disk. Mappings are gone afterwards: every reader must have ended.
func (d *Dir) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	open := d.files
	d.files = nil
	d.mu.Unlock()
	var first error
	for f := range open {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	if err := d.lock.release(); err != nil && first == nil {
		first = &Fault{Op: "lock", Name: LockName, Off: -1, Err: err}
	}
	return first
}

func (d *Dir) forget(f *diskFile) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, f)
}
