package bench

import (
	"bytes"
	"encoding/binary"
	"io"
)

// original is the tables that the original of 2023 reads to confirm a block, filled with a chain. All rows that are
// found by a key are chained from buckets, by links stored plus one.
//
//	header  | next 3 | hash 32 | flags 4 | height 3 | mtp 4 | parent 3 | version, time, bits, nonce, merkle 48 |
//	tx      | next 4 | txid 32 | coinbase 1 | sizes 6 | lock time, version 8 | ins 3 | outs 3 | puts 5 |
//	strong  | next 4 | tx 4 | header 3 |
//
// Points, spends and puts are those of split.
type original struct {
	*split
	headers  []byte
	txHeads  []uint32
	txs      []byte
	marks    []uint32 // heads of strong
	strongTx []byte
}

const (
	headerWidth = 97
	headerFlags = 35
	headerPlace = 39 // height and mtp

	txRowWidth  = 62
	txRowKey    = 4
	txRowFlags  = 36
	txRowCounts = 51 // inputs, outputs, and the first of puts

	strongWidth = 11
)

// newOriginal fills the tables with what a node archives before it confirms: all but strong.
func newOriginal(t *spendTrace) *original {
	n := len(t.txids)
	o := &original{
		split: newSplit(t), txHeads: make([]uint32, buckets(n)), txs: make([]byte, n*txRowWidth+3),
		headers: make([]byte, len(t.ends)*headerWidth), marks: make([]uint32, buckets(n)),
		strongTx: make([]byte, 0, n*strongWidth),
	}
	for b := range t.ends {
		o.enter(b)
		row := o.headers[b*headerWidth:]
		binary.LittleEndian.PutUint32(row[headerPlace:], uint32(b+1))
		binary.LittleEndian.PutUint32(row[headerPlace+3:], uint32(b))
		o.txs[int(t.start(b))*txRowWidth+txRowFlags] = 1
	}
	for i := range t.txids {
		row := o.txs[i*txRowWidth:][:txRowWidth]
		head := &o.txHeads[truncate(&t.txids[i])%uint64(len(o.txHeads))]
		binary.LittleEndian.PutUint32(row, *head)
		*head = uint32(i) + 1
		copy(row[txRowKey:], t.txids[i][:])
		put24(row[txRowCounts:], t.firstIn[i+1]-t.firstIn[i])
		put24(row[txRowCounts+3:], t.firstOut[i+1]-t.firstOut[i])
		binary.LittleEndian.PutUint32(row[txRowCounts+6:], t.firstIn[i])
	}
	return o
}

func put24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }

func get24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// begin forgets which transactions are strong.
func (o *original) begin() {
	clear(o.marks)
	o.strongTx = o.strongTx[:0]
}

// markStrong makes the transactions of a block strong: a row and a bucket for each.
func (o *original) markStrong(b int) {
	for tx := o.t.start(b); tx < o.t.ends[b]; tx++ {
		head := &o.marks[int(tx)%len(o.marks)]
		o.strongTx = binary.LittleEndian.AppendUint32(o.strongTx, *head)
		o.strongTx = binary.LittleEndian.AppendUint32(o.strongTx, tx)
		o.strongTx = append(o.strongTx, byte(b), byte(b>>8), byte(b>>16))
		*head = uint32(len(o.strongTx) / strongWidth)
	}
}

// rowStream is a reader of one row as the original has them: a stream over the table's memory from the row on, behind
// an interface, and a copy of every field that is read through it.
type rowStream struct {
	src    io.ReadSeeker
	mem    bytes.Reader
	field  key
	failed bool
}

// openRow begins to read at a row. It is a new object for every row.
func openRow(rows []byte, at int) *rowStream {
	s := &rowStream{}
	s.open(rows, at)
	return s
}

func (s *rowStream) open(rows []byte, at int) {
	s.mem.Reset(rows[at:])
	s.src = &s.mem
}

func (s *rowStream) read(n int) []byte {
	if _, err := io.ReadFull(s.src, s.field[:n]); err != nil {
		s.failed = true
	}
	return s.field[:n]
}

func (s *rowStream) skip(n int64) {
	if _, err := s.src.Seek(n, io.SeekCurrent); err != nil {
		s.failed = true
	}
}

func (s *rowStream) number8() byte    { return s.read(1)[0] }
func (s *rowStream) number24() uint32 { return get24(s.read(3)) }
func (s *rowStream) number32() uint32 { return binary.LittleEndian.Uint32(s.read(4)) }
func (s *rowStream) number40() uint64 { return uint64(s.number32()) | uint64(s.number8())<<32 }
func (s *rowStream) hash() key        { return key(s.read(len(key{}))) }

// number56 reads a multimap's key: a point and an index.
func (s *rowStream) number56() uint64 {
	point := s.number32()
	return outpointKey(point, s.number24())
}
