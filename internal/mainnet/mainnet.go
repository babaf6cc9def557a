package mainnet

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
)

//go:generate go run ./gen -o columns.bin

// The chain's measure: what Blocks returns holds Count records in Size bytes,
// and TipHash (display order) is the hash of the last one's header.
const (
	Count   = 14_132
	Size    = 3_272_717
	TipHash = "00000000b3e750f37fdb42e1018799a9f44b546d393b130b369590a072430a1c"
)

// Magic is the network magic in front of every record.
var Magic = [4]byte{0xf9, 0xbe, 0xb4, 0xd9}

//go:embed columns.bin
var columns []byte

// Blocks returns the chain as a block file. The bytes are new in every call
// and belong to the caller. An error means that the executable is damaged.
func Blocks() ([]byte, error) {
	file, tip, err := Unpack(columns)
	if err != nil {
		return nil, err
	}
	if tip := Display(tip); tip != TipHash || len(file) != Size {
		return nil, fmt.Errorf("embedded blocks are damaged: %d bytes that end in block %s", len(file), tip)
	}
	return file, nil
}

// Display is a hash in the order in which people read it: last byte first.
func Display(hash [32]byte) string {
	slices.Reverse(hash[:])
	return hex.EncodeToString(hash[:])
}
