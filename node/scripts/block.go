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

// Job is what is to be done for a block.
type Job struct {
	Block *chain.Block
	Coins []chain.Coin // that its inputs spend, one an entry of Block.Ins; those of the coinbase are not read
	Flags script.Flags
	Skip  bool // no script is run: only Aside
	// Aside is called once, by one of the workers, beside the scripts: for what else depends on the block alone. It may be
	// nil. What it writes may be read once the block is done.
	Aside func()
}

// Block is one block on its way through a Checker. The zero Block is ready, and can be used for one block after the other.
type Block struct {
	block *chain.Block
	coins []chain.Coin
	flags script.Flags
	aside func()
	units []unit // the one before the first is aside

	next      atomic.Uint32 // first unit that nobody took
	left      atomic.Int32  // units that are not finished, and tokens that are still in the queue or being worked at
	lowest    atomic.Uint64 // failure of the lowest input: its index in block.Ins, shifted by 8, and the error
	cancelled atomic.Bool
	done      chan struct{} // of one
}

// noFailure is above every failure.
const noFailure = ^uint64(0)

// load makes ready for a job, and returns how many of so many workers it can keep busy.
func (b *Block) load(j *Job, workers int) (tokens int) {
	b.block, b.coins, b.flags, b.aside = j.Block, j.Coins, j.Flags, j.Aside
	b.units = b.units[:0]
	if b.aside != nil {
		b.units = append(b.units, unit{}) // no inputs: it stands for aside
	}
	if !j.Skip {
		b.cut(j.Block)
	}
	tokens = min(workers, len(b.units))
	b.next.Store(0)
	b.left.Store(int32(len(b.units) + tokens))
	b.lowest.Store(noFailure)
	b.cancelled.Store(false)
	return tokens
}

// cut cuts a block's inputs into units.
func (b *Block) cut(block *chain.Block) {
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
}

// Done yields once for every Start, when all that was to be done for the block is. Whoever receives from it calls Result.
// The Block must have been started once.
func (b *Block) Done() <-chan struct{} { return b.done }

// Cancel has the workers drop what they did not begin. Done yields nevertheless, soon.
func (b *Block) Cancel() { b.cancelled.Store(true) }

// Result is what the block's scripts came to, once Done has yielded. The block, and what it was started with, are the
// caller's again. Of a cancelled block it says nothing.
func (b *Block) Result() Failure {
	f := b.result()
	b.block, b.coins = nil, nil
	return f
}

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
