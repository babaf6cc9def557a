package node

import (
	"io"
	"time"

	"stele/chain"
	"stele/node/blockfile"
	"stele/tables"
	"stele/utxo"
	"stele/validate/script"
)

// ImportOptions say what to import and how.
type ImportOptions struct {
	Paths []string  // files, folders of blk*.dat, pipes, or "-" for Stdin
	Stdin io.Reader // what "-" stands for

	StopHeight int64 // no block above it is archived, a higher tip stays; -1: no limit
	Threads    int   // blocks are checked and encoded on so many cores; 0: all
	Memory     int64 // bytes that deltas and blocks on their way may take; 0: half of the machine's

	// LimitHeap holds the runtime's memory to what the set of unspent outputs, which is not part of it, leaves of Memory: for
	// processes that do nothing else. Where GOMEMLIMIT is set that counts.
	LimitHeap bool

	CheckpointEvery time.Duration // 0: 30 s
	CheckpointBytes int64         // wire bytes archived between two checkpoints; 0: 256 MiB

	Progress func(Progress) // may be nil; called by the importing goroutine, ten times a second at most

	// Between is called by the importing goroutine between two blocks, and several times a second while it waits, so that
	// others can have it do what only the writer may. checkpoint makes everything durable up to now; it is refused with
	// ErrReorganising while readers still see the chain that is being left. It may be nil.
	Between func(t *tables.Tables, checkpoint func() error)

	// Note takes remarks on the input that are no rejections (garbage, a cut tail), from whichever goroutine reads it; it
	// may be nil.
	Note func(blockfile.Note)

	// AssumeValid names a block whose scripts, and those of the blocks below it, are taken to be valid without running them
	// where Core's conditions hold (see assumes). That needs the headers above them: of a stream, all scripts are run until
	// they have come. Zero: all scripts are run.
	AssumeValid chain.Hash

	// Verifier checks signatures; nil: the default. One that takes all signatures for true is how benchmarks import chains
	// whose signatures are made up.
	Verifier script.Verifier

	// TablesAlone has blocks confirmed from the tables alone, without a set of unspent outputs in memory.
	TablesAlone bool
	// Coins is told how far the set of unspent outputs is, while it is loaded ("image", in shards, "archive", in outputs,
	// "roll", in blocks) or its image is written. It may be nil. Calls come from several goroutines, one at a time.
	Coins func(step string, done, total uint64)
	// Using is told of the set that coins come from, and of nil when there is none any more, before it is closed. It is
	// called by the importing goroutine, and may be nil.
	Using func(s *utxo.Set)
	// Remark is told of what an import goes on without (memory for the set, room for an image). It may be nil.
	Remark func(text string)

	Now func() time.Time // the clock that bounds header times; nil: time.Now

	limits       limits // zero fields: the defaults
	heap         bool   // the set's memory is the heap's, of which each shard takes reserve
	reserve      int
	publishEvery time.Duration // 0: the default
	times        times
}

// times are when something happens; zero fields: when it serves. Tests set others.
type times struct {
	near     uint64        // for nearInputs
	images   uint64        // inputs from one image to the next, for what package coinset advises, at a stop as well
	loaded   func() bool   // the loaded set is taken over no sooner than it says so
	patience time.Duration // for fullPatience
}

// Progress is how far an import has come. How many transactions are still to come is not knowable from a block file
// whose bodies were not read yet, so the measure is bytes.
type Progress struct {
	Stage       string // "index" while headers are read, then "import"
	Height      uint32 // of the tip
	Done, Total int64  // bytes: of the files while they are indexed, then of the blocks to be archived; Total 0: a stream

	Blocks, Txs, Inputs uint64 // newly archived
	Elapsed             time.Duration
}

