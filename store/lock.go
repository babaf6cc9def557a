package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// LockName is the lock file of a data folder. It is made once and never removed: a lock on a file that was unlinked
// excludes nobody who comes later.
//
//	+--------+-----------------------------------------------------------------------------+
//	| "\n" 1 | pid N \n host NAME \n verb NAME \n since RFC 3339 time \n [socket PATH \n]   |
//	+--------+-----------------------------------------------------------------------------+
//
// Byte 0 is what windows locks, where locked bytes cannot be read by others; the text therefore starts at byte 1.
// A clean Close empties the text; an owner that answers other processes adds the socket where it does (Announce).
const LockName = "lock"

// Owner is who holds the lock, as the lock file tells.
type Owner struct {
	PID    int
	Host   string
	Verb   string // what it does: "import", "run"
	Since  time.Time
	Socket string // where it answers other processes; empty: nowhere, or not yet
}

func (o Owner) String() string {
	if o.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s (%s, since %s)", o.PID, o.Host, o.Verb, o.Since.Format(time.RFC3339))
}

func (o Owner) text() string {
	line := func(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
	text := fmt.Sprintf("pid %d\nhost %s\nverb %s\nsince %s\n", o.PID, line(o.Host), line(o.Verb),
		o.Since.UTC().Format(time.RFC3339))
	if o.Socket != "" && o.Socket == line(o.Socket) { // a path that lines cannot hold is not told at all
		text += "socket " + o.Socket + "\n"
	}
	return text
}

// parseOwner reads what it can: the text is for people, and for who wants to ask the owner; it decides nothing. A line
// that does not end may be a part of one that is being written.
func parseOwner(b []byte) (o Owner) {
	for line := range bytes.Lines(b) {
		text, whole := strings.CutSuffix(string(line), "\n")
		key, value, _ := strings.Cut(text, " ")
		if !whole {
			continue
		}
		switch key {
		case "pid":
			o.PID, _ = strconv.Atoi(value)
		case "host":
			o.Host = value
		case "verb":
			o.Verb = value
		case "since":
			o.Since, _ = time.Parse(time.RFC3339, value)
		case "socket":
			o.Socket = value
		}
	}
	return o
}

// folderLock is the lock on a folder; nil where a read-only medium has none and needs none.
type folderLock struct {
	path   string
	fl     *flock.Flock
	shared bool

	owner    Owner // this process; zero where the lock is shared
	previous Owner // who had it before and did not close, if so
}

// lockFolder takes the lock of dir: exclusive for a writer, shared for readers. It fails with *ErrInUse, *DiskFull or
// *Fault. A folder on which nothing can be written, and which has no lock file, is looked at without a lock: there
// nobody can become its owner either.
func lockFolder(dir string, o DirOptions) (*folderLock, error) {
	l := &folderLock{path: filepath.Join(dir, LockName), shared: o.ReadOnly}
	unwritable := o.ReadOnly && !Writable(dir)
	flag := os.O_CREATE | os.O_RDWR
	if unwritable {
		flag = os.O_RDONLY
	}
	if st, err := os.Stat(l.path); err == nil && !st.Mode().IsRegular() {
		return nil, &Fault{Op: "lock", Name: LockName, Off: -1, Err: errors.New("is not a regular file")}
	}
	l.fl = flock.New(l.path, flock.SetFlag(flag), flock.SetPermissions(0o600))
	try := l.fl.TryLock
	if l.shared {
		try = l.fl.TryRLock
	}
	ok, err := try()
	switch {
	case err != nil && unwritable && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && isFull(err):
		return nil, &DiskFull{Name: LockName, Need: PageSize, Err: err}
	case err != nil:
		return nil, &Fault{Op: "lock", Name: LockName, Off: -1, Err: err}
	case !ok:
		return nil, &ErrInUse{Dir: dir, Owner: readOwner(l.path)}
	}
	if !l.shared {
		l.previous = readOwner(l.path)
		host, _ := os.Hostname()
		l.owner = Owner{PID: os.Getpid(), Host: host, Verb: o.Verb, Since: time.Now()}
		l.write(l.owner.text())
	}
	return l, nil
}

// write replaces the owner's text. The lock holds without it, so a failure (a full disk) is let pass.
func (l *folderLock) write(text string) {
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if f.Truncate(1) == nil && text != "" {
		_, _ = f.WriteAt([]byte(text), 1)
	}
}

func readOwner(path string) Owner {
	f, err := os.Open(path)
	if err != nil {
		return Owner{}
	}
	defer f.Close()
	b, _ := io.ReadAll(io.NewSectionReader(f, 1, PageSize))
	return parseOwner(b)
}

func (l *folderLock) release() error {
	if l == nil {
		return nil
	}
	if !l.shared {
		l.write("")
	}
	return l.fl.Close()
}
