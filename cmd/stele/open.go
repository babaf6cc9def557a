package main

import (
	"errors"
	"io/fs"
	"path/filepath"

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

// lookup opens the store to answer from it, calls f, and closes it. A clean store is opened for reading; one that is
// not is opened as its owner, which recovers it. The store is never created.
func (a *app) lookup(verb string, f func(t *tables.Tables) error) error {
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
	d, err := store.OpenDir(a.archive(), store.DirOptions{Create: create, Verb: verb})
	if errors.Is(err, fs.ErrNotExist) {
		return a.noStore()
	}
	if err != nil {
		return err
	}
	t, err := tables.Open(d, a.conf.params, tables.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		if err = a.noStore(); create {
			t, err = tables.Create(d, a.conf.params, tables.Options{})
		}
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	return a.use(d, t, f)
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
