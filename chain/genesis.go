package chain

import (
	"encoding/binary"
	"encoding/hex"
)

// genesisParts are what the first blocks of the networks differ in.
type genesisParts struct {
	text   string // the headline that the coinbase quotes
	pubkey string // hex; what the only output pays to, never spendable
	time   uint32
	bits   uint32
	nonce  uint32
}

const (
	genesisValue = 50 * 1e8
	genesisText  = "The Times 03/Jan/2009 Chancellor on brink of second bailout for banks"
	genesisKey   = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6" +
		"49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f"
)

// Opcodes that a genesis block is made of.
const (
	opPushData1 = 0x4c
	opCheckSig  = 0xac
)

// block builds the wire bytes (Core: CreateGenesisBlock). The coinbase script pushes the number 486604799, which is
// 1d00ffff, whatever the network's own bits are, then the byte 4, then the text.
func (g *genesisParts) block() []byte {
	script := []byte{4, 0xff, 0xff, 0x00, 0x1d, 1, 4}
	script = appendPush(script, []byte(g.text))
	key, err := hex.DecodeString(g.pubkey)
	if err != nil {
		panic(err)
	}
	output := append(appendPush(nil, key), opCheckSig)

	tx := []byte{1, 0, 0, 0, 1}
	tx = append(tx, make([]byte, HashSize)...)
	tx = append(tx, 0xff, 0xff, 0xff, 0xff)
	tx = append(AppendCompactSize(tx, uint64(len(script))), script...)
	tx = append(tx, 0xff, 0xff, 0xff, 0xff, 1)
	tx = binary.LittleEndian.AppendUint64(tx, genesisValue)
	tx = append(AppendCompactSize(tx, uint64(len(output))), output...)
	tx = append(tx, 0, 0, 0, 0)

	h := Header{Version: 1, Merkle: DoubleSHA256(tx), Time: g.time, Bits: g.bits, Nonce: g.nonce}
	return append(append(h.Append(nil), 1), tx...)
}

// appendPush appends the shortest script push of data, of 2 to 255 bytes.
func appendPush(script, data []byte) []byte {
	if len(data) >= opPushData1 {
		script = append(script, opPushData1)
	}
	return append(append(script, byte(len(data))), data...)
}
