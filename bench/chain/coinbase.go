package chain

import (
	"encoding/binary"

	wire "stele/chain"
	"stele/validate"
)

// coinbaseKey is the one that all coinbases pay.
const coinbaseKey = 0

// reward is what the block's coinbase takes.
func (g *Source) reward() int64 { return validate.Subsidy(wire.Regtest(), g.height) + g.fees }

// appendCoinbase appends a block's coinbase without its witness:
//
//	version 4 | 1 | null outpoint 36 | script: height (BIP34), four bytes of a number | sequence 4
//	| 2 | reward to a key hash 31 | 0 to the commitment to the witnesses 47 | lock time 4
func (g *Source) appendCoinbase(b []byte, height, number uint32, reward int64, witnessRoot *wire.Hash) []byte {
	b = binary.LittleEndian.AppendUint32(b, 2)
	b = append(b, 1)
	b = append(b, make([]byte, wire.HashSize)...)
	b = binary.LittleEndian.AppendUint32(b, 0xffffffff)
	at := len(b)
	b = appendHeight(append(b, 0), height)
	b = append(b, 4)
	b = binary.LittleEndian.AppendUint32(b, number)
	b[at] = byte(len(b) - at - 1)
	b = binary.LittleEndian.AppendUint32(b, 0xffffffff)
	b = append(b, 2)
	b = binary.LittleEndian.AppendUint64(b, uint64(reward))
	b = g.ring.appendScript(b, WitnessKey, coinbaseKey)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = append(b, 38, 0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed)
	var pair [2 * wire.HashSize]byte // the root, and the reserved value of zeros
	copy(pair[:], witnessRoot[:])
	commitment := wire.DoubleSHA256(pair[:])
	b = append(b, commitment[:]...)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// appendHeight pushes a height as a script number in its least form, as BIP34 wants it.
func appendHeight(b []byte, height uint32) []byte {
	if height <= 16 {
		return append(b, 0x50+byte(height))
	}
	n := byte(1)
	for height>>(8*n-1) != 0 { // a set top bit would make it negative
		n++
	}
	b = append(b, n)
	for i := range n {
		b = append(b, byte(height>>(8*i)))
	}
	return b
}
