package tables

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"stele/chain"
	"stele/hashmap"
	"stele/internal/fault"
	"stele/store"
)

// Options of a store that is opened.
type Options struct {
	// PendingBytes bounds the wire bytes of blocks that are kept without being archived; zero is 256 MiB.
	PendingBytes int64
	// DeltaBytes is the memory that a recovery may fill with the delta of one index before it merges; zero is 64 MiB.
	DeltaBytes int64
	// MergeBytes is the memory that a merge of a map may take; zero is 64 MiB. A new generation is built in as many passes
	// over the rows as its lines hold this many bytes.
	MergeBytes int64
	// Progress is told now and then how far an opening has come with reading rows, or records of the log, into an index;
	// it may be nil.
	Progress func(index string, done, total uint64)
	// Rebuild names indexes (header, tx, spend, conflict) to make again from the rows and the log, whatever their files
	// hold.
	Rebuild []string
}

const (
	defaultPending = 256 << 20
	defaultDelta   = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.PendingBytes == 0 {
		o.PendingBytes = defaultPending
	}
	if o.DeltaBytes == 0 {
		o.DeltaBytes = defaultDelta
	}
	return o
}

// Tables is an opened store. One goroutine, the writer, may call its methods; View alone may be called by any
// goroutine, and what it returns may be read by all of them while the writer goes on.
type Tables struct {
	disk     store.Disk
	params   *chain.Params
	manifest *store.Manifest
	options  Options

	header, txs, tx, ins, outTx, output, input, log *store.Body

	headerMap, txMap *hashmap.Map
	spend            *hashmap.Cells    // output number -> tx link plus one
	conflict         *hashmap.Multimap // output number -> tx links that were displaced
	states           *hashmap.Cells    // header link -> State

	pending pending

	// Kept in memory and rebuilt at open. Readers hold the slices by value in their view and never look at or beyond
	// its cut; the writer only appends, so the words that they look at never change. txsOf is the exception: a word
	// of it goes from zero to its row once, hence by atomic store and load.
	txsOf    []uint32     // header link -> txs link plus one; 0: not archived
	guide    []uint32     // every 1,024th tx link -> the txs link of its block; see blockOfTx
	firstTx  []uint32     // txs link -> first tx link
	firstOut []OutputLink // txs link -> first output number
	place    []place      // txs link -> where the block belongs in its chain

	members members
	live    View                 // the writer's own view, always at the tip
	view    atomic.Pointer[View] // the readers'

	kept store.LiveRecord // nil: the disk keeps none
	run  uint64           // of this opening

	durable atomic.Pointer[image] // what the newest durable manifest of this process says
	heads   sync.Mutex            // held while maps and cells are merged, and while a backup copies a header page of one
	merging sync.Mutex            // held while conflict is merged, and while a backup copies it
	dirty   bool                  // something was appended or marked since the last checkpoint began
	broken  error                 // a failed flush: rows in memory may be missing on disk, nothing may be written any more
}

// place is where an archived block belongs.
type place struct {
	header HeaderLink
	height uint32
}

// Params returns the parameters of the store's network.
func (t *Tables) Params() *chain.Params { return t.params }

// ErrReadOnly is returned by writes to a store that was opened for reading.
var ErrReadOnly = errors.New("the store is open for reading only")

// writable says why nothing may be appended, if so.
func (t *Tables) writable() error {
	if t.disk.ReadOnly() {
		return ErrReadOnly
	}
	if fault.On(fault.SyncForgiven) {
		return nil
	}
	return t.broken
}

// Stop makes the store refuse every further write: whoever drives it met a fault in the middle of one, so that what is in
// memory may be wrong. What is durable stays as it is, and reads go on.
func (t *Tables) Stop(err error) { _ = t.fail(err) }

// fail keeps the first error after which memory and disk may differ.
func (t *Tables) fail(err error) error {
	if err != nil && t.broken == nil {
		t.broken = fmt.Errorf("the store stopped writing: %w", err)
		t.voidLive()
	}
	return err
}

// cut returns the lengths of now.
func (t *Tables) cut() Cut {
	return Cut{
		Headers: t.Headers(),
		Txs:     uint32(t.txs.Len() / txsWidth),
		Tx:      uint32(t.tx.Len() / txWidth),
		Outs:    t.outputs(),
		Ins:     uint64(t.ins.Len() / insWidth),
		OutSlab: uint64(t.output.Len()),
		InSlab:  uint64(t.input.Len()),
		Log:     uint64(t.log.Len() / chainWidth),
	}
}

// outputs returns how many outputs have a number: those of all archived blocks.
func (t *Tables) outputs() uint64 {
	n := len(t.firstOut)
	if n == 0 {
		return 0
	}
	return uint64(t.firstOut[n-1]) + uint64(t.block(TxsLink(n-1)).Outs)
}

// bodies lists the append-only files whose lengths a cut holds.
func (t *Tables) bodies() []*store.Body {
	return []*store.Body{t.header, t.txs, t.tx, t.ins, t.outTx, t.output, t.input, t.log}
}

// Tip returns the confirmed tip of the writer.
func (t *Tables) Tip() (HeaderLink, uint32) { return t.live.Tip() }

// Live returns the writer's own view: it moves with every push and pop, and only the writer may look at it.
func (t *Tables) Live() *View { return &t.live }

// View returns the readers' view: the chain as it was at the last Publish. It never changes.
func (t *Tables) View() *View { return t.view.Load() }

// Publish makes everything that was pushed and popped so far visible to readers: what was appended goes to its file,
// then a new view takes the old one's place. Views that readers still hold stay as they are.
func (t *Tables) Publish() error {
	if !t.disk.ReadOnly() {
		if err := t.flush(); err != nil {
			return err
		}
		t.keepLive()
	}
	v := t.snapshot()
	t.view.Store(&v)
	return nil
}

// flush brings what was appended to the files.
func (t *Tables) flush() error {
	if err := t.writable(); err != nil {
		return err
	}
	for _, b := range append(t.bodies(), t.pending.body) {
		if err := b.Flush(); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// Snapshot returns the chain of now as a view that any goroutine may read, without showing it to those who ask for View:
// for work that is handed to others while a reorganisation is under way. Writer only.
func (t *Tables) Snapshot() (*View, error) {
	if !t.disk.ReadOnly() {
		if err := t.flush(); err != nil {
			return nil, err
		}
	}
	v := t.snapshot()
	return &v, nil
}

// Disk returns what the store's files are on, for files of others that belong to the same store.
func (t *Tables) Disk() store.Disk { return t.disk }

// snapshot makes an immutable view of now.
func (t *Tables) snapshot() View {
	v := t.live
	v.chain = t.members.share()
	return v
}

// refresh brings the writer's view level with what was appended.
func (t *Tables) refresh() {
	t.live = View{
		t: t, cut: t.cut(),
		chain:    t.members.view(),
		txsOf:    t.txsOf,
		firstTx:  t.firstTx,
		guide:    t.guide,
		firstOut: t.firstOut,
		place:    t.place,
		headers:  t.headerMap.View(),
		txids:    t.txMap.View(),
		spends:   t.spend.View(),
	}
}
