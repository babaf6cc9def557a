package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
)

// loadDocument is Core's answer to loadtxoutset, and the hash that was found.
type loadDocument struct {
	Coins  uint64     `json:"coins_loaded"`
	Base   chain.Hash `json:"tip_hash"`
	Height uint32     `json:"base_height"`
	Path   string     `json:"path"`
	Hash   chain.Hash `json:"txoutset_hash"` // hash_serialized_3
}

// utxoLoadVerb takes a snapshot of Core's. The outputs that are unspent follow from the archive, so nothing in a snapshot
// could be new: it is compared, coin by coin, with the set as it was after its base block.
func (a *app) utxoLoadVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "load FILE",
		Short: "compare a snapshot of Core's with the set as it was at its base block",
		Args:  exactly("utxo load", "FILE"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			return a.withFile("utxo load", args[0], func(t *tables.Tables, path string) error { return a.load(t.View(), path) })
		}),
	}
}

func (a *app) load(v *tables.View, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := utxo.NewSnapshotReader(f)
	if err != nil {
		return unlike(path, err)
	}
	if s.Head.Network != a.conf.params.Magic {
		where := fmt.Sprintf("%s has magic %x, that of %s is %x", path, s.Head.Network, a.conf.params.Name, a.conf.params.Magic)
		return &failure{code: codeForeign, what: "snapshot of another network", where: where, todo: "name it with --network"}
	}
	base, ok := baseOf(v, &s.Head.Base)
	if !ok {
		_, tip := v.Tip()
		where := fmt.Sprintf("its base, block %v, is not on the chain of this store, which ends at height %d", s.Head.Base, tip)
		return failed("cannot load "+path, where, "import the blocks up to it first")
	}
	threads := runtime.GOMAXPROCS(0)
	set, err := unspentOf(a.ctx, base, threads)
	if err != nil {
		return err
	}
	doc := &loadDocument{Base: s.Head.Base, Height: tipOf(base).Height, Path: path}
	progress, done := a.setMeter("load", set.outputs)
	stats, hash, err := s.VerifySnapshot(set, threads, progress)
	done()
	if err != nil {
		return unlike(path, err)
	}
	doc.Coins, doc.Hash = stats.Outputs, hash
	return a.answer(doc, func(w io.Writer) {
		t := table{gap: 2}
		t.row("snapshot", doc.Path)
		t.row("base", fmt.Sprintf("height %s, block %v", count(doc.Height), doc.Base))
		t.row("coins", count(doc.Coins)+", all equal to the set of this store")
		t.row(hashSerialized3, doc.Hash.String())
		t.write(w)
	})
}

// unlike explains why a snapshot is not the one of a set.
func unlike(path string, err error) error {
	var differs *utxo.Difference
	var damaged *utxo.SnapshotError
	var wrong *utxo.CountError
	switch {
	case errors.As(err, &differs):
		return failed("the snapshot differs from the set", path+": "+differs.Error(), "nothing was changed; get the file again")
	case errors.As(err, &damaged), errors.As(err, &wrong):
		return failed("cannot load", path+": "+err.Error(), "nothing was changed; get the file again")
	}
	return err
}
