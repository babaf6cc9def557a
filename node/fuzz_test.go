package node

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"stele/chain"
	"stele/node/blockfile"
	"stele/store"
)

// FuzzImport feeds anything as a stream behind three good blocks. Whatever it is, it cannot stop the import, take the
// good blocks away, or leave records that are not accounted for; and what was taken can be taken again.
func FuzzImport(f *testing.F) {
	var m maker
	p := chain.Regtest()
	good, on := m.branch(genesisAt(p), 3)
	next, later := m.branch(on, 3)
	bad, _ := m.block(later, missing(1))
	whole := file(p, append(next, bad)...)
	f.Add([]byte{})
	f.Add(whole)
	f.Add(file(p, next[2], next[1], next[0], bad))
	f.Add(file(p, damagedBody(next[0]), next[0]))
	swallow := bytes.Clone(whole)
	swallow[5]++ // the first length covers others
	f.Add(swallow)
	f.Add(whole[:len(whole)-9])
	f.Fuzz(func(t *testing.T, input []byte) {
		d := store.NewMemDisk()
		d.SetReserveCap(128 << 10)
		r := newRig(t, d, p)
		content := slices.Concat(file(p, good...), input)
		for range 2 {
			rep, err := Import(context.Background(), r.t, streamOptions(content))
			var full *store.Fault // the heap twin's files are small here
			if err != nil && !errors.As(err, new(*blockfile.ForeignNetwork)) && !errors.As(err, &full) {
				t.Fatal(err)
			}
			if full != nil {
				return
			}
			r.accounted(t, rep)
			if rep.Tip.Height < 3 {
				t.Fatalf("report %+v", rep)
			}
		}
	})
}
