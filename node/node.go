package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"stele/chain"
	"stele/node/blockfile"
	"stele/node/p2p"
	"stele/store"
	"stele/tables"
)

// Node keeps a store at the best chain of what peers put to it: its writer, for as long as Run lasts. Node is what package
// p2p knows as a p2p.Chain. All methods but Run may be called by any goroutine.
type Node struct {
	t       *tables.Tables
	o       Options
	inbox   *inbox
	events  chan p2p.Event
	status  atomic.Pointer[p2p.Status]
	free    atomic.Int64 // see Room
	short   atomic.Bool  // somebody was told that there is no room
	lost    atomic.Uint64
	stopped chan struct{} // closed when Run has ended

	w        *writer    // the writer's, as its goroutine alone looks at it
	began    tables.Cut // of New
	room     int64      // bytes of blocks that may wait in memory
	caughtUp bool       // the writer's
}

// Options of a Node. Those of ImportOptions mean the same; paths are not looked at.
type Options struct {
	ImportOptions

	// MinimumChainWork is what a chain of headers must have before one of them is stored; zero: the network's.
	MinimumChainWork chain.Work
	// HeadersHeld is how many headers of chains with less work are held in memory; 0: 20,000.
	HeadersHeld int
	// BlockBytes is how many bytes of blocks may wait in memory for their turn, before they go to the pending blocks of
	// the tables; 0: an eighth of the memory.
	BlockBytes int64
	// Full is told that the disk is full, and of every further try; it may be nil.
	Full func(err error)
	// Refused is told of every block that is refused; it may be nil. It is called by the goroutine of Run.
	Refused func(x Rejected)
}

// New makes a node over a store. It does nothing before Run.
func New(t *tables.Tables, o Options) *Node {
	n := &Node{
		t: t, o: o, inbox: newInbox(), events: make(chan p2p.Event, mostEvents), stopped: make(chan struct{}),
		room: o.BlockBytes,
	}
	if n.room <= 0 {
		n.room = max(Memory(o.Memory)/aheadShare, 4*chain.MaxBlockWeight)
	}
	n.free.Store(n.room)
	n.began = t.View().Cut()
	l, _ := t.View().Tip()
	row := t.View().Header(l)
	tip := pointOf(row)
	n.status.Store(&p2p.Status{
		Headers: tip, Downloaded: tip, Validated: tip, Confirmed: tip, Time: row.Time(), Initial: true,
	})
	return n
}

const (
	mostEvents = 1 << 14
	// fullPatience is how long a node waits after a full disk before it tries again.
	fullPatience = 5 * time.Second
	// liveIdle is how often a node with nothing to do looks at the clock, and idlePublish how long it has to have had
	// nothing to do for readers to see the tip at once.
	liveIdle    = 100 * time.Millisecond
	idlePublish = 2 * time.Millisecond
)

// idleLap is lap when there is nothing else to do: readers see the tip.
func (m *writer) idleLap() error {
	m.limitHeap()
	return m.tell(0)
}

// Run moves the chain until ctx ends or the store fails, and makes everything durable then. It is called once. Errors are
// those of Import; a full disk is waited out.
func (n *Node) Run(ctx context.Context) (*ImportReport, error) {
	defer close(n.stopped)
	defer n.inbox.close()
	m := newWriter(ctx, n.t, n.o.ImportOptions)
	m.o.StopHeight = -1
	m.node, m.held, n.w = n, map[uint32]held{}, m
	return m.work(func() error {
		return store.Guard(func() error { return n.run(m) })
	})
}

func (n *Node) run(m *writer) error {
	err := m.open(func(blockfile.Place, []byte) ([]byte, error) { return nil, errors.New("a node reads no files") })
	if err != nil {
		return err
	}
	defer m.shut()
	least := n.o.MinimumChainWork
	if least == (chain.Work{}) {
		least = n.t.Params().MinimumChainWork
	}
	m.headers = newHeaderPool(m.tree, least, n.o.HeadersHeld, nil)
	m.window.poll, m.window.hear = n.inbox.wake, m.hear
	m.tellStatus()
	timer := time.NewTimer(liveIdle)
	defer timer.Stop()
	for {
		m.hear()
		if err := m.settleLive(); err != nil {
			if err = n.waitOut(m, err); err != nil {
				return err
			}
			continue
		}
		m.tellStatus()
		if err := m.settled(); err != nil {
			return err
		}
		pause := liveIdle
		if tip, _ := m.t.Tip(); tip != m.visible {
			pause = idlePublish
		}
		timer.Reset(pause)
		select {
		case <-m.ctx.Done():
			return errStopped
		case <-n.inbox.wake:
			m.watch.lap(stageWait)
		case <-timer.C:
			m.watch.lap(stageWait)
			if err := n.waitOut(m, m.idleLap()); err != nil {
				return err
			}
		}
	}
}

