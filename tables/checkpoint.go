package tables

import (
	"errors"
	"sync/atomic"

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
//  5. a manifest with the new watermarks
//
// After each manifest the indexes are told that it is durable, and the files that none names any more go.
//
// A failure before 3 leaves the store as durable as it was. A full disk in 4 leaves the deltas in memory and the old
// watermarks: the archive is safe, the *store.DiskFull is returned, and the next checkpoint merges what this one sealed.
// A full disk in 1 keeps states and pending blocks as they were on the disk, which is allowed. Every other failure is
// final: the store stops writing, because what is in memory and what is on the disk may differ from then on.

// Checkpointing is a checkpoint on its way from Begin to End.
type Checkpointing struct {
	t    *Tables
	m    image // of the manifest that Run writes last
	full error // a full disk, found on the way
	err  error // what stopped it
	done atomic.Bool
}

// Checkpoint makes everything up to now durable, and waits for it. Writer only, with no other checkpoint on its way.
// Readers go on with the view that they hold; the readers' view is a new one afterwards.
func (t *Tables) Checkpoint() error { return t.checkpoint(false) }

func (t *Tables) checkpoint(closing bool) error {
	if !t.dirty && t.durable.Load() != nil && t.durable.Load().clean == closing {
		return t.writable()
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
func (t *Tables) BeginCheckpoint() (*Checkpointing, error) {
	if err := t.writable(); err != nil {
		return nil, err
	}
	c := &Checkpointing{t: t}
	var err error
	if c.full, err = noRoom(t.compactPending(t.manifest.Preamble().ID)); err != nil {
		return nil, t.fail(err)
	}
	for _, b := range append(t.bodies(), t.pending.body) {
		if err := b.Flush(); err != nil {
			return nil, t.fail(err)
		}
	}
	if err := t.seal(t.cut()); err != nil {
		return nil, t.fail(err)
	}
	c.m = t.image()
	t.dirty = false // what comes from here on is the next checkpoint's
	t.refresh()
	return c, nil
}

// seal sets apart what is in the deltas. What an earlier checkpoint sealed and could not merge is still to be merged, and
// is left as it is.
func (t *Tables) seal(c Cut) error {
	errs := []error{t.headerMap.Seal(c.Headers), t.txMap.Seal(c.Tx)}
	if !t.states.Sealed() {
		errs = append(errs, t.states.Seal(uint64(c.Headers), 0))
	}
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
	if err := c.note(t.states.MergeSealed()); err != nil {
		return err
	}
	if err := c.syncBodies(); err != nil {
		return err
	}
	clean := c.m.clean
	c.m.clean = false
	if err := c.writeManifest(); err != nil {
		return err
	}
	for _, merge := range []func() error{
		t.headerMap.MergeSealed, t.txMap.MergeSealed, t.mergeConflict, t.spend.MergeSealed,
	} {
		if err := merge(); err != nil {
			return c.note(err)
		}
	}
	c.m.clean = clean && c.full == nil
	return c.writeManifest()
}

// mergeConflict merges conflict while no backup copies it.
func (t *Tables) mergeConflict() error {
	t.merging.Lock()
	defer t.merging.Unlock()
	return t.conflict.MergeSealed()
}

// note keeps a full disk, which does not stop a checkpoint, apart from every other error.
func (c *Checkpointing) note(err error) error {
	full, other := noRoom(err)
	if full != nil {
		c.full = errors.Join(c.full, full)
	}
	return other
}

// noRoom tells a full disk, which is waited out, from every other error.
func noRoom(err error) (full, other error) {
	var f *store.DiskFull
	if errors.As(err, &f) {
		return err, nil
	}
	return nil, err
}

// syncBodies makes what Begin flushed durable. State cells were synced by their merge.
func (c *Checkpointing) syncBodies() error {
	for _, b := range append(c.t.bodies(), c.t.pending.body) {
		if err := b.SyncFlushed(); err != nil {
			return err
		}
	}
	return c.t.disk.Sync()
}

// writeManifest makes the image durable with the index states of now, and tells the indexes.
func (c *Checkpointing) writeManifest() error {
	t := c.t
	t.indexStates(&c.m)
	if err := t.putManifest(&c.m); err != nil {
		return err
	}
	return t.retire()
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

// indexStates fills in where the indexes are.
func (t *Tables) indexStates(m *image) {
	m.headerMap, m.txMap = t.headerMap.State(), t.txMap.State()
	m.spend, m.conf, m.mark = t.spend.State(), t.conflict.State(), t.states.State()
}

// retire tells the indexes that the states which indexStates took are in a durable manifest.
func (t *Tables) retire() error {
	return errors.Join(t.headerMap.Retire(), t.txMap.Retire(), t.conflict.Retire(), t.spend.Retire(), t.states.Retire(),
		t.retirePending())
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
