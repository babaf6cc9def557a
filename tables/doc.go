// Package tables is the schema of a Stele store: typed links, rows and the readers that look at them in place, how a
// block becomes rows, how it is read back, and every way from one thing to another. It decides nothing: what may join
// the chain is for package tables/confirm to say, and the rules are in package validate.
//
// # The relations
//
//	header ──parent──▶ header                 txs ──header──▶ header
//	header ──(memory)─▶ txs                   txs ──intervals──▶ tx, outputs, inputs, both slabs
//	txid ──tx.lines──▶ tx                     block hash ──header.lines──▶ header
//	input ──ins──▶ output                     output ──spend──▶ tx          (each other's inverse)
//	output ──(search firstOut, outtx)──▶ tx   tx ──(search firstTx)──▶ txs
//	height ──(memory, from the chain log)──▶ header
//
// Outputs and inputs are numbered in archive order. A block owns an interval of every numbering, and so does a
// transaction inside its block; nothing stores a list, and nothing but a tx row stores a txid.
//
// # Where to find what
//
//   - rows, each under a drawing of its bytes: header.go, txs.go, tx.go; ins and outtx in archive.go; the log and the
//     spend cell in log.go; state.go; pending.go; the manifest's content in cut.go. Slab bytes: package codec.
//   - a block becomes rows: rows.go (Encode, pure), archive.go (Archive, at the place that order gives it)
//   - the chain: log.go (Push, Pop and what they mark), members.go (height → header, shared with views)
//   - reading: view.go (find, strong, spent), read.go (transactions, outputs, blocks), unspent.go
//   - durability: checkpoint.go, open.go; check.go proves a store
//
// # Invariants
//
//  1. Bodies, slabs and the chain log are append-only, and a row below a cut never changes.
//  2. The intervals of consecutive txs rows touch, in every numbering, from zero to the cut.
//  3. ins[i] names an output below the cut, of the block itself or of one that stood below it when it was confirmed.
//  4. The chain of a cut is the replay of the log up to it. A block is pushed only onto its parent.
//  5. A mark (spend, conflict) proves itself: it counts in a view whose chain has the block of its transaction. So no
//     mark is ever unwritten, a reorganisation writes nothing below it, and a stale one is harmless.
//  6. A mark that a push displaces from its cell is in conflict already: the pop before it put it there.
//  7. Indexes (both maps, spend, conflict) hold nothing beyond the cut of a durable manifest, and can be made again from
//     the rows and the log. What is newer than their watermark is in memory.
//
// # Who may do what
//
// One goroutine writes: it appends, pushes, pops, checkpoints. Readers hold a View and may be many. They take no lock:
// everything below a view's cut is immutable, except spend cells and index lines, whose words are read atomically and
// prove themselves by (5) or by the row that they lead to. Publish swaps the readers' view by one atomic pointer; what
// was appended is flushed to its file before that, so a reader never looks at the writer's buffers.
package tables
