package utxo

import (
	"errors"
	"io"
)

// readChunk is how many bytes are asked of a reader at a time.
const readChunk = 1 << 20

// window shows the bytes of a reader that are next.
type window struct {
	r   io.Reader
	buf []byte // read and not yet skipped
	mem []byte // buf is in it
	off int64  // of buf's first byte
	err error  // of the reader, once it has failed or ended
}

// bytes returns the next n bytes, which are valid until the next call. Where the reader has fewer it is those and the
// reader's error, io.EOF at its end.
func (w *window) bytes(n int) ([]byte, error) {
	if len(w.buf) < n && w.err == nil {
		w.fill(n)
	}
	if len(w.buf) < n {
		return w.buf, w.err
	}
	return w.buf[:n], nil
}

// fill reads until n bytes are there, or the reader has no more. What was skipped makes room.
func (w *window) fill(n int) {
	if room := n + readChunk; len(w.mem) < room {
		grown := make([]byte, 2*room)
		w.mem, w.buf = grown, grown[:copy(grown, w.buf)]
	} else if cap(w.buf) < room {
		w.buf = w.mem[:copy(w.mem, w.buf)]
	}
	have := len(w.buf)
	got, err := io.ReadAtLeast(w.r, w.buf[have:cap(w.buf)], n-have)
	w.buf = w.buf[:have+got]
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	w.err = err
}

// skip passes over bytes that were shown.
func (w *window) skip(n int) {
	w.buf = w.buf[n:]
	w.off += int64(n)
}
