package hashmap

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"stele/store"
)

// A generation file of a multimap: a header page, a home line for each bucket, then overflow lines, numbered from 0.
//
//	| header page, 4096 | home lines, 64 each | overflow lines, 64 each ... |
//
// A line is one cache line of 8 words: 7 entries and a word of links. An entry is a word, so that a reader never sees
// half of one while a merge writes; the 24-bit tag follows from that. Little-endian:
//
//	0                 5     8         56           60          64
//	| value plus one 5 | tag 3 | x 7  | newest 4    | settled 4 |    home line
//	| value plus one 5 | tag 3 | x 7  | older 4     | owner 4   |    overflow line
//
//	newest   number plus one of the bucket's newest overflow line, 0: none
//	settled  the same, as far as a crash cannot undo it
//	older    number plus one of the bucket's overflow line before this one, 0: the home line is next
//	owner    the bucket
//
// The bucket is the high word of key x buckets, the tag the upper 24 bits of the low word: what follows the bucket's
// bits. Entries fill a line from 0 upwards, never move and never leave. When the home line is full, its bucket is given
// an overflow line, when that is full another before it: so only the newest line of a bucket has room, and an insert
// touches two lines of a bucket with a million entries.
//
// # What a torn merge leaves
//
// Let the adopted state count N overflow lines, and any subset of the lines that a later merge wrote have survived.
//
// (1) Overflow lines at or beyond N are garbage: none is read until it is allocated again, and that writes all of it.
//
// (2) Of the lines below N only home lines and those that were a bucket's newest with room were written. They gained
// entries of the log between the watermark and the stamp; every entry that was there is there still.
//
// (3) A home line may name a newest line that is garbage. It is recognised: its number is at or beyond the lines
// written since, or its owner is another bucket. (If the merge after the crash gives that very line to the same bucket,
// it also writes the home line, and the chain is right at any moment between.) Then settled leads on: a line below N,
// because it is raised only to lines that were settled when the merge began, that is, which every state that can be
// adopted counts.
//
// (4) The chain below settled is whole, as older and owner of a line never change.
//
// So the old entries are all found, before and after the replay. An entry of (2) is added again by the replay; until
// it is merged, readers leave it out as they find it in the delta, and the merge finds it in the chain and does not add
// it, but writes its line again: what was read may be in memory only. As long as the watermark is below the stamp,
// merges look through whole chains for equal pairs; afterwards only those of maps that are not Once.
const (
	multiEntries  = 7
	multiLinks    = 56 // offset of the links
	multiTagShift = 40
	multiValues   = 1<<multiTagShift - 1 // mask of the value plus one

	// multiMaxLines bounds both kinds of lines, so that a bucket is an owner of 32 bits in full.
	multiMaxLines = 1<<32 - 2
)

// multiEnd returns the size in bytes of a file with that many lines.
func multiEnd(buckets, overflow uint64) int64 {
	return store.PageSize + int64(buckets+overflow)*lineSize
}

// multiFile is one generation file, open and mapped.
type multiFile struct {
	file    store.File
	mapping *store.Mapping
	number  uint32
	buckets uint64

	// written counts the overflow lines that are in the file. It is raised before a home line leads to them, so a reader
	// who sees a link at or beyond it has met garbage, by (3).
	written atomic.Uint64
}

func newMultiFile(f store.File, number uint32, buckets, overflow uint64) *multiFile {
	g := &multiFile{file: f, mapping: f.Mapping(), number: number, buckets: buckets}
	g.written.Store(overflow)
	return g
}

// place returns the bucket and the tag of a key.
func (g *multiFile) place(key uint64) (bucket, tag uint64) {
	bucket, rest := bits.Mul64(key, g.buckets)
	return bucket, rest >> multiTagShift
}

// line returns a line by its place in the file: overflow line n is at buckets+n.
func (g *multiFile) line(i uint64) unsafe.Pointer {
	return unsafe.Pointer(&g.mapping.Bytes()[store.PageSize+i*lineSize])
}

// overflow returns a bucket's overflow line and its links, or false where link (its number plus one) leads to none, or
// to one of another bucket.
func (g *multiFile) overflow(bucket, link, limit uint64) (p unsafe.Pointer, older uint64, ok bool) {
	if link-1 >= limit { // zero wraps round and is beyond every limit
		return nil, 0, false
	}
	p = g.line(g.buckets + link - 1)
	links := loadWord(p, multiLinks/8)
	return p, links & (1<<32 - 1), links>>32 == bucket
}

// newest returns the link of a bucket's newest overflow line, out of its home line's word of links; 0: none.
func (g *multiFile) newest(bucket, links, limit uint64) uint64 {
	for range 2 {
		link := links & (1<<32 - 1)
		if _, _, ok := g.overflow(bucket, link, limit); ok {
			return link
		}
		links >>= 32
	}
	return 0
}

// multiMix mixes a key. It is Mix64 twice, each with half of the secret: a bijection, whatever the secret.
func multiMix(key uint64, secret *[16]byte) uint64 {
	key = Mix64(key, binary.LittleEndian.Uint64(secret[:]))
	return Mix64(key, binary.LittleEndian.Uint64(secret[8:]))
}

// multiFill puts entries into the free places of a line and returns those that found none.
func multiFill(line []byte, entries []uint64) []uint64 {
	for at := 0; at < multiLinks && len(entries) > 0; at += 8 {
		if binary.LittleEndian.Uint64(line[at:]) == 0 {
			binary.LittleEndian.PutUint64(line[at:], entries[0])
			entries = entries[1:]
		}
	}
	return entries
}
