// Package node moves the chain of a store: it keeps the tree of headers, decides which branch is best, and takes blocks
// through their phases. Import (import.go) does so with block files, a Node (node.go) with what peers put to it; both are
// one writer over the same tree, window and route.
//
// # The way of a block
//
//	header ─▶ tree ───────── complete? ───▶ chooser ── target ──▶ organise ── path above the fork ──▶ window
//	  │      (tree.go)       (tree.go)     (chooser.go)        (organise.go)                       (window.go)
//	  └ body ─▶ bodies, waiting.go: its parent is not known
//
//	phase     goroutines   what happens                                                                where
//	prepare   one a core   read, decode, check, accept, encode into rows; list for the set             prepare.go
//	confirm   one          prevouts, ages, BIP30: coins, output numbers; ahead of all that follows     route.take
//	connect   one a core   scripts, amounts, signature operations; any order                           node/scripts
//	finalise  the writer   rows archived, pushed: confirm.Put                                          route.turn
//
// Confirm looks at the set of unspent outputs alone, or without one at the tables and an overlay of the blocks in flight.
// The tables are changed by finalise only, so they never hold what was not validated in full, and rolling back
// (route.back) touches memory only. The window slides: a chunk of blocks is sent when another one is done, and a route of
// a Node is lengthened while it is under way.
//
// Where a block fails, those above it are dropped, newest first, and the slow judge of package validate names the reason
// that Core would: the same one whatever the number of threads. Then the block is marked invalid for good, and all on it
// with it; or only its body goes, which says nothing of its header, and the next body is tried. Either way the chooser names
// another branch, which may be the one that was left. Scripts below an assumed block are not run (assume.go).
//
// # Who says what to whom
//
//	event            payload              from                 to                   channel
//	job              chunk of blocks      writer               a preparer           window.jobs
//	prepared         chunk                preparer             taker or writer      chunk.prepared, chunk.ready
//	taken            chunk, with coins    taker                writer               chunk.ready
//	started          block and coins      taker or writer      script workers       scripts.Checker
//	done             verdict              script workers       writer               scripts.Block.Done
//	halt             -                    writer               taker                route.halted
//	set ready        set                  coinset.Loader       writer, between runs coinKeeper
//	checkpoint done  -                    its goroutine        writer               saving.done
//	ask              a function           anybody              writer               inbox (Node)
//	quiet ask        a function           Invalidate, ...      writer, between runs inbox
//	tip moved, block refused, wanted again, room again, headers moved
//	                 p2p.Event            writer               package p2p          Node.Events
//
// # Who owns what
//
// The goroutine that called Import or Node.Run is the writer: it alone touches the tables, tree, chooser, bodies, header
// pool and the report. It also does what others ask for, through ImportOptions.Between and the inbox. Beside it run
//
//   - preparers, one a thread, and the taker: a chunk is theirs until they say so. Every queue has room for every chunk, so
//     nobody blocks on one. During a run with a set, the taker has the set; between runs the writer.
//   - workers that run scripts, one a thread (node/scripts).
//   - a loader of the set, or a goroutine that rolls it to the tip; a feeder of a stream; a checkpoint, one at most: it owns
//     what tables.BeginCheckpoint set apart. When the deltas reach their limit before it is done, the writer stalls.
//
// All of them have ended when Import or Run returns or panics, but for a feeder in a read that nothing can end.
//
// # Readers, and what is left behind
//
// Readers get views of more work only, ten a second, or of less where the tip became invalid. While a reorganisation is
// below the chain that it left, none is published, no checkpoint begins and none ends, unless the deltas' memory is used up.
// Who ends there goes back first.
//
//	ended, cancelled, input broke off    everything finalised is durable, and so is the tip of the report
//	*store.DiskFull, at any time         likewise; a Node waits for room and goes on
//	*store.Fault, *store.Damaged, panic  what the last checkpoint made durable; the store refuses to write (tables.Stop)
//	kill                                 what readers saw last, where the system keeps a live record, else as below
//	power cut                            what the last checkpoint made durable: at most 30 s or 256 MiB less
//
// Blocks that were archived and are not on the chain that is left stay archived; they are pushed again when their time
// comes. An image of the set is written seldom (coins.go, node/coinset); without one the set is made from the archive.
//
// # Rules of conduct
//
//   - A fault of a disk or of memory is an error and says nothing of a block; every goroutine runs under store.Guard.
//   - The result depends on the input alone. Verdicts are put on record by the writer, in order.
//   - Headers of peers are stored when their chain is credible (headers.go); until then a bounded number is held in
//     memory.
//   - The walk from a header to any ancestor is logarithmic (ancestry.go), walks over the tree are loops with a queue,
//     and what grows with the input is counted: 32 bytes a header, 24 a record, 200 for one whose parent is missing. The
//     rest has its share of the budget (budget.go).
package node
