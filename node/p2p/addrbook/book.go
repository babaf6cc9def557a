package addrbook

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Sizes and times are those of Bitcoin Core's addrman.
const (
	newBuckets   = 1024
	triedBuckets = 256
	bucketSlots  = 64
	newPerSource = 64 // new buckets that one source group reaches
	triedPerPart = 8  // tried buckets that one address group reaches
	maxRefs      = 8  // slots of new that one entry may have
	maxPending   = 10 // newcomers that wait for the owner of their tried slot to be called

	maxEntries = (newBuckets + triedBuckets) * bucketSlots

	minute = 60 // seconds
	hour   = 60 * minute
	day    = 24 * hour

	horizon     = 30 * day    // not seen for that long: terrible
	retries     = 3           // failures in a row of what never answered
	maxFailures = 10          // failures in a row of what did once ...
	minFail     = 7 * day     // ... but not for that long
	replacement = 4 * hour    // an owner of a tried slot that answered within it stays
	testWindow  = 40 * minute // a newcomer that waited longer moves in untested
	callTime    = minute      // a call may take that long
)

// Options say for whom a Book is.
type Options struct {
	Magic uint32           // the network's; a file of another is not taken
	Now   func() time.Time // nil: time.Now
	Seed  *[32]byte        // of the key and of every choice, for tests; nil: from the system
}

// Book is an address book; see the package comment.
type Book struct {
	path  string // empty: in memory
	magic uint32
	clock func() time.Time

	saving sync.Mutex // held during Save, taken before mu

	mu       sync.Mutex // guards what follows
	rng      *rand.Rand
	key      [32]byte
	entries  []entry                          // without holes; the number of an entry changes when another goes
	index    map[Address]uint32               // number of every entry
	fresh    [newBuckets * bucketSlots]cell   // table new
	tried    [triedBuckets * bucketSlots]cell // table tried
	count    [networks][2]int                 // entries by network, in new and in tried
	pending  []Address                        // newcomers that wait for Resolve
	lastGood uint32                           // when any call succeeded last
	changed  bool                             // since it was saved
}

// cell is a slot of a table: the number of its entry + 1 in the low 24 bits, and the entry's network above, so that a
// search for a network reads the table alone. 0: free.
type cell uint32

func cellOf(i uint32, n Network) cell { return cell(n)<<24 | cell(i+1) }

func (c cell) entry() uint32    { return uint32(c&(1<<24-1)) - 1 }
func (c cell) network() Network { return Network(c >> 24) }

// entry is what the book knows of an address, some 120 bytes. Times are in seconds since 1970, 0: never.
type entry struct {
	addr     Address
	source   Address // who told first, without port
	services uint64
	seen     uint32          // last seen connected, by us or as told
	called   uint32          // last attempt
	counted  uint32          // last attempt that was held against it
	answered uint32          // last success
	attempts uint32          // held against it since the last success
	slots    [maxRefs]uint16 // in new: refs of them; in tried: one
	refs     uint8           // number of slots in new, 0 where it is in tried
	inTried  bool
}

// New makes an empty Book that is kept in memory alone.
func New(o Options) *Book {
	var seed [32]byte
	if o.Seed != nil {
		seed = *o.Seed
	} else {
		crand.Read(seed[:]) // never fails
	}
	source := rand.NewChaCha8(seed)
	b := &Book{magic: o.Magic, clock: o.Now, rng: rand.New(source), index: make(map[Address]uint32), lastGood: 1}
	source.Read(b.key[:])
	if b.clock == nil {
		b.clock = time.Now
	}
	return b
}

// now is the clock in seconds, as entries have it.
func (b *Book) now() int64 { return int64(clamp(b.clock().Unix())) }

// Len returns the number of addresses.
func (b *Book) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Count returns the numbers of addresses of the networks in either table; without networks, of all.
func (b *Book) Count(nets ...Network) (fresh, tried int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts(nets)
}

func (b *Book) counts(nets []Network) (fresh, tried int) {
	for n := range b.count {
		if len(nets) == 0 || slices.Contains(nets, Network(n)) {
			fresh += b.count[n][0]
			tried += b.count[n][1]
		}
	}
	return fresh, tried
}

// hash is SHA-256 over the key, a tag and parts of lengths that the tag fixes.
func (b *Book) hash(tag byte, parts ...[]byte) uint64 {
	var buf [128]byte
	in := append(buf[:0], b.key[:]...)
	in = append(in, tag)
	for _, p := range parts {
		in = append(in, p...)
	}
	sum := sha256.Sum256(in)
	return binary.LittleEndian.Uint64(sum[:])
}

// Tags of hash, one a use.
const (
	tagNewPart byte = iota + 1
	tagNewBucket
	tagTriedPart
	tagTriedBucket
	tagNewSlot
	tagTriedSlot
)

// bytes is an address as it is hashed: host 32, port 2, network 1.
func (a *Address) bytes() []byte {
	raw := make([]byte, 0, 35)
	raw = append(raw, a.Host[:]...)
	return append(raw, byte(a.Port), byte(a.Port>>8), byte(a.Net))
}

// newSlot returns the slot of table new where a belongs when somebody of the group told tells of it.
func (b *Book) newSlot(a Address, told Group) uint16 {
	group := a.Group()
	part := byte(b.hash(tagNewPart, group[:], told[:]) % newPerSource)
	bucket := uint16(b.hash(tagNewBucket, told[:], []byte{part}) % newBuckets)
	return b.slotIn(tagNewSlot, bucket, a)
}

// triedSlot returns the slot of table tried where a belongs.
func (b *Book) triedSlot(a Address) uint16 {
	group := a.Group()
	part := byte(b.hash(tagTriedPart, a.bytes()) % triedPerPart)
	bucket := uint16(b.hash(tagTriedBucket, group[:], []byte{part}) % triedBuckets)
	return b.slotIn(tagTriedSlot, bucket, a)
}

// slotIn returns the one slot of a bucket that a may have.
func (b *Book) slotIn(tag byte, bucket uint16, a Address) uint16 {
	pos := b.hash(tag, []byte{byte(bucket), byte(bucket >> 8)}, a.bytes()) % bucketSlots
	return bucket*bucketSlots + uint16(pos)
}

// terrible tells whether the entry may be forgotten for any other. One that is being called is not.
func (e *entry) terrible(now int64) bool {
	switch {
	case now-int64(e.called) <= callTime:
		return false
	case int64(e.seen) > now+10*minute: // from the future
		return true
	case now-int64(e.seen) > horizon:
		return true
	case e.answered == 0 && e.attempts >= retries:
		return true
	}
	return now-int64(e.answered) > minFail && e.attempts >= maxFailures
}

// chance is the weight of the entry when one is picked to be called, 0 to 1.
func (e *entry) chance(now int64) float64 {
	c := 1.0
	if now-int64(e.called) < 10*minute {
		c = 0.01
	}
	for range min(e.attempts, 8) {
		c *= 0.66
	}
	return c
}

func (e *entry) known() Known {
	return Known{Address: e.addr, Services: e.services, Seen: time.Unix(int64(e.seen), 0)}
}
