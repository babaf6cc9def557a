package mainnet

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The packed form. Integers are little-endian.
//
//	 0      4      8       12         12+deflated
//	 +------+------+-------+----------+------------------+
//	 | file | text | defl. | deflated | keys, 64 each ...|
//	 +------+------+-------+----------+------------------+
//	file   bytes of the unpacked block file
//	text   bytes of the text once inflated
//	defl.  bytes of the deflated text
//
// The text is one entry a block:
//
//	| uvarint (length of the block << 2 | form) | version 4 | merkle root 32
//	| time, bits, nonce 12 | the block's bytes from 80 on, less the key |
//
// The previous hash always comes from the entry before. With formLone the
// merkle root is absent: the block's transaction count is one, and the root is
// the hash of the bytes behind the count. With formKey 64 bytes are missing
// keyEnd bytes before the block's end: the X and Y of the uncompressed public
// key that a pay-to-pubkey coinbase output ends in.
const (
	formLone  = 1
	formKey   = 2
	formBits  = 2
	preamble  = 12
	head      = 80          // bytes of a block header
	keySize   = 64          // X and Y
	keyEnd    = keySize + 5 // key, OP_CHECKSIG, lock time
	keyTag    = 4           // the byte in front of an uncompressed key's X
	keyMin    = head + 1 + keyEnd + 1
	recordTop = 8         // magic and length
	blockMax  = 4_000_000 // no block is longer (consensus: its weight)
	sizeMax   = 64 << 20  // of a whole packed chain: bounds what a damaged preamble can ask for
)

var (
	errCut   = errors.New("packed blocks are cut")
	errExtra = errors.New("packed blocks have trailing bytes")
)

// Pack packs blocks that are linked, the first one to the null hash.
func Pack(blocks [][]byte) ([]byte, error) {
	var text, keys []byte
	var prev [32]byte
	file := 0
	for i, b := range blocks {
		if len(b) <= head || len(b) > blockMax {
			return nil, fmt.Errorf("block %d has %d bytes", i, len(b))
		}
		if [32]byte(b[4:36]) != prev {
			return nil, fmt.Errorf("block %d is not linked to the one before", i)
		}
		form := uint64(0)
		if b[head] == 1 && doubleSHA256(b[head+1:]) == [32]byte(b[36:68]) {
			form |= formLone
		}
		key := len(b) - keyEnd
		if len(b) >= keyMin && b[key-1] == keyTag {
			form |= formKey
		}
		text = binary.AppendUvarint(text, uint64(len(b))<<formBits|form)
		text = append(text, b[:4]...)
		if form&formLone == 0 {
			text = append(text, b[36:68]...)
		}
		text = append(text, b[68:head]...)
		if form&formKey != 0 {
			text = append(append(text, b[head:key]...), b[key+keySize:]...)
			keys = append(keys, b[key:key+keySize]...)
		} else {
			text = append(text, b[head:]...)
		}
		file += recordTop + len(b)
		prev = doubleSHA256(b[:head])
	}
	deflated, err := deflate(text)
	if err != nil {
		return nil, err
	}
	packed := binary.LittleEndian.AppendUint32(nil, uint32(file))
	packed = binary.LittleEndian.AppendUint32(packed, uint32(len(text)))
	packed = binary.LittleEndian.AppendUint32(packed, uint32(len(deflated)))
	return append(append(packed, deflated...), keys...), nil
}

func deflate(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unpack turns what Pack made into a block file and returns the hash of the
// last header (internal byte order) with it. Damaged input is an error or
// another tip, never a panic.
func Unpack(packed []byte) (file []byte, tip [32]byte, err error) {
	if len(packed) < preamble {
		return nil, tip, errCut
	}
	size := binary.LittleEndian.Uint32(packed)
	length := binary.LittleEndian.Uint32(packed[4:])
	deflated := binary.LittleEndian.Uint32(packed[8:])
	if size > sizeMax || length > sizeMax || int64(deflated) > int64(len(packed)-preamble) {
		return nil, tip, errCut
	}
	body, keys := packed[preamble:preamble+deflated], packed[preamble+deflated:]
	text := make([]byte, length)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(body)), text); err != nil {
		return nil, tip, fmt.Errorf("packed blocks: %w", err)
	}
	u := unpacker{text: text, keys: keys, out: make([]byte, 0, size)}
	for len(u.text) > 0 {
		if err := u.block(); err != nil {
			return nil, tip, err
		}
	}
	if len(u.keys) > 0 || len(u.out) != int(size) {
		return nil, tip, errExtra
	}
	return u.out, u.prev, nil
}

type unpacker struct {
	text, keys, out []byte
	prev            [32]byte // hash of the last header in out
}

// block moves one entry of the text to out.
func (u *unpacker) block() error {
	v, n := binary.Uvarint(u.text)
	size, lone, keyed := v>>formBits, v&formLone != 0, v&formKey != 0
	if n <= 0 || size <= head || size > blockMax || keyed && size < keyMin {
		return errCut
	}
	stored := int(size) - 32
	if lone {
		stored -= 32
	}
	if keyed {
		stored -= keySize
	}
	if len(u.text)-n < stored || keyed && len(u.keys) < keySize || recordTop+int(size) > cap(u.out)-len(u.out) {
		return errCut
	}
	text := u.text[n : n+stored]
	u.text = u.text[n+stored:]

	u.out = append(u.out, Magic[:]...)
	u.out = binary.LittleEndian.AppendUint32(u.out, uint32(size))
	start := len(u.out)
	u.out = append(append(u.out, text[:4]...), u.prev[:]...)
	text = text[4:]
	if lone {
		u.out = append(u.out, make([]byte, 32)...)
	} else {
		u.out = append(u.out, text[:32]...)
		text = text[32:]
	}
	if keyed {
		rest := len(text) - (keyEnd - keySize)
		u.out = append(append(append(u.out, text[:rest]...), u.keys[:keySize]...), text[rest:]...)
		u.keys = u.keys[keySize:]
	} else {
		u.out = append(u.out, text...)
	}
	block := u.out[start:]
	if lone {
		root := doubleSHA256(block[head+1:])
		copy(block[36:], root[:])
	}
	u.prev = doubleSHA256(block[:head])
	return nil
}

func doubleSHA256(b []byte) [32]byte {
	once := sha256.Sum256(b)
	return sha256.Sum256(once[:])
}
