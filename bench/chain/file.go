package chain

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	wire "stele/chain"
)

// RecordHead is what stands in front of a block in a block file, in bytes: magic 4, length 4.
const RecordHead = 8

// Place is where a block lies in a file, and what can be asked of a store that has it.
type Place struct {
	Off      int64 // of the block's first byte
	Len      uint32
	Coinbase wire.Hash // txid
}

// File is a chain that was written into a block file. Places[h-1] is of the block at height h; stale blocks have none.
type File struct {
	Path   string
	Places []Place
	Stats  Stats
}

// Write makes a chain and writes it into a new block file.
func Write(path string, o Options) (*File, error) {
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	r := &File{Path: path, Places: make([]Place, 0, o.Blocks)}
	var b Block
	for off := int64(RecordHead); g.Next(&b); off += int64(len(b.Raw)) + RecordHead {
		if !b.Stale {
			r.Places = append(r.Places, Place{off, uint32(len(b.Raw)), b.Coinbase})
		}
		if err := WriteRecord(w, b.Raw); err != nil {
			return nil, err
		}
	}
	r.Stats = g.Stats()
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return r, f.Close()
}

// WriteRecord writes a block as a block file has it.
func WriteRecord(w io.Writer, raw []byte) error {
	var head [RecordHead]byte
	magic := wire.Regtest().Magic
	copy(head[:], magic[:])
	binary.LittleEndian.PutUint32(head[4:], uint32(len(raw)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(raw)
	return err
}

// Record returns the bytes of the file's record of a height.
func (f *File) Record(height uint32) ([]byte, error) {
	p := f.Places[height-1]
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, RecordHead+int(p.Len))
	_, err = file.ReadAt(b, p.Off-RecordHead)
	return b, err
}

// Size returns the bytes of the file.
func (f *File) Size() int64 {
	if len(f.Places) == 0 {
		return 0
	}
	last := f.Places[len(f.Places)-1]
	return last.Off + int64(last.Len)
}

// HeightAt returns the height of the last block of which the records up to it have no more than so many bytes.
func (f *File) HeightAt(bytes int64) uint32 {
	for i, p := range f.Places {
		if p.Off+int64(p.Len) > bytes {
			return uint32(i)
		}
	}
	return uint32(len(f.Places))
}

// Reader reads a chain as a block file that is made while it is read.
type Reader struct {
	g    *Source
	b    Block
	head []byte
	rest []byte // of the block in hand
}

// NewReader reads all the blocks that a Source is yet to make.
func NewReader(g *Source) *Reader { return &Reader{g: g} }

func (r *Reader) Read(p []byte) (int, error) {
	if len(r.head) == 0 && len(r.rest) == 0 {
		if !r.g.Next(&r.b) {
			return 0, io.EOF
		}
		magic := wire.Regtest().Magic
		r.head = binary.LittleEndian.AppendUint32(append(r.head[:0:0], magic[:]...), uint32(len(r.b.Raw)))
		r.rest = r.b.Raw
	}
	if len(r.head) > 0 {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