// settled tells those who wait for it that nothing is left to do. Readers see the tip then.
func (m *writer) settled() error {
	if len(m.waiting) == 0 || m.node.inbox.waits() {
		return nil
	}
	m.watch.lap(m.stage)
	if err := m.tell(0); err != nil {
		return m.node.waitOut(m, err) // they go on waiting
	}
	for _, done := range m.waiting {
		close(done)
	}
	m.waiting = m.waiting[:0]
	return nil
}

// Settle waits until all that was left for the writer before is done, the chain is where it has to be, and readers see it.
func (n *Node) Settle(ctx context.Context) error {
	done := make(chan struct{})
	if !n.inbox.leave(func() { n.w.waiting = append(n.w.waiting, done) }, nil) {
		return ErrStopped
	}
	return n.await(ctx, done)
}

// settleLive brings the chain to the best branch of what is here. What is ahead of its turn stays in memory while there is
// room, and goes to the pending blocks of the tables then.
func (m *writer) settleLive() error {
	for again := true; again; {
		if err := m.organise(); err != nil {
			return err
		}
		if again = false; m.heldBytes > m.node.room/2 {
			m.bodies.settled = 0
			var err error
			if again, err = m.leftovers(); err != nil {
				return err
			}
		}
	}
	m.bodies.tidy()
	return nil
}

// waitOut passes over a full disk, after a while in which readers are served on. Nothing was lost of what was here.
func (n *Node) waitOut(m *writer, err error) error {
	full, other := store.NoRoom(err)
	if full == nil || other != nil {
		return err
	}
	if n.o.Full != nil {
		n.o.Full(full)
	}
	until := time.NewTimer(m.o.times.patience)
	defer until.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return errStopped
		case <-until.C:
			return nil
		case <-n.inbox.wake:
			m.hear()
		}
	}
}

// tell sends an event. Where nobody has read for long it is dropped, and counted.
func (n *Node) tell(e p2p.Event) {
	select {
	case n.events <- e:
	default:
		n.lost.Add(1)
	}
}

// Params implements p2p.Chain, as all of the following do.
func (n *Node) Params() *chain.Params { return n.t.Params() }

// Status returns how far the node has come, as the writer told last.
func (n *Node) Status() p2p.Status { return *n.status.Load() }

// Events returns the one stream of events.
func (n *Node) Events() <-chan p2p.Event { return n.events }

// Room returns how many bytes of blocks would be taken now.
func (n *Node) Room() int64 {
	room := n.free.Load()
	if room <= 0 {
		n.short.Store(true)
	}
	return room
}

// Locator returns hashes of the best chain of headers: ten in a row, then ever sparser, genesis last.
func (n *Node) Locator() (all []chain.Hash) {
	_ = n.ask(context.Background(), func() {
		tr := n.w.tree
		at, step := tr.heaviest, uint32(1)
		for {
			all = append(all, n.t.Header(at).Hash())
			height := tr.vertices[at].height
			if height == 0 {
				return
			}
			if len(all) >= 10 {
				step *= 2
			}
			at = tr.ancestor(at, height-min(step, height))
		}
	})
	return all
}

// PutHeaders takes headers of a peer; proven says that enough work on them was shown.
func (n *Node) PutHeaders(ctx context.Context, hs []chain.Header, proven bool) (r p2p.HeadersResult, err error) {
	asked := n.ask(ctx, func() {
		m := n.w
		best := m.tree.heaviest
		var got headersResult
		if got, err = m.headers.put(hs, proven); err != nil {
			return
		}
		r = p2p.HeadersResult{
			Added: got.Added, Unconnected: got.Unconnected, Held: got.Held+got.Gone > 0,
			Last: p2p.Point{Height: got.Height, Hash: got.Hash, Work: got.Work},
		}
		if !got.Verdict.OK() {
			r.Invalid = got.Verdict.Reason
		}
		if m.tree.heaviest != best {
			m.tellStatus()
			n.tell(p2p.Event{Kind: p2p.ChainMoved, Hash: n.t.Header(m.tree.heaviest).Hash()})
		}
	})
	return r, errors.Join(asked, err)
}

// Missing appends blocks of the best chain of headers that are not here.
func (n *Node) Missing(dst []p2p.Want, limit int) []p2p.Want {
	_ = n.ask(context.Background(), func() {
		for _, l := range n.w.tree.missing(0, nil, limit) {
			row := n.t.Header(l)
			dst = append(dst, p2p.Want{Hash: row.Hash(), Height: row.Height()})
		}
	})
	return dst
}

// PutBlock hands over a block whose header is known.
func (n *Node) PutBlock(hash *chain.Hash, raw []byte, from p2p.PeerID) error {
	h := *hash
	if !n.inbox.leave(func() { n.w.takeBlock(&h, raw, from) }, nil) {
		return ErrStopped
	}
	return nil
}

