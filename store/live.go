package store

import (
	"encoding/binary"
	"hash/crc64"
)

// LiveDisk is a Disk that can keep a live record.
type LiveDisk interface {
	// OpenLive opens the live record, and makes it where there is none. A nil record without an error: this medium or
	// system cannot promise what it takes.
	OpenLive() (LiveRecord, error)
}

// LiveRecord is a small note that outlives its process, however that ends, and not the machine: after a mere kill the
// page cache still holds what was written, and the record says how far that was whole. It is worth nothing after a power
// cut or on another mount, and then is not found.
//
// One goroutine uses it at a time.
type LiveRecord interface {
	Load() (payload []byte, ok bool) // what was stored last, in this boot and on this mount; a copy
	Store(payload []byte)            // at most MaxLive bytes; two stores into mapped memory, no system call
	Void()                           // nothing is stored any more
	Close() error
}

// LiveName is the file of the live record: one page, mapped for writing, of two slots of which the older is overwritten.
// A killed process may leave a torn slot, and then the other one still stands. Little-endian:
//
//	 0          8          16       20      64               1024
//	+----------+----------+--------+-------+----------------+----------------+
//	| checksum | sequence | length | place | payload, zeros | the other slot |
//	| 8        | 8        | 4      | 44    | 960            | 1024           |
//	+----------+----------+--------+-------+----------------+----------------+
//
// Place is the boot and the mount that the slot was stored in, hashed to 44 bytes or fewer.
const LiveName = "live"

const (
	liveSlot     = 1024
	liveSequence = 8
	liveLength   = 16
	livePlace    = 20
	livePayload  = 64
	placeSize    = livePayload - livePlace

	// MaxLive is the most bytes of a live record.
	MaxLive = liveSlot - livePayload
)

// livePage is the record in a page of memory, however that is kept.
type livePage struct {
	page  []byte // two slots
	place [placeSize]byte
	seq   uint64
}

// newest returns the slot with the higher sequence that is whole and of this place.
func (l *livePage) newest() (payload []byte, seq uint64) {
	for i := range 2 {
		b := l.page[i*liveSlot:][:liveSlot]
		n, s := binary.LittleEndian.Uint32(b[liveLength:]), binary.LittleEndian.Uint64(b[liveSequence:])
		if n == 0 || n > MaxLive || s < seq || [placeSize]byte(b[livePlace:]) != l.place {
			continue
		}
		if binary.LittleEndian.Uint64(b) == crc64.Checksum(b[liveSequence:livePayload+n], crcTable) {
			payload, seq = b[livePayload:livePayload+n], s
		}
	}
	return payload, seq
}

func (l *livePage) Load() ([]byte, bool) {
	payload, seq := l.newest()
	l.seq = max(l.seq, seq)
	return append([]byte(nil), payload...), payload != nil
}

func (l *livePage) Store(payload []byte) {
	if len(payload) == 0 || len(payload) > MaxLive {
		panic("store: a live record of no length that fits")
	}
	l.seq++
	b := l.page[l.seq%2*liveSlot:][:liveSlot]
	binary.LittleEndian.PutUint64(b, 0) // not whole from here on
	binary.LittleEndian.PutUint64(b[liveSequence:], l.seq)
	binary.LittleEndian.PutUint32(b[liveLength:], uint32(len(payload)))
	copy(b[livePlace:], l.place[:])
	copy(b[livePayload:], payload)
	binary.LittleEndian.PutUint64(b, crc64.Checksum(b[liveSequence:livePayload+len(payload)], crcTable))
}

func (l *livePage) Void() { clear(l.page[:2*liveSlot]) }

// memLive is the live record of a heap twin: memory that the disk keeps.
type memLive struct{ livePage }

func (l *memLive) Close() error { return nil }

// OpenLive opens the disk's live record. An image that Clone takes has it, too: it is what a killed process leaves.
func (d *MemDisk) OpenLive() (LiveRecord, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readOnly {
		return nil, nil
	}
	if d.live == nil {
		d.live = make([]byte, 2*liveSlot)
	}
	l := &memLive{livePage{page: d.live}}
	_, l.seq = l.newest()
	return l, nil
}
