package utxo

import (
	"math/rand/v2"
	"sync"
	"testing"

	"stele/chain"
)

// TestReadersSeeWholeBlocks: readers look at a set on the heap while blocks come and go. Every block spends all outputs
// of one side and makes those of the other, so a reader must find exactly one side. Other outputs come and go with
// them, so that indexes grow and slabs are packed meanwhile.
func TestReadersSeeWholeBlocks(t *testing.T) {
	const width, rounds = 40, 150
	s := New(Options{Heap: true, Workers: 2})
	s.commit.parallel = 0
	random := rand.New(rand.NewPCG(7, 8))
	var sides [2][]Outpoint
	for side := range sides {
		for range width {
			sides[side] = append(sides[side], Outpoint{randomTxid(random, byte(random.UintN(3))), 0})
		}
	}
	var u Undo
	if err := s.Commit(sideBlock(random, sides[0]), &u); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() { readSides(t, s, &sides, done) })
	}
	var junk []Outpoint
	side := 0
	next := func(height int) *Block {
		b := sideBlock(random, sides[1-side])
		b.Height = uint32(height)
		b.Spends = append(b.Spends, sides[side]...)
		n := len(junk) * 2 / 3
		b.Spends, junk = append(b.Spends, junk[:n]...), junk[n:]
		for _, m := range b.Made[width:] {
			junk = append(junk, Outpoint{m.Txid, 0}, Outpoint{m.Txid, 1}, Outpoint{m.Txid, 2})
		}
		side = 1 - side
		return b
	}
	undos := []*Undo{new(Undo), new(Undo), new(Undo)}
	for round := 0; round < rounds; {
		var window []*Block // of one to three blocks; those of three are taken back and come again
		for range 1 + round%3 {
			round++
			window = append(window, next(round))
		}
		for again := range 1 + len(window)/3 {
			if n, err := s.CommitAll(window, undos[:len(window)]); err != nil {
				t.Fatal(n, err)
			}
			for i := len(window) - 1; i >= 0 && len(window) == 3 && again == 0; i-- {
				if err := s.Undo(undos[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	close(done)
	readers.Wait()
	if err := s.verify(); err != nil {
		t.Fatal(err)
	}
}

// sideBlock makes the outputs of a side, and others.
func sideBlock(random *rand.Rand, side []Outpoint) *Block {
	var b Block
	for _, p := range side {
		b.Made = append(b.Made, Made{Txid: p.Txid, Outs: []Entry{{0, 5000, make([]byte, 30)}}})
	}
	for range 60 {
		m := Made{Txid: randomTxid(random, byte(random.UintN(3)))}
		for vout := range uint32(3) {
			m.Outs = append(m.Outs, Entry{vout, int64(random.Uint32()), make([]byte, random.UintN(600))})
		}
		b.Made = append(b.Made, m)
	}
	return &b
}

// readSides looks both sides up, again and again.
func readSides(t *testing.T, s *Set, sides *[2][]Outpoint, done chan struct{}) {
	points := append(append([]Outpoint{}, sides[0]...), sides[1]...)
	found := make([]Found, len(points))
	half := len(points) / 2
	for {
		select {
		case <-done:
			return
		default:
		}
		s.Lookup(points, found, nil)
		for i := range points {
			if found[i].OK != (found[0].OK == (i < half)) {
				t.Errorf("output %d of %d is found: %v, the first: %v", i, len(points), found[i].OK, found[0].OK)
				return
			}
			if f := &found[i]; f.OK && (f.Coin.Value != 5000 || len(f.Coin.Script) != 30) {
				t.Errorf("output %d is %+v", i, f)
				return
			}
		}
		s.Get(&points[0].Txid, 0, nil)
		_ = s.Shard(1, func(r *Record) error {
			if r.Txid == (chain.Hash{}) {
				t.Error("a record without a txid")
			}
			return nil
		})
	}
}
