package store

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"stele/internal/fault"
)

// flushLarge is the size of the tail from which FlushIfLarge writes it, bytes.
const flushLarge = 1 << 20

// BodySpec declares an append-only file.
type BodySpec struct {
	Name    string // file name, at most 32 bytes
	Kind    string // what kind of file it is, at most 16 bytes
	Width   int    // bytes a row; 1: a slab
	Reserve int64  // bytes of address space, see FileOptions
	Random  bool   // read at random places: no read-ahead
}

// Body is an append-only file of rows or of a slab: a header page, then data. Offsets count bytes from the start of the
// data. The end of the data lies in memory until it is flushed:
//
//	file:  | header page | data ............ | allocated, not written yet |
//	                     0                   flushed      Len             Size
//	tail:                                    | appended .. |
//
// One goroutine, the writer, calls everything but At, Flushed, Size and the file's Sync. Readers call At within a
// length that was published to them after a Flush, by (4).
type Body struct {
	file    File
	data    Mapping      // the file's mapping behind its header page; negative offsets fall out of it
	flushed atomic.Int64 // bytes of data in the file
	tail    []byte       // bytes appended after them; its capacity is kept from flush to flush
	backed  int64        // bytes of data that the file has room for
	spec    BodySpec
}

// OpenBody opens a body of which a manifest covers length bytes, and cuts what lies beyond them, or creates it where
// length is 0 and nothing is there. It fails with *Damaged where the file is missing, broken or shorter, and with
// *Foreign where it is of another store or kind. On a read-only disk nothing is cut or created.
func OpenBody(d Disk, s BodySpec, id [16]byte, length int64) (*Body, error) {
	if len(s.Name) > maxName || len(s.Kind) > maxKind || s.Width < 1 || s.Width > maxBodyWidth {
		return nil, fmt.Errorf("store: a body cannot be declared as %+v", s)
	}
	if length < 0 || length%int64(s.Width) != 0 {
		return nil, &Damaged{Name: s.Name, What: fmt.Sprintf("is said to hold %d bytes, not a number of rows of %d bytes",
			length, s.Width)}
	}
	f, err := d.Open(s.Name, FileOptions{Reserve: s.Reserve, MustExist: length > 0, Random: s.Random})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Damaged{Name: s.Name, What: "is missing"}
	}
	if err != nil {
		return nil, err
	}
	b := &Body{file: f, spec: s}
	b.data.set(nil)
	if err := b.adopt(id, length, d.ReadOnly()); err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

// adopt checks the header page and the length, and leaves the body at length bytes.
func (b *Body) adopt(id [16]byte, length int64, readOnly bool) error {
	err := b.check(id)
	var damaged *Damaged
	switch {
	case err == nil:
	case length == 0 && !readOnly && errors.As(err, &damaged):
		// A crash while the file was made. Nothing that a manifest covers is in it.
		return b.create(id)
	default:
		return err
	}
	have := b.file.Size() - PageSize
	if have < length {
		return &Damaged{Name: b.spec.Name, What: fmt.Sprintf("is cut short: it holds %d bytes of data of the %d that the "+
			"manifest covers", have, length)}
	}
	if fault.On(fault.TailKept) && length > 0 {
		length = have - have%int64(b.spec.Width)
	}
	if fault.On(fault.CutTooLittle) && length > 0 {
		length = min(length+int64(b.spec.Width), have-have%int64(b.spec.Width))
	}
	b.remap()
	b.flushed.Store(length)
	if have > length && !readOnly {
		return b.cutFile(length)
	}
	return nil
}

// check reads the header page.
func (b *Body) check(id [16]byte) error {
	if size := b.file.Size(); size < PageSize {
		return &Damaged{Name: b.spec.Name, What: fmt.Sprintf("is cut short: %d bytes do not hold a header page", size)}
	}
	return Guard(func() error { return checkHeader(b.file.Mapping().Bytes()[:PageSize], b.spec, id) })
}

