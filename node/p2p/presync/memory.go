package presync

import "stele/chain"

const chunkBytes = 1 << 10

// bitQueue is a queue of bits in pieces of 1 KiB. A piece is let go when its last bit was read.
//
//	          head              head + n
//	           ▼                   ▼
//	[ piece 0: 8192 bits ][ piece 1 ] ...     bit i of a piece: byte i/8, from the lowest
type bitQueue struct {
	chunks []*[chunkBytes]byte
	head   int64 // of the first bit, in the first piece
	n      int64
}

func (q *bitQueue) push(bit bool) {
	at := q.head + q.n
	if at == int64(len(q.chunks))*chunkBytes*8 {
		q.chunks = append(q.chunks, new([chunkBytes]byte))
	}
	if bit {
		q.chunks[at/(chunkBytes*8)][at/8%chunkBytes] |= 1 << (at % 8)
	}
	q.n++
}

func (q *bitQueue) pop() (bit, ok bool) {
	if q.n == 0 {
		return false, false
	}
	bit = q.chunks[0][q.head/8]>>(q.head%8)&1 == 1
	q.head++
	q.n--
	if q.head == chunkBytes*8 {
		q.chunks[0] = nil
		q.chunks, q.head = q.chunks[1:], 0
	}
	return bit, true
}

func (q *bitQueue) bytes() int64 { return int64(len(q.chunks))*chunkBytes + 8*int64(cap(q.chunks)) }

// compact is a header without the hash of the one before it, which is known where it is read: 48 bytes.
type compact struct {
	version           int32
	merkle            chain.Hash
	time, bits, nonce uint32
}

const compactSize = 48

// ring is a queue of headers of a fixed size. The hash that the oldest builds upon is kept; those of the others come
// from the headers themselves when they are read.
type ring struct {
	slots []compact
	first int
	n     int
	prev  chain.Hash // of the oldest
}

// open takes the memory for size headers.
func (r *ring) open(size int) { *r = ring{slots: make([]compact, size)} }

// push adds h, which builds upon prev. There must be room.
func (r *ring) push(h *chain.Header, prev *chain.Hash) {
	if r.n == 0 {
		r.prev = *prev
	}
	r.slots[(r.first+r.n)%len(r.slots)] = compact{h.Version, h.Merkle, h.Time, h.Bits, h.Nonce}
	r.n++
}

// pop takes the oldest. There must be one.
func (r *ring) pop() chain.Header {
	c := &r.slots[r.first]
	h := chain.Header{Version: c.version, Prev: r.prev, Merkle: c.merkle, Time: c.time, Bits: c.bits, Nonce: c.nonce}
	r.prev = h.Hash()
	r.first = (r.first + 1) % len(r.slots)
	r.n--
	return h
}

func (r *ring) bytes() int64 { return compactSize * int64(len(r.slots)) }
