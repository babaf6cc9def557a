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

	"stele/store"
)

// Files of cells and of multimaps begin with a header page. Two of its sectors are used, which are written on their
// own, each with a checksum (CRC-64, ECMA) of what precedes it, so that a torn write of the second cannot hurt the
// first. Little-endian; the rest of the page is zero.
//
//	  0       8            12     16        24     32         48     56            88    96
//	| magic | generation | zero | buckets | zero | store id | zero | name, zero  | sum |
//	| 8     | 4          | 4    | 8       | 8    | 16       | 8    | padded, 32  | 8   |
//
//	  512          520    528   536
//	| merging to | base | sum |
//	| 8          | 8    | 8   |
//
// The stamp "merging to" is raised and synced before a merge changes what readers may see, and never lowered. See
// MergingTo of Cells and of Multimap; base is of multimaps alone.
const (
	cellsMagic    = "stelecel"
	multiMagic    = "stelemul"
	cellsSuffix   = ".cells-"
	multiSuffix   = ".multi-"
	cellsNameSize = 32

	cellsHeadGeneration = 8
	cellsHeadBuckets    = 16
	cellsHeadID         = 32
	cellsHeadName       = 56
	cellsHeadSum        = cellsHeadName + cellsNameSize
	cellsHeadEnd        = cellsHeadSum + 8
	cellsHeadStamp      = 512
	cellsStampSum       = cellsHeadStamp + 16
	cellsStampEnd       = cellsStampSum + 8
)

var cellsSums = crc64.MakeTable(crc64.ECMA)

// cellsFiles names and makes the generation files of one array of cells or one multimap.
type cellsFiles struct {
	disk          store.Disk
	id            [16]byte
	name          string // of the table
	suffix, magic string
	reserve       int64
}

// cellsStamp is the second sector.
type cellsStamp struct {
	to   uint64 // mark up to which merges may have put entries into the file
	base uint64 // overflow lines that were settled when the last merge began
}

func (f *cellsFiles) check() error {
	if len(f.name) == 0 || len(f.name) > cellsNameSize {
		return fmt.Errorf("table name %q: want 1 to %d bytes", f.name, cellsNameSize)
	}
	return nil
}

// file returns the name of a generation's file.
func (f *cellsFiles) file(generation uint32) string {
	return fmt.Sprintf("%s%s%d", f.name, f.suffix, generation)
}

func (f *cellsFiles) damaged(generation uint32, format string, args ...any) error {
	return &store.Damaged{Name: f.file(generation), What: fmt.Sprintf(format, args...)}
}

// head returns the first sector up to its end.
func (f *cellsFiles) head(generation uint32, buckets uint64) []byte {
	h := make([]byte, cellsHeadEnd)
	copy(h, f.magic)
	binary.LittleEndian.PutUint32(h[cellsHeadGeneration:], generation)
	binary.LittleEndian.PutUint64(h[cellsHeadBuckets:], buckets)
	copy(h[cellsHeadID:], f.id[:])
	copy(h[cellsHeadName:cellsHeadSum], f.name)
	binary.LittleEndian.PutUint64(h[cellsHeadSum:], crc64.Checksum(h[:cellsHeadSum], cellsSums))
	return h
}

// bytes returns the second sector up to its end.
func (s cellsStamp) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, s.to)
	b = binary.LittleEndian.AppendUint64(b, s.base)
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, cellsSums))
}

// write puts the stamp into a file. It is durable with the file's next sync.
func (s cellsStamp) write(f store.File) error { return f.WriteAt(s.bytes(), cellsHeadStamp) }

// create makes the file of a generation that no file has yet: a header page, and zeros up to size bytes. Its bytes are
// durable after a Sync of the file, its name after one of the disk.
func (f *cellsFiles) create(generation uint32, buckets uint64, size int64) (store.File, error) {
	file, err := f.disk.Open(f.file(generation), store.FileOptions{Reserve: f.reserve, Random: true})
	if err != nil {
		return nil, err
	}
	err = file.Allocate(size)
	if err == nil {
		err = file.WriteAt(f.head(generation, buckets), 0)
	}
	if err == nil {
		err = cellsStamp{}.write(file)
	}
	if err != nil {
		file.Close()
		_ = f.disk.Remove(file.Name()) // what stays is removed by the next Retire
		return nil, err
	}
	return file, nil
}

