package blockfile

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Sizes of a record. A block is at least its header and, by consensus, at
// most 4,000,000 bytes (its weight is no less than its size).
const (
	HeaderSize = 80
	MinLen     = HeaderSize
	MaxLen     = 4_000_000
	headLen    = 8 // magic and length
)

// A Place says where a block lies: Len bytes at offset Off of file number File
// of the Set. 16 bytes, so that an index of a whole chain stays small.
type Place struct {
	Off  int64 // of the block's first byte, behind magic and length
	Len  uint32
	File uint32
}

// A Record is what the scanner found. Where Err is set (a *Damaged), it is no
// block and Header is stale.
type Record struct {
	Place
	Header [HeaderSize]byte
	Err    error
}

// A Network is a network's name and magic.
type Network struct {
	Name  string
	Magic [4]byte
}

// Kind tells what a Note is about.
type Kind uint8

const (
	// Garbage: bytes that are neither records nor padding were skipped.
	Garbage Kind = iota
	// CutTail: the file ends inside a record, which is lost.
	CutTail
)

// A Note is a remark on the input that calls for no action of the reader's,
// but that its owner may want to know.
type Note struct {
	Kind  Kind
	Path  string
	Off   int64 // where it begins
	Bytes int64 // how many bytes it is about
}

// A Report counts what was read so far.
type Report struct {
	Records uint64 // with a length that a block can have
	Damaged uint64 // without
	Cut     uint64 // records that the end of their file cut
	Skipped int64  // bytes of garbage, from its first to its last non-zero byte
	Reads   uint64 // read calls on files
}

// A scanner goes through one source from front to back.
type scanner struct {
	src    source
	o      *Options
	report *Report
	path   string
	file   uint32
	mask   mask

	pos     int64 // everything before it is dealt with
	limit   int64 // records that begin at or behind it are not looked for
	hush    int64 // before it lies a record that was no block: what it holds is not remarked on
	started bool  // the first bytes were checked for another network's magic
	garbage run   // not yet counted
}

// A run is a stretch of garbage that may go on: n bytes up to its last
// non-padding byte, then trail bytes of padding.
type run struct{ off, n, trail int64 }

// next finds the next record and steps behind it, or behind the magic of a
// damaged one. io.EOF ends the source.
func (s *scanner) next(r *Record) error {
	if !s.started {
		if err := s.start(); err != nil {
			return err
		}
		s.started = true
	}
	for {
		if err := s.seek(); err != nil {
			return err
		}
		if ok, err := s.take(r); ok || err != nil {
			return err
		}
	}
}

// take reads the record whose magic is at pos. It is false where nothing is to
// be told about it.
func (s *scanner) take(r *Record) (bool, error) {
	start := s.pos
	head, err := s.src.peek(start, headLen)
	if err != nil {
		return false, err
	}
	if len(head) < headLen {
		return false, s.cut(start, len(head))
	}
	n := binary.LittleEndian.Uint32(head[len(s.o.Magic):])
	r.Place = Place{Off: start + headLen, Len: n, File: s.file}
	if n < MinLen || n > MaxLen {
		// The length may be the next record's magic, so only this one is passed.
		s.pos += int64(len(s.o.Magic))
		if start < s.hush {
			return false, nil
		}
		s.report.Damaged++
		r.Err = &Damaged{Path: s.path, Off: start, Len: n}
		return true, nil
	}
	have, err := s.src.have(start, headLen+int(n))
	if err != nil {
		return false, err
	}
	if have < headLen+int(n) {
		if start < s.hush { // by all odds no record: it must not end the file
			s.pos += int64(len(s.o.Magic))
			return false, nil
		}
		return false, s.cut(start, have)
	}
	if head, err = s.src.peek(start, headLen+HeaderSize); err != nil {
		return false, err
	}
	r.Err = nil
	copy(r.Header[:], head[headLen:])
	s.pos += headLen + int64(n)
	s.report.Records++
	return true, nil
}

