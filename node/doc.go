// Package node brings blocks into a store: it keeps the tree of headers, decides which chain is best, and has blocks
// checked on every core and confirmed one after the other. Import, which reads block files, is what there is so far;
// the same tree, window and organiser are what peers will feed.
//
// # The way of a block
//
//		input ─ header ─▶ tree ───────── complete? ───▶ chooser ── target ──▶ organise
//		  │              (tree.go,       (tree.go)     (chooser.go)              │ path: headers above the fork
//		  └─ place ────▶ bodies           waits for its parent: waiting.go       ▼
//		                (bodies.go) ◀── where are its bytes? ── window ── chunk ──▶ workers: read, decode, Check, Encode
//		                                                      (window.go) ◀─ in order ─┘            (prepare.go)
//		                                                          │
//		                                                          ▼
//		              confirm.Decide ─ coins ─▶ Connect, scripts (connect.go) ── verdict ──▶ archived and pushed, or condemned
//		  what no branch took ── leftovers (park.go) ──▶ pending blocks of the tables, for a later import
//
//	 1. A file is indexed first (import.go): every record's header goes to the tree and its place to the bodies. A
//	    stream is taken in batches (feed.go, stream.go), each of which is treated like a small file.
//	 2. The tree accepts a header under its parent, or lets it wait for it. A header is complete when its block and
//	    all below are here: in the input, pending, or archived. The chooser keeps the complete one of most work on top,
//	    of equal ones the one that was complete first.
//	 3. While that is not the tip, organise pops to the fork and runs along the path. The window hands chunks of
//	    blocks to the workers, a bounded number ahead, and gives each block its turn in order. Between two chunks, and
//	    now and then while it waits for one, the writer looks at the clock and at the deltas (pace.go): readers get a
//	    new view ten times a second, and a checkpoint begins (save.go) when the deltas have used half of their memory,
//	    256 MiB were archived or 30 seconds have passed.
//	 4. When a block has its turn, confirm finds the outputs that it spends, and connect.go judges what it does with them:
//	    amounts here, scripts on the workers of node/scripts. Only then is it archived. Where something fails, the slow
//	    judge of package validate names the reason. Scripts below an assumed block are not run (assume.go).
//	 5. A block that breaks a rule is marked invalid for good, and all on it with it; a body that is refused by itself
//	    does not condemn its header, and the next body of the block is tried. Either way the chooser names another
//	    branch, which may be the one that was left.
//
// # Who owns what
//
// The goroutine that called Import is the writer: it alone touches the tables, tree, chooser, waiting, bodies and the
// report. It also does what others ask for through ImportOptions.Between. Beside it run
//
//   - workers, one a thread: a chunk is theirs from the window's jobs queue until they say done; they read files
//     through blockfile, and nothing else that is shared. The queue has room for every chunk, so the writer never
//     blocks on it.
//   - workers that run scripts, one a thread: node/scripts. The writer waits for each block's before it goes on.
//   - a feeder while a stream is read: the stream and the batch being filled are its own; full batches pass through an
//     unbuffered queue, and empty ones come back.
//   - a checkpoint at times, one at most: it owns what tables.BeginCheckpoint set apart, from there until it closes
//     done, and then the writer ends it. Blocks are confirmed meanwhile. When the deltas, those being merged included,
//     reach their budget before it is done, the writer stalls.
//
// All of them have ended when Import returns or panics, but for a feeder in a read that nothing can end (see feed.close).
//
// # What is left behind
//
//	ended, cancelled, input broke off    everything confirmed is durable, and so is the tip of the report
//	*store.DiskFull, at any time         likewise: the rows found room, and indexes that find none stay in memory
//	*store.Fault, *store.Damaged, panic  what the last checkpoint made durable; the store refuses to write (tables.Stop)
//	kill                                 what readers saw last, where the system keeps a live record, else as below
//	power cut                            what the last checkpoint made durable: at most 30 s or 256 MiB less, and what was
//	                                     confirmed while that one was on its way
//
// Blocks that were archived and are not on the chain that is left stay archived; the next import pushes them again.
//
// # Rules of conduct
//
//   - A fault of a disk or of memory is an error and says nothing of a block; workers and writer run under store.Guard.
//   - The result depends on the input alone. Verdicts of workers are put on record by the writer, in order.
//   - Readers get views of more work only. While a reorganisation is below the chain that it left, none is published, no
//     checkpoint begins and none ends, unless the deltas' budget is used up. An import that ends there goes back first.
//   - The walk from a header to any ancestor is logarithmic (ancestry.go), walks over the tree are loops with a queue,
//     and what grows with the input is counted: 32 bytes a header, 24 a record, 200 for one whose parent is missing.
//     The rest has its share of the budget (budget.go): half for the deltas, a quarter for blocks on their way.
package node
