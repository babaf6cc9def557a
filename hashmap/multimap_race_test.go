package hashmap

import (
	"sync"
	"sync/atomic"
	"testing"
)

const multiRaceKeys, multiRaceRounds = 7, 60

// multiReadSet takes a view and reads the set of a key, which has a value of each of the first least rounds.
func multiReadSet(t *testing.T, m *Multimap, key, least uint64) bool {
	got := m.View().All(nil, key)
	var seen [multiRaceRounds]bool
	for _, value := range got {
		r := value / multiRaceKeys
		if value%multiRaceKeys != key || r >= multiRaceRounds || seen[r] {
			t.Errorf("key %d has value %d: %v", key, value, got)
			return false
		}
		seen[r] = true
	}
	for r := range least {
		if !seen[r] {
			t.Errorf("key %d lost its value of round %d of %d: %v", key, r, least, got)
			return false
		}
	}
	return true
}

// Readers ask for whole sets while the writer adds to them, merges run beside it, and the lines are rebuilt, on the
// heap twin, where the race detector sees every access. Values name their key and rise, so that a reader can tell a
// torn, a lost or a doubled one. There are three buckets, so that all chains are long and shared.
func TestMultimapReadersDuringMerges(t *testing.T) {
	for _, once := range []bool{true, false} {
		m, err := OpenMultimap(cellsTestDisk(1<<18), cellsTestID, MultimapSpec{
			Name: "script", Buckets: 3, Mixed: true, Once: once, MergePairs: 20,
		}, State{})
		if err != nil {
			t.Fatal(err)
		}
		var round atomic.Uint64 // all keys have the values of the rounds below it
		var looked atomic.Uint64
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for reader := range uint64(3) {
			wg.Go(func() {
				for i := reader; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if !multiReadSet(t, m, i%multiRaceKeys, round.Load()) {
						return
					}
					looked.Add(1)
				}
			})
		}
		merges := make(chan uint64, 1)
		wg.Go(func() {
			for r := range merges {
				if err := m.MergeSealed(); err != nil {
					t.Error(err)
				}
				if r%8 != 0 {
					continue
				}
				err := m.Rebuild(1+r%3, func(to uint64, yield func(key, value uint64)) error {
					for i := range to {
						yield(i%multiRaceKeys, i)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		for r := range uint64(multiRaceRounds) {
			for key := range uint64(multiRaceKeys) {
				m.Add(key, r*multiRaceKeys+key)
			}
			round.Store(r + 1)
			if m.Seal((r+1)*multiRaceKeys) == nil {
				merges <- r
			}
		}
		close(merges)
		for looked.Load() < 300 && !t.Failed() {
			m.View().All(nil, 1)
		}
		close(stop)
		wg.Wait()
		if st := m.State(); st.Watermark == 0 || st.Generation < 2 {
			t.Errorf("merged to %+v only", st)
		}
		if problems := m.Verify(); len(problems) != 0 {
			t.Error(problems)
		}
	}
}
