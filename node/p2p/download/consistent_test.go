package download

import (
	"slices"

	"stele/chain"
)

// consistent compares the scheduler's sums and places with its lists, and its holders with the peers that are there.
func consistent(t interface{ Fatalf(string, ...any) }, s *Scheduler) {
	flight, owers := 0, map[chain.Hash]int{}
	for _, p := range s.peers {
		for _, o := range p.owes {
			if s.blocks[o.hash] == nil {
				t.Fatalf("peer %d owes a block that is forgotten", p.id)
			}
			owers[o.hash]++
			if !o.relieved {
				flight++
				if b := s.blocks[o.hash]; b == nil || !slices.Contains(b.holders, p.id) {
					t.Fatalf("peer %d owes block %x, which does not know", p.id, o.hash[0])
				}
			}
		}
	}
	if flight != s.flight {
		t.Fatalf("%d in flight, counted %d", s.flight, flight)
	}
	for hash, b := range s.blocks {
		if !b.listed && !slices.Contains(s.side, b) && !slices.Contains(s.loose, b) {
			t.Fatalf("block %d is in no list", b.Height)
		}
		if b.owers != owers[hash] {
			t.Fatalf("block %d: %d owe it, counted %d", b.Height, owers[hash], b.owers)
		}
	}
	var waiting int64
	for i, b := range s.order {
		if b.at != i || !b.listed || s.blocks[b.Hash] != b {
			t.Fatalf("block %d is not in its place", b.Height)
		}
		if b.state == arrived && i > s.front {
			waiting += b.size
		}
		if b.state == asked && len(b.holders) == 0 || b.state != asked && len(b.holders) > 0 {
			t.Fatalf("block %d: state %d with %d holders", b.Height, b.state, len(b.holders))
		}
		if i < s.cursor && b.state == idle {
			t.Fatalf("block %d is idle before the cursor", b.Height)
		}
		for _, id := range b.holders {
			if s.byID[id] == nil {
				t.Fatalf("block %d is held by a peer that left", b.Height)
			}
		}
	}
	if waiting != s.waiting {
		t.Fatalf("%d waiting, counted %d", s.waiting, waiting)
	}
}
