package scripts

import (
	"sync/atomic"

	"stele/chain"
	"stele/validate/script"
)

// unitInputs is how many inputs are taken from a block at once, a few more where a transaction's end is near. It
// bounds how unevenly the last units of a block end, and a transaction with more inputs than that is made ready by
// every worker that takes a part of it.
const unitInputs = 64

// unit is a run of inputs of a block: Block.Ins[from:to], the first of them in transaction tx.
type unit struct{ tx, from, to uint32 }

// Failure is what a block's scripts came to. The zero Err is that none failed.
type Failure struct {
	Tx, Input int // position in the block, index in the transaction
	Err       script.Error
}

// OK tells whether no script failed.
func (f Failure) OK() bool { return f.Err == script.OK }

// Block is one block on its way through a Checker. The zero Block is ready, and can be used for one block after the other.
type Block struct {
	block *chain.Block
	coins []chain.Coin // one an input of the block; those of the coinbase are not read
	flags script.Flags
	units []unit

	next      atomic.Uint32 // first unit that nobody took
	left      atomic.Int32  // units that are not finished, and tokens that are still in the queue or being worked at
	lowest    atomic.Uint64 // failure of the lowest input: its index in block.Ins, shifted by 8, and the error
	cancelled atomic.Bool
	done      chan struct{}
}

// noFailure is above every failure.
const noFailure = ^uint64(0)

// load cuts a block into units, and returns how many of so many workers it can keep busy.
func (b *Block) load(block *chain.Block, coins []chain.Coin, flags script.Flags, workers int) (tokens int) {
	b.block, b.coins, b.flags = block, coins, flags
	b.units = b.units[:0]
	u := unit{tx: 1}
	if len(block.Txs) > 1 {
		u.from = block.Txs[1].FirstIn
		u.to = u.from
	}
	for tx := 1; tx < len(block.Txs); tx++ {
		t := &block.Txs[tx]
		for end := t.FirstIn + t.Ins; u.to < end; {
			if u.to == u.from {
				u.tx = uint32(tx)
			}
			u.to = min(end, u.from+unitInputs)
			if u.to-u.from == unitInputs {
				b.units = append(b.units, u)
				u.from = u.to
			}
		}
	}
	if u.to > u.from {
		b.units = append(b.units, u)
	}
	tokens = min(workers, len(b.units))
	b.next.Store(0)
	b.left.Store(int32(len(b.units) + tokens))
	b.lowest.Store(noFailure)
	b.cancelled.Store(false)
	if b.done == nil {
		b.done = make(chan struct{}, 1)
	}
	return tokens
}

// unload forgets what belongs to the caller.
func (b *Block) unload() { b.block, b.coins = nil, nil }

// take returns a unit that nobody else has.
func (b *Block) take() (unit, bool) {
	n := b.next.Add(1) - 1
	if n >= uint32(len(b.units)) {
		b.next.Store(uint32(len(b.units))) // it must not come around
		return unit{}, false
	}
	return b.units[n], true
}

// finish counts n units or tokens as done. A worker does not look at the block again after its own token.
func (b *Block) finish(n int32) {
	if b.left.Add(-n) == 0 {
		b.done <- struct{}{}
	}
}

// moot tells whether input in of the block need not be run any more.
func (b *Block) moot(in uint32) bool {
	return b.cancelled.Load() || uint64(in) > b.lowest.Load()>>8
}

// fail enters the failure of an input, if it is the lowest so far.
func (b *Block) fail(in uint32, err script.Error) {
	mine := uint64(in)<<8 | uint64(err)
	for {
		low := b.lowest.Load()
		if mine >= low || b.lowest.CompareAndSwap(low, mine) {
			return
		}
	}
}

// result is what the finished block came to.
func (b *Block) result() Failure {
	low := b.lowest.Load()
	if low == noFailure {
		return Failure{Tx: -1, Input: -1}
	}
	in := uint32(low >> 8)
	tx := txOf(b.block, in)
	return Failure{Tx: tx, Input: int(in - b.block.Txs[tx].FirstIn), Err: script.Error(low)}
}

// txOf is the position of the transaction that has input in of the block.
func txOf(b *chain.Block, in uint32) int {
	lo, hi := 0, len(b.Txs)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.Txs[mid].FirstIn <= in {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
