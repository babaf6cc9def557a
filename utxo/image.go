package utxo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"

	"stele/chain"
)

// An image is a set as a checkpoint keeps it: as fast to write and to read as it can be, on all cores, with every output's
// number. Equal sets at one block of one archive give equal files.
//
//	0       8        12        16     20      24         56        64        72       456
//	+-------+--------+---------+------+-------+----------+---------+---------+--------+------
//	| magic | format | network | zero | height| base     | records | outputs | MuHash | zero
//	| 8     | 4      | 4       | 4    | 4     | 32       | 8       | 8       | 384    |
//	+-------+--------+---------+------+-------+----------+---------+---------+--------+------
//
//	512 + 24k  for each shard k            6656    6672    6704     6712     6720   6728   8184       8192
//	+--------+---------+---------+----------+-------+-------+--------+--------+-----+------+----------+---------------------
//	| bytes  | records | outputs | checksum | store | order | blocks | number | log | zero | checksum | shard 0, shard 1, ...
//	| 8      | 4       | 4       | 8        | 16    | 32    | 8      | 8      | 8   |      | 8        |
//	+--------+---------+---------+----------+-------+-------+--------+--------+-----+------+----------+---------------------
//
// Magic is "steleutx", network the network's, base the block after which the set was so. MuHash is the set's in 384
// bytes, or zero where nobody carried it along. Checksums are CRC-64 (ECMA): of a shard, and of the 8184 bytes before.
// Store, order, blocks, number and log say which archive numbered the outputs (see Archive).
//
// A shard is its transactions in ascending order of their txids:
//
//	+------------------+-----------------------------+--------+--------+
//	| txid, bytes 1-31 | height<<1 | coinbase        | first  | coins  |
//	| 31               | VARINT                      | VARINT | VARINT |
//	+------------------+--------------------+--------+--------+--------+
//	| vout, less the one before, less one   | amount | kind   | script  |   for each coin, in ascending order of vout
//	| VARINT                                | VARINT | VARINT |         |
//	+---------------------------------------+--------+--------+---------+
//
// First is the number of the transaction's output 0. Amounts and scripts are spelt as in snapshots, but uncompressed keys
// stay as they are: no reader of images takes a root.
const (
	imageMagic  = "steleutx"
	imageFormat = 1

	imageHead     = 8192
	imageMuHash   = 72
	imageShards   = 512
	imageShard    = 24
	imageArchive  = imageShards + Shards*imageShard
	imageChecksum = imageHead - 8
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// ImageHead is what an image says of its set.
type ImageHead struct {
	Network [4]byte // magic
	Base    chain.Hash
	Height  uint32 // of base
	Records uint64 // transactions
	Outputs uint64
	MuHash  [384]byte // see MuHash.State; zero: not carried along
	Archive Archive
}

// Archive names what an image's numbers are good for: a store whose archive begins with the same blocks in the same order.
// Archives of one store differ beyond what was durable, where another order follows a power cut.
type Archive struct {
	Store   [16]byte   // id
	Order   chain.Hash // SHA256 of the hashes of those blocks, in their order
	Blocks  uint64     // that were archived
	Outputs uint64     // that had a number
	Log     uint64     // records of the chain log
}

// shardHead is what an image's head says of a shard.
type shardHead struct {
	bytes            uint64
	records, outputs uint32
	checksum         uint64
}

// ImageError says what makes an image unusable.
type ImageError struct{ What string }

func (e *ImageError) Error() string { return "image of the unspent outputs: " + e.What }

// encode makes the head's bytes.
func (h *ImageHead) encode(shards *[Shards]shardHead) []byte {
	b := make([]byte, 0, imageHead)
	b = append(b, imageMagic...)
	b = binary.LittleEndian.AppendUint32(b, imageFormat)
	b = append(b, h.Network[:]...)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, h.Height)
	b = append(b, h.Base[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.Records)
	b = binary.LittleEndian.AppendUint64(b, h.Outputs)
	b = append(b, h.MuHash[:]...)
	b = b[:imageShards]
	for i := range shards {
		s := &shards[i]
		b = binary.LittleEndian.AppendUint64(b, s.bytes)
		b = binary.LittleEndian.AppendUint32(b, s.records)
		b = binary.LittleEndian.AppendUint32(b, s.outputs)
		b = binary.LittleEndian.AppendUint64(b, s.checksum)
	}
	b = append(b, h.Archive.Store[:]...)
	b = append(b, h.Archive.Order[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.Archive.Blocks)
	b = binary.LittleEndian.AppendUint64(b, h.Archive.Outputs)
	b = binary.LittleEndian.AppendUint64(b, h.Archive.Log)
	b = b[:imageChecksum]
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, crcTable))
}

