package hashmap

import (
	"math/bits"
	"slices"
)

// sortRow is a row on its way into a line. Sorted as a number it comes in the order of the lines, and of rows with
// equal keys the older first:
//
//	63        35        25                0
//	| bucket   | tag     | row - first    |
//	| 29       | 10      | 25             |
type sortRow uint64

const (
	rowBits    = 25
	bucketBits = 29
	// maxBatch is the number of rows that are sorted together at the most.
	maxBatch = 1 << rowBits
	// rowBytes is the memory a row in a batch: two arrays, between which the sort moves them.
	rowBytes = 16
)

func (r sortRow) bucket() uint64 { return uint64(r >> (tagBits + rowBits)) }
func (r sortRow) tag() uint32    { return uint32(r>>rowBits) & (1<<tagBits - 1) }

// stored returns the link plus one of a row in the batch that begins at first.
func (r sortRow) stored(first uint64) uint32 { return uint32(first + uint64(r&(maxBatch-1)) + 1) }

// batch gathers rows out of the body, in its order, and sorts them.
type batch struct {
	rows, other []sortRow
}

// newBatch takes as much memory as the map may, but not more than that many rows need.
func (m *Map) newBatch(rows uint64) *batch {
	n := min(uint64(m.spec.MergeBytes)/rowBytes, maxBatch, rows)
	return &batch{rows: make([]sortRow, 0, max(n, 1))}
}

// gather fills the batch with the rows [first, to), or as many as it holds, and returns the first that it left.
func (b *batch) gather(m *Map, buckets, first, to uint64) uint64 {
	b.rows = b.rows[:0]
	to = min(to, first+uint64(cap(b.rows)))
	for i := first; i < to; i++ {
		m.rows.window(i)
		window, tag := m.place.of(m.rows.key(uint32(i)))
		row := bucketOf(window, buckets)<<(tagBits+rowBits) | uint64(tag)<<rowBits | (i - first)
		b.rows = append(b.rows, sortRow(row))
	}
	b.sort(buckets)
	return to
}

// smallSort is the number of rows below which comparing beats counting digits.
const smallSort = 1 << 10

// sort orders the rows by bucket, and those of a bucket by their number: as they were gathered, from the lowest digit
// of the bucket to the highest, each time stably.
func (b *batch) sort(buckets uint64) {
	const digit = 11
	if len(b.rows) < smallSort {
		slices.Sort(b.rows)
		return
	}
	if cap(b.other) < len(b.rows) {
		b.other = make([]sortRow, cap(b.rows))
	}
	for low := 0; low < bits.Len64(buckets-1); low += digit {
		shift := tagBits + rowBits + low
		var next [1 << digit]uint32
		for _, r := range b.rows {
			next[r>>shift&(1<<digit-1)]++
		}
		sum := uint32(0)
		for i, n := range next {
			next[i] = sum
			sum += n
		}
		other := b.other[:len(b.rows)]
		for _, r := range b.rows {
			d := r >> shift & (1<<digit - 1)
			other[next[d]] = r
			next[d]++
		}
		b.rows, b.other = other, b.rows
	}
}
