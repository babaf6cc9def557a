package tables

import (
	"errors"
	"sync/atomic"

	"stele/internal/fault"
	"stele/store"
)

// A checkpoint makes everything up to a cut durable, and brings the indexes level with it. It has three parts, so that the
// writer need not wait for the disk:
//
//	Begin (writer)   flush, take the cut, seal the deltas              some writes into the page cache
//	Run (anyone)     sync, manifest, merge, manifest                   the disk's time; the writer goes on meanwhile
//	End (writer)     take over the result, publish                     nothing
//
// Order of Run, each step after the one before it is on the disk:
//
//  1. states, whose loss no replay could mend; they are bound to header rows alone
//  2. bodies and log up to the cut, and the folder
//  3. a manifest with the cut and the old watermarks: the archive is safe from here
//  4. the indexes, from their watermarks to that cut and never beyond it; conflict before spend, so that no view loses
//     sight of a spender that is displaced
//  5. a manifest with the new watermarks, in both slots
//
// The indexes are told when a manifest is durable, and the files that neither slot names any more go.
//
// A failure before 3 leaves the store as durable as it was. A full disk in 4 leaves the deltas in memory and the old
// watermarks: the archive is safe, the *store.DiskFull is returned, and the next checkpoint merges what this one sealed.
// A full disk in 1 keeps states and pending blocks as they were on the disk, which is allowed. Every other failure is
// final: the store stops writing, because what is in memory and what is on the disk may differ from then on.

// Checkpointing is a checkpoint on its way from Begin to End.
type Checkpointing struct {
	t     *Tables
	v     View  // of the moment of Begin
	merge bool  // the indexes, too
	m     image // of the manifest that Run writes last
	full  error // a full disk, found on the way
	err   error // what stopped it
	done  atomic.Bool
}

// Checkpoint makes everything up to now durable, and waits for it. Writer only, with no other checkpoint on its way.
// Readers go on with the view that they hold; the readers' view is a new one afterwards.
func (t *Tables) Checkpoint() error { return t.checkpoint(false) }

func (t *Tables) checkpoint(closing bool) error {
	if err := t.writable(); err != nil {
		return err
	}
	if m := t.durable.Load(); !t.dirty && m != nil && m.level() {
		if m.clean == closing {
			return nil
		}
		last := *m
		last.clean = closing
		return t.fail(t.putManifest(&last))
	}
	c, err := t.BeginCheckpoint()
	if err != nil {
		return err
	}
	c.m.clean = closing
	c.Run()
	return t.EndCheckpoint(c)
}

// BeginCheckpoint flushes what was appended, takes the cut of now, and sets apart what the indexes will merge. Writer
// only; the checkpoint before must have ended.
func (t *Tables) BeginCheckpoint() (*Checkpointing, error) { return t.begin(true) }

// BeginCut is BeginCheckpoint without steps 4 and 5: what was archived becomes durable, and the indexes stay where they
// are. A merge rewrites much of an index however little is new, so it is worth doing when the deltas have become large; a
// cut costs what was appended. What the deltas hold is read again at the next open.
func (t *Tables) BeginCut() (*Checkpointing, error) { return t.begin(false) }

func (t *Tables) begin(merge bool) (*Checkpointing, error) {
	if err := t.writable(); err != nil {
		return nil, err
	}
	c := &Checkpointing{t: t, merge: merge}
	var err error
	if c.full, err = store.NoRoom(t.compactPending(t.manifest.Preamble().ID)); err != nil {
		return nil, t.fail(err)
	}
	for _, b := range append(t.bodies(), t.pending.body) {
		if fault.On(fault.CutBeforeFlush) {
			break
		}
		if err := b.Flush(); err != nil {
			return nil, t.fail(err)
		}
	}
	if t.states.Sealed() {
		// Left by a full disk. No log has the states that were set since, so they cannot wait for one checkpoint more.
		if err := c.note(t.mergeHeld(t.states.MergeSealed)); err != nil {
			return nil, t.fail(err)
		}
	}
	if err := t.seal(t.cut(), merge); err != nil {
		return nil, t.fail(err)
	}
	c.m = t.image()
	t.dirty = false // what comes from here on is the next checkpoint's
	t.refresh()
	c.v = t.snapshot()
	return c, nil
}

