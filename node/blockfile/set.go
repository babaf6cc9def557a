package blockfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Options says which network's blocks are looked for.
type Options struct {
	Magic   [4]byte
	Foreign []Network  // other networks, to be recognised at the start of a file
	Note    func(Note) // may be nil; called by Index and the Streams
	Stdin   io.Reader  // what the path "-" stands for
}

// A Set is an input: files that can be sought, and streams.
type Set struct {
	o       Options
	files   []*file
	streams []*Stream
	unread  int // streams that did not end yet
	report  Report
	size    int64
	done    atomic.Int64

	mu     sync.Mutex
	open   []*file // with a handle, oldest first
	closed bool
}

type file struct {
	path   string
	size   int64 // when the Set was opened
	mask   mask
	handle atomic.Pointer[os.File]
}

// blkName is the form of Core's block file names; the number gives the order.
var blkName = regexp.MustCompile(`^blk([0-9]+)\.dat$`)

const keyName = "xor.dat"

// Open resolves paths: files, folders of blk*.dat, or "-" for Options.Stdin. A
// blk*.dat that is named itself is unmasked by the xor.dat beside it, too. A
// file that is named more than once is read once. A folder without block files
// gives ErrNoBlocks.
func Open(paths []string, o Options) (*Set, error) {
	s := &Set{o: o}
	seen := make(map[string]bool)
	for _, path := range paths {
		if err := s.add(path, seen); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.unread = len(s.streams)
	return s, nil
}

func (s *Set) add(path string, seen map[string]bool) error {
	if path == "-" {
		if s.o.Stdin == nil {
			return errors.New("there is no standard input to read")
		}
		if !seen[path] {
			seen[path] = true
			s.stream(s.o.Stdin, "standard input", nil)
		}
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return s.addFolder(path, seen)
	}
	var m mask
	if blkName.MatchString(filepath.Base(path)) {
		if m, err = readMask(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return s.addFile(path, info, m, seen)
}

func (s *Set) addFolder(dir string, seen map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type numbered struct {
		number uint64
		name   string
	}
	var names []numbered
	for _, e := range entries {
		if m := blkName.FindStringSubmatch(e.Name()); m != nil && !e.IsDir() {
			n, err := strconv.ParseUint(m[1], 10, 64)
			if err != nil {
				n = math.MaxUint64 // too long for a number: last
			}
			names = append(names, numbered{n, e.Name()})
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: no blk*.dat in this folder: %w", dir, ErrNoBlocks)
	}
	slices.SortFunc(names, func(a, b numbered) int {
		if a.number != b.number {
			if a.number < b.number {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	m, err := readMask(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		path := filepath.Join(dir, n.name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := s.addFile(path, info, m, seen); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) addFile(path string, info fs.FileInfo, m mask, seen map[string]bool) error {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		real = path // as under /dev/fd, where a link's target is no path
	}
	if seen[real] {
		return nil
	}
	seen[real] = true
	if !info.Mode().IsRegular() {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		s.stream(f, path, f)
		return nil
	}
	s.files = append(s.files, &file{path: path, size: info.Size(), mask: m})
	s.size += info.Size()
	return nil
}

// readMask reads a folder's xor.dat; without one files are plain.
func readMask(dir string) (mask, error) {
	path := filepath.Join(dir, keyName)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(key) != 8 {
		return 0, fmt.Errorf("%s: holds %d bytes, a key has 8", path, len(key))
	}
	return mask(binary.LittleEndian.Uint64(key)), nil
}

// Index yields the records of all files, in the order of the files and of the
// bytes in them, until yield returns false. The record is reused. ErrNoBlocks
// is returned when there are none and no stream may still bring some.
func (s *Set) Index(yield func(*Record) bool) error {
	var base int64
	var r Record
	src := &fileSource{set: s, buf: make([]byte, 0, piece)}
	for i, f := range s.files {
		src.rewind(i)
		sc := s.scanner(src, i)
		for {
			err := sc.next(&r)
			s.done.Store(base + sc.pos)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if !yield(&r) {
				return nil
			}
		}
		base += f.size
	}
	if len(s.streams) == 0 && s.empty() {
		return ErrNoBlocks
	}
	return nil
}

func (s *Set) scanner(src source, i int) *scanner {
	f := s.files[i]
	return &scanner{
		src: src, o: &s.o, report: &s.report, path: f.path, file: uint32(i), mask: f.mask, limit: math.MaxInt64,
	}
}

// Resync yields the records that begin inside a record of Index which turned
// out not to be a block: where its length was damaged, it may cover others. They may end
// behind it. What else lies there is not counted.
func (s *Set) Resync(p Place, yield func(*Record) bool) error {
	src := &fileSource{set: s, buf: make([]byte, 0, piece)}
	src.rewind(int(p.File))
	sc := s.scanner(src, int(p.File))
	sc.started = true
	sc.pos = p.Off - headLen + int64(len(s.o.Magic))
	sc.limit = p.Off + int64(p.Len)
	sc.hush = sc.limit
	var r Record
	for {
		err := sc.next(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(&r) {
			return nil
		}
	}
}

// ReadBlock reads a block into dst, which it replaces by a larger one if need
// be, and returns its bytes. Any number of goroutines may call it.
func (s *Set) ReadBlock(p Place, dst []byte) ([]byte, error) {
	dst = slices.Grow(dst[:0], int(p.Len))[:p.Len]
	if err := s.readAt(int(p.File), dst, p.Off); err != nil {
		return nil, err
	}
	return dst, nil
}

// readAt fills p from a file and unmasks it.
func (s *Set) readAt(i int, p []byte, off int64) error {
	f := s.files[i]
	for {
		h, err := s.use(f)
		if err != nil {
			return &ReadError{Path: f.path, Off: off, Err: err}
		}
		n, err := h.ReadAt(p, off)
		if n == len(p) {
			f.mask.apply(p, off)
			return nil
		}
		if errors.Is(err, os.ErrClosed) {
			continue // use closed it in favour of another file, or tells why not
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return &ReadError{Path: f.path, Off: off + int64(n), Err: err}
	}
}

// use returns a file's handle. Closing a handle waits for nobody: a read that
// has begun ends well, one that has not finds os.ErrClosed.
func (s *Set) use(f *file) (*os.File, error) {
	if h := f.handle.Load(); h != nil {
		return h, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, os.ErrClosed
	}
	if h := f.handle.Load(); h != nil {
		return h, nil
	}
	h, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	if len(s.open) >= maxOpen {
		if err := s.open[0].handle.Swap(nil).Close(); err != nil {
			h.Close()
			return nil, err
		}
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, f)
	f.handle.Store(h)
	return h, nil
}

// Close closes all files. Reads that follow fail.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, f := range s.open {
		errs = append(errs, f.handle.Swap(nil).Close())
	}
	s.open = nil
	for _, st := range s.streams {
		if st.close != nil {
			errs = append(errs, st.close.Close())
			st.close = nil
		}
	}
	return errors.Join(errs...)
}

// Path returns the path of a Place's file.
func (s *Set) Path(p Place) string { return s.files[p.File].path }

// Files returns how many files can be sought.
func (s *Set) Files() int { return len(s.files) }

// Streams returns what cannot be sought, in the order of the paths.
func (s *Set) Streams() []*Stream { return s.streams }

// Size returns the bytes of all files that can be sought.
func (s *Set) Size() int64 { return s.size }

// Done returns how many of Size the Index went past. Any goroutine may ask.
func (s *Set) Done() int64 { return s.done.Load() }

// Report returns the counts so far; it belongs to the goroutine that indexes.
func (s *Set) Report() Report { return s.report }

func (s *Set) empty() bool { return s.report.Records+s.report.Damaged == 0 }
