package p2p

import (
	"context"

	"stele/chain"
	"stele/node/p2p/download"
)

// PeerID names a connection for as long as the process runs. Zero names no peer.
type PeerID = download.PeerID

// Point is a block of a chain, and the work of the chain that ends with it.
type Point struct {
	Height uint32
	Hash   chain.Hash
	Work   chain.Work
}

// Want is a block that the node would like to have: hash and height.
type Want = download.Want

// Status is how far the node has come: four tips, each at or below the one before.
type Status struct {
	Headers    Point  // of the best chain of headers
	Downloaded Point  // up to here every block of that chain is here
	Validated  Point  // of the last block that keeps every rule
	Confirmed  Point  // of the chain that readers see
	Time       uint32 // of the confirmed tip's header
	// Initial tells that the node has not caught up yet. It relays no addresses of its own and announces nothing then.
	Initial bool
}

// HeadersResult is what became of a run of headers.
type HeadersResult struct {
	Added       int    // of them that were new
	Last        Point  // the last of the run that is known now; zero if none is
	Unconnected bool   // the parent of the first is not known; nothing was taken
	Invalid     string // why one of them breaks a rule, in Core's words; those before it were taken
	Held        bool   // their chain has too little work to be stored, or there was no room for it
}

// Knowledge is what the node has of a block.
type Knowledge uint8

// What the node may have of a block.
const (
	Nothing    Knowledge = iota
	HeaderHere           // its header is in the tree
	BlockHere            // its body is here, too
	Condemned            // it, or one below it, breaks a rule
)

// Known is a header of the tree, and what else there is of its block.
type Known struct {
	Point
	Header    chain.Header
	MTP       uint32 // median time past of the header and the ten before it
	Knowledge Knowledge
	Best      bool // it is of the best chain of headers
}

// EventKind tells what an Event is about.
type EventKind uint8

// The kinds of events.
const (
	TipMoved   EventKind = iota // the confirmed tip is Hashes' last; before it, lowest first, what was pushed with it
	Refused                     // the body that From sent for Hash was refused
	WantAgain                   // the body of Hash is missing again: it was refused or lost, and its header stands
	RoomAgain                   // Room has grown after it was short
	ChainMoved                  // the best chain of headers was extended or changed
)

// Event is news of the chain.
type Event struct {
	Kind    EventKind
	Hashes  []chain.Hash // of TipMoved
	Hash    chain.Hash   // of the others
	From    PeerID
	Reason  string // of Refused, in Core's words
	Mutated bool   // the body was at fault and not the block: another body may be right
}

// Chain is the node as peers see it. All methods may be called from any goroutine, and none may call back.
type Chain interface {
	Params() *chain.Params
	Status() Status
	// Locator is of the best chain of headers: its tip first, then ever sparser, genesis last.
	Locator() []chain.Hash
	// PutHeaders takes a connected run of any length. proven says that their chain was shown to have enough work (package
	// presync), however little it has up to here. An error is a fault of ours and says nothing of the headers.
	PutHeaders(ctx context.Context, hs []chain.Header, proven bool) (HeadersResult, error)
	// Missing appends up to limit blocks of the best chain of headers that are not here, lowest first.
	Missing(dst []Want, limit int) []Want
	// PutBlock hands over the wire bytes of a block whose header is known; they must not be touched any more. An error
	// is a fault of ours. What becomes of the block is told by Events.
	PutBlock(hash *chain.Hash, raw []byte, from PeerID) error
	// Room is how many bytes of blocks the node would take now.
	Room() int64
	// Events is one stream for the one manager. It must be read at all times; the node may drop what it cannot send.
	Events() <-chan Event
	Know(hash *chain.Hash) Known
	// HeadersAfter appends up to limit headers of the confirmed chain: those above the first hash of the locator that
	// is of it (or above genesis), up to and with stop where that is met.
	HeadersAfter(locator []chain.Hash, stop chain.Hash, limit int, dst []chain.Header) []chain.Header
	// AppendBlock appends the wire bytes of a block, without witnesses unless asked for; false where it is not here.
	AppendBlock(dst []byte, hash *chain.Hash, witness bool) ([]byte, bool, error)
}

// Settler is a Chain that can tell when all that it was given before has been dealt with.
type Settler interface {
	Settle(ctx context.Context) error
}