// seal sets apart what is in the deltas. What an earlier checkpoint sealed and could not merge is still to be merged, and
// is left as it is.
func (t *Tables) seal(c Cut, merge bool) error {
	var errs []error
	if !t.states.Sealed() && !fault.On(fault.StateNotSealed) {
		errs = append(errs, t.states.Seal(uint64(c.Headers), 0))
	}
	if !merge {
		return errors.Join(errs...)
	}
	errs = append(errs, t.headerMap.Seal(c.Headers), t.txMap.Seal(c.Tx))
	if !t.conflict.Sealed() {
		errs = append(errs, t.conflict.Seal(c.Log))
	}
	if !t.spend.Sealed() {
		errs = append(errs, t.spend.Seal(c.Outs, c.Log))
	}
	return errors.Join(errs...)
}

// Run does the work of a checkpoint. Any goroutine may run it, once, while the writer goes on; what it found is returned
// by EndCheckpoint.
func (c *Checkpointing) Run() {
	c.err = store.Guard(c.run)
	c.done.Store(true)
}

// Done reports whether Run has returned.
func (c *Checkpointing) Done() bool { return c.done.Load() }

func (c *Checkpointing) run() error {
	t := c.t
	if err := c.note(t.mergeHeld(t.states.MergeSealed)); err != nil {
		return err
	}
	if fault.On(fault.BodiesAfterManifest) {
		if err := c.writeManifest(); err != nil {
			return err
		}
	}
	if fault.On(fault.MergeBeforeManifest) {
		if err := t.spend.MergeSealed(); err != nil {
			return err
		}
	}
	if err := c.syncBodies(); err != nil {
		return err
	}
	clean := c.m.clean
	c.m.clean = false
	if err := c.writeManifest(); err != nil {
		return err
	}
	if !c.merge {
		return c.lastManifest()
	}
	for _, merge := range []func() error{
		t.headerMap.MergeSealed, t.txMap.MergeSealed, c.mergeConflict, t.spend.MergeSealed,
	} {
		if err := t.mergeHeld(merge); err != nil {
			return c.note(err)
		}
	}
	c.m.clean = clean && c.full == nil
	return c.lastManifest()
}

// mergeHeld merges an index while no backup copies a header page.
func (t *Tables) mergeHeld(merge func() error) error {
	t.heads.Lock()
	defer t.heads.Unlock()
	return merge()
}

// conflictGrowth is how many overflow lines a bucket of conflict may have, on average, before it gets more buckets.
const conflictGrowth = 4

// mergeConflict merges conflict while no backup copies it. Its lines keep no whole keys, so it grows by being made again
// from the log, which is seldom and short: pops are few.
func (c *Checkpointing) mergeConflict() error {
	m := c.t.conflict
	c.t.merging.Lock()
	defer c.t.merging.Unlock()
	if err := m.MergeSealed(); err != nil {
		return err
	}
	if s := m.Stats(); s.Overflow > conflictGrowth*s.Buckets {
		return m.Rebuild(2*s.Overflow, c.eachDisplaced)
	}
	return nil
}

// eachDisplaced yields every mark that the pops below a length of the log took off the chain. Where a popped block
// repeated a txid, all outputs of the earlier transactions are yielded, spent ones too: candidates prove themselves.
func (c *Checkpointing) eachDisplaced(to uint64, yield func(o, by uint64)) error {
	add := func(o OutputLink, by TxLink) { yield(uint64(o), uint64(by)) }
	for i := range int64(to) {
		l, pop := c.t.record(i)
		if !pop {
			continue
		}
		b, ok := c.v.Block(l)
		if !ok {
			return damage(chainName, "it pops a block that is not archived")
		}
		if err := c.t.eachMark(&b, add); err != nil {
			return err
		}
		if b.overwrites {
			c.v.eachRepeated(&b, func(TxLink) bool { return true }, add)
		}
	}
	return nil
}

// note keeps a full disk, which does not stop a checkpoint, apart from every other error.
func (c *Checkpointing) note(err error) error {
	full, other := store.NoRoom(err)
	if full != nil {
		c.full = errors.Join(c.full, full)
	}
	return other
}

