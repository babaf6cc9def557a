package node

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"stele/chain"
	"stele/hashmap"
	"stele/tables"
)

// pooled is one header that is not in the tree: 176 bytes.
type pooled struct {
	header   chain.Header
	hash     chain.Hash
	work     chain.Work        // of the chain up to and with it
	on       tables.HeaderLink // where parent is 0: the parent, which is in the tree. Of a moved one: itself
	parent   uint32            // number of the parent, which is in the pool; of a free slot, the next free one
	height   uint32
	mtp      uint32
	seq      uint64 // counts up with every header that came
	children uint32 // in the pool
	state    pooledState
}

type pooledState uint8

const (
	pooledFree   pooledState = iota
	pooledHeld               // the usual one
	pooledMoved              // in the tree now; only while a branch moves
	pooledDoomed             // turned out not to be acceptable; likewise
)

// pool is the storage of headers that are held in memory: a fixed number of slots, and an open-addressed index of them
// by hash. Slots are named by number, from 1; 0 is none. All of it is allocated with the first header (8 to 16 bytes of
// index and 176 of slot each), and nothing after that.
type pool struct {
	slots  []pooled
	index  []uint32 // a power of two, at most half full
	secret uint64   // of the index: hashes are chosen by peers
	used   int
	free   uint32
	seq    uint64
	order  []uint32 // scratch
}

// reserve allocates room for n headers, once.
func (p *pool) reserve(n int) {
	if p.slots != nil {
		return
	}
	size := 1
	for size < 2*n {
		size *= 2
	}
	p.slots, p.index, p.secret = make([]pooled, n), make([]uint32, size), rand.Uint64()
	p.order = make([]uint32, 0, n)
	for i := n; i > 0; i-- {
		p.slots[i-1].parent, p.free = p.free, uint32(i)
	}
}

func (p *pool) at(n uint32) *pooled { return &p.slots[n-1] }

func (p *pool) home(hash *chain.Hash) int {
	return int(hashmap.Mix64(binary.LittleEndian.Uint64(hash[:8]), p.secret) & uint64(len(p.index)-1))
}

// find returns the number of a hash; 0: it is not here.
func (p *pool) find(hash *chain.Hash) uint32 {
	if p.used == 0 {
		return 0
	}
	for i := p.home(hash); ; i = (i + 1) & (len(p.index) - 1) {
		if n := p.index[i]; n == 0 || p.at(n).hash == *hash {
			return n
		}
	}
}

// put fills a slot. There must be room, and the hash must not be here.
func (p *pool) put(e *pooled) uint32 {
	n := p.free
	p.free = p.at(n).parent
	p.seq++
	e.seq, e.state, e.children = p.seq, pooledHeld, 0
	*p.at(n) = *e
	p.used++
	if e.parent != 0 {
		p.at(e.parent).children++
	}
	i := p.home(&e.hash)
	for p.index[i] != 0 {
		i = (i + 1) & (len(p.index) - 1)
	}
	p.index[i] = n
	return n
}

// drop frees a slot, from which no held child may hang any more. The index closes the gap, so that no search ends
// too early.
func (p *pool) drop(n uint32) {
	e := p.at(n)
	mask := len(p.index) - 1
	i := p.home(&e.hash)
	for p.index[i] != n {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; p.index[j] != 0; j = (j + 1) & mask {
		if home := p.home(&p.at(p.index[j]).hash); (j-home)&mask >= (j-i)&mask {
			p.index[i], i = p.index[j], j
		}
	}
	p.index[i] = 0
	*e = pooled{parent: p.free}
	p.free = n
	p.used--
}

// shrink drops headers until that many are left: from the end of the branch of least work down (of equal ones the
// older), as a header has less work than what stands on it; branches whose end came as number fresh or later go last. f
// is told of each, before it goes.
func (p *pool) shrink(to int, fresh uint64, f func(n uint32)) {
	p.order = p.order[:0]
	for i := range p.slots {
		if e := &p.slots[i]; e.state == pooledHeld && e.children == 0 {
			p.order = append(p.order, uint32(i+1))
		}
	}
	slices.SortFunc(p.order, func(i, j uint32) int {
		a, b := p.at(i), p.at(j)
		if c := a.work.Cmp(b.work); c != 0 && (a.seq >= fresh) == (b.seq >= fresh) {
			return c
		}
		return cmp.Compare(a.seq, b.seq)
	})
	for _, n := range p.order {
		for n != 0 && p.used > to {
			f(n)
			parent := p.at(n).parent
			p.drop(n)
			if n = parent; n == 0 {
				break
			}
			if p.at(n).children--; p.at(n).children > 0 {
				break
			}
		}
	}
}

// sweep takes moved and doomed headers out. What stands on a moved one stands on the tree now, what stands on a
// doomed one goes with it. f is told of each one that goes without being in the tree.
func (p *pool) sweep(f func(n uint32)) {
	p.order = p.order[:0]
	for i := range p.slots {
		if p.slots[i].state != pooledFree {
			p.order = append(p.order, uint32(i+1))
		}
	}
	slices.SortFunc(p.order, func(a, b uint32) int { return cmp.Compare(p.at(a).height, p.at(b).height) })
	for _, n := range p.order {
		e := p.at(n)
		if e.parent == 0 || e.state == pooledMoved {
			continue
		}
		switch parent := p.at(e.parent); parent.state {
		case pooledMoved:
			e.parent, e.on = 0, parent.on
		case pooledDoomed:
			e.state = pooledDoomed
		}
	}
	for _, n := range p.order {
		switch p.at(n).state {
		case pooledDoomed:
			f(n)
			p.drop(n)
		case pooledMoved:
			p.drop(n)
		}
	}
}
