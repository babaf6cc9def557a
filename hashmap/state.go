package hashmap

import (
	"encoding/binary"
	"fmt"
)

// StateSize is the length of an encoded State in bytes.
const StateSize = 32

// State is what the manifest keeps of an index: which file serves, and how far it has come. Whatever was inserted
// beyond Watermark is in memory only, and is derived again from the rows at open.
//
//	0          4          8           16            24          32
//	| generation | zero   | buckets   | watermark   | entries   |      little-endian
//
// The zero State is an index that has no file yet. It is also the way to rebuild one: open with it, insert all rows,
// merge.
type State struct {
	Generation uint32 // number of the file that serves; 0: none
	Buckets    uint64 // home lines of that file; the spare lines after them are in the file's own header
	Watermark  uint64 // what lies below is in the file: rows of a map, what its owner counts elsewhere
	Entries    uint64 // entries that the merges put into the file
}

// AppendTo appends the encoded state to dst.
func (s State) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, s.Generation)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, s.Buckets)
	dst = binary.LittleEndian.AppendUint64(dst, s.Watermark)
	return binary.LittleEndian.AppendUint64(dst, s.Entries)
}

// ParseState decodes the first StateSize bytes of b. Plausibility is judged where the state is used, against the file.
func ParseState(b []byte) (State, error) {
	if len(b) < StateSize {
		return State{}, fmt.Errorf("index state of %d bytes, want %d", len(b), StateSize)
	}
	if binary.LittleEndian.Uint32(b[4:]) != 0 {
		return State{}, fmt.Errorf("index state with bytes that must be zero")
	}
	return State{
		Generation: binary.LittleEndian.Uint32(b),
		Buckets:    binary.LittleEndian.Uint64(b[8:]),
		Watermark:  binary.LittleEndian.Uint64(b[16:]),
		Entries:    binary.LittleEndian.Uint64(b[24:]),
	}, nil
}