// create writes the header page. It becomes durable with the first Sync, its name with the next manifest, by (7).
func (b *Body) create(id [16]byte) error {
	if err := b.file.Truncate(0); err != nil {
		return err
	}
	if err := b.file.Allocate(PageSize); err != nil {
		return err
	}
	if err := b.file.WriteAt(headerPage(b.spec, id), 0); err != nil {
		return err
	}
	b.remap()
	return nil
}

// remap follows the file after its size has changed. The mapping changes with it on windows alone.
func (b *Body) remap() {
	b.backed = b.file.Size() - PageSize
	m := b.file.Mapping().Bytes()
	if len(m)-PageSize != len(b.data.Bytes()) {
		b.data.set(m[PageSize:])
	}
}

// Name returns the name of the file.
func (b *Body) Name() string { return b.spec.Name }

// Width returns the bytes a row.
func (b *Body) Width() int { return b.spec.Width }

// Len returns the bytes appended, flushed or not. The writer's alone.
func (b *Body) Len() int64 { return b.flushed.Load() + int64(len(b.tail)) }

// Flushed returns the bytes that the file holds.
func (b *Body) Flushed() int64 { return b.flushed.Load() }

// Size returns the bytes that the file takes, with its header page and what is allocated ahead.
func (b *Body) Size() int64 { return b.file.Size() }

// Reserve makes room in the file, so that the next n bytes cannot fail for want of it; *DiskFull otherwise.
func (b *Body) Reserve(n int64) error {
	need := b.Len() + n
	if need <= b.backed {
		return nil
	}
	if err := b.file.Allocate(PageSize + need); err != nil {
		return err
	}
	b.remap()
	return nil
}

// Grow appends n zero bytes and returns them to be filled in by the writer, until its next call.
func (b *Body) Grow(n int) []byte {
	old := len(b.tail)
	b.room(n)
	b.tail = b.tail[:old+n]
	p := b.tail[old : old+n : old+n]
	clear(p)
	return p
}

// Append appends p.
func (b *Body) Append(p []byte) {
	b.room(len(p))
	b.tail = append(b.tail, p...)
}

// room makes the tail's capacity n bytes larger than its length. Appending more than was reserved is a mistake of the
// caller: it could no longer be flushed on a full disk.
func (b *Body) room(n int) {
	if end := b.Len() + int64(n); n < 0 || end > b.backed {
		panic(fmt.Sprintf("store: append of %d bytes to %s at %d goes beyond the %d bytes reserved", n, b.spec.Name,
			b.Len(), b.backed))
	}
	if need := len(b.tail) + n; need > cap(b.tail) {
		tail := make([]byte, len(b.tail), max(need, 2*cap(b.tail), PageSize))
		copy(tail, b.tail)
		b.tail = tail
	}
}

// At returns the n bytes at off in place: from the mapping where they are flushed, which any reader may do within its
// published length, else from the writer's tail, which only the writer may do and only until its next append or flush.
// Bytes that were not appended by one call may straddle the two; asking for those is a mistake that panics. No
// allocation; one comparison besides the slice's own, which catches a negative offset or length.
func (b *Body) At(off int64, n int) []byte {
	if end := off + int64(n); end <= b.flushed.Load() {
		return b.data.Bytes()[off:end:end]
	}
	return b.tailAt(off, n)
}

// WillNeed asks for n bytes at off to be read in the background, as far as they are flushed: for a reader that goes
// through a body in order, in windows, while its mapping is advised against read-ahead (BodySpec.Random).
func (b *Body) WillNeed(off, n int64) {
	end := min(off+n, b.flushed.Load())
	if off = off &^ (PageSize - 1); off >= 0 && off < end {
		adviseWillNeed(b.data.Bytes()[off:end])
	}
}

// Data returns all that is flushed, in place: what a view that is about to be published may hold, so that its readers
// need no call and no atomic load a row. It stays readable until the body is closed or cut below it.
func (b *Body) Data() []byte {
	n := b.flushed.Load()
	return b.data.Bytes()[:n:n]
}

