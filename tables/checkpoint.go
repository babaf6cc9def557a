package tables

import (
	"errors"

	"stele/store"
)

// Checkpoint makes everything up to now durable and brings the indexes level with it. Writer only; readers go on with
// the view that they hold, and the readers' view is a new one afterwards.
//
// Order, each step after the one before it is on the disk:
//
//  1. states, whose loss no replay could mend; they are bound to header rows alone
//  2. bodies and log up to the cut, and the folder
//  3. a manifest with the cut and the old watermarks: the archive is safe from here
//  4. the indexes, from their watermarks to that cut and never beyond it
//  5. a manifest with the new watermarks
//
// After each manifest the indexes are told that it is durable, and the files that none names any more go.
//
// An error before 3 leaves the store as durable as it was. A *store.DiskFull in 4 leaves the deltas in memory and the old
// watermarks, and is returned: the archive is safe, and the next checkpoint tries again.
func (t *Tables) Checkpoint() error { return t.checkpoint(false) }

func (t *Tables) checkpoint(closing bool) error {
	if err := t.writable(); err != nil {
		return err
	}
	if !t.dirty && t.durable.clean == closing && t.view.Load() != nil {
		return nil
	}
	// A full disk keeps states and pending blocks as they are on the disk, which is allowed, and must not keep the
	// archive from being made durable: it is remembered, and returned in the end.
	full, err := noRoom(errors.Join(t.states.Merge(uint64(t.Headers()), 0), t.compactPending(t.manifest.Preamble().ID)))
	if err != nil {
		return t.fail(err)
	}
	if err := t.syncBodies(); err != nil {
		return t.fail(err)
	}
	if err := t.writeManifest(t.image()); err != nil {
		return err
	}
	if err := t.mergeIndexes(t.cut()); err != nil {
		t.refresh()
		return errors.Join(full, err, t.Publish())
	}
	m := t.image()
	m.clean = closing && full == nil
	if err := t.writeManifest(m); err != nil {
		return err
	}
	t.dirty = full != nil
	t.refresh()
	return errors.Join(full, t.Publish())
}

// noRoom tells a full disk, which is waited out, from every other error.
func noRoom(err error) (full, other error) {
	var f *store.DiskFull
	if errors.As(err, &f) {
		return err, nil
	}
	return nil, err
}

// syncBodies makes all that is appended durable. State cells were synced by their merge.
func (t *Tables) syncBodies() error {
	for _, b := range append(t.bodies(), t.pending.body) {
		if err := b.Sync(); err != nil {
			return err
		}
	}
	return t.disk.Sync()
}

// image is what a manifest written now would say.
func (t *Tables) image() image {
	return image{
		cut:        t.cut(),
		pendingGen: t.pending.gen,
		pendingLen: uint64(t.pending.body.Len()),
		headerMap:  t.headerMap.State(),
		txMap:      t.txMap.State(),
		spend:      t.spend.State(),
		conf:       t.conflict.State(),
		mark:       t.states.State(),
	}
}

func (t *Tables) writeManifest(m image) error {
	if _, err := t.manifest.Write(m.encode()); err != nil {
		return t.fail(err)
	}
	t.durable = m
	return t.retire()
}

// mergeIndexes brings every index level with a cut that a durable manifest covers. Conflict goes before spend: a view
// that still holds older generations finds a displaced spender in the one before it is gone from the other.
func (t *Tables) mergeIndexes(c Cut) error {
	if err := t.headerMap.Merge(c.Headers); err != nil {
		return err
	}
	if err := t.txMap.Merge(c.Tx); err != nil {
		return err
	}
	if err := t.conflict.Merge(c.Log); err != nil {
		return err
	}
	return t.spend.Merge(c.Outs, c.Log)
}

// retire tells the indexes that the states which image took are in a durable manifest.
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
	return errors.Join(append(errs, t.manifest.Close())...)
}
