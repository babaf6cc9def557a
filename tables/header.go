package tables

import (
	"encoding/binary"
	"errors"

	"stele/chain"
)

// Header row: 128 bytes, two cache lines. Immutable once written, in the order in which headers were accepted, so
// that a parent always stands before its children. The context (height, MTP, work) is that of this header, its own
// time included, and is never walked for.
//
//	+0   hash 32 (internal byte order)
//	+32  merkle root 32
//	+64  version 4 | +68 time 4 | +72 bits 4 | +76 nonce 4
//	+80  parent's link plus one 4 (0: genesis)
//	+84  height 4
//	+88  MTP 4: median of the times of this header and the ten before it (BIP113)
//	+92  flags 4: zero in this format
//	+96  chain work 32, little-endian
const (
	headerHash   = 0
	headerMerkle = 32
	headerFields = 64
	headerParent = 80
	headerHeight = 84
	headerMTP    = 88
	headerFlags  = 92
	headerWork   = 96
)

// Header is one row of the header table, read in place.
type Header struct{ row []byte }

// Hash returns the block hash.
func (h Header) Hash() chain.Hash { return chain.Hash(h.row[headerHash : headerHash+32]) }

// Parent returns the link of the header below; false for genesis.
func (h Header) Parent() (HeaderLink, bool) {
	p := binary.LittleEndian.Uint32(h.row[headerParent:])
	return HeaderLink(p) - 1, p != 0
}

// Height returns the number of headers below this one.
func (h Header) Height() uint32 { return binary.LittleEndian.Uint32(h.row[headerHeight:]) }

// Time returns the header's time, in seconds since 1970.
func (h Header) Time() uint32 { return binary.LittleEndian.Uint32(h.row[headerFields+4:]) }

// Bits returns the compact target.
func (h Header) Bits() uint32 { return binary.LittleEndian.Uint32(h.row[headerFields+8:]) }

// MTP returns the median time past of the block that would follow this one, in seconds since 1970.
func (h Header) MTP() uint32 { return binary.LittleEndian.Uint32(h.row[headerMTP:]) }

// Work returns the work of the chain from genesis up to and including this header.
func (h Header) Work() chain.Work {
	var w chain.Work
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(h.row[headerWork+8*i:])
	}
	return w
}

// Wire returns the header as it stands in the block. For genesis, Prev is zero.
func (h Header) Wire(prev chain.Hash) chain.Header {
	return chain.Header{
		Version: int32(binary.LittleEndian.Uint32(h.row[headerFields:])),
		Prev:    prev,
		Merkle:  chain.Hash(h.row[headerMerkle : headerMerkle+32]),
		Time:    h.Time(),
		Bits:    h.Bits(),
		Nonce:   binary.LittleEndian.Uint32(h.row[headerFields+12:]),
	}
}

// ErrFull says that a table has as many rows as its links can count.
var ErrFull = errors.New("a table is full: its links cannot count another row")

// Headers returns the number of header rows.
func (t *Tables) Headers() uint32 { return uint32(t.header.Len() / headerWidth) }

// Header returns row l, which must exist.
func (t *Tables) Header(l HeaderLink) Header {
	return Header{row: t.header.At(int64(l)*headerWidth, headerWidth)}
}

// WireHeader returns the 80-byte header of row l as an object.
func (t *Tables) WireHeader(l HeaderLink) chain.Header {
	h := t.Header(l)
	var prev chain.Hash
	if p, ok := h.Parent(); ok {
		prev = t.Header(p).Hash()
	}
	return h.Wire(prev)
}

// FindHeader returns the row of a block hash. Only the writer may call it; readers ask their view.
func (t *Tables) FindHeader(hash *chain.Hash) (HeaderLink, bool) {
	l, ok := t.headerMap.View().Find((*[32]byte)(hash), t.Headers())
	return HeaderLink(l), ok
}

// PutHeader appends a header under its parent and returns its link; a header that is known already is returned as it
// is. parent is NoHeader for genesis alone. mtp is the median time past with this header's own time included; height
// and work follow from the parent. Writer only.
//
// Errors: *store.DiskFull, *store.Fault, ErrFull; nothing is changed by a call that fails.
func (t *Tables) PutHeader(h *chain.Header, hash *chain.Hash, parent HeaderLink, mtp uint32) (HeaderLink, error) {
	if l, ok := t.FindHeader(hash); ok {
		return l, nil
	}
	if err := t.writable(); err != nil {
		return 0, err
	}
	l := HeaderLink(t.Headers())
	if l > maxHeader {
		return 0, ErrFull
	}
	if err := t.header.Reserve(headerWidth); err != nil {
		return 0, err
	}
	height, work, stored := uint32(0), chain.BlockWork(h.Bits), uint32(0)
	if parent != NoHeader {
		p := t.Header(parent)
		height, stored = p.Height()+1, uint32(parent)+1
		work = work.Add(p.Work())
	}
	row := t.header.Grow(headerWidth)
	copy(row[headerHash:], hash[:])
	copy(row[headerMerkle:], h.Merkle[:])
	binary.LittleEndian.PutUint32(row[headerFields:], uint32(h.Version))
	binary.LittleEndian.PutUint32(row[headerFields+4:], h.Time)
	binary.LittleEndian.PutUint32(row[headerFields+8:], h.Bits)
	binary.LittleEndian.PutUint32(row[headerFields+12:], h.Nonce)
	binary.LittleEndian.PutUint32(row[headerParent:], stored)
	binary.LittleEndian.PutUint32(row[headerHeight:], height)
	binary.LittleEndian.PutUint32(row[headerMTP:], mtp)
	binary.LittleEndian.PutUint32(row[headerFlags:], 0)
	for i, limb := range work {
		binary.LittleEndian.PutUint64(row[headerWork+8*i:], limb)
	}
	t.txsOf = append(t.txsOf, 0)
	t.dirty = true
	t.live.cut.Headers++
	t.live.txsOf = t.txsOf
	return l, t.fail(errors.Join(t.headerMap.Insert(uint32(l)), t.header.FlushIfLarge()))
}
