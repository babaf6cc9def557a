// Package scripts runs the scripts of blocks' inputs on several goroutines, and what else of a block can be judged beside
// them (Job.Aside): the parallel part of connecting a block.
//
//	Start(block) ──tokens──▶ queue ──▶ worker: takes units (some 64 inputs) of the block until none is left
//	                                     │ immediate: Verify, and the verdict is there
//	                                     │ deferred:  Defer, and the checks go into the worker's group, which
//	                                     ▼            holds those of many inputs and blocks
//	Done, Wait   ◀── last unit done ── the group is verified when it is full, or when there is nothing else to do
//
// # What is promised
//
// The verdict on a block is that of its lowest failing input in the lowest transaction, whatever the number of
// workers and the mode: an input that may be the lowest is always run, one that cannot be any more is skipped.
// In deferred mode an input of which a check came out false, or whose run failed after something was assumed, is run
// again at once with every check made immediately; that run is the truth.
//
// A group never waits while its worker has nothing else to do: it is verified as soon as the queue is empty. So a lone
// block at the tip is not held up by blocks that are not there.
//
// Nothing is allocated for an input, nor for a block once its Block has grown to the largest.
//
// # Ownership
//
// A Block belongs to the checker from Start until Done has yielded or Wait has returned, and so do the chain.Block and the
// coins that it was started with; they may then be reused. A block that is cancelled, by Cancel or by the end of Wait's
// context, is done when the workers have dropped what is left of it. Workers share nothing but the queue and the atomics
// of a Block.
package scripts
