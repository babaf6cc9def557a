package blockfile

import (
	"errors"
	"io"
)

const (
	piece   = 64 << 10  // bytes a read where records are dense
	sparse  = 4 << 10   // and where the last one led far ahead
	spare   = 256 << 10 // room of a stream's buffer beyond one record
	maxOpen = 128       // file handles that a Set keeps
)

// A source is bytes by offset, unmasked. Offsets that are asked for may go
// back by no more than the last view held.
type source interface {
	// peek returns the bytes from off on: at least n of them, fewer only where
	// the source ends. The view holds until the next call.
	peek(off int64, n int) ([]byte, error)
	// have counts the bytes from off on, up to n.
	have(off int64, n int) (int, error)
}

// A fileSource is a window on a file of a Set. It never asks for more than
// piece bytes at a time.
type fileSource struct {
	set  *Set
	file int
	off  int64 // of buf[0]
	buf  []byte
}

func (s *fileSource) rewind(file int) {
	s.file, s.off, s.buf = file, 0, s.buf[:0]
}

func (s *fileSource) peek(off int64, n int) ([]byte, error) {
	size := s.set.files[s.file].size
	end := min(off+int64(n), size)
	have := s.off + int64(len(s.buf))
	if off >= s.off && end <= have {
		return s.buf[off-s.off:], nil
	}
	// A jump over more than a window means large blocks: then read to the end
	// of the page in which the record's header ends, and no further.
	if off >= s.off && off-have <= piece {
		end = min(off+piece, size)
	} else {
		end = off + int64(max(n, headLen+HeaderSize))
		end = min((end+sparse-1)&^(sparse-1), off+piece, size)
	}
	s.off = off
	if off >= end {
		s.buf = s.buf[:0]
		return nil, nil
	}
	s.buf = s.buf[:end-off]
	s.set.report.Reads++
	if err := s.set.readAt(s.file, s.buf, off); err != nil {
		s.buf = s.buf[:0]
		return nil, err
	}
	return s.buf, nil
}

func (s *fileSource) have(off int64, n int) (int, error) {
	return int(min(int64(n), s.set.files[s.file].size-off)), nil
}

// A streamSource buffers a reader. What lies before the offset of the last
// peek that had to read is gone.
type streamSource struct {
	r    io.Reader
	path string
	off  int64 // of buf[0]
	buf  []byte
	end  bool
}

func (s *streamSource) peek(off int64, n int) ([]byte, error) {
	skip := int(off - s.off)
	if len(s.buf)-skip >= n || s.end {
		return s.buf[skip:], nil
	}
	if n+spare > cap(s.buf) {
		grown := make([]byte, len(s.buf)-skip, n+spare)
		copy(grown, s.buf[skip:])
		s.buf = grown
	} else {
		s.buf = s.buf[:copy(s.buf, s.buf[skip:])]
	}
	s.off = off
	got, err := io.ReadAtLeast(s.r, s.buf[len(s.buf):cap(s.buf)], n-len(s.buf))
	s.buf = s.buf[:len(s.buf)+got]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.end, err = true, nil
	}
	if err != nil {
		return nil, &ReadError{Path: s.path, Off: s.off + int64(len(s.buf)), Err: err}
	}
	return s.buf, nil
}

func (s *streamSource) have(off int64, n int) (int, error) {
	p, err := s.peek(off, n)
	return min(n, len(p)), err
}
