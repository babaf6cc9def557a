//go:build faults

package tables_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"stele/internal/fault"
)

// faultSeeds is the number of seeds within which a fault must be seen.
const faultSeeds = 2000

var onlyFault = flag.String("fault", "", "the one fault to make")

// only leaves out all faults but the one that the flag names, if it does.
func only(ids []fault.ID) []fault.ID {
	return slices.DeleteFunc(ids, func(id fault.ID) bool { return *onlyFault != "" && id.String() != *onlyFault })
}

// TestSeededFaults makes one mistake after the other, in tables and in what lies under it, and wants the crash runs to
// see it. Mistakes that the small stores here cannot make are for the tests of store and hashmap.
func TestSeededFaults(t *testing.T) {
	defer func() { fault.Active = fault.None }()
	for _, id := range only([]fault.ID{
		fault.BodyNotSynced, fault.LogNotSynced, fault.FolderNotSynced, fault.SlotNotSynced, fault.SlotOldest,
		fault.SlotSequenceStays, fault.CompleteBeforeSlot, fault.SyncForgiven, fault.TailKept, fault.CutTooLittle,
		fault.ResyncLeftOut,
		fault.MapNotSynced, fault.MapStampNotRaised, fault.MapBuildNotSynced, fault.CellsNotSynced,
		fault.CellsZeroOnly, fault.CellsGrowthNotZeroed, fault.MultiNotSynced,
		fault.BodiesAfterManifest, fault.CutBeforeFlush, fault.PendingNotSynced, fault.MergeBeforeManifest,
		fault.WatermarkBeforeMerge, fault.RetireBeforeManifest, fault.AdoptNotRewritten, fault.ReplayFromCut,
		fault.RefillFromCut, fault.ReplayFromHigher, fault.PopKeepsNothing, fault.StateNotSealed,
	}) {
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
		what, _, _ := strings.Cut(err.Error(), "\n")
		t.Logf("%v: %s", id, what)
	}
}
