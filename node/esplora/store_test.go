package esplora

import (
	"slices"
	"sync"
	"testing"

	"stele/chain"
	"stele/internal/archivetest"
	"stele/internal/mainnet"
	"stele/internal/realdata"
	"stele/store"
	"stele/tables"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// archive confirms blocks, parents first, onto an empty store of a network that is kept on the heap.
func archive(t testing.TB, p *chain.Params, blocks [][]byte) *tables.Tables {
	t.Helper()
	tab, err := tables.Create(store.NewMemDisk(), p, tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b chain.Block
	var rows tables.Rows
	var ids []chain.Hash
	for _, raw := range blocks {
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		hash := b.Header.Hash()
		if hash == p.GenesisHash {
			continue
		}
		parent, ok := tab.FindHeader(&b.Header.Prev)
		if !ok {
			t.Fatalf("block %v has no parent here", hash)
		}
		link, err := tab.PutHeader(&b.Header, &hash, parent, medianTime(tab, parent, b.Header.Time))
		if err != nil {
			t.Fatal(err)
		}
		ids = b.Txids(ids)
		if err := rows.Encode(&b, ids); err != nil {
			t.Fatal(err)
		}
		if err := archivetest.MustPush(tab, link, &b, ids, &rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := tab.Publish(); err != nil {
		t.Fatal(err)
	}
	return tab
}

// medianTime is the MTP of a header of the given time upon its parent (BIP113).
func medianTime(t *tables.Tables, parent tables.HeaderLink, time uint32) uint32 {
	times := []uint32{time}
	for l, ok := parent, true; ok && len(times) < 11; {
		h := t.Header(l)
		times = append(times, h.Time())
		l, ok = h.Parent()
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// early is the embedded chain's first 400 blocks, archived once for all tests.
var early = sync.OnceValues(func() (func(testing.TB) *tables.View, error) {
	file, err := mainnet.Blocks()
	if err != nil {
		return nil, err
	}
	var once sync.Once
	var v *tables.View
	return func(t testing.TB) *tables.View {
		t.Helper()
		once.Do(func() { v = archive(t, chain.Main(), realdata.Split(t, file)[:400]).View() })
		return v
	}, nil
})

func earlyView(t testing.TB) *tables.View {
	t.Helper()
	view, err := early()
	if err != nil {
		t.Fatal(err)
	}
	return view(t)
}

func mustHash(t testing.TB, s string) *chain.Hash {
	t.Helper()
	h, err := chain.ParseHash(s)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}
