package utxo

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"stele/chain"
)

// oneShard returns a set whose records all lie in one shard, with a P2WPKH output each, and their txids.
func oneShard(t testing.TB, records int) (*Set, []chain.Hash) {
	s := New(Options{Salt: 0x1234_5678_9abc_def0})
	t.Cleanup(s.Close)
	random := rand.New(rand.NewPCG(1, 2))
	script := append([]byte{0, 20}, make([]byte, 20)...)
	r := Record{Height: 700_000, First: 1 << 31, Outs: []Entry{{Value: 123_456, Script: script}}}
	txids := make([]chain.Hash, records)
	for i := range txids {
		txids[i] = randomTxid(random, 0xab)
		r.Txid = txids[i]
		if err := s.Load(&r); err != nil {
			t.Fatal(err)
		}
	}
	return s, txids
}

func randomTxid(r *rand.Rand, shard byte) (h chain.Hash) {
	for at := 0; at < len(h); at += 8 {
		binary.LittleEndian.PutUint64(h[at:], r.Uint64())
	}
	h[0] = shard
	return h
}

// TestProbes counts what lookups read in a shard of 500,000 records, as many as mainnet's have, at the load to which
// its index had grown, and after half of the records were replaced by others. A line is 64 bytes.
func TestProbes(t *testing.T) {
	s, txids := oneShard(t, 500_000)
	random := rand.New(rand.NewPCG(3, 4))
	check := func(when string) {
		t.Helper()
		sh := &s.shards[0xab]
		load := float64(sh.records) / float64(sh.index.lines*lineSlots)
		var hits, misses Work
		var most uint32
		for i := 0; i < len(txids); i += 5 {
			var v View
			if !s.view(&txids[i], 0, &v) || v.work.Values != 1 {
				t.Fatalf("%v is missing", txids[i])
			}
			hits.Lines, hits.Compares = hits.Lines+v.work.Lines, hits.Compares+v.work.Compares
			most = max(most, v.work.Lines)
			absent := randomTxid(random, 0xab)
			v = View{}
			if s.view(&absent, 0, &v) || v.work.Values != 0 {
				t.Fatalf("%v is found", absent)
			}
			misses.Lines, misses.Compares = misses.Lines+v.work.Lines, misses.Compares+v.work.Compares
			most = max(most, v.work.Lines)
		}
		n := float64(len(txids) / 5)
		t.Logf("%s, load %.2f: lines %.3f a hit, %.3f a miss, %d at the most; txids %.3f and %.3f", when, load,
			float64(hits.Lines)/n, float64(misses.Lines)/n, most, float64(hits.Compares)/n, float64(misses.Compares)/n)
		if float64(hits.Lines)/n > 1.2 || float64(misses.Lines)/n > 1.2 || most > 20 {
			t.Errorf("%s: too many lines", when)
		}
		if float64(hits.Compares)/n > 1.05 || float64(misses.Compares)/n > 0.07 {
			t.Errorf("%s: too many txids", when)
		}
	}
	check("loaded")
	var u Undo
	for from := 0; from < len(txids)/2; from += 5000 {
		b := Block{Height: 700_001}
		for i := from; i < from+5000; i++ {
			b.Spends = append(b.Spends, Outpoint{txids[i], 0})
			txids[i] = randomTxid(random, 0xab)
			b.Made = append(b.Made, Made{Txid: txids[i], Outs: []Entry{{Value: int64(i)}}})
		}
		if err := s.Commit(&b, &u); err != nil {
			t.Fatal(err)
		}
	}
	check("replaced")
	if err := s.verify(); err != nil {
		t.Fatal(err)
	}
}