// syncBodies makes what Begin flushed durable. State cells were synced by their merge.
func (c *Checkpointing) syncBodies() error {
	for _, b := range append(c.t.bodies(), c.t.pending.body) {
		if fault.On(fault.PendingNotSynced) && b == c.t.pending.body {
			continue
		}
		if err := b.SyncFlushed(); err != nil {
			return err
		}
	}
	if fault.On(fault.FolderNotSynced) {
		return nil
	}
	return c.t.disk.Sync()
}

// writeManifest makes the image durable with the index states of now, and tells the indexes.
func (c *Checkpointing) writeManifest() error {
	t := c.t
	t.indexStates(&c.m)
	if fault.On(fault.WatermarkBeforeMerge) {
		c.m.spend.Watermark, c.m.conf.Watermark = c.m.cut.Log, c.m.cut.Log
	}
	if err := t.putManifest(&c.m); err != nil {
		return err
	}
	return t.retire()
}

// lastManifest writes what the checkpoint has come to into both slots, so that should one of them decay the other says
// the same, and only then removes the pending slab that neither names.
func (c *Checkpointing) lastManifest() error {
	c.t.indexStates(&c.m)
	if err := c.t.putManifest(&c.m); err != nil {
		return err
	}
	if err := c.writeManifest(); err != nil {
		return err
	}
	return c.t.retirePending()
}

// putManifest writes an image and keeps it as what is durable.
func (t *Tables) putManifest(m *image) error {
	if _, err := t.manifest.Write(m.encode()); err != nil {
		return err
	}
	kept := *m
	t.durable.Store(&kept)
	return nil
}

// EndCheckpoint takes over what Run did, and publishes. Writer only, after Run. It returns *store.DiskFull where the
// archive is safe and an index, a state or the pending blocks found no room.
func (t *Tables) EndCheckpoint(c *Checkpointing) error {
	if c.err != nil {
		return t.fail(c.err)
	}
	t.dirty = t.dirty || c.full != nil
	t.refresh()
	return errors.Join(c.full, t.Publish())
}

// image is what a manifest says of now, index states left out.
func (t *Tables) image() image {
	return image{cut: t.cut(), pendingGen: t.pending.gen, pendingLen: uint64(t.pending.body.Len()), run: t.run}
}

// level reports whether every index has come as far as the cut.
func (m *image) level() bool {
	return m.headerMap.Watermark == uint64(m.cut.Headers) && m.txMap.Watermark == uint64(m.cut.Tx) &&
		m.spend.Watermark == m.cut.Log && m.conf.Watermark == m.cut.Log
}

// indexStates fills in where the indexes are.
func (t *Tables) indexStates(m *image) {
	m.headerMap, m.txMap = t.headerMap.State(), t.txMap.State()
	m.spend, m.conf, m.mark = t.spend.State(), t.conflict.State(), t.states.State()
}

// retire tells the indexes that the states which indexStates took are in a durable manifest.
func (t *Tables) retire() error {
	return errors.Join(t.headerMap.Retire(), t.txMap.Retire(), t.conflict.Retire(), t.spend.Retire(), t.states.Retire())
}

// Close writes a last checkpoint, marks the store as closed cleanly, and closes every file. Views must not be read any
// more. The store's disk stays open: it belongs to whoever opened it.
func (t *Tables) Close() error {
	var err error
	if !t.disk.ReadOnly() {
		err = t.checkpoint(true)
	}
	return errors.Join(err, t.closeFiles())
}

func (t *Tables) closeFiles() error {
	var errs []error
	for _, b := range append(t.bodies(), t.pending.body) {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	if t.headerMap != nil {
		errs = append(errs, t.headerMap.Close())
	}
	if t.txMap != nil {
		errs = append(errs, t.txMap.Close())
	}
	if t.spend != nil {
		errs = append(errs, t.spend.Close())
	}
	if t.states != nil {
		errs = append(errs, t.states.Close())
	}
	if t.conflict != nil {
		errs = append(errs, t.conflict.Close())
	}
	if t.kept != nil {
		t.kept.Void() // whatever was kept is in a manifest, or may not be trusted
		errs = append(errs, t.kept.Close())
	}
	if t.manifest != nil {
		errs = append(errs, t.manifest.Close())
	}
	return errors.Join(errs...)
}
