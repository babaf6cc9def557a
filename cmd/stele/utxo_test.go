package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/utxo"
)

// TestDumpOfCore imports Core's regtest chain: what is dumped is Core's own file, to the byte, and that file is the set's.
func TestDumpOfCore(t *testing.T) {
	core := realdata.Path(t, "core_regtest", "utxo_snapshot_415.dat")
	want := realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat")
	_, file := regtestChain(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
	stele("--datadir", dir, "--network", "regtest", "import", file).want(t, codeOK)
	dumped := answer[dumpDocument](t, dir, "--network", "regtest", "utxo", "dump", out)
	got, err := os.ReadFile(out)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes are not Core's %d: %v", len(got), len(want), err)
	}
	stats := stele("--datadir", dir, "--network", "regtest", "--json", "utxo", "stats").want(t, codeOK).out
	tells(t, stats, `"hash_serialized_3":"`+dumped.Hash.String()+`"`, `"bestblock":"`+dumped.Base.String()+`"`)
	loaded := answer[loadDocument](t, dir, "--network", "regtest", "utxo", "load", core)
	if loaded != (loadDocument{dumped.Coins, dumped.Base, dumped.Height, core, dumped.Hash}) || loaded.Height != 415 {
		t.Errorf("%+v, dumped %+v", loaded, dumped)
	}
}

// TestDump writes the set, compares it again, and refuses what is no snapshot of it.
func TestDump(t *testing.T) {
	dir, folder := makeStore(t), t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	dumped := answer[dumpDocument](t, dir, "utxo", "dump", path("tip"))
	if dumped.Path != path("tip") || dumped.Height != height || dumped.Base.String() != blockHash(t, height) ||
		dumped.ChainTx != transactions(t, height+1) {
		t.Errorf("%+v", dumped)
	}
	tells(t, stele("--datadir", dir, "--json", "utxo", "stats", "--hash", "none").want(t, codeOK).out,
		fmt.Sprintf(`"txouts":%d,`, dumped.Coins))
	r := stele("--datadir", dir, "utxo", "dump", "--height", "170", path("170")).want(t, codeOK)
	tells(t, r.out, "height 170, block "+hash170, "171")
	for _, name := range []string{"tip", "170"} {
		r := stele("--datadir", dir, "utxo", "load", path(name)).want(t, codeOK)
		tells(t, r.out, "all equal")
	}
	refuse(t, codeFailed, dir, []string{"utxo", "dump", path("tip")}, "exists")
	refuse(t, codeFailed, dir, []string{"utxo", "dump", path("none/file")}, "none/file")
	refuse(t, codeFailed, dir, []string{"utxo", "load", path("none")}, "none")
	refuse(t, codeNotFound, dir, []string{"utxo", "dump", "--height", "200", path("none")}, "height 199")
	if left := entries(t, folder); len(left) != 2 {
		t.Errorf("left %q", left)
	}
	less := t.TempDir()
	stele("--datadir", less, "import", blockFile(t, 0, 180)).want(t, codeOK)
	stele("--datadir", less, "utxo", "load", path("170")).want(t, codeOK)
	refuse(t, codeFailed, less, []string{"utxo", "load", path("tip")}, "not on the chain", "height 179")

	bent := func(tell string, change func(b []byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path("tip"))
		if err != nil {
			t.Fatal(err)
		}
		file := writeFile(t, "bent", change(b))
		refuse(t, codeFailed, dir, []string{"utxo", "load", file}, tell, "nothing was changed")
	}
	bent("in the middle", func(b []byte) []byte { return b[:len(b)-1] })
	bent("in the middle", func(b []byte) []byte { return append(b, 0) })
	bent("no snapshot", func(b []byte) []byte { return b[1:] })
	bent(fmt.Sprintf("%d coins", dumped.Coins+1), func(b []byte) []byte { b[43]++; return b })
	bent("lacks", func(b []byte) []byte { return b[:51] })
	refuse(t, codeForeign, dir, []string{"utxo", "load", writeFile(t, "other", foreign(t, path("tip")))}, "another network")
}

// transactions counts those of the first embedded blocks.
func transactions(t *testing.T, blocks int) (n uint64) {
	t.Helper()
	for _, r := range records(t)[:blocks] {
		var b chain.Block
		if err := b.Decode(r[8:]); err != nil {
			t.Fatal(err)
		}
		n += uint64(len(b.Txs))
	}
	return n
}

// foreign is a snapshot with the magic of regtest.
func foreign(t *testing.T, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	magic := chain.Regtest().Magic
	copy(b[7:], magic[:])
	return b
}

// TestLoadTells makes a snapshot with another coin than the store's.
func TestLoadTells(t *testing.T) {
	dir := makeStore(t)
	path := filepath.Join(t.TempDir(), "tip")
	stele("--datadir", dir, "utxo", "dump", path).want(t, codeOK)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := utxo.NewSnapshotReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var set recordsOf
	for {
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept := *r
		kept.Outs = slices.Clone(r.Outs)
		for i := range kept.Outs {
			kept.Outs[i].Script = slices.Clone(kept.Outs[i].Script)
			if kept.Txid.String() == payment && kept.Outs[i].Vout == 0 {
				kept.Outs[i].Value++
			}
		}
		set = append(set, kept)
	}
	var file bytes.Buffer
	if _, _, err := utxo.WriteSnapshot(&file, s.Head, set, 1, nil); err != nil {
		t.Fatal(err)
	}
	refuse(t, codeFailed, dir, []string{"utxo", "load", writeFile(t, "changed", file.Bytes())},
		"differs", payment+":0 with value 1000000001, not 1000000000", "nothing was changed")
}

// recordsOf is a set as a list.
type recordsOf []utxo.Record

func (all recordsOf) Shard(shard int, f func(*utxo.Record) error) error {
	for i := range all {
		if int(all[i].Txid[0]) == shard {
			if err := f(&all[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