// Know tells what there is of a block.
func (n *Node) Know(hash *chain.Hash) (k p2p.Known) {
	_ = n.ask(context.Background(), func() {
		m := n.w
		l, ok := n.t.FindHeader(hash)
		if !ok {
			return
		}
		row := n.t.Header(l)
		k = p2p.Known{Point: m.point(l), Header: n.t.WireHeader(l), MTP: row.MTP(), Knowledge: p2p.HeaderHere}
		top, ok := m.tree.topAt(row.Height())
		k.Best = ok && top == l
		switch {
		case m.tree.vertices[l].invalid:
			k.Knowledge = p2p.Condemned
		case m.tree.here(l):
			k.Knowledge = p2p.BlockHere
		}
	})
	return k
}

// HeadersAfter appends headers of the chain that readers see.
func (n *Node) HeadersAfter(locator []chain.Hash, stop chain.Hash, limit int, dst []chain.Header) []chain.Header {
	_ = store.Guard(func() error {
		v := n.t.View()
		from := uint32(0)
		for i := range locator {
			if l, ok := v.FindHeader(&locator[i]); ok && v.Confirmed(l) {
				from = v.Header(l).Height()
				break
			}
		}
		for height := from + 1; limit > 0; height++ {
			l, ok := v.HeaderAt(height)
			if !ok {
				break
			}
			dst = append(dst, v.WireHeader(l))
			limit--
			if v.Header(l).Hash() == stop {
				break
			}
		}
		return nil
	})
	return dst
}

// AppendBlock appends the wire bytes of an archived block.
func (n *Node) AppendBlock(dst []byte, hash *chain.Hash, witness bool) (b []byte, ok bool, err error) {
	err = store.Guard(func() error {
		v := n.t.View()
		l, known := v.FindHeader(hash)
		if b = dst; !known {
			return nil
		}
		var err error
		b, ok, err = v.AppendBlockAs(dst, l, witness)
		return err
	})
	return b, ok, err
}

// Counts is what a node has archived.
type Counts struct {
	Txs       uint64 // in the archive
	NewTxs    uint64 // of them, since New
	NewInputs uint64
	Lately    uint64 // transactions a block, on average, of the last blocks
}

// Counts counts what readers see.
func (n *Node) Counts() (c Counts) {
	_ = store.Guard(func() error {
		v := n.t.View()
		cut := v.Cut()
		c = Counts{Txs: uint64(cut.Tx), NewTxs: uint64(cut.Tx - n.began.Tx), NewInputs: cut.Ins - n.began.Ins}
		_, tip := v.Tip()
		blocks := uint64(0)
		for height := int64(tip); height > int64(tip)-latelyBlocks && height >= 0; height-- {
			l, _ := v.HeaderAt(uint32(height))
			if b, ok := v.Block(l); ok {
				c.Lately += uint64(b.Txs)
				blocks++
			}
		}
		c.Lately /= max(blocks, 1)
		return nil
	})
	return c
}

// latelyBlocks is a day.
const latelyBlocks = 144

// Tips lists the ends of all branches, as Core's getchaintips.
func (n *Node) Tips(ctx context.Context) (tips []ChainTip, err error) {
	err = n.ask(ctx, func() { tips = n.w.tree.tips() })
	return tips, err
}

// ErrUnknownBlock says that no header has the hash.
var ErrUnknownBlock = errors.New("no such block is known")

// ErrGenesis refuses to do without the first block.
var ErrGenesis = errors.New("the first block of a network cannot be invalid")

// Invalidate marks a block, and with it all that stands on it, as invalid by hand: the chain moves to the best of the
// others. The mark stays until Reconsider.
func (n *Node) Invalidate(ctx context.Context, hash *chain.Hash) (err error) {
	asked := n.askQuiet(ctx, func() error {
		var fault error
		err, fault = n.w.invalidateByHand(hash)
		return fault
	})
	return errors.Join(asked, err)
}

// Reconsider takes back that a block, any below it or any on it is invalid, whatever the reason was.
func (n *Node) Reconsider(ctx context.Context, hash *chain.Hash) (err error) {
	asked := n.askQuiet(ctx, func() error {
		var fault error
		err, fault = n.w.reconsiderByHand(hash)
		return fault
	})
	return errors.Join(asked, err)
}

func (m *writer) invalidateByHand(hash *chain.Hash) (refused, fault error) {
	l, ok := m.t.FindHeader(hash)
	switch {
	case !ok:
		return fmt.Errorf("%w: %v", ErrUnknownBlock, hash), nil
	case m.tree.vertices[l].parent == none:
		return ErrGenesis, nil
	case m.t.State(l).Invalid():
		return nil, nil
	}
	if err := m.t.SetState(l, tables.StateRejected); err != nil {
		return nil, err
	}
	m.tree.invalidate(l, func(tables.HeaderLink) {})
	return nil, nil
}

func (m *writer) reconsiderByHand(hash *chain.Hash) (refused, fault error) {
	l, ok := m.t.FindHeader(hash)
	if !ok {
		return fmt.Errorf("%w: %v", ErrUnknownBlock, hash), nil
	}
	return nil, m.tree.reconsider(l, func(root tables.HeaderLink) error {
		return m.t.SetState(root, tables.StateUnknown)
	})
}

var _ p2p.Chain = (*Node)(nil)
