package utxo

import (
	"errors"
	"math/rand/v2"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// TestWindowCoreChain plays Core's regtest chain into a set ten blocks at a time, which must be what Core had at every
// tenth height, on the way there and back.
func TestWindowCoreChain(t *testing.T) {
	want := answers(t)
	raw := bestChain(t, want)
	s := New(Options{Salt: 99, Workers: 2})
	defer s.Close()
	s.commit.parallel = 0
	var blocks []*Block
	var undos []*Undo
	first := uint64(len(raw[0].Outs))
	for i, b := range raw[1:] {
		x := new(Block)
		x.Take(b, b.Txids(nil), uint32(i+1), first)
		blocks, undos = append(blocks, x), append(undos, new(Undo))
		first += uint64(len(b.Outs))
	}
	from := 0
	for ; from+10 <= len(blocks); from += 10 {
		if n, err := s.CommitAll(blocks[from:from+10], undos[from:from+10]); n != 10 || err != nil {
			t.Fatalf("height %d: %v", from+1+n, err)
		}
		want.Marks[from/10+1].check(t, coinsOf(t, s))
	}
	if n, err := s.CommitAll(blocks[from:], undos[from:]); from+n != len(blocks) || err != nil {
		t.Fatal(n, err)
	}
	want.Final.check(t, coinsOf(t, s))
	for i := len(undos) - 1; i >= 0; i-- {
		if height := i + 1; height%10 == 0 {
			want.Marks[height/10].check(t, coinsOf(t, s))
		}
		if err := s.Undo(undos[i]); err != nil {
			t.Fatalf("height %d: %v", i+1, err)
		}
	}
	if s.Len() != 0 {
		t.Errorf("%d outputs at height 0", s.Len())
	}
}

// TestBefore: what Take says of the order is what the block's own list of transactions says, and an order that is wrong
// is seen in a real block.
func TestBefore(t *testing.T) {
	var b chain.Block
	if err := b.Decode(realdata.Read(t, "mainnet", "blocks", "702861.blk.gz")); err != nil {
		t.Fatal(err)
	}
	var x Block
	const first = 1 << 31
	x.Take(&b, b.Txids(nil), 702_861, first)
	made := map[chain.Hash]uint64{}
	for _, m := range x.Made {
		made[m.Txid] = m.First
	}
	own, at := -1, 0
	for i := range b.Txs[1:] {
		tx := &b.Txs[i+1]
		for range tx.Ins {
			if x.Before[at] != first+uint64(tx.FirstOut) {
				t.Fatalf("spend %d stands before output %d, want %d", at, x.Before[at], first+uint64(tx.FirstOut))
			}
			if parent, ok := made[x.Spends[at].Txid]; ok {
				own = at
				if parent+uint64(x.Spends[at].Vout) >= x.Before[at] {
					t.Fatalf("spend %d comes before its parent", at)
				}
			}
			at++
		}
	}
	if at != len(x.Before) || at != len(x.Spends) || own < 0 {
		t.Fatalf("%d numbers for %d spends, %d in the block; the last of its own is %d", len(x.Before), len(x.Spends), at, own)
	}
}

// TestChildFirst: a spend finds what stands before it in the block, and only that.
func TestChildFirst(t *testing.T) {
	s := New(Options{Heap: true})
	parent := chain.Hash{5, 1}
	made := []Made{{Txid: parent, First: 10, Outs: []Entry{{0, 1, nil}, {1, 2, nil}, {3, 4, nil}}}}
	for _, c := range []struct {
		vout   uint32
		before uint64
		ok     bool
	}{
		{0, 14, true}, {3, 14, true}, {3, 13, false}, {0, 11, true}, {0, 10, false}, {1, 11, false}, {0, 0, false},
	} {
		var u Undo
		b := &Block{Spends: []Outpoint{{parent, c.vout}}, Made: made, Before: []uint64{c.before}}
		err := s.Commit(b, &u)
		var missing *MissingError
		if (err == nil) != c.ok || err != nil && (!errors.As(err, &missing) || missing.Spend != 0) {
			t.Fatalf("output %d, before %d: %v", c.vout, c.before, err)
		}
		if err == nil {
			err = s.Undo(&u)
		}
		if s.Len() != 0 || !c.ok != (err != nil) {
			t.Fatalf("%d outputs are left: %v", s.Len(), err)
		}
	}
	s.commit.parallel = 0
	later := []*Block{{Made: made, Before: []uint64{}}, {Spends: []Outpoint{{parent, 3}}, Before: []uint64{20}}}
	if n, err := s.CommitAll(later, []*Undo{{}, {}}); n != 2 || err != nil || s.Len() != 2 {
		t.Errorf("a parent in an earlier block: %d, %v", n, err)
	}
}

// TestWindowDoesNotAllocate: windows, and taking them back, once they find their memory used before. What the window
// itself spends takes no memory of the set.
func TestWindowDoesNotAllocate(t *testing.T) {
	s := New(Options{Workers: 1})
	defer s.Close()
	random := rand.New(rand.NewPCG(5, 6))
	script := append([]byte{0, 20}, make([]byte, 20)...)
	const width = 8
	var blocks []*Block
	var undos []*Undo
	var before []Outpoint
	for height := range uint32(width) {
		b := &Block{Height: height, Spends: before}
		before = nil
		for range 300 {
			m := Made{Txid: randomTxid(random, byte(random.Uint32())), Outs: []Entry{{0, 1000, script}, {1, 77_777, script}}}
			before = append(before, Outpoint{m.Txid, 0}, Outpoint{m.Txid, 1})
			b.Made = append(b.Made, m)
		}
		blocks, undos = append(blocks, b), append(undos, new(Undo))
	}
	there := func() {
		if n, err := s.CommitAll(blocks, undos); n != width || err != nil {
			t.Fatal(n, err)
		}
	}
	back := func() {
		for i := width - 1; i >= 0; i-- {
			if err := s.Undo(undos[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	there()
	if r := s.Report(); r.Records != 300 || r.Slack > 256*pageSize {
		t.Errorf("a window leaves %+v", r)
	}
	back()
	there()
	back()
	if n := testing.AllocsPerRun(10, func() { there(); back() }); n != 0 {
		t.Errorf("%v allocations a window", n)
	}
	if s.Len() != 0 {
		t.Errorf("%d outputs are left", s.Len())
	}
}

// TestBytes: what a set says it takes is what its report comes to, but for what lists of free cells take.
func TestBytes(t *testing.T) {
	s, txids := oneShard(t, 50_000)
	check := func(when string) {
		t.Helper()
		r := s.Report()
		if have := uint64(s.Bytes()); have > r.Accounted || have < r.Payload+r.Index {
			t.Errorf("%s: %d bytes, reported %+v", when, have, r)
		}
	}
	check("loaded")
	loaded := s.Bytes()
	b := &Block{}
	for _, txid := range txids[100:] {
		b.Spends = append(b.Spends, Outpoint{txid, 0})
	}
	var u Undo
	if err := s.Commit(b, &u); err != nil {
		t.Fatal(err)
	}
	check("spent")
	if s.Bytes() > loaded/8 {
		t.Errorf("%d bytes are left of %d", s.Bytes(), loaded)
	}
	if err := s.Undo(&u); err != nil {
		t.Fatal(err)
	}
	check("taken back")
	if s.Bytes() < loaded*9/10 {
		t.Errorf("%d bytes came back of %d", s.Bytes(), loaded)
	}
}
