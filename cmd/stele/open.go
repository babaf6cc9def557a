package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"stele/node"
	"stele/store"
	"stele/tables"
)

// archive is the folder of the store: DATADIR[/NETWORK]/archive. Empty before the configuration is known.
func (a *app) archive() string {
	if a.conf == nil {
		return ""
	}
	return filepath.Join(a.conf.datadir, a.conf.params.Folder, "archive")
}

// noStore says how a store comes to be.
func (a *app) noStore() error {
	return failed("no store", a.archive(), "make one with: stele import PATH")
}

// lookup answers from the store: from this process's own view of it, or where another process has it open for writing,
// by that one's. The store is never created.
func (a *app) lookup(verb string, f func(t *tables.Tables) error) error {
	if a.desk != nil {
		return a.desk.lookup(a.ctx, verb, f)
	}
	return a.orAsk(func() error { return a.lookHere(verb, f) })
}

// lookHere opens the store to answer from it, calls f, and closes it. A clean store is opened for reading; one that is
// not is opened as its owner, which recovers it.
func (a *app) lookHere(verb string, f func(t *tables.Tables) error) error {
	dir := a.archive()
	d, err := store.OpenDir(dir, store.DirOptions{ReadOnly: true, Verb: verb})
	if errors.Is(err, fs.ErrNotExist) {
		return a.noStore()
	}
	if err != nil {
		return err
	}
	t, err := tables.Open(d, a.conf.params, tables.Options{})
	switch {
	case err == nil:
		return a.use(d, t, f)
	case errors.Is(err, tables.ErrUnclean):
		err = a.recoverAnd(verb, d, f)
	case errors.Is(err, fs.ErrNotExist):
		err = a.noStore()
	}
	return errors.Join(err, d.Close())
}

// recoverAnd gives up the shared lock on an unclean store, opens it as its owner, and calls f.
func (a *app) recoverAnd(verb string, d *store.Dir, f func(t *tables.Tables) error) error {
	if err := d.Close(); err != nil {
		return err
	}
	err := a.own(verb, false, f)
	if unwritable(err) {
		return tables.ErrUnclean
	}
	return err
}

// own opens the store as its owner, calls f, and closes it, which writes a checkpoint. With create a store that is not
// there is made.
func (a *app) own(verb string, create bool, f func(t *tables.Tables) error) error {
	return a.claim(claim{verb: verb, create: create}, f)
}

// claim says how the store is opened for writing.
type claim struct {
	verb    string
	create  bool           // make the store where there is none
	options tables.Options // DeltaBytes and MergeBytes are filled in
	desk    *desk          // answers other processes meanwhile; nil: nobody does
}

// lock takes the folder for a writer. Lookups that are at it are let end, as most take no time; one that found the store
// unclean has it as its owner.
func (a *app) lock(c claim) (*store.Dir, error) {
	deadline := time.Now().Add(settlePatience)
	for {
		d, err := store.OpenDir(a.archive(), store.DirOptions{Create: c.create, Verb: c.verb})
		var used *store.ErrInUse
		if !errors.As(err, &used) || time.Now().After(deadline) || !readersOnly(&used.Owner) && !answered[used.Owner.Verb] {
			return d, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// readersOnly reports whether a folder in use has no owner, as far as the lock file tells: its text is empty, or it is of
// a process of this machine that was killed.
func readersOnly(o *store.Owner) bool {
	if o.PID == 0 {
		return true
	}
	if host, err := os.Hostname(); err != nil || host != o.Host {
		return false
	}
	p, err := os.FindProcess(o.PID)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// claim opens the store as its owner, calls f, and closes it.
func (a *app) claim(c claim, f func(t *tables.Tables) error) error {
	d, err := a.lock(c)
	if errors.Is(err, fs.ErrNotExist) {
		return a.noStore()
	}
	if err != nil {
		return err
	}
	a.openDesk(c.desk, d)
	budget := a.budget()
	c.options.DeltaBytes, c.options.MergeBytes = budget.DeltaBytes, budget.MergeBytes
	t, err := tables.Open(d, a.conf.params, c.options)
	if errors.Is(err, fs.ErrNotExist) {
		if err = a.noStore(); c.create {
			t, err = tables.Create(d, a.conf.params, c.options)
		}
	}
	if err != nil {
		c.desk.close()
		return errors.Join(err, d.Close())
	}
	return a.use(d, t, func(t *tables.Tables) error {
		defer c.desk.close()
		c.desk.serve(t)
		return f(t)
	})
}

// budget is how a store is opened with the memory that this run may take.
func (a *app) budget() tables.Options {
	memory := int64(a.conf.memory)
	return tables.Options{DeltaBytes: node.DeltaBytes(memory), MergeBytes: node.MergeBytes(memory)}
}

// use calls f and closes the store. A full disk at the close of a store that was only looked at costs nothing but the
// next start's recovery: it is logged. Where f failed, its error is the one that counts.
func (a *app) use(d *store.Dir, t *tables.Tables, f func(t *tables.Tables) error) error {
	err := f(t)
	closing := errors.Join(t.Close(), d.Close())
	var full *store.DiskFull
	switch {
	case closing == nil:
		return err
	case err != nil:
		a.log.Debug().Err(closing).Msg("closing the store after a failure")
		return err
	case errors.As(closing, &full):
		a.log.Warn().Err(closing).Msg("no room to close the store cleanly; the next start recovers it")
		return nil
	}
	return closing
}