func (b *Body) tailAt(off int64, n int) []byte {
	flushed := b.flushed.Load()
	lo := off - flushed
	switch {
	case off < 0 || n < 0 || lo+int64(n) > int64(len(b.tail)):
		panic(fmt.Sprintf("store: %d bytes at %d of %s are beyond its %d bytes", n, off, b.spec.Name, b.Len()))
	case lo < 0:
		panic(fmt.Sprintf("store: %d bytes at %d of %s straddle the flushed length %d", n, off, b.spec.Name, flushed))
	}
	return b.tail[lo : lo+int64(n) : lo+int64(n)]
}

// Flush writes the tail into the file. Afterwards readers may be told of the whole length, by (4). After an error
// nothing has changed and Flush may be called again.
func (b *Body) Flush() error {
	if len(b.tail) == 0 {
		return nil
	}
	flushed := b.flushed.Load()
	if err := b.file.WriteAt(b.tail, PageSize+flushed); err != nil {
		return err
	}
	b.flushed.Store(flushed + int64(len(b.tail)))
	b.tail = b.tail[:0]
	return nil
}

// FlushIfLarge flushes when the tail has grown over 1 MiB.
func (b *Body) FlushIfLarge() error {
	if len(b.tail) <= flushLarge {
		return nil
	}
	return b.Flush()
}

// Resync writes the flushed bytes from off on once more, from what the mapping shows, and syncs them. After a process
// was killed the page cache holds what it wrote, but an earlier write-back may have failed with nobody left to tell:
// such pages count as clean, and a sync alone would not write them again.
func (b *Body) Resync(off int64) error {
	if fault.On(fault.ResyncLeftOut) {
		return nil
	}
	const piece = 1 << 20
	for end := b.flushed.Load(); off < end; off += piece {
		p := append([]byte(nil), b.data.Bytes()[off:min(off+piece, end)]...)
		if err := b.file.WriteAt(p, PageSize+off); err != nil {
			return err
		}
	}
	return b.file.Sync()
}

// Sync flushes, then makes all that is in the file durable.
func (b *Body) Sync() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.SyncFlushed()
}

// SyncFlushed makes durable what the file holds, without the tail, so that it may run beside the writer.
func (b *Body) SyncFlushed() error {
	if fault.On(fault.BodyNotSynced) && b.spec.Kind == "body" || fault.On(fault.LogNotSynced) && b.spec.Kind == "log" {
		return nil
	}
	return b.file.Sync()
}

// Truncate takes the body back to length bytes. Readers and manifests that know of more must be gone. Within the tail
// it costs nothing; below, the file is cut.
func (b *Body) Truncate(length int64) error {
	flushed := b.flushed.Load()
	switch {
	case length < 0 || length > b.Len() || length%int64(b.spec.Width) != 0:
		return &Fault{Op: "truncate", Name: b.spec.Name, Off: length, Err: errBeyond}
	case length >= flushed:
		b.tail = b.tail[:length-flushed]
		return nil
	}
	return b.cutFile(length)
}

// cutFile drops the tail and cuts the file. The length is lowered first: a failed cut leaves bytes that nothing names.
func (b *Body) cutFile(length int64) error {
	b.tail = b.tail[:0]
	b.flushed.Store(length)
	err := b.file.Truncate(PageSize + length)
	b.remap()
	return err
}

// Close closes the file. What was not flushed is given up.
func (b *Body) Close() error {
	b.data.set(nil)
	b.flushed.Store(0)
	b.tail, b.backed = nil, 0
	return b.file.Close()
}

// Need is a number of bytes that are about to be appended to a body.
type Need struct {
	Body  *Body
	Bytes int64
}

// ReserveAll makes room in all bodies, each named once, before anything is appended to any, by (6). On *DiskFull its
// Need is what is missing in all of them together; room that was found in some is kept for the next attempt.
func ReserveAll(needs ...Need) error {
	for i, n := range needs {
		err := n.Body.Reserve(n.Bytes)
		if err == nil {
			continue
		}
		var full *DiskFull
		if !errors.As(err, &full) {
			return err
		}
		missing := int64(0)
		for _, n := range needs[i:] {
			missing += max(0, pages(n.Body.Len()+n.Bytes)-n.Body.backed)
		}
		return &DiskFull{Name: full.Name, Need: missing, Err: full.Err}
	}
	return nil
}
