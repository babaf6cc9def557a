package hashmap

import (
	"sync"
	"sync/atomic"
	"testing"
)

const cellsRaceNumbers, cellsRaceRounds = 600, 40

// cellsRaceValue is what cell n is set to in round r.
func cellsRaceValue(n uint64, r uint32) uint32 { return uint32(n)<<8 | r }

// cellsReadGroup takes a view and looks up a group of cells, all of which were set in round least or later.
func cellsReadGroup(t *testing.T, c *Cells, i uint64, least uint32) bool {
	var ns [37]uint64
	var deltas, bases [37]uint32
	v := c.View()
	for j := range ns {
		ns[j] = (i*37 + uint64(j)) * 7 % cellsRaceNumbers
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
		last := cellsRaceValue(n, cellsRaceRounds)
		if want := cellsRaceValue(n, least); got < want || got > last || bases[j] > last {
			t.Errorf("cell %d is (%#x, %#x), want at least %#x", n, deltas[j], bases[j], want)
			return false
		}
	}
	return true
}

// Readers look up cells while the writer sets them and merges run beside it, on the heap twin, where the race detector
// sees every access. A value names its number and rises, so that a reader can tell a torn or a lost one: what it finds
// is of that number, and no older than what had been set before it took its view.
func TestCellsReadersDuringMerges(t *testing.T) {
	c, err := OpenCells(cellsTestDisk(1<<16), cellsTestID, CellsSpec{Name: "spend"}, State{})
	if err != nil {
		t.Fatal(err)
	}
	var round atomic.Uint32 // all cells have at least this round's value
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var looked atomic.Uint64
	for reader := range uint64(4) {
		wg.Go(func() {
			for i := reader; ; i += 13 {
				select {
				case <-stop:
					return
				default:
				}
				if !cellsReadGroup(t, c, i, round.Load()) {
					return
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
	for r := uint32(1); r <= cellsRaceRounds; r++ {
		for n := range uint64(cellsRaceNumbers) {
			c.Set(n, cellsRaceValue(n, r))
		}
		round.Store(r)
		if err := c.Seal(cellsRaceNumbers+uint64(r), uint64(r)); err != nil && r == 1 {
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
