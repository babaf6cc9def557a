package blockfile

import (
	"errors"
	"io"
	"math"
	"sync/atomic"
)

// A Stream yields the blocks of an input that cannot be sought.
type Stream struct {
	set   *Set
	sc    scanner
	close io.Closer
	last  int64 // offset of the magic of the record that Next returned, -1: none
	ended bool
	done  atomic.Int64
}

func (s *Set) stream(r io.Reader, path string, c io.Closer) {
	st := &Stream{set: s, close: c, last: -1}
	st.sc = scanner{
		src: &streamSource{r: r, path: path}, o: &s.o, report: &s.report, path: path, limit: math.MaxInt64,
	}
	s.streams = append(s.streams, st)
}

// Path names the stream.
func (st *Stream) Path() string { return st.sc.path }

// Done returns how many bytes were dealt with. Any goroutine may ask.
func (st *Stream) Done() int64 { return st.done.Load() }

// Next returns the next record and its block's bytes, which hold until the
// following call. Where the record's Err is set there are none. Off counts
// from the stream's first byte; File means nothing. At the end it returns io.EOF,
// or ErrNoBlocks when the whole Set has ended and held no record.
func (st *Stream) Next(r *Record) ([]byte, error) {
	st.last = -1
	err := st.sc.next(r)
	st.done.Store(st.sc.pos)
	if errors.Is(err, io.EOF) {
		if !st.ended {
			st.ended = true
			st.set.unread--
		}
		if st.set.unread == 0 && st.set.empty() {
			return nil, ErrNoBlocks
		}
		return nil, io.EOF
	}
	if err != nil || r.Err != nil {
		return nil, err
	}
	st.last = r.Off - headLen
	w, err := st.sc.src.peek(st.last, headLen+int(r.Len))
	if err != nil {
		return nil, err
	}
	return w[headLen : headLen+r.Len : headLen+r.Len], nil
}

// Reject says that the bytes which Next returned last are no block: reading
// goes on behind the record's magic, in case its length covers other records.
func (st *Stream) Reject() {
	if st.last < 0 {
		return
	}
	st.sc.hush = max(st.sc.hush, st.sc.pos)
	st.sc.pos = st.last + int64(len(st.sc.o.Magic))
	st.last = -1
}