// decodeImageHead reads a head. It is an *ImageError where the bytes are not exactly those of encode, and where the shards
// do not add up or reach beyond size, the length of the file.
func decodeImageHead(b []byte, size uint64) (h ImageHead, shards [Shards]shardHead, err error) {
	bad := func(what string) (ImageHead, [Shards]shardHead, error) {
		return ImageHead{}, [Shards]shardHead{}, &ImageError{what}
	}
	if len(b) < imageHead || string(b[:8]) != imageMagic {
		return bad("it has no head")
	}
	b = b[:imageHead]
	if crc64.Checksum(b[:imageChecksum], crcTable) != binary.LittleEndian.Uint64(b[imageChecksum:]) {
		return bad("its head is damaged")
	}
	if format := binary.LittleEndian.Uint32(b[8:]); format != imageFormat {
		return bad(fmt.Sprintf("its format is %d, not %d", format, imageFormat))
	}
	h = ImageHead{
		Network: [4]byte(b[12:]), Height: binary.LittleEndian.Uint32(b[20:]), Base: chain.Hash(b[24:56]),
		Records: binary.LittleEndian.Uint64(b[56:]), Outputs: binary.LittleEndian.Uint64(b[64:]),
		MuHash: [384]byte(b[imageMuHash:]), Archive: decodeArchive(b[imageArchive:]),
	}
	end, records, outputs := uint64(imageHead), uint64(0), uint64(0)
	for i := range shards {
		p := b[imageShards+i*imageShard:]
		s := &shards[i]
		s.bytes, s.checksum = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[16:])
		s.records, s.outputs = binary.LittleEndian.Uint32(p[8:]), binary.LittleEndian.Uint32(p[12:])
		if s.bytes > size || end+s.bytes > size {
			return bad("it is shorter than its head says")
		}
		end, records, outputs = end+s.bytes, records+uint64(s.records), outputs+uint64(s.outputs)
	}
	if records != h.Records || outputs != h.Outputs || string(h.encode(&shards)) != string(b) {
		return bad("its head does not add up")
	}
	return h, shards, nil
}

func decodeArchive(b []byte) Archive {
	return Archive{
		Store: [16]byte(b), Order: chain.Hash(b[16:48]), Blocks: binary.LittleEndian.Uint64(b[48:]),
		Outputs: binary.LittleEndian.Uint64(b[56:]), Log: binary.LittleEndian.Uint64(b[64:]),
	}
}

// appendImageTx appends a transaction's part of an image. It fails where a coin could not be read again.
func appendImageTx(dst []byte, t *Record) ([]byte, error) {
	if err := t.fileable(); err != nil {
		return dst, err
	}
	dst = append(dst, t.Txid[1:]...)
	dst = appendVarint(dst, t.head().code)
	dst = appendVarint(dst, t.First)
	dst = appendVarint(dst, uint64(len(t.Outs)))
	next := uint32(0)
	for i := range t.Outs {
		o := &t.Outs[i]
		dst = appendVarint(dst, uint64(o.Vout-next))
		dst = appendVarint(dst, compressAmount(uint64(o.Value)))
		dst = appendScript(dst, o.Script, false)
		next = o.Vout + 1
	}
	return dst, nil
}

// imageReader reads the transactions of one shard of an image.
type imageReader struct {
	b       []byte // what is left
	tx      Record
	scripts []byte
}

var errShort = errors.New("ends in the middle")

// next reads a transaction into r.tx, whose scripts are valid until the next call. It is an error where appendImageTx would
// not have written what is there, or not behind the one before.
func (r *imageReader) next(shard int) error {
	t := &r.tx
	if len(r.b) < 31 {
		return errShort
	}
	t.Txid[0] = byte(shard)
	copy(t.Txid[1:], r.b)
	r.b = r.b[31:]
	code, ok1 := r.number()
	first, ok2 := r.number()
	coins, ok3 := r.number()
	switch {
	case !ok1 || !ok2 || !ok3 || code > 1<<32-1:
		return errSpelling
	case coins == 0 || coins > maxTxCoins:
		return errOrder
	}
	t.Height, t.Coinbase, t.First, t.Outs = uint32(code>>1), code&1 == 1, first, t.Outs[:0]
	r.scripts = r.scripts[:0]
	vout := uint64(0)
	for range coins {
		skip, ok := r.number()
		if vout += skip; !ok || skip > maxVout || vout > maxVout {
			return errVout
		}
		value, script, err := r.output()
		if err != nil {
			return err
		}
		t.Outs = append(t.Outs, Entry{Vout: uint32(vout), Value: value, Script: script})
		vout++
	}
	if len(r.scripts) > maxTxBytes {
		return errLong
	}
	end := 0
	for i := range t.Outs { // the scripts' buffer does not move any more
		o := &t.Outs[i]
		from := end
		end += len(o.Script)
		o.Script = r.scripts[from:end:end]
	}
	return nil
}

func (r *imageReader) number() (n uint64, ok bool) {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		n, r.b = uint64(r.b[0]), r.b[1:]
		return n, true
	}
	n, size, ok := varint(r.b)
	r.b = r.b[size:]
	return n, ok
}

// output reads amount and script. Of the script only the length counts.
func (r *imageReader) output() (value int64, script []byte, err error) {
	amount, ok1 := r.number()
	kind, ok2 := r.number()
	if !ok1 || !ok2 {
		return 0, nil, errSpelling
	}
	value, ok := decompressAmount(amount)
	if !ok {
		return 0, nil, errAmount
	}
	n, ok := scriptBytes(kind)
	switch {
	case !ok:
		return 0, nil, errScript
	case n > len(r.b):
		return 0, nil, errShort
	}
	from := len(r.scripts)
	if r.scripts, ok = decompressScript(r.scripts, kind, r.b[:n], false); !ok {
		return 0, nil, errScript
	}
	r.b = r.b[n:]
	return value, r.scripts[from:], nil
}
