package tables

// Links are row numbers, counted from zero in archive order. On disk a link is stored plus one, so that zero means
// none. The types differ so that a link of one table cannot be used in another.
type (
	// HeaderLink is a row of the header table: 32 bits.
	HeaderLink uint32
	// TxsLink is a row of the txs table, an archived block: 32 bits.
	TxsLink uint32
	// TxLink is a row of the tx table: 32 bits, of which the three highest values are reserved (see spend.go).
	TxLink uint32
	// OutputLink is the number of an output: 40 bits. Transaction t owns a run of them.
	OutputLink uint64
	// InputLink is the number of an input, coinbase inputs included: 40 bits.
	InputLink uint64
)

// None values of the link types. They are never a row.
const (
	NoHeader = ^HeaderLink(0)
	NoTxs    = ^TxsLink(0)
	NoTx     = ^TxLink(0)
	NoOutput = ^OutputLink(0)
)

// Upper bounds of what the widths on disk can hold: a writer that would pass one fails with ErrFull before anything
// is written.
const (
	maxTx     = 1<<32 - 4
	maxHeader = 1<<32 - 4
	maxNumber = 1<<40 - 2
)