// start passes over leading padding and refuses another network's file.
func (s *scanner) start() error {
	for {
		w, err := s.src.peek(s.pos, 4)
		if err != nil {
			return err
		}
		limit := bytes.Index(w, s.o.Magic[:])
		more := limit < 0 && len(w) >= 4
		switch {
		case more:
			limit = len(w) - len(s.o.Magic) + 1 // a magic may straddle the views
		case limit < 0:
			limit = len(w)
		}
		n := s.mask.padding(w[:limit], s.pos)
		s.pos += int64(n)
		if n == limit && more {
			continue
		}
		if w, err = s.src.peek(s.pos, 4); err != nil || len(w) < 4 {
			return err
		}
		for _, other := range s.o.Foreign {
			if other.Magic == [4]byte(w) && other.Magic != s.o.Magic {
				return &ForeignNetwork{Path: s.path, Have: other.Name}
			}
		}
		return nil
	}
}

// seek moves pos to the next magic, or to the end (io.EOF). It asks for four
// bytes and looks at all that come, so a buffer is filled once, however many
// stops lie in it.
func (s *scanner) seek() error {
	magic := s.o.Magic[:]
	for {
		w, err := s.src.peek(s.pos, len(magic))
		if err != nil {
			return err
		}
		if len(w) < len(magic) {
			return s.tail(w)
		}
		from := 0
		if bytes.HasPrefix(w, magic) {
			if s.mask == 0 || !s.unwritten() {
				break
			}
			from = 1
			if w, err = s.src.peek(s.pos, len(magic)); err != nil {
				return err
			}
		}
		if s.pos >= s.limit {
			return io.EOF
		}
		n := bytes.Index(w[from:], magic)
		if n >= 0 {
			n += from
		} else {
			n = len(w) - len(magic) + 1 // a magic may straddle the views
		}
		s.gap(w[:n])
	}
	s.endGap()
	if s.pos >= s.limit {
		return io.EOF
	}
	return nil
}

// unwritten reports whether the magic at pos is none, but part of a masked
// file's unwritten space: possible where the mask itself looks like the head
// of a record.
func (s *scanner) unwritten() bool {
	head, err := s.src.peek(s.pos, headLen)
	return err == nil && s.mask.unwritten(head[:min(len(head), headLen)], s.pos)
}

// tail deals with the last bytes of a source, which hold no whole magic. A
// piece of one at the very end is a record cut in its magic.
func (s *scanner) tail(w []byte) error {
	cut := min(len(w), len(s.o.Magic)-1)
	for ; cut > 0; cut-- {
		at := len(w) - cut
		if bytes.Equal(w[at:], s.o.Magic[:cut]) && s.mask.padding(w[at:], s.pos+int64(at)) < cut {
			break
		}
	}
	s.gap(w[:len(w)-cut])
	s.endGap()
	if cut > 0 {
		return s.cut(s.pos, cut)
	}
	return io.EOF
}

// gap steps over bytes that hold no record.
func (s *scanner) gap(w []byte) {
	if s.pos < s.hush {
		n := min(int64(len(w)), s.hush-s.pos)
		s.pos += n
		w = w[n:]
	}
	for len(w) > 0 {
		n := s.mask.padding(w, s.pos)
		s.garbage.trail += int64(n)
		s.pos += int64(n)
		w = w[n:]
		if len(w) == 0 {
			return
		}
		n = 1
		for n < len(w) && s.mask.padding(w[n:n+1], s.pos+int64(n)) == 0 {
			n++
		}
		if s.garbage.n == 0 {
			s.garbage = run{off: s.pos}
		}
		s.garbage.n += s.garbage.trail + int64(n)
		s.garbage.trail = 0
		s.pos += int64(n)
		w = w[n:]
	}
}

func (s *scanner) endGap() {
	if s.garbage.n > 0 {
		s.report.Skipped += s.garbage.n
		s.note(Garbage, s.garbage.off, s.garbage.n)
	}
	s.garbage = run{}
}

// cut ends the source at a record of which only n bytes are there.
func (s *scanner) cut(off int64, n int) error {
	s.pos = off + int64(n)
	if off >= s.hush {
		s.report.Cut++
		s.note(CutTail, off, int64(n))
	}
	return io.EOF
}

func (s *scanner) note(kind Kind, off, n int64) {
	if s.o.Note != nil {
		s.o.Note(Note{Kind: kind, Path: s.path, Off: off, Bytes: n})
	}
}
