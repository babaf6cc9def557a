package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"stele/internal/durable"
	"stele/store"
	"stele/tables"
)

// restoreVerb makes a data folder's store out of a backup.
func (a *app) restoreVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR",
		Short: "make a new store out of a backup",
		Args:  exactly("restore", "DIR"),
		RunE:  a.verb(func(_ *cobra.Command, args []string) error { return a.restore(args[0]) }),
	}
}

// restoring is added to the store's name while a restore fills its folder. What a killed one leaves under that name is no
// store, and goes at the next restore.
const restoring = ".restoring"

// restore copies the files of a backup into a new folder, the manifest last, opens that once, and gives it the store's
// name. A store that is there is never touched. (Between the look and the renaming another process may make one: then
// the renaming fails, for a folder that holds something is not replaced.)
func (a *app) restore(dir string) error {
	began := time.Now()
	if err := a.noArchive(); err != nil {
		return err
	}
	from, err := a.openBackup(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	stop := a.stoppable()
	defer stop()
	doc, err := a.restoreFrom(from)
	if err != nil {
		return a.stopped("restore", err)
	}
	doc.Folder, doc.Seconds = a.archive(), time.Since(began).Seconds()
	return a.answer(doc, doc.write("restored"))
}

// noArchive refuses where the store's folder holds anything.
func (a *app) noArchive() error {
	list, err := os.ReadDir(a.archive())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(list) > 0:
		return failed("a store is there already", a.archive(), "move it away, or name another --datadir")
	}
	return nil
}

// openBackup locks a backup for reading and looks at its manifest: network and format are right from here on.
func (a *app) openBackup(dir string) (*store.Dir, error) {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	none := failed("no backup", folder, "name a folder that stele backup has made")
	d, err := store.OpenDir(folder, store.DirOptions{ReadOnly: true, Verb: "restore"})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err != nil {
		return nil, explain(err, folder)
	}
	m, err := store.OpenManifest(d, tables.Format, a.conf.params.Magic)
	if err == nil {
		err = m.Close()
	}
	if err == nil {
		return d, nil
	}
	_ = d.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	return nil, explain(err, folder)
}

func (a *app) restoreFrom(from *store.Dir) (*copyDocument, error) {
	folder := a.archive() + restoring
	d, err := store.OpenDir(folder, store.DirOptions{Create: true, Verb: "restore"})
	if err != nil {
		return nil, explain(err, folder)
	}
	defer d.Close()
	empty(d)
	doc := new(copyDocument)
	err = a.copyFiles(from, folder)
	if err == nil {
		err = a.openIn(d, doc)
	}
	if err == nil {
		err = a.settle(d, folder)
	}
	if err == nil {
		return doc, nil
	}
	empty(d)
	_ = d.Close()
	_ = os.Remove(filepath.Join(folder, store.LockName))
	_ = os.Remove(folder)
	if a.ctx.Err() != nil {
		return nil, a.ctx.Err()
	}
	return nil, explain(err, folder)
}

// copyFiles copies every file that belongs to a store, the manifest after all others are on the disk. The live record
// of the store that was copied says nothing of this one.
func (a *app) copyFiles(from *store.Dir, folder string) error {
	names, err := from.List()
	if err != nil {
		return err
	}
	var total, done uint64
	for _, name := range names {
		if st, err := os.Stat(filepath.Join(from.Path(), name)); err == nil {
			total += uint64(st.Size())
		}
	}
	bar := a.meter("restore", "bytes")
	defer bar.close()
	step := func(n int64) error {
		done += uint64(n)
		bar.update(reading{done: done, total: max(done, total)})
		return a.ctx.Err()
	}
	for _, name := range names {
		if name != store.ManifestName && name != store.LiveName {
			if err := copyFile(from.Path(), folder, name, step); err != nil {
				return err
			}
		}
	}
	if err := durable.SyncFolder(folder); err != nil {
		return err
	}
	if err := copyFile(from.Path(), folder, store.ManifestName, step); err != nil {
		return err
	}
	return durable.SyncFolder(folder)
}

// copyFile copies a file in pieces and syncs the copy.
func copyFile(from, to, name string, step func(n int64) error) error {
	src, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		var n int64
		n, err = io.CopyN(dst, src, 1<<20)
		if more = err != io.EOF; !more {
			err = nil
		}
		err = errors.Join(err, step(n))
	}
	return errors.Join(err, dst.Sync(), dst.Close())
}

// settle gives the folder its final name, and makes that durable.
func (a *app) settle(d *store.Dir, folder string) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where a folder with open files keeps its name
		if err := d.Close(); err != nil {
			return err
		}
	}
	final := a.archive()
	_ = os.Remove(final) // if it is there it is empty
	if err := os.Rename(folder, final); err != nil {
		if noArchive := a.noArchive(); noArchive != nil {
			return noArchive
		}
		return err
	}
	if err := durable.SyncFolder(filepath.Dir(final)); err != nil {
		return fmt.Errorf("the store is restored, but its name may not be durable: %w", err)
	}
	_ = d.Close()
	if d, err := store.OpenDir(final, store.DirOptions{}); err == nil { // the lock file's text names this process
		_ = d.Close()
	}
	return nil
}
