package hashmap

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Readers look up cells while the writer sets them and merges run beside it, on the heap twin, where the race detector
// sees every access. A value names its number and rises, so that a reader can tell a torn or a lost one: what it finds
// is of that number, and no older than what had been set before it took its view.
func TestCellsReadersDuringMerges(t *testing.T) {
	const numbers, rounds = 600, 40
	c, err := OpenCells(cellsTestDisk(1<<16), cellsTestID, CellsSpec{Name: "spend"}, State{})
	if err != nil {
		t.Fatal(err)
	}
	var round atomic.Uint32 // all cells have at least this round's value
	value := func(n uint64, r uint32) uint32 { return uint32(n)<<8 | r }
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var looked atomic.Uint64
	for reader := range uint64(4) {
		wg.Go(func() {
			var ns [37]uint64
			var deltas, bases [37]uint32
			for i := reader; ; i += 13 {
				select {
				case <-stop:
					return
				default:
				}
				least := round.Load()
				v := c.View()
				for j := range ns {
					ns[j] = (i*37 + uint64(j)) * 7 % numbers
				}
				v.GetGroup(ns[:], deltas[:], bases[:])
				for j, n := range ns {
					got := deltas[j]
					if got == 0 {
						got = bases[j]
					}
					if got == 0 && least == 0 {
						continue
					}
					if got < value(n, least) || got > value(n, rounds) || bases[j] > value(n, rounds) {
						t.Errorf("cell %d is (%#x, %#x), want at least %#x", n, deltas[j], bases[j], value(n, least))
						return
					}
				}
				looked.Add(1)
			}
		})
	}
	merges := make(chan struct{}, 1)
	wg.Go(func() {
		for range merges {
			if err := c.MergeSealed(); err != nil {
				t.Error(err)
			}
		}
	})
	for r := uint32(1); r <= rounds; r++ {
		for n := range uint64(numbers) {
			c.Set(n, value(n, r))
		}
		round.Store(r)
		if err := c.Seal(numbers+uint64(r), uint64(r)); err != nil && r == 1 {
			t.Error(err)
		}
		select {
		case merges <- struct{}{}:
		default:
		}
	}
	close(merges)
	for looked.Load() < 100 && !t.Failed() {
		c.View().Get(1)
	}
	close(stop)
	wg.Wait()
	if st := c.State(); st.Watermark == 0 {
		t.Error("nothing was merged")
	}
}
