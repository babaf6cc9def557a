// Package confirm decides, block after block, what order decides: do prevouts exist, and are they unspent; does a block
// repeat the txid of unspent outputs (BIP30); are coinbases mature and relative locks over (BIP68). It finds the coins
// that a block spends, gives outputs their numbers, and writes the archive. It runs no script and sums no amounts.
//
// # A block's way
//
//	Take ──▶ in flight ──▶ Put: rows archived, one log record makes the block the tip
//	             └───────▶ Drop: as if it had never been taken
//
// Take runs ahead of the tables, by as many blocks as are wanted, while others judge what it took. Nothing of a block is
// in the tables before Put, so a block that fails costs no write, and taking blocks back writes nothing. Blocks in flight
// are a queue: Put takes the oldest, Drop the newest. Their numbers are counted here; Put holds them against the archive.
//
// # Two sources of coins
//
//	with a set of unspent outputs      coins.go: the set goes ahead with Take; the archive is not read
//	with the tables alone              archive.go: txid → tx strong in the chain? → cell → output, and over it, in two
//	                                   tables of its own (flight.go), what blocks in flight make and take
//
// Both give the same verdicts, coins and numbers for every chain. A failed Take says only that a block breaks a rule.
// Which one is for validate.Judge to say; Resolve tells it, one prevout after another, what it asks for.
//
// Pop takes the tip off. Undo data is not kept: it is made again of the block's rows, the rows of what it spent, and the
// output slab (rows.go); the tables need none, as their marks prove themselves. A coin that a repeated txid overwrote
// comes back with Drop and with Pop. Roll brings a set from any archived block to the tip of a view, in the same way.
//
// # Who may do what
//
// A Confirmer belongs to the writer of its tables. With a set, Take and Drop may run on another goroutine beside Put:
// what they use is the set and the Confirmer's own counts, while Put uses the tables and what it was handed with the
// Work. With the tables alone every call is the writer's. A Work belongs to the Confirmer while it is in flight.
//
// Order of writes in Put: rows, spend marks and the log record are in the tables' memory when it returns; nothing is
// durable before a checkpoint. Room for all of it is found first.
//
// No input of a block is ever decoded here: the slab of inputs stays unread, with the tables alone, too.
package confirm
