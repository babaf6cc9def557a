package bench

// peer is another store, with one table of keys of one width and values of eight bytes. Opened, it is tuned for what
// comes: many insertions without a sync, then lookups with everything in memory.
type peer interface {
	// put inserts rows as one batch, which is written together. keys holds their keys side by side.
	put(keys []byte, width int, values []uint64) error

	// settle ends what the store would do in the background.
	settle() error

	// scan reads the whole table and counts its rows.
	scan() (rows int, err error)

	// get looks keys up one by one and counts the answers that are not the value wanted: absent stands for none.
	get(keys []byte, width int, wanted []uint64) (wrong int, err error)

	close() error
}

// absent is no value of a row.
const absent = ^uint64(0)

// peerBatch is the rows that a peer writes together.
const peerBatch = 50_000

// peerKind opens peers.
type peerKind struct {
	name    string
	inTurns bool // it works while it is called, and at no other time
	open    func(dir string) (peer, error)
}