// open opens the file of a generation of that many buckets, whose state says that size bytes of it are in use.
func (f *cellsFiles) open(generation uint32, buckets uint64, size int64) (store.File, cellsStamp, error) {
	options := store.FileOptions{Reserve: f.reserve, Random: true, MustExist: true}
	file, err := f.disk.Open(f.file(generation), options)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cellsStamp{}, f.damaged(generation, "is missing")
	}
	if err != nil {
		return nil, cellsStamp{}, err
	}
	var stamp cellsStamp
	err = store.Guard(func() (err error) {
		stamp, err = f.checkPage(file, generation, buckets, size)
		return err
	})
	if err != nil {
		file.Close()
		return nil, cellsStamp{}, err
	}
	return file, stamp, nil
}

// checkPage compares the header page with what is asked for. The size is checked before a byte is read: memory beyond
// it faults.
func (f *cellsFiles) checkPage(file store.File, generation uint32, buckets uint64, size int64) (cellsStamp, error) {
	var s cellsStamp
	if have := file.Size(); have < size {
		return s, f.damaged(generation, "is cut short: %d bytes of the %d that the manifest covers", have, size)
	}
	p := file.Mapping().Bytes()[:cellsStampEnd]
	want := f.head(generation, buckets)
	sum := func(from, to int) bool {
		return binary.LittleEndian.Uint64(p[to:]) == crc64.Checksum(p[from:to], cellsSums)
	}
	switch {
	case !bytes.Equal(p[:cellsHeadGeneration], want[:cellsHeadGeneration]):
		return s, f.damaged(generation, "does not begin with the header page of its kind")
	case !sum(0, cellsHeadSum):
		return s, f.damaged(generation, "has a header page whose checksum does not match")
	case !bytes.Equal(p[cellsHeadID:cellsHeadID+16], f.id[:]):
		return s, &store.Foreign{What: "store id of file " + file.Name(),
			Have: fmt.Sprintf("%x", p[cellsHeadID:cellsHeadID+16]), Want: fmt.Sprintf("%x", f.id)}
	case !bytes.Equal(p[:cellsHeadEnd], want):
		return s, f.damaged(generation, "has the header page of another table, generation or number of buckets")
	case !sum(cellsHeadStamp, cellsStampSum):
		return s, f.damaged(generation, "has a merge stamp whose checksum does not match")
	}
	s.to = binary.LittleEndian.Uint64(p[cellsHeadStamp:])
	s.base = binary.LittleEndian.Uint64(p[cellsHeadStamp+8:])
	return s, nil
}

// generations lists the generations that have a file.
func (f *cellsFiles) generations() ([]uint32, error) {
	names, err := f.disk.List()
	if err != nil {
		return nil, err
	}
	var list []uint32
	for _, name := range names {
		tail, ok := strings.CutPrefix(name, f.name+f.suffix)
		if n, err := strconv.ParseUint(tail, 10, 32); ok && err == nil && name == f.file(uint32(n)) {
			list = append(list, uint32(n))
		}
	}
	return list, nil
}

// next returns a generation that no file has. Files that a crash or another state left are never written again: an
// older manifest may name them.
func (f *cellsFiles) next(now uint32) (uint32, error) {
	list, err := f.generations()
	for _, n := range list {
		now = max(now, n)
	}
	return now + 1, err
}

// retire removes the files of all generations that keep does not name. It is asked after the files are listed, so that
// one which is made meanwhile is not among them. Where the system cannot remove a mapped file (windows), a later
// start's call does.
func (f *cellsFiles) retire(keep func() []uint32) error {
	list, err := f.generations()
	if err != nil {
		return err
	}
	kept := keep()
	for _, n := range list {
		if slices.Contains(kept, n) {
			continue
		}
		if err := f.disk.Remove(f.file(n)); err != nil && runtime.GOOS != "windows" {
			return err
		}
	}
	return f.disk.Sync()
}
