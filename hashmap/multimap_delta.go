package hashmap

import (
	"math/bits"
	"sync/atomic"
)

// multiDelta holds pairs in the order in which they were added, chained by key: without pointers, for one writer and
// many readers. Nothing is ever removed. A key that has a million pairs costs no more to add to than one that has none.
//
// Readers of a table that grew meanwhile see it as it was when it did; the next lookup takes the new one.
type multiDelta struct {
	table atomic.Pointer[multiTable]
	count atomic.Uint64 // pairs that are in it
}

// multiPair is a pair in memory, 20 bytes. It is written before a head leads to it and does not change after.
type multiPair struct {
	keyLow, keyHigh     uint32
	valueLow, valueHigh uint32
	older               uint32 // pair before it in its chain, plus one; 0: none
}

func newMultiPair(key, value uint64, older uint32) multiPair {
	return multiPair{
		keyLow: uint32(key), keyHigh: uint32(key >> 32),
		valueLow: uint32(value), valueHigh: uint32(value >> 32),
		older: older,
	}
}

func (p *multiPair) key() uint64   { return uint64(p.keyHigh)<<32 | uint64(p.keyLow) }
func (p *multiPair) value() uint64 { return uint64(p.valueHigh)<<32 | uint64(p.valueLow) }

// multiTable has as many heads as there is room for pairs, so a chain holds one key mostly. A pair takes 24 bytes in a
// full table.
type multiTable struct {
	heads []atomic.Uint32 // newest pair of the keys that begin with the head's number, plus one; a power of two of them
	pairs []multiPair
	shift uint // that leaves a head's number of a key
}

const multiMinPairs = 64

// newMultiDelta makes a delta that holds that many pairs before it grows.
func newMultiDelta(pairs uint64) *multiDelta {
	d := &multiDelta{}
	size := uint64(multiMinPairs)
	for size < pairs {
		size *= 2
	}
	d.table.Store(newMultiTable(size))
	return d
}

func newMultiTable(size uint64) *multiTable {
	if size > 1<<31 {
		panic("hashmap: more than 2^31 pairs wait for a merge")
	}
	return &multiTable{
		heads: make([]atomic.Uint32, size),
		pairs: make([]multiPair, size),
		shift: uint(64 - bits.TrailingZeros64(size)),
	}
}

// add puts a pair before the others of its chain. Only the writer calls it.
func (d *multiDelta) add(key, value uint64) {
	t, n := d.table.Load(), d.count.Load()
	if n == uint64(len(t.pairs)) {
		grown := newMultiTable(2 * n)
		for i := range t.pairs {
			grown.put(uint64(i), t.pairs[i].key(), t.pairs[i].value())
		}
		d.table.Store(grown)
		t = grown
	}
	t.put(n, key, value)
	d.count.Store(n + 1)
}

// put writes pair i, then makes it the head of its chain.
func (t *multiTable) put(i, key, value uint64) {
	head := &t.heads[key>>t.shift]
	t.pairs[i] = newMultiPair(key, value, head.Load())
	head.Store(uint32(i) + 1)
}

// has tells whether a pair is there. It reads the key's whole chain.
func (d *multiDelta) has(key, value uint64) bool {
	t := d.table.Load()
	for i := t.heads[key>>t.shift].Load(); i != 0; i = t.pairs[i-1].older {
		if p := &t.pairs[i-1]; p.key() == key && p.value() == value {
			return true
		}
	}
	return false
}

// all appends the values of a key to dst, newest first.
func (d *multiDelta) all(dst []uint64, key uint64, c *MultiCounters) []uint64 {
	t := d.table.Load()
	c.Heads++
	for i := t.heads[key>>t.shift].Load(); i != 0; {
		p := &t.pairs[i-1]
		c.Pairs++
		if p.key() == key {
			dst = append(dst, p.value())
		}
		i = p.older
	}
	return dst
}

// bytes returns the memory of the table.
func (d *multiDelta) bytes() int64 { return int64(len(d.table.Load().pairs)) * (20 + 4) }
