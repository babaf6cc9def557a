package main

import (
	"path/filepath"
	"strings"
	"testing"

	"stele/chain"
	"stele/store"
	"stele/tables"
)

// TestRebuild damages the file of each index: whoever meets it is told what mends it, and that does.
func TestRebuild(t *testing.T) {
	makeStore(t)
	for _, index := range indexes {
		file := ""
		for name := range imported.files {
			if strings.HasPrefix(name, index+".") {
				file = name
			}
		}
		if file == "" {
			continue // conflict has none: nothing was ever popped
		}
		dir := makeStore(t)
		altered(t, dir, file, func([]byte) []byte { return []byte("this is no file of a store\n") })
		refuse(t, codeDamaged, dir, []string{"tx", payment}, "store damaged", file, "stele rebuild "+index)
		refuse(t, codeDamaged, dir, []string{"checkpoint"}, "stele rebuild "+index)
		doc := answer[struct {
			Rebuilt []string
			Tip     place
		}](t, dir, "rebuild", index)
		if len(doc.Rebuilt) != 1 || doc.Rebuilt[0] != index || doc.Tip.Height != height {
			t.Errorf("%+v", doc)
		}
		if r := answer[checkDocument](t, dir, "check", "--deep"); !r.OK {
			t.Errorf("%s: %v", index, r.Problems)
		}
		// Damage that opening does not see.
		altered(t, dir, generation(t, dir, index), func(b []byte) []byte {
			clear(b[store.PageSize:])
			return b
		})
		stele("--datadir", dir, "check").want(t, codeDamaged, "problems", "stele rebuild")
		r := stele("--datadir", dir, "rebuild").want(t, codeOK)
		tells(t, r.out, "header, tx, spend, conflict")
		tells(t, r.errOut, "rebuilding")
		stele("--datadir", dir, "check", "--deep").want(t, codeOK)
		stele("--datadir", dir, "tx", payment).want(t, codeOK)
	}
	refuse(t, codeFailed, t.TempDir(), []string{"rebuild"}, "no store")
}

// generation finds the file of an index.
func generation(t *testing.T, dir, index string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "archive", index+".*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has the files %v (%v)", index, found, err)
	}
	return filepath.Base(found[0])
}

// TestIndexNames: what rebuild takes is what the tables take.
func TestIndexNames(t *testing.T) {
	dir := makeStore(t)
	for _, name := range append([]string{"state", "ins"}, indexes...) {
		d, err := store.OpenDir(filepath.Join(dir, "archive"), store.DirOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tb, err := tables.Open(d, chain.Main(), tables.Options{Rebuild: []string{name}})
		if (err == nil) != (indexOf(name+".x-1") != "") {
			t.Errorf("%s: %v", name, err)
		}
		if tb != nil {
			_ = tb.Close()
		}
		_ = d.Close()
	}
	if indexOf("tx") != "" {
		t.Error("a body is taken for an index")
	}
}
