package node

import (
	"os"
	"runtime/debug"
)

// An import may fill its budget of memory with these shares. What is left is for what grows with the input (see the
// package comment), and for the collector's lag.
const (
	deltaShare = 2 // 1/2: what was archived and is in no index yet, less what the set of unspent outputs takes beyond 1/4
	setShares  = 5 // 5/8: that set, before it is given up
	bothShares = 6 // 6/8: set and deltas
	leastShare = 8 // 1/8: deltas, however large the set
	aheadShare = 8 // 1/8: blocks that are prepared ahead, and as much for the batches of a stream
	mergeShare = 8 // 1/8: a merge, which reads the rows once for each such part of the lines that it builds
)

const (
	// leastMemory is the smallest budget: with less the constant parts alone would be more than it.
	leastMemory = 16 << 20
	// unknownMemory is assumed of a machine that does not tell.
	unknownMemory = 4 << 30
	// blockMemory is what a large block takes while it is prepared: its bytes, its rows, which are as many, and what it
	// was parsed into.
	blockMemory = 12 << 20
)

// Memory returns the budget in bytes that ImportOptions.Memory stands for: zero is half of the machine's memory, and too
// little is the least that there is.
func Memory(bytes int64) int64 {
	if bytes <= 0 {
		if bytes = machineMemory() / 2; bytes <= 0 {
			bytes = unknownMemory / 2
		}
	}
	return max(bytes, leastMemory)
}

// DeltaBytes returns what tables.Options.DeltaBytes should be for a budget, so that a recovery takes no more memory than
// an import does: it fills three deltas, each of which may grow to that.
func DeltaBytes(memory int64) int64 { return Memory(memory) / deltaShare / 3 }

// MergeBytes returns what tables.Options.MergeBytes should be for a budget.
func MergeBytes(memory int64) int64 { return Memory(memory) / mergeShare }

// limitHeap tells the runtime what it may take, where that has changed by much.
func (m *writer) limitHeap() {
	if !m.o.LimitHeap || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	memory := Memory(m.o.Memory)
	limit := max(memory-m.coinBytes.Load(), memory/8*(8-setShares))
	if diff := limit - m.heapLimit; diff > memory/16 || -diff > memory/16 {
		m.heapLimit = limit
		debug.SetMemoryLimit(limit)
	}
}

// limits bound what is in memory at once. Zero fields take what the budget allows.
type limits struct {
	deltas      int64 // bytes of all deltas
	merge       int64 // of them, from which on the indexes are merged
	set         int64 // bytes of the set of unspent outputs
	shared      int64 // of it and all deltas
	leastDeltas int64 // that the set leaves to them
	chunkBlocks int   // blocks of a chunk
	chunkBytes  int   // wire bytes of a chunk; a larger block is a chunk of its own
	chunks      int   // chunks in the window
	batchBlocks int   // blocks of a batch of a stream
	batchBytes  int   // wire bytes of such a batch
}

// mostDeltas is where more memory for deltas stops to pay: they are filled again at the next open, some hundred million
// entries in it, which is to take seconds.
const mostDeltas = 1600 << 20

// A handoff between goroutines costs a few microseconds, as much as preparing one early block; 64 of them, or 256 KiB,
// are some 200. Six to a thread keep all of them busy: some are prepared, in some scripts run, and some wait for their turn;
// 64 of 4 MB, the largest, are the bound: two windows of confirm, which cost the less for a block the larger they are. A
// batch is a dozen large blocks or more, so that every core gets some.
var mostLimits = limits{chunkBlocks: 64, chunkBytes: 256 << 10, chunks: 64, batchBlocks: 4096, batchBytes: 32 << 20}

// fill completes limits for a number of threads and a budget.
func (l limits) fill(threads int, memory int64) limits {
	if l.deltas <= 0 {
		l.deltas = memory / deltaShare
	}
	if l.merge <= 0 {
		l.merge = min(l.deltas/2, mostDeltas)
	}
	if l.set <= 0 {
		l.set = memory / 8 * setShares
	}
	l.shared, l.leastDeltas = memory/8*bothShares, min(l.deltas, memory/leastShare)
	ahead := int(memory / aheadShare)
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.chunkBlocks, mostLimits.chunkBlocks}, {&l.chunkBytes, mostLimits.chunkBytes},
		{&l.chunks, max(2, min(6*threads, mostLimits.chunks, ahead/blockMemory))},
		{&l.batchBlocks, mostLimits.batchBlocks},
		{&l.batchBytes, max(1<<20, min(mostLimits.batchBytes, ahead/batches))},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}
