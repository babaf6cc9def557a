package tables

import (
	"encoding/binary"

	"stele/store"
)

// Format is the version of everything below: a store of another one is refused by name.
const Format = 1

// File names. Bodies and arrays are store.Body files, lines and cells belong to package hashmap and add a suffix.
const (
	headerName  = "header"
	txsName     = "txs"
	txName      = "tx"
	insName     = "ins"
	outTxName   = "outtx"
	outputName  = "output"
	inputName   = "input"
	chainName   = "chain"
	stateName   = "state"
	spendName   = "spend"
	confName    = "conflict"
	pendingName = "pending" // plus -GENERATION
)

// Row widths in bytes.
const (
	headerWidth = 128
	txsWidth    = 56
	txWidth     = 42
	insWidth    = 5
	outTxWidth  = 4
	chainWidth  = 4
)

// outTxEvery is the distance of two samples of the outtx array, in outputs: a search between two samples reads five
// tx rows or fewer on a chain with 2.7 outputs a transaction.
const outTxEvery = 64

// reserve holds the address space of each file: what its links can count, or four tebibytes for the slabs.
var reserve = struct{ header, txs, tx, ins, outTx, output, input, chain, pending, cells, states, conflict int64 }{
	header: headerWidth << 24, txs: txsWidth << 24, tx: txWidth << 32, ins: insWidth << 36, outTx: outTxWidth << 30,
	output: 1 << 41, input: 1 << 42, chain: chainWidth << 28, pending: 1 << 36, cells: 4 << 36, states: 4 << 24,
	conflict: 1 << 36,
}

func spec(name, kind string, width int, reserve int64) store.BodySpec {
	return store.BodySpec{Name: name, Kind: kind, Width: width, Reserve: reserve}
}

// uint40 reads a five-byte little-endian number.
func uint40(b []byte) uint64 {
	_ = b[4]
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(b[4])<<32
}

func putUint40(b []byte, v uint64) {
	_ = b[4]
	binary.LittleEndian.PutUint32(b, uint32(v))
	b[4] = byte(v >> 32)
}

// uint48 reads a six-byte little-endian number.
func uint48(b []byte) uint64 {
	_ = b[5]
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

func putUint48(b []byte, v uint64) {
	_ = b[5]
	binary.LittleEndian.PutUint32(b, uint32(v))
	binary.LittleEndian.PutUint16(b[4:], uint16(v>>32))
}

// uint24 reads a three-byte little-endian number.
func uint24(b []byte) uint32 {
	_ = b[2]
	return uint32(binary.LittleEndian.Uint16(b)) | uint32(b[2])<<16
}

func putUint24(b []byte, v uint32) {
	_ = b[2]
	binary.LittleEndian.PutUint16(b, uint16(v))
	b[2] = byte(v >> 16)
}
