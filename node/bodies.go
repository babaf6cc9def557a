package node

import (
	"math"

	"stele/node/blockfile"
	"stele/tables"
)

// body is one place where the bytes of a block are: 24 bytes. A header may have several, as the same block may be
// in the input more than once, and one of the copies may be damaged. The bodies of a header form a circle, oldest
// first behind the last, at which its vertex points.
type body struct {
	place blockfile.Place
	l     tables.HeaderLink // none: its header waits for its parent
	next  uint32
}

// Values of Place.File that are no file. What is in the archive has no body: the tables know it.
const (
	inBatch   = math.MaxUint32 - iota // Off is an offset in the batch of the stream being read
	inPending                         // kept by the tables under the block's hash
	inMemory                          // came from a peer: live.held has it, under the body's number
	gone                              // archived from here, refused or dropped
)

// fresh reports whether a body came with the input, and was not dealt with yet.
func (b *body) fresh() bool { return b.place.File != inPending && b.place.File != gone }

// bodies are the bodies of all headers, in the order in which they were found. It belongs to the writer.
type bodies struct {
	all     []body
	settled int // those before it need not be looked at when what is left over is put away
}

// add notes a body that belongs to no header yet.
func (b *bodies) add(place blockfile.Place) uint32 {
	n := uint32(len(b.all))
	b.all = append(b.all, body{place: place, l: none, next: n})
	return n
}

// drop forgets body n, which belongs to no header.
func (b *bodies) drop(n uint32) { b.all[n].place.File = gone }

// undo takes back the newest body, so that an input which is known costs no memory.
func (b *bodies) undo(n uint32) {
	if int(n) == len(b.all)-1 {
		b.all = b.all[:n]
	} else {
		b.drop(n)
	}
}

// tidy forgets the list where all of it is gone, so that it does not grow for ever.
func (b *bodies) tidy() {
	for i := range b.all {
		if b.all[i].place.File != gone {
			return
		}
	}
	b.all, b.settled = b.all[:0], 0
}

// attach gives body n to a vertex.
func (b *bodies) attach(v *vertex, l tables.HeaderLink, n uint32) {
	one := &b.all[n]
	one.l, one.next = l, n
	if v.body != 0 {
		last := &b.all[v.body-1]
		one.next, last.next = last.next, n
	}
	v.body = n + 1
}

// detach takes body n from its vertex, and marks it as gone.
func (b *bodies) detach(v *vertex, n uint32) {
	b.all[n].place.File = gone
	at := v.body
	for at != 0 {
		prev := at - 1
		next := b.all[prev].next
		if next == n {
			b.all[prev].next = b.all[n].next
			switch {
			case next == prev: // it was the only one
				v.body = 0
			case v.body-1 == n:
				v.body = prev + 1
			}
			return
		}
		if at = next + 1; at == v.body {
			return
		}
	}
}

// first returns the oldest body of a vertex.
func (b *bodies) first(v *vertex) (n uint32, ok bool) {
	if v.body == 0 {
		return 0, false
	}
	return b.all[v.body-1].next, true
}

// stored returns a body of a vertex that is kept by the tables, or in memory.
func (b *bodies) stored(v *vertex) (n uint32, ok bool) {
	if v.body == 0 {
		return 0, false
	}
	for n = b.all[v.body-1].next; ; n = b.all[n].next {
		if f := b.all[n].place.File; f == inPending || f == inMemory {
			return n, true
		}
		if n == v.body-1 {
			return 0, false
		}
	}
}

// pending returns the body of a vertex that is kept by the tables.
func (b *bodies) pending(v *vertex) (n uint32, ok bool) {
	if v.body == 0 {
		return 0, false
	}
	for n = b.all[v.body-1].next; ; n = b.all[n].next {
		if b.all[n].place.File == inPending {
			return n, true
		}
		if n == v.body-1 {
			return 0, false
		}
	}
}
