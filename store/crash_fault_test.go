//go:build faults

package store_test

import (
	"testing"

	"stele/internal/fault"
)

// faultSeeds is the number of seeds within which a fault must be seen.
const faultSeeds = 2000

// TestSeededFaults makes one mistake after the other in the manifest and the bodies, and wants TestCrashManifest's runs to
// see it. Their payloads fill a slot, so that it can be torn.
func TestSeededFaults(t *testing.T) {
	defer func() { fault.Active = fault.None }()
	for _, id := range []fault.ID{
		fault.BodyNotSynced, fault.FolderNotSynced, fault.SlotAlwaysFirst, fault.SlotNotSynced, fault.SlotNotSummed,
		fault.SlotOldest, fault.SlotSequenceStays, fault.SlotNotOwned, fault.CompleteBeforeSlot, fault.SyncForgiven,
		fault.TailKept, fault.CutTooLittle,
	} {
		fault.Active = id
		seed, err := uint64(0), error(nil)
		for ; seed < faultSeeds && err == nil; seed++ {
			err = crashSeed(seed)
		}
		if err == nil {
			t.Errorf("%v: no seed of %d sees it", id, faultSeeds)
			continue
		}
		fault.Active = fault.None
		if healthy := crashSeed(seed - 1); healthy != nil {
			t.Errorf("without a fault: %v", healthy)
		}
		t.Logf("%v: %v", id, err)
	}
}
