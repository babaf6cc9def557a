package download

import (
	"slices"
	"time"

	"stele/chain"
)

// PeerID names a peer. The id of one that left is its own still: what it does not have is remembered by it.
type PeerID uint64

// Want is a block that is wanted.
type Want struct {
	Hash   chain.Hash
	Height uint32
}

// Peer is what is known of a peer when it joins.
type Peer struct {
	Height  uint32 // of the last block that our best chain and its best header share
	Limited bool   // it has the last 288 blocks alone (BIP159)
}

// Options are the bounds. Zero fields get the defaults that are named.
type Options struct {
	Window    int64         // bytes in flight and arrived out of order: 256 MiB
	AtTip     int           // blocks in flight from a peer near the tip: 16 (Core: MAX_BLOCKS_IN_TRANSIT_PER_PEER)
	Bulk      int           // the same in bulk: 512
	TipWithin int           // wanted blocks, up to which it is "near the tip": 144
	Depth     time.Duration // a peer owes what it sends in this time at most: 3 s
	Sample    time.Duration // time over which peers are compared: 10 s
	Deviation float64       // standard deviations below the mean of the others: 1.5
	Hedges    int           // blocks that are asked of two peers at a time: 8
	MaxStep   time.Duration // time that goes by between two calls at most: 5 s
}

func (o Options) withDefaults() Options {
	set(&o.Window, 256<<20)
	set(&o.AtTip, 16)
	set(&o.Bulk, 512)
	set(&o.TipWithin, 144)
	set(&o.Depth, 3*time.Second)
	set(&o.Sample, 10*time.Second)
	set(&o.Deviation, 1.5)
	set(&o.Hedges, 8)
	set(&o.MaxStep, 5*time.Second)
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	stallMin   = 2 * time.Second  // Core: BLOCK_STALLING_TIMEOUT_DEFAULT
	stallMax   = 64 * time.Second // Core: BLOCK_STALLING_TIMEOUT_MAX
	stallDecay = 0.85             // Core: the same

	limitedDepth = 288 - 2 // blocks below a limited peer's best that it is asked for (Core leaves two for races)
	maxMutants   = 1024    // blocks of which senders of mutants are remembered
	maxNotFound  = 3       // answers "not found" that a full peer gets away with
	maxSlow      = 3       // samples in a row
	muchTooSlow  = 8       // times below the mean of the others

	minWeight    = 1 << 10 // bytes that a block counts for at least: what is kept of it beside its bytes
	firstWeight  = 1 << 20 // before a block has come
	firstWeighs  = 8       // blocks that this guess counts for, so that one that is nearly empty does not mislead
	firstBudget  = 4 << 20 // bytes that a peer owes whose rate is not known
	firstLatency = 300 * time.Millisecond
	firstRate    = 1 << 20 // bytes a second
)

// Reason says why a peer is to be disconnected.
type Reason uint8

// The reasons. A peer that must be kept all the same joins again.
const (
	Stalled    Reason = iota // was asked for the front and sent nothing
	Silent                   // owes, and sent nothing for 64 s
	Slow                     // far below the others, again and again
	LacksBlock               // a full peer that does not have what it must
	SentMutant               // sent a mutated body
)

func (r Reason) String() string {
	return [...]string{"stalled", "silent", "much too slow", "lacks blocks", "sent a mutated block"}[r]
}

// Request is blocks to ask of a peer in one message, in this order; in Plan.Cancelled, blocks that are not counted upon
// from the peer any more.
type Request struct {
	Peer   PeerID
	Hashes []chain.Hash
}

// Drop is a peer to disconnect.
type Drop struct {
	Peer   PeerID
	Reason Reason
}

// Plan is what to do now. Its slices are good until the next Plan.
type Plan struct {
	Requests  []Request
	Cancelled []Request
	Drops     []Drop
}

// Arrival says what to do with a block that came.
type Arrival uint8

// What may be done with a block.
const (
	Take      Arrival = iota // wanted: give it to the chain
	Duplicate                // was asked of this peer too, but is here: drop it
	Unasked                  // was not asked of this peer, and is not wanted or too far out
)

