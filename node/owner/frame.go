package owner

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Request is what a client asks.
type Request struct {
	Version string   `json:"version"` // of the program that asks; the owner answers its own alone
	Args    []string `json:"args"`    // verb, flags and arguments, as on a command line
	JSON    bool     `json:"json"`    // answer and failure as documents
}

// A request is its length and JSON; a response is frames. Little-endian:
//
//	 0         4                      0      1        5
//	+---------+----------------+     +------+--------+------------------+
//	| length 4| request (JSON) |     | kind | length | payload          |
//	+---------+----------------+     | 1    | 4      | at most 64 KiB   |
//	                                 +------+--------+------------------+
const (
	maxRequest = 1 << 20
	maxFrame   = 64 << 10
	frameHead  = 5
)

// Kinds of frames.
const (
	kindAlive    = 'a' // nothing: the owner is at it
	kindStdout   = 'o' // bytes for standard output
	kindStderr   = 'e' // bytes for standard error
	kindProgress = 'p' // whatever the two sides agree on
	kindExit     = 'x' // code 4; the last frame
	kindRefused  = 'r' // JSON of a Refused; the only frame but for alive ones
)

// Reason says why a request was refused.
type Reason string

// The reasons.
const (
	OtherVersion Reason = "version" // the text is the owner's version
	OtherUser    Reason = "user"
	Busy         Reason = "busy" // as many requests as are allowed are being answered
	Senseless    Reason = "request"
)

// Refused is the error of a request that the owner does not answer.
type Refused struct {
	Why  Reason `json:"why"`
	Text string `json:"text"`
}

func (r *Refused) Error() string {
	switch r.Why {
	case OtherVersion:
		return "it is another version of the program, " + r.Text
	case OtherUser:
		return "it belongs to another user"
	case Busy:
		return "it is answering as many requests as it may"
	}
	return "it does not understand the request: " + r.Text
}

// errFrame is wrapped by errors about bytes that are no frame of this protocol.
var errFrame = errors.New("no frame of this protocol")

// appendFrame appends a frame. The payload must fit.
func appendFrame(dst []byte, kind byte, payload []byte) []byte {
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// readFrame reads a frame into buf, which has room for the largest.
func readFrame(r io.Reader, buf []byte) (kind byte, payload []byte, err error) {
	head := buf[:frameHead]
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	kind, n := head[0], binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: it claims %d bytes", errFrame, n)
	}
	payload = buf[:n]
	_, err = io.ReadFull(r, payload)
	return kind, payload, err
}

// encodeRequest returns the bytes of a request.
func encodeRequest(r *Request) ([]byte, error) {
	b, err := json.Marshal(r)
	if err == nil && len(b) > maxRequest {
		err = fmt.Errorf("%w: a request of %d bytes", errFrame, len(b))
	}
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}

// readRequest reads a request. Keys that it does not know are passed over, so that the version of a later one can be
// read.
func readRequest(r io.Reader) (*Request, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxRequest {
		return nil, fmt.Errorf("%w: it claims %d bytes", errFrame, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	q := new(Request)
	if err := json.Unmarshal(b, q); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return q, nil
}
