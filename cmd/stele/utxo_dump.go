package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
)

// dumpDocument is Core's answer to dumptxoutset.
type dumpDocument struct {
	Coins   uint64     `json:"coins_written"`
	Base    chain.Hash `json:"base_hash"`
	Height  uint32     `json:"base_height"`
	Path    string     `json:"path"`
	Hash    chain.Hash `json:"txoutset_hash"` // hash_serialized_3
	ChainTx uint64     `json:"nchaintx"`      // transactions up to the base
}

// utxoDumpVerb writes Core's snapshot of the set. Where another process has the store, that one writes it.
func (a *app) utxoDumpVerb() *cobra.Command {
	var height uint32
	c := &cobra.Command{
		Use:   "dump FILE",
		Short: "write the set as a snapshot of Core's (dumptxoutset)",
		Args:  exactly("utxo dump", "FILE"),
		RunE: a.verb(func(cmd *cobra.Command, args []string) error {
			return a.withFile("utxo dump", args[0], func(t *tables.Tables, path string) error {
				v := t.View()
				if cmd.Flags().Changed("height") {
					if _, tip := v.Tip(); height > tip {
						return notFound(fmt.Sprintf("height %d", height), fmt.Sprintf("the tip of this store is at height %d", tip))
					}
					v = v.Down(height)
				}
				return a.dump(v, path)
			})
		}),
	}
	c.Flags().Uint32Var(&height, "height", 0, "the set as it was after the block at this `height`; default: the tip")
	return c
}

// withFile answers from the store with the help of a file, whose name is completed first: the process that answers may
// stand in another folder. A signal ends it.
func (a *app) withFile(verb, name string, f func(t *tables.Tables, path string) error) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if a.desk != nil {
		if !filepath.IsAbs(name) {
			return misused(verb, "wrong file", name+" is not named in full")
		}
	} else {
		stop := a.stoppable()
		defer stop()
		a.call.args = []string{path}
	}
	return a.stopped(verb, a.lookup(verb, func(t *tables.Tables) error { return f(t, path) }))
}

func (a *app) dump(v *tables.View, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return failed("cannot dump", path+" exists", "name a file that does not, or move it away")
	}
	threads := runtime.GOMAXPROCS(0)
	set, err := unspentOf(a.ctx, v, threads)
	if err != nil {
		return err
	}
	tip := tipOf(v)
	doc := &dumpDocument{Coins: set.outputs, Base: tip.Hash, Height: tip.Height, Path: path, ChainTx: chainTxs(v)}
	head := utxo.SnapshotHead{Network: a.conf.params.Magic, Base: tip.Hash, Coins: set.outputs}
	progress, done := a.setMeter("dump", set.outputs)
	err = replace(path, func(w io.Writer) (err error) {
		_, doc.Hash, err = utxo.WriteSnapshot(w, head, set, threads, progress)
		return err
	})
	done()
	if err != nil {
		return err
	}
	return a.answer(doc, func(w io.Writer) {
		t := table{gap: 2}
		t.row("snapshot", doc.Path)
		t.row("base", fmt.Sprintf("height %s, block %v", count(doc.Height), doc.Base))
		t.row("coins", count(doc.Coins))
		t.row(hashSerialized3, doc.Hash.String())
		t.write(w)
	})
}

// incomplete ends the name of a file that is being written, as Core's does.
const incomplete = ".incomplete"

// replace writes a file so that its name appears when all of it is on the disk. What it made is gone when it fails.
func replace(path string, write func(w io.Writer) error) error {
	partly := path + incomplete
	f, err := os.OpenFile(partly, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(partly, path)
	}
	if err != nil {
		_ = os.Remove(partly)
		return err
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil { // the name; where folders cannot be synced, it is the system's
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}
