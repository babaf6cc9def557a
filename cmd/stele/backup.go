package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stele/store"
	"stele/tables"
)

// copyDocument is what backup and restore answer with --json.
type copyDocument struct {
	Folder  string  `json:"folder"` // that was made
	Tip     place   `json:"tip"`    // of the store in it
	Bytes   uint64  `json:"bytes"`  // of its files
	Seconds float64 `json:"seconds"`
}

func (d *copyDocument) write(what string) func(w io.Writer) {
	return func(w io.Writer) {
		t := table{gap: 2}
		t.row(what, d.Folder)
		t.row("tip", fmt.Sprintf("height %s, block %v", count(d.Tip.Height), d.Tip.Hash))
		t.row("size", fmt.Sprintf("%s bytes in %.2f s", count(d.Bytes), d.Seconds))
		t.write(w)
	}
}

// backupVerb copies the store into a folder, as of its newest checkpoint. Where another process has it, that one
// copies, and goes on meanwhile.
func (a *app) backupVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "copy the store, of a running node too, into a new folder",
		Args:  exactly("backup", "DIR"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			if a.desk != nil {
				return a.desk.backup(a, args[0])
			}
			return a.backup(args[0])
		}),
	}
}

// backup makes a copy and opens it once: that proves what opening proves, brings its indexes level, and closes it
// cleanly, so that it may be kept on a medium that cannot be written.
func (a *app) backup(dir string) error {
	began := time.Now()
	folder, err := a.vacant(dir)
	if err != nil {
		return err
	}
	stop := a.stoppable()
	defer stop()
	a.call.args = []string{folder} // the owner may stand in another folder
	tries := 0
	err = a.orAsk(func() error {
		if tries++; tries > 1 { // an owner that ended in the middle of it may have left something
			clearCopy(folder)
		}
		return a.lookHere("backup", func(t *tables.Tables) error { return a.copyTo(t, folder) })
	})
	if err != nil {
		return a.stopped("backup", err)
	}
	doc, err := a.openCopy(folder, "backup")
	if err != nil {
		return explain(err, folder)
	}
	doc.Folder, doc.Seconds = folder, time.Since(began).Seconds()
	return a.answer(doc, doc.write("backup"))
}

// vacant completes the name of a folder for a backup, which must be absent or empty.
func (a *app) vacant(dir string) (string, error) {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(a.archive(), folder); err == nil && filepath.IsLocal(rel) {
		return "", failed("cannot back up", folder+" is the store's own folder", "name another one")
	}
	list, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folder, nil
	case err != nil:
		return "", err
	case len(list) > 0:
		where := fmt.Sprintf("%s is not empty, it holds %s", folder, list[0].Name())
		return "", failed("cannot back up", where, "name a folder that is absent or empty")
	}
	return folder, nil
}

// copyTo copies a store that this process has open. What it made is gone when it fails.
func (a *app) copyTo(t *tables.Tables, folder string) error {
	_, err := os.Lstat(folder)
	isNew := errors.Is(err, fs.ErrNotExist)
	d, err := store.OpenDir(folder, store.DirOptions{Create: true, Verb: "backup"})
	if err != nil {
		return explain(err, folder)
	}
	bar := a.meter("backup", "bytes")
	err = t.Backup(cancelled{d, a.ctx}, func(done, total int64) {
		bar.update(reading{done: uint64(done), total: uint64(total)})
	})
	bar.close()
	if err != nil && !errors.Is(err, fs.ErrExist) {
		empty(d)
	}
	if err = errors.Join(err, d.Close()); err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return failed("cannot back up", folder+" is not empty", "name a folder that is absent or empty")
	}
	_ = os.Remove(filepath.Join(folder, store.LockName))
	if isNew {
		_ = os.Remove(folder)
	}
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	return explain(err, folder) // its files, not the store's
}

// openCopy opens a store once and describes it.
func (a *app) openCopy(folder, verb string) (*copyDocument, error) {
	d, err := store.OpenDir(folder, store.DirOptions{Verb: verb})
	if err != nil {
		return nil, err
	}
	doc := new(copyDocument)
	err = a.openIn(d, doc)
	return doc, errors.Join(err, d.Close())
}

// openIn opens the store on a disk, and closes it cleanly.
func (a *app) openIn(d *store.Dir, doc *copyDocument) error {
	t, err := tables.Open(d, a.conf.params, a.budget())
	if err != nil {
		return err
	}
	doc.Tip = tipOf(t.View())
	if err := t.Close(); err != nil {
		return err
	}
	names, err := d.List()
	for _, name := range names {
		if st, err := os.Stat(filepath.Join(d.Path(), name)); err == nil {
			doc.Bytes += uint64(st.Size())
		}
	}
	return err
}

// clearCopy removes what another process left of a copy, unless some process is at it.
func clearCopy(folder string) {
	d, err := store.OpenDir(folder, store.DirOptions{Verb: "backup"})
	if err != nil {
		return
	}
	empty(d)
	_ = d.Close()
}

// empty removes the files of a disk, as far as they can be removed.
func empty(d *store.Dir) {
	names, _ := d.List()
	for _, name := range names {
		_ = d.Remove(name)
	}
}

// backup is the owner's part of a backup: the copy, beside the writer. One is made at a time.
func (d *desk) backup(a *app, folder string) error {
	select {
	case d.copies <- struct{}{}:
		defer func() { <-d.copies }()
	case <-a.ctx.Done():
		return a.ctx.Err()
	}
	if !filepath.IsAbs(folder) {
		return misused("backup", "wrong folder", folder+" is not named in full")
	}
	return a.copyTo(d.store, folder)
}

// cancelled is a disk that takes no more bytes once its context has ended.
type cancelled struct {
	store.Disk
	ctx context.Context
}

func (d cancelled) Open(name string, o store.FileOptions) (store.File, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := d.Disk.Open(name, o)
	if err != nil {
		return nil, err
	}
	return cancelledFile{f, d.ctx}, nil
}

type cancelledFile struct {
	store.File
	ctx context.Context
}

func (f cancelledFile) WriteAt(p []byte, off int64) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	return f.File.WriteAt(p, off)
}
