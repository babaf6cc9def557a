package owner

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

var (
	// ErrAbsent says that nobody listens at the socket: its owner was killed, or is only coming up.
	ErrAbsent = errors.New("nobody listens at its socket")
	// ErrSilent says that the owner was given all the time that it had to answer, or to say that it is at it.
	ErrSilent = errors.New("it does not answer")
	// ErrGone says that the owner ended before the answer did. What was answered until then is not the whole.
	ErrGone = errors.New("it ended before it had answered")
)

// Streams take an answer as it comes.
type Streams struct {
	Stdout, Stderr io.Writer
	Progress       func(note []byte) // may be nil
}

// Ask puts a request to the owner that listens at path and hands its answer on. It gives up when nothing comes for as
// long as patience, or ctx ends; then the owner ends the request, too.
//
// Errors: *Refused, ErrAbsent, ErrSilent, ErrGone, ctx's, and those of the streams.
func Ask(ctx context.Context, path string, q Request, s Streams, patience time.Duration) (code int, err error) {
	b, err := encodeRequest(&q)
	if err != nil {
		return 0, err
	}
	if len(path) > maxAddress {
		return 0, fmt.Errorf("%w: %s", ErrUnsupported, path)
	}
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case absent(err):
		return 0, fmt.Errorf("%w: %w", ErrAbsent, err)
	case errors.Is(err, os.ErrPermission):
		return 0, &Refused{Why: OtherUser}
	default: // its queue is full: it takes nobody in
		return 0, fmt.Errorf("%w: %w", ErrSilent, err)
	}
	c := conn.(*net.UnixConn)
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if uid, known, err := peer(c); err != nil || known && uid != os.Geteuid() {
		return 0, &Refused{Why: OtherUser}
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(b); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, ended(ctx, err)
	} // a refusal may be there to read although the request was not taken
	return s.read(ctx, c, patience)
}

// read hands frames on until the last one.
func (s *Streams) read(ctx context.Context, c *net.UnixConn, patience time.Duration) (code int, err error) {
	buf := make([]byte, maxFrame)
	for {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		kind, payload, err := readFrame(c, buf)
		if err != nil {
			return 0, ended(ctx, err)
		}
		switch kind {
		case kindStdout:
			_, err = s.Stdout.Write(payload)
		case kindStderr:
			_, err = s.Stderr.Write(payload)
		case kindProgress:
			if s.Progress != nil {
				s.Progress(payload)
			}
		case kindRefused:
			r := new(Refused)
			if err = json.Unmarshal(payload, r); err == nil {
				err = r
			}
		case kindExit:
			if len(payload) != 4 {
				return 0, fmt.Errorf("%w: an exit code of %d bytes", errFrame, len(payload))
			}
			return int(binary.LittleEndian.Uint32(payload)), nil
		case kindAlive:
		default:
			err = fmt.Errorf("%w: kind %q", errFrame, kind)
		}
		if err != nil {
			return 0, err
		}
	}
}

// ended says what the end of a connection means.
func ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errFrame):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSilent
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}
