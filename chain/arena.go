package chain

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// arenaClasses are the sizes of the chunks that arenas are made of. What is larger than the last is allocated exactly
// and left to the collector.
var arenaClasses = [...]int{16 << 10, 128 << 10, 1 << 20, 4 << 20}

// Lengths of the free lists in front of the pools of the two large classes: at most 8 + 16 MiB stay held for ever. A
// sync.Pool forgets at every other collection, and a sync with a small heap collects many times a second; making and
// clearing megabytes anew is what the lists save.
const (
	freeMiB  = 8
	freeLast = 4
)

// chunk is a buffer of one class, or unpooled. Chunks of an arena are linked, so that an arena itself allocates
// nothing.
type chunk struct {
	buf   []byte
	class int8 // index into arenaClasses; -1: exact, never recycled
	next  *chunk
}

const unpooled = -1

// chunkPools hold what released arenas gave back, by class. free[c] is asked first and is nil for the small classes.
var chunkPools struct {
	pool [len(arenaClasses)]sync.Pool
	free [len(arenaClasses)]chan *chunk
}

func init() {
	chunkPools.free[2] = make(chan *chunk, freeMiB)
	chunkPools.free[3] = make(chan *chunk, freeLast)
}

func takeChunk(class int) *chunk {
	select {
	case c := <-chunkPools.free[class]: // a nil channel is never ready
		return c
	default:
	}
	if c, ok := chunkPools.pool[class].Get().(*chunk); ok {
		return c
	}
	return &chunk{buf: make([]byte, arenaClasses[class]), class: int8(class)}
}

func giveChunk(c *chunk) {
	if poisonArenas.Load() {
		for i := range c.buf {
			c.buf[i] = ArenaPoison
		}
	}
	if c.class == unpooled {
		return
	}
	select {
	case chunkPools.free[c.class] <- c:
	default:
		chunkPools.pool[c.class].Put(c)
	}
}

// ArenaPoison fills what a released arena held while PoisonArenas is on.
const ArenaPoison = 0xdb

var poisonArenas atomic.Bool

// PoisonArenas is for tests: while it is on, Release overwrites everything that the arena handed out, so that a view
// that outlived its arena is seen by its contents at once and not only when the chunk is next used. It gives the
// former setting.
func PoisonArenas(on bool) (was bool) { return poisonArenas.Swap(on) }

// Arena hands out byte slices that live until Release, which gives all of them back at once. It is a line of chunks
// out of process-wide pools; each is at least as large as all before it together, up to the largest class, so that
// few are needed. The zero Arena is ready. An Arena belongs to one goroutine at a time. After Release it is dead:
// every call panics. One that is dropped without Release costs only the recycling of its chunks.
type Arena struct {
	chunks   *chunk
	room     []byte // what is left of one of them
	size     int    // bytes of all chunks
	released bool
}

// NewArena makes an empty arena; it holds no chunk until it is asked for bytes.
func NewArena() *Arena { return new(Arena) }

// Alloc gives n bytes of unspecified contents and exactly that capacity.
func (a *Arena) Alloc(n int) []byte {
	a.alive("Alloc")
	if n < 0 {
		panic(fmt.Sprintf("chain: Arena.Alloc of %d bytes", n))
	}
	if n > len(a.room) {
		return a.allocChunk(n)
	}
	taken := a.room[:n:n]
	a.room = a.room[n:]
	return taken
}

// allocChunk serves n bytes from a new chunk. Of that chunk's rest and the old room, the larger is kept.
func (a *Arena) allocChunk(n int) []byte {
	var c *chunk
	if last := len(arenaClasses) - 1; n > arenaClasses[last] {
		c = &chunk{buf: make([]byte, n), class: unpooled}
	} else {
		class := 0
		for class < last && arenaClasses[class] < max(n, a.size) {
			class++
		}
		c = takeChunk(class)
	}
	c.next, a.chunks = a.chunks, c
	a.size += len(c.buf)
	if rest := c.buf[n:]; len(rest) > len(a.room) {
		a.room = rest
	}
	return c.buf[:n:n]
}

// Copy gives a copy of b of exactly its length.
func (a *Arena) Copy(b []byte) []byte {
	to := a.Alloc(len(b))
	copy(to, b)
	return to
}

// Release gives every chunk back. All slices that the arena handed out are void from here on: their bytes will be
// overwritten by others.
func (a *Arena) Release() {
	a.alive("Release")
	a.released = true
	for c := a.chunks; c != nil; {
		next := c.next
		c.next = nil // a pooled chunk must not hold on to its neighbours
		giveChunk(c)
		c = next
	}
	a.chunks, a.room = nil, nil
}

func (a *Arena) alive(call string) {
	if a.released {
		panic("chain: Arena." + call + " after Release: the arena is dead and its bytes belong to others")
	}
}