// TestSetDoesNotAllocate: lookups, and commits that find their memory used before.
func TestSetDoesNotAllocate(t *testing.T) {
	s := New(Options{Workers: 1})
	defer s.Close()
	random := rand.New(rand.NewPCG(5, 6))
	script := append([]byte{0, 20}, make([]byte, 20)...)
	var blocks []Block
	var before []Outpoint
	for height := range uint32(40) {
		b := Block{Height: height, Spends: before}
		before = nil
		for range 300 {
			m := Made{Txid: randomTxid(random, byte(random.Uint32())), Outs: []Entry{{0, 1000, script}, {1, 77_777, script}}}
			before = append(before, Outpoint{m.Txid, 0}, Outpoint{m.Txid, 1})
			b.Made = append(b.Made, m)
		}
		blocks = append(blocks, b)
	}
	var u Undo
	next := 0
	commit := func() {
		if err := s.Commit(&blocks[next], &u); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for range 10 {
		commit()
	}
	if n := testing.AllocsPerRun(20, commit); n != 0 {
		t.Errorf("%v allocations a commit", n)
	}
	points := blocks[next].Spends
	found, scripts := make([]Found, len(points)), make([]byte, 0, 1<<20)
	n := testing.AllocsPerRun(20, func() {
		s.Lookup(points, found, scripts)
		if _, _, _, ok := s.Get(&points[0].Txid, points[0].Vout, scripts); !ok || !found[1].OK {
			t.Fatal("an output is missing")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a lookup", n)
	}
}

// TestPack: a shard of which most was spent is packed while it is committed to, and keeps what is left.
func TestPack(t *testing.T) {
	s, txids := oneShard(t, 40_000)
	full := s.Report()
	var u Undo
	for from := 0; from < 39_000; from += 1000 {
		var b Block
		for _, txid := range txids[from : from+1000] {
			b.Spends = append(b.Spends, Outpoint{txid, 0})
		}
		if err := s.Commit(&b, &u); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.verify(); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if r.Records != 1000 || r.Slack > full.Payload/8 || r.Index > full.Index/8 {
		t.Errorf("%+v, before %+v", r, full)
	}
	for i := range txids {
		if _, link, _, ok := s.Get(&txids[i], 0, nil); ok != (i >= 39_000) || ok && link != 1<<31 {
			t.Fatalf("record %d is found: %v, number %d", i, ok, link)
		}
	}
}

// TestFull: a shard without room refuses a block whole, and goes on.
func TestFull(t *testing.T) {
	s := New(Options{Heap: true, Reserve: 1000 + RecordSlack})
	made := func(id byte, size int) *Block {
		return &Block{Made: []Made{
			{Txid: chain.Hash{1, id}, Outs: []Entry{{Script: make([]byte, 10)}}},
			{Txid: chain.Hash{0, id}, Outs: []Entry{{Script: make([]byte, size)}}},
		}}
	}
	var u Undo
	if err := s.Commit(made(1, 500), &u); err != nil {
		t.Fatal(err)
	}
	var full *FullError
	if err := s.Commit(made(2, 500), &u); !errors.As(err, &full) || full.Shard != 0 {
		t.Fatalf("500 bytes more: %v", err)
	}
	if s.Len() != 2 {
		t.Errorf("%d outputs", s.Len())
	}
	if err := s.verify(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(made(2, 100), &u); err != nil {
		t.Errorf("100 bytes more: %v", err)
	}
	if err := s.Load(&Record{Txid: chain.Hash{0, 2}, Outs: []Entry{{}}}); !errors.As(err, new(*DuplicateError)) {
		t.Errorf("loaded twice: %v", err)
	}
}

// TestUndoRefused: a block that is not the last one, or that was taken back, is not taken back, and nothing changes.
func TestUndoRefused(t *testing.T) {
	s := New(Options{Heap: true})
	txid, other := chain.Hash{1}, chain.Hash{2}
	var first, second, third Undo
	for i, x := range []struct {
		b *Block
		u *Undo
	}{
		{&Block{Height: 1, Made: []Made{{Txid: txid, Outs: []Entry{{Vout: 0}, {Vout: 1}}}}}, &first},
		{&Block{Height: 2, Spends: []Outpoint{{txid, 0}}, Made: []Made{{Txid: other, Outs: []Entry{{}}}}}, &second},
		{&Block{Height: 3, Spends: []Outpoint{{txid, 1}, {other, 0}}}, &third},
	} {
		if err := s.Commit(x.b, x.u); err != nil {
			t.Fatal(i, err)
		}
	}
	refused := func(what string, u *Undo, left uint64) {
		t.Helper()
		var undo *UndoError
		if err := s.Undo(u); !errors.As(err, &undo) || s.Len() != left {
			t.Errorf("%s: %v, %d outputs left", what, err, s.Len())
		}
		if err := s.verify(); err != nil {
			t.Fatal(err)
		}
	}
	refused("the second before the third", &second, 0)
	if err := s.Undo(&third); err != nil {
		t.Fatal(err)
	}
	refused("the first before the second", &first, 2)
	refused("the third again", &third, 2)
	if err := s.Undo(&second); err != nil {
		t.Fatal(err)
	}
	second.Spent[0].Coin.Height++
	refused("the second again, from another block", &second, 2)
	if err := s.Undo(&first); err != nil || s.Len() != 0 {
		t.Errorf("the first: %v, %d outputs left", err, s.Len())
	}
}
