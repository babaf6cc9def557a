package hashmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"stele/internal/fault"
	"stele/store"
)

// A generation file is a header page and lines:
//
//	| header page, 4096 | home lines, 64 each: one a bucket | spare lines, for what spills off the last bucket |
//
// The header is two sectors that are written on their own, each with a checksum (CRC-64, ECMA) of what precedes it, so
// that a torn write of the second cannot hurt the first. All integers are little-endian, the rest of the page is zero.
//
//	  0       8       12     16        24      32         48       49      50             52     56            88    96
//	| magic | gener- | zero | buckets | lines | store id | window | mixed | uniform bits | zero | name, zero  | sum |
//	| 8     | ation  | 4    | 8       | 8     | 16       | 1      | 1     | 2            | 4    | padded, 32  | 8   |
//
//	  512                520   528
//	| merging to, rows | sum |
//	| 8                | 8   |
//
// The stamp "merging to" is raised and synced before a merge writes its first line. Lines may hold links up to it,
// never beyond. Where it is beyond the rows that a manifest covers, entries of rows that no longer exist may be in the
// lines: such a file is *Ahead and must be rebuilt.
const (
	headerSize = store.PageSize
	magic      = "stelelns"
	nameSize   = 32

	headGeneration = 8
	headBuckets    = 16
	headLines      = 24
	headID         = 32
	headWindow     = 48
	headMixed      = 49
	headUniform    = 50
	headName       = 56
	headSum        = headName + nameSize
	headStamp      = 512
	stampSum       = headStamp + 8
	stampEnd       = stampSum + 8

	// maxBuckets bounds the lines so that a bucket number fits 29 bits (see sortRow). All links that there can be fill
	// that many lines to two thirds.
	maxBuckets = 1<<29 - 1
	maxLines   = 1 << 30
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// generation is one file of lines, open and mapped. Its size never changes once it serves, so base is good until it is
// closed.
type generation struct {
	file    store.File
	number  uint32
	buckets uint64
	lines   uint64         // home and spare lines
	stamp   uint64         // rows that merges may have put into the lines; the merging goroutine's
	base    unsafe.Pointer // of line 0
}

// Ahead reports lines that a merge took beyond the rows, or the log, that the state knows of: the manifest that covered
// them was lost and an older one was adopted. The index is rebuilt by opening it with the zero State and entering
// everything.
type Ahead struct {
	Name     string // of the file
	Stamp    uint64 // rows that merges may have put into the lines
	Existing uint64 // rows that the body has
}

func (e *Ahead) Error() string {
	return fmt.Sprintf("%s was merged to row %d of %d: the index must be rebuilt", e.Name, e.Stamp, e.Existing)
}

// fileName returns the name of a generation's file.
func (m *Map) fileName(number uint32) string { return fmt.Sprintf("%s.lines-%d", m.spec.Name, number) }

// newGeneration wraps an open file of that many lines.
func newGeneration(f store.File, number uint32, buckets, lines, stamp uint64) *generation {
	return &generation{
		file: f, number: number, buckets: buckets, lines: lines, stamp: stamp,
		base: unsafe.Pointer(&f.Mapping().Bytes()[headerSize]),
	}
}

// header returns the first sector of the header page.
func (m *Map) header(number uint32, buckets, lines uint64) []byte {
	h := make([]byte, headStamp)
	copy(h, magic)
	binary.LittleEndian.PutUint32(h[headGeneration:], number)
	binary.LittleEndian.PutUint64(h[headBuckets:], buckets)
	binary.LittleEndian.PutUint64(h[headLines:], lines)
	copy(h[headID:], m.id[:])
	if m.spec.Mixed {
		h[headMixed] = 1
	} else {
		h[headWindow] = m.spec.Window
		binary.LittleEndian.PutUint16(h[headUniform:], uint16(m.spec.UniformBits))
	}
	copy(h[headName:headSum], m.spec.Name)
	binary.LittleEndian.PutUint64(h[headSum:], crc64.Checksum(h[:headSum], crcTable))
	return h
}

// stamp returns the second sector: what a merge is about to put into the lines.
func stamp(to uint64) []byte {
	s := binary.LittleEndian.AppendUint64(nil, to)
	return binary.LittleEndian.AppendUint64(s, crc64.Checksum(s, crcTable))
}

// openGeneration opens the file that the map's state names and checks its header against it.
func openGeneration(m *Map) (*generation, error) {
	name := m.fileName(m.state.Generation)
	f, err := m.disk.Open(name, store.FileOptions{Reserve: headerSize, Random: true, MustExist: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, m.damaged("is missing")
	}
	if err != nil {
		return nil, err
	}
	var gen *generation
	err = store.Guard(func() error {
		lines, stamp, err := m.checkHeader(f)
		if err == nil {
			gen = newGeneration(f, m.state.Generation, m.state.Buckets, lines, stamp)
		}
		return err
	})
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return gen, nil
}

// checkHeader compares the header page with the state and returns the number of lines and the stamp. The size is
// checked before a byte is read: memory beyond it faults.
func (m *Map) checkHeader(f store.File) (lines, stamp uint64, err error) {
	size := f.Size()
	if size < headerSize {
		return 0, 0, m.damaged("is cut short: %d bytes do not hold a header page", size)
	}
	h := f.Mapping().Bytes()[:headerSize]
	if string(h[:len(magic)]) != magic {
		return 0, 0, m.damaged("does not begin with the header page of lines")
	}
	if binary.LittleEndian.Uint64(h[headSum:]) != crc64.Checksum(h[:headSum], crcTable) {
		return 0, 0, m.damaged("has a header whose checksum does not match")
	}
	if !bytes.Equal(h[headID:headID+16], m.id[:]) {
		return 0, 0, &store.Foreign{What: "store id of file " + f.Name(), Have: fmt.Sprintf("%x", h[headID:headID+16]),
			Want: fmt.Sprintf("%x", m.id)}
	}
	lines = binary.LittleEndian.Uint64(h[headLines:])
	if !bytes.Equal(h[:headSum], m.header(m.state.Generation, m.state.Buckets, lines)[:headSum]) {
		return 0, 0, m.damaged("has a header of another index, generation or number of buckets")
	}
	if lines < m.state.Buckets || lines > maxLines {
		return 0, 0, m.damaged("has %d lines for %d buckets", lines, m.state.Buckets)
	}
	if want := headerSize + int64(lines)*lineSize; size < want {
		return 0, 0, m.damaged("is cut short: %d bytes of %d", size, want)
	}
	if binary.LittleEndian.Uint64(h[stampSum:]) != crc64.Checksum(h[headStamp:stampSum], crcTable) {
		return 0, 0, m.damaged("has a merge stamp whose checksum does not match")
	}
	stamp = binary.LittleEndian.Uint64(h[headStamp:])
	if rows := m.rows.count(); stamp > rows {
		return 0, 0, &Ahead{Name: f.Name(), Stamp: stamp, Existing: rows}
	}
	if stamp < m.state.Watermark {
		return 0, 0, m.damaged("was merged to row %d of the %d that it is said to cover", stamp, m.state.Watermark)
	}
	return lines, stamp, nil
}

// Retire removes the files of generations that serve no more, and what a crash left of ones that never did. Call it
// once the manifest that got the last State is durable; the file that it names is kept, though a merge may have
// finished since. Views that hold an old generation go on reading it: its mapping lives until Close. Where the system
// cannot remove a mapped file (windows), a later start's Retire does.
func (m *Map) Retire() error {
	names, err := m.disk.List()
	if err != nil {
		return err
	}
	m.mu.Lock()
	keep := [...]uint32{m.state.Generation, m.given.Generation, m.building}
	m.mu.Unlock()
	if fault.On(fault.MapRetireEarly) {
		keep[1] = keep[0]
	}
	removed := false
	for _, name := range names {
		number, ok := m.generationOf(name)
		if !ok || slices.Contains(keep[:], number) {
			continue
		}
		if err := m.disk.Remove(name); err != nil {
			if runtime.GOOS == "windows" {
				continue
			}
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return m.disk.Sync()
}

// generationOf returns the generation number in a file's name, where it is one of this map.
func (m *Map) generationOf(name string) (uint32, bool) {
	tail, ok := strings.CutPrefix(name, m.spec.Name+".lines-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(tail, 10, 32)
	return uint32(n), err == nil && name == m.fileName(uint32(n))
}
