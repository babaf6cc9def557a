//go:build faults

package hashmap

import (
	"testing"

	"stele/internal/fault"
)

// faultSeeds is the number of seeds within which a fault must be seen.
const faultSeeds = 2000

// TestSeededFaults makes one mistake after the other, and wants the crash runs of the index that it is made in to see it.
func TestSeededFaults(t *testing.T) {
	defer func() { fault.Active = fault.None }()
	for name, ids := range map[string][]fault.ID{
		"map": {
			fault.MapNotSynced, fault.MapStampNotRaised, fault.MapChangedOnly, fault.MapEntryMoves,
			fault.MapBuildNotSynced, fault.MapRetireEarly,
		},
		"cells": {fault.CellsNotSynced, fault.CellsStampNotRaised, fault.CellsZeroOnly, fault.CellsChangedOnly},
		"multimap": {
			fault.MultiNotSynced, fault.MultiLineTwice, fault.MultiSettledEarly, fault.MultiFoundNotWritten,
			fault.MultiLineReused,
		},
	} {
		for _, id := range ids {
			fault.Active = id
			seed, err := uint64(0), error(nil)
			for ; seed < faultSeeds && err == nil; seed++ {
				err = crashSeed(seed, crashIndexes[name])
			}
			if err == nil {
				t.Errorf("%s: %v: no seed of %d sees it", name, id, faultSeeds)
				continue
			}
			fault.Active = fault.None
			if healthy := crashSeed(seed-1, crashIndexes[name]); healthy != nil {
				t.Errorf("without a fault: %v", healthy)
			}
			t.Logf("%s: %v: %v", name, id, err)
		}
	}
}
