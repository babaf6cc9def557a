package confirm

import (
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/tables"
)

// TestNumbers holds the set of numbers against a map, while it grows and shrinks.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s numbers
		model := map[tables.OutputLink]bool{}
		some := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64Range(1<<40-50, 1<<40-2), rapid.Uint64Range(0, 1<<40-2))
		number := rapid.Map(some, func(n uint64) tables.OutputLink { return tables.OutputLink(n) })
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				all := rapid.SliceOfN(number, 1, 30).Draw(t, "numbers")
				s.room(len(all))
				for _, n := range all {
					if s.add(n) == model[n] {
						t.Fatalf("adding %d: was it there? %v", n, model[n])
					}
					model[n] = true
				}
			},
			"remove": func(t *rapid.T) {
				for _, n := range rapid.SliceOfN(number, 1, 40).Draw(t, "numbers") {
					if model[n] {
						s.remove(n)
						delete(model, n)
					}
				}
			},
			"": func(t *rapid.T) {
				filled := 0
				for _, slot := range s.slots {
					if slot != 0 {
						filled++
						if n := tables.OutputLink(slot - 1); !model[n] || !s.has(n) {
							t.Fatalf("%d is there, or is not found", n)
						}
					}
				}
				if filled != len(model) || s.used != len(model) || 2*filled > len(s.slots) && filled > 0 {
					t.Fatalf("%d of %d slots filled, %d counted, want %d", filled, len(s.slots), s.used, len(model))
				}
			},
		})
	})
}

// TestTxids holds the table of transactions in flight against blocks that are kept beside it, with txids that share their
// mixed part, so that runs are long.
func TestTxids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newArchive(&Confirmer{})
		c := s.c
		var flight []*Work
		id := rapid.Custom(func(t *rapid.T) (h chain.Hash) {
			h[0] = rapid.ByteRange(0, 3).Draw(t, "id")
			h[rapid.IntRange(8, 15).Draw(t, "at")] = rapid.ByteRange(0, 4).Draw(t, "value")
			return h
		})
		leave := func(w *Work) { s.leaveTxids(w) }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				w := &Work{made: rapid.SliceOfNDistinct(id, 0, 12, rapid.ID[chain.Hash]).Draw(t, "block")}
				s.enlist(w)
				s.enterTxids(w)
				c.entered++
				flight = append(flight, w)
			},
			"put": func(t *rapid.T) {
				if len(flight) > 0 {
					leave(flight[0])
					c.puts++
					flight = flight[1:]
				}
			},
			"drop": func(t *rapid.T) {
				if n := len(flight); n > 0 {
					leave(flight[n-1])
					c.entered--
					flight = flight[:n-1]
				}
			},
			"": func(t *rapid.T) {
				want := map[chain.Hash]*Work{}
				count := 0
				for _, w := range flight { // the newer one wins
					count += len(w.made)
					for _, h := range w.made {
						want[h] = w
					}
				}
				for _, h := range append(rapid.SliceOfN(id, 5, 5).Draw(t, "others"), keys(want)...) {
					w, position := s.find(&h, nil, 0)
					if w != want[h] || w != nil && w.made[position] != h {
						t.Fatalf("%v is found in %p at %d, want %p", h, w, position, want[h])
					}
				}
				if s.made.used != count {
					t.Fatalf("%d entries, want %d", s.made.used, count)
				}
			},
		})
	})
}

func keys(m map[chain.Hash]*Work) (all []chain.Hash) {
	for h := range m {
		all = append(all, h)
	}
	return all
}

// TestManyInFlight goes around the ring of sequence numbers, with more blocks in flight than it holds at first.
func TestManyInFlight(t *testing.T) {
	s := newArchive(&Confirmer{})
	id := func(seq uint64) (h chain.Hash) {
		h[8], h[9], h[10], h[11] = byte(seq), byte(seq>>8), byte(seq>>16), 1
		return h
	}
	var flight []*Work
	for seq := range uint64(maxFlight + 500) {
		w := &Work{made: []chain.Hash{id(seq)}}
		s.enlist(w)
		s.enterTxids(w)
		flight = append(flight, w)
		s.c.entered++
		if len(flight) > 300 {
			s.leaveTxids(flight[0])
			s.c.puts++
			flight = flight[1:]
		}
		if seq%97 != 0 {
			continue
		}
		for _, w := range flight {
			h := w.made[0]
			if got, _ := s.find(&h, nil, 0); got != w {
				t.Fatalf("block %d of %d: found %p, want %p", w.seq, seq, got, w)
			}
		}
		gone := id(s.c.puts - 1)
		if got, _ := s.find(&gone, nil, 0); got != nil {
			t.Fatalf("block %d is found after it was put", s.c.puts-1)
		}
	}
}