// Verdict is what became of a block that was taken and is refused.
type Verdict uint8

// Verdicts of a refusal.
const (
	Mutated   Verdict = iota // this body is not the block's: ask another peer
	Condemned                // the block breaks a rule: it and what builds upon it are not wanted
)

// Stats are counts since New, and what is now.
type Stats struct {
	Taken, Duplicates, Unasked  uint64 // blocks that came
	TakenBytes, DuplicateBytes  uint64
	Hedged, HedgesWon, Relieved uint64 // blocks asked of a second peer; that came from it first; peers relieved

	Peers, Resting, AtLimit            int   // peers; relieved ones that owe still; those that owe all they may
	Idle, InFlight, HedgedNow, Arrived int   // blocks by state; those asked of two peers
	FlightBytes, WaitingBytes          int64 // expected; arrived beyond the front
	EstimatedBlock, BytesPerSecond     int64 // mean size; sum of the rates of peers that owe
	StallTimeout                       time.Duration
	FrontHeight                        uint32 // 0 where nothing is wanted
}

// Scheduler is the state. See the package comment.
type Scheduler struct {
	o       Options
	last    time.Time
	now     time.Duration // sum of the steps
	started bool

	peers []*peer // in the order in which they joined
	byID  map[PeerID]*peer

	blocks map[chain.Hash]*block
	order  []*block // wanted blocks of the best chain; those before front have arrived
	front  int
	cursor int      // no block before it is idle
	side   []*block // announced, not in order, not arrived
	loose  []*block // in neither: owed, or arrived and above the order; a few others until the next Refill
	other  []*block // the order before, whose memory is used for the next

	mutants map[chain.Hash][]PeerID // who sent mutated bodies of blocks that have not come since

	flight  int   // blocks asked; a second holder counts again
	waiting int64 // sizes of blocks that arrived beyond the front
	size    mean  // of blocks that came

	frontSince time.Duration // since when the front is where it is
	stall      time.Duration
	sampled    time.Duration
	stats      Stats

	cancelled []Request
	drops     []Drop
	requests  []Request
}

// New makes a scheduler without peers and blocks.
func New(o Options) *Scheduler {
	return &Scheduler{
		o: o.withDefaults(), byID: make(map[PeerID]*peer), blocks: make(map[chain.Hash]*block), stall: stallMin,
		size:    mean{firstWeight, firstWeighs},
		mutants: make(map[chain.Hash][]PeerID),
	}
}

// step lets time go by.
func (s *Scheduler) step(now time.Time) {
	if s.started {
		s.now += min(max(now.Sub(s.last), 0), s.o.MaxStep)
	}
	s.last, s.started = now, true
}

// Join adds a peer. One that is there already is only told its height.
func (s *Scheduler) Join(now time.Time, id PeerID, about Peer) {
	s.step(now)
	if p := s.byID[id]; p != nil {
		p.Peer = about
		return
	}
	p := &peer{Peer: about, id: id, heard: s.now, folded: s.now}
	s.byID[id] = p
	s.peers = append(s.peers, p)
}

// Has tells what a peer has now. It may be lower than before, after a reorganisation.
func (s *Scheduler) Has(id PeerID, height uint32) {
	if p := s.byID[id]; p != nil {
		p.Height = height
	}
}

// Leave takes a peer away. All that was asked of it is given back, and may be asked of it again if it joins again.
func (s *Scheduler) Leave(now time.Time, id PeerID) {
	s.step(now)
	p := s.byID[id]
	if p == nil {
		return
	}
	s.giveBack(p, false)
	for i := range p.owes {
		b := s.blocks[p.owes[i].hash]
		b.owers--
		b.tried = slices.DeleteFunc(b.tried, func(t PeerID) bool { return t == id })
	}
	delete(s.byID, id)
	s.peers = slices.DeleteFunc(s.peers, func(q *peer) bool { return q == p })
}

// drop is Leave by our own will.
func (s *Scheduler) drop(p *peer, why Reason) {
	s.drops = append(s.drops, Drop{p.id, why})
	s.Leave(s.last, p.id)
}
