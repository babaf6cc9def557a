package p2p

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"stele/chain"
)

// A message of the first transport (Core: CMessageHeader):
//
//	 0       4              16       20         24
//	+-------+--------------+--------+----------+---------------+
//	| magic | command, NULs| length | checksum | payload       |
//	+-------+--------------+--------+----------+---------------+
//
// The length is little-endian; the checksum is the first 4 bytes of the payload's double SHA-256.
const (
	frameHeader = 24
	commandSize = 12
	maxPayload  = 4_000_000 // of any message (Core: MAX_PROTOCOL_MESSAGE_LENGTH)

	// firstPart is how much of a payload is waited for before memory for all of it is taken: who announces much and
	// sends little gets little.
	firstPart = 256 << 10
)

// Commands that mean something to us. All others are read over.
const (
	cmdVersion     = "version"
	cmdVerack      = "verack"
	cmdSendAddrV2  = "sendaddrv2"
	cmdSendHeaders = "sendheaders"
	cmdPing        = "ping"
	cmdPong        = "pong"
	cmdAddr        = "addr"
	cmdAddrV2      = "addrv2"
	cmdGetAddr     = "getaddr"
	cmdInv         = "inv"
	cmdGetData     = "getdata"
	cmdNotFound    = "notfound"
	cmdGetBlocks   = "getblocks"
	cmdGetHeaders  = "getheaders"
	cmdHeaders     = "headers"
	cmdBlock       = "block"
)

// Counts that a message may hold at most.
const (
	maxInv      = 50_000
	maxHeaders  = 2000
	maxLocator  = 101
	maxAddrs    = 1000
	invSize     = 36 // type 4, hash 32
	headerEntry = chain.HeaderSize + 1
)

// limits is the longest payload of each command that is kept. A longer one ends the connection before a byte of it is
// stored.
var limits = map[string]int{
	cmdVersion:     2048, // about 360 in use; the rest is for fields to come
	cmdVerack:      64,
	cmdSendAddrV2:  64,
	cmdSendHeaders: 64,
	cmdGetAddr:     64,
	cmdPing:        64,
	cmdPong:        64,
	cmdAddr:        3 + maxAddrs*30,
	cmdAddrV2:      3 + maxAddrs*(4+9+1+3+512+2),
	cmdInv:         3 + maxInv*invSize,
	cmdGetData:     3 + maxInv*invSize,
	cmdNotFound:    3 + maxInv*invSize,
	cmdGetBlocks:   4 + 3 + (maxLocator+1)*32,
	cmdGetHeaders:  4 + 3 + (maxLocator+1)*32,
	cmdHeaders:     3 + maxHeaders*headerEntry,
	cmdBlock:       maxPayload,
}

// message is one that was read. The payload is the receiver's own; nil for commands that mean nothing to us.
type message struct {
	command string
	payload []byte
}

// ProtocolError is a peer that does not keep to the protocol.
type ProtocolError struct {
	Reason string
	Score  int // how much of the patience of banScore it costs
}

func (e *ProtocolError) Error() string { return "peer: " + e.Reason }

func breach(score int, format string, args ...any) error {
	return &ProtocolError{Reason: fmt.Sprintf(format, args...), Score: score}
}

// errChecksum is a message that was read whole and is not what its header says. The stream goes on after it.
var errChecksum = errors.New("peer: checksum of a message is wrong")

// payloadLimit is how long the payload of a command may be, and whether it is kept.
func payloadLimit(command string) (limit int, kept bool) {
	if limit, kept = limits[command]; kept {
		return limit, true
	}
	return maxPayload, false
}

// readFrame reads one message of the first transport. Memory is taken after the header was found good, and for the
// most part after the payload has begun to come.
func readFrame(r *bufio.Reader, magic [4]byte) (message, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return message{}, err
	}
	if [4]byte(h[:4]) != magic { // no fault: it may be the key of an encrypted connection, which we do not speak
		return message{}, breach(0, "magic %x of another network", h[:4])
	}
	command, ok := parseCommand(h[4 : 4+commandSize])
	if !ok {
		return message{}, breach(banScore, "command is not text: %q", h[4:4+commandSize])
	}
	length := int64(binary.LittleEndian.Uint32(h[16:]))
	limit, kept := payloadLimit(command)
	if length > int64(limit) {
		return message{}, breach(banScore, "%s of %d bytes, at most %d", command, length, limit)
	}
	if !kept {
		_, err := io.CopyN(io.Discard, r, length)
		return message{command: command}, unexpected(err)
	}
	payload, err := readPayload(r, int(length))
	if err != nil {
		return message{}, err
	}
	if sum := chain.DoubleSHA256(payload); !bytes.Equal(sum[:4], h[20:24]) {
		return message{command: command}, errChecksum
	}
	return message{command, payload}, nil
}

// firstParts are where large payloads begin to be read.
var firstParts = sync.Pool{New: func() any { return new([firstPart]byte) }}

// readPayload reads n bytes into memory of their own.
func readPayload(r io.Reader, n int) ([]byte, error) {
	if n <= firstPart {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, unexpected(err)
	}
	first := firstParts.Get().(*[firstPart]byte)
	defer firstParts.Put(first)
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, unexpected(err)
	}
	b := make([]byte, n)
	copy(b, first[:])
	_, err := io.ReadFull(r, b[firstPart:])
	return b, unexpected(err)
}

// unexpected makes an end within a message different from an end between two.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseCommand reads a command of 12 bytes: printable text, then NULs (Core: IsMessageTypeValid).
func parseCommand(b []byte) (string, bool) {
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		n = len(b)
	}
	for i, c := range b {
		if i < n && (c < ' ' || c > 0x7e) || i >= n && c != 0 {
			return "", false
		}
	}
	return string(b[:n]), true
}

// headroom is what every outgoing message keeps free before its payload, so that either transport can put its header
// there without a copy: 24 bytes of the first one; of the second a header byte and a command of 13 at most.
const headroom = frameHeader

// sealFrame writes the header of the first transport into the headroom of buf.
func sealFrame(buf []byte, command string, magic [4]byte) {
	payload := buf[headroom:]
	copy(buf, magic[:])
	clear(buf[4 : 4+commandSize])
	copy(buf[4:4+commandSize], command)
	binary.LittleEndian.PutUint32(buf[16:], uint32(len(payload)))
	sum := chain.DoubleSHA256(payload)
	copy(buf[20:24], sum[:4])
}
