package script

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"stele/chain"
)

const (
	cacheWays   = 4
	bucketSize  = 64 // bytes: a cache line
	cacheSecret = 16 // bytes; with a hash and flags behind it, one block of SHA-256
)

// Cache remembers which transactions had scripts that passed, all inputs of them, and under which flags: those that a
// node saw before they came in a block need not run again. A wtxid fixes what is spent and every witness, so it never
// becomes untrue.
//
// A key is 127 bits of SHA-256(secret | wtxid | flags). The secret is random in each process, so nobody can choose
// transactions whose keys meet; a false hit takes 2^100 tries and more. A bucket is one cache line of four keys; the
// low bits of the key say which:
//
//	| low 8 | high 8 | low 8 | high 8 | low 8 | high 8 | low 8 | high 8 |
//
// A low of zero is an empty way. In a full bucket a new key takes an old one's place, chosen by its own bits. All
// methods may be called from any number of goroutines without a lock: words are read and written one by one, and what is
// seen of two writers at once are halves of two keys, which fit no third. Has and Add touch one line and allocate
// nothing.
type Cache struct {
	secret  [cacheSecret]byte
	mask    uint64
	buckets []cacheBucket
}

type cacheBucket [cacheWays]cacheKey

type cacheKey struct{ low, high atomic.Uint64 }

// NewCache makes a cache of at most that many bytes, a power of two of them, and 64 at the least. A key takes 16.
func NewCache(bytes int) *Cache {
	n := 1
	for n*2*bucketSize <= bytes {
		n *= 2
	}
	c := &Cache{mask: uint64(n - 1), buckets: make([]cacheBucket, n)}
	rand.Read(c.secret[:]) // never fails
	return c
}

// Has tells whether the scripts of that transaction passed under those flags. A no may be forgetfulness.
func (c *Cache) Has(wtxid *chain.Hash, f Flags) bool {
	low, high := c.key(wtxid, f)
	bucket := c.bucket(high)
	for i := range bucket {
		if bucket[i].low.Load() == low && bucket[i].high.Load() == high {
			return true
		}
	}
	return false
}

// Add remembers that the scripts of all inputs of a transaction passed under those flags.
func (c *Cache) Add(wtxid *chain.Hash, f Flags) {
	low, high := c.key(wtxid, f)
	bucket := c.bucket(high)
	way := &bucket[high>>62]
	for i := range bucket {
		if have := bucket[i].low.Load(); have == 0 || have == low && bucket[i].high.Load() == high {
			way = &bucket[i]
			break
		}
	}
	way.high.Store(high)
	way.low.Store(low)
}

// key is never zero in its low half.
func (c *Cache) key(wtxid *chain.Hash, f Flags) (low, high uint64) {
	var message [cacheSecret + chain.HashSize + 4]byte
	copy(message[:], c.secret[:])
	copy(message[cacheSecret:], wtxid[:])
	binary.LittleEndian.PutUint32(message[cacheSecret+chain.HashSize:], uint32(f))
	sum := sha256.Sum256(message[:])
	return binary.LittleEndian.Uint64(sum[:]) | 1, binary.LittleEndian.Uint64(sum[8:])
}

// bucket is where a key belongs; high's top bits choose the way.
func (c *Cache) bucket(high uint64) *cacheBucket { return &c.buckets[high&c.mask] }