// ImportReport is what an import did. Its JSON is the document of `stele import --json`.
//
// A record of the input ends in one of: archived; Skipped; Rejected or RejectedMore; Descendants; Parked; Dropped.
// Only an import that was interrupted or failed leaves some out. Blocks can be more than the records that were
// archived: some may have been pending from earlier imports, or have been parked in this one before their turn
// came.
type ImportReport struct {
	Network   string  `json:"network"`
	Blocks    uint64  `json:"blocks"`     // newly archived
	Txs       uint64  `json:"txs"`        // in them
	Inputs    uint64  `json:"inputs"`     // in them, those of coinbases included
	Outputs   uint64  `json:"outputs"`    // in them
	WireBytes uint64  `json:"wire_bytes"` // in them
	Seconds   float64 `json:"seconds"`
	Tip       Tip     `json:"tip"`

	Coins        string     `json:"coins"`         // where they came from at the end: set, or tables
	Assumed      uint64     `json:"assumed_valid"` // blocks whose scripts were not run
	Rejected     []Rejected `json:"rejected"`      // root causes, in order of discovery; never nil
	RejectedMore uint64     `json:"rejected_more"` // those beyond the first 10,000, which are counted only
	Descendants  uint64     `json:"descendants"`   // records of blocks that were not tried, as one below them is invalid

	Records     uint64  `json:"records"`       // found in the input
	Skipped     uint64  `json:"skipped"`       // records of blocks that are archived or pending already
	Parked      uint64  `json:"parked"`        // records kept as pending blocks: other branches, parent not known yet
	Dropped     uint64  `json:"dropped"`       // records neither archived nor kept: no room, or above the stop height
	Popped      uint64  `json:"popped"`        // times that a block was taken off the chain
	Lost        uint64  `json:"pending_lost"`  // pending blocks that turned out damaged, or given up for others
	Cut         uint64  `json:"cut_records"`   // records that the end of their file cuts
	Garbage     int64   `json:"garbage_bytes"` // bytes between records that are no records
	Interrupted bool    `json:"interrupted"`   // the context was cancelled before the end of the input
	Stages      []Stage `json:"stages"`
}

// Tip is the best block.
type Tip struct {
	Height uint32     `json:"height"`
	Hash   chain.Hash `json:"hash"`
}

// Rejected is a record that was refused.
type Rejected struct {
	Hash   string `json:"hash"`   // empty where the record has no readable header
	Height int64  `json:"height"` // -1 where the parent is not known
	Reason string `json:"reason"` // Core's, or bad-block-encoding
}

// Stage is the time that one kind of work took. All but "check", "take" and "sync" are of the importing goroutine and do
// not overlap; "check" is the sum over the threads that work beside it, "take" what confirm took, beside it where there is
// a set, "sync" what checkpoints took beside it.
type Stage struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Count   uint64  `json:"count,omitempty"` // of publications, of checkpoints (sync), and of stalls
}

// reasonEncoding is the reason for what is no block at all.
const reasonEncoding = "bad-block-encoding"

// maxRejected bounds the list of rejections: a file of garbage must not fill the memory.
const maxRejected = 10_000

// reject lists a refused record. height is -1 where it is not known, hash nil where there is no header.
func (r *ImportReport) reject(hash *chain.Hash, height int64, reason string) {
	if len(r.Rejected) >= maxRejected {
		r.RejectedMore++
		return
	}
	text := ""
	if hash != nil {
		text = hash.String()
	}
	r.Rejected = append(r.Rejected, Rejected{Hash: text, Height: height, Reason: reason})
}

// stages in the order of the report.
const (
	stageIndex = iota
	stageCheck
	stageWait
	stageScripts // waiting for the scripts of the block whose turn it is
	stageConfirm // organising, and what confirm takes where there is no set
	stageTake    // what confirm takes beside the writer, where there is a set
	stageFinalise
	stagePark
	stagePublish
	stageCheckpoint // beginning, ending and waiting for the last one
	stageStall      // waiting for a checkpoint, as the deltas have used up their memory
	stageSync
	stageAsked // ImportOptions.Between
	stageCoins // loading the set, and its image, as far as the writer waits for it
	stageCount
)

var stageNames = [stageCount]string{
	"index", "check", "wait", "scripts", "confirm", "take", "finalise", "park", "publish", "checkpoint", "stall", "sync",
	"asked", "coins",
}

// stopwatch adds up the time of each stage.
type stopwatch struct {
	spent [stageCount]time.Duration
	count [stageCount]uint64 // kept for some of them
	mark  time.Time
}

// lap charges the time since the last lap to a stage.
func (s *stopwatch) lap(stage int) {
	now := time.Now()
	s.spent[stage] += now.Sub(s.mark)
	s.mark = now
}

func (s *stopwatch) report() []Stage {
	list := make([]Stage, stageCount)
	for i := range list {
		list[i] = Stage{Name: stageNames[i], Seconds: s.spent[i].Seconds(), Count: s.count[i]}
	}
	return list
}
