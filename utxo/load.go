package utxo

import (
	"encoding/binary"
	"unsafe"
)

// Little-endian loads and stores at any address; the compiler makes one instruction of each where the machine can.

func load8(p unsafe.Pointer, at uintptr) byte { return *(*byte)(unsafe.Add(p, at)) }

func load16(p unsafe.Pointer) uint16 { return binary.LittleEndian.Uint16((*[2]byte)(p)[:]) }

func load32(p unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(p)[:]) }

func load64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }

func store16(p unsafe.Pointer, v uint16) { binary.LittleEndian.PutUint16((*[2]byte)(p)[:], v) }

func store32(p unsafe.Pointer, v uint32) { binary.LittleEndian.PutUint32((*[4]byte)(p)[:], v) }

func store64(p unsafe.Pointer, v uint64) { binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v) }
