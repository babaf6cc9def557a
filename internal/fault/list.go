package fault

// ID names a fault. The zero ID is none.
type ID int

// The faults, by the package that they are made in.
const (
	None ID = iota

	// store
	BodyNotSynced      // a body of rows says that it is synced and is not
	LogNotSynced       // the log likewise
	FolderNotSynced    // names are not made durable before a manifest
	SlotAlwaysFirst    // every manifest goes into the same slot
	SlotNotSynced      // the manifest is written and not synced, so that the next takes the other slot too early
	SlotNotSummed      // a slot's checksum is not looked at
	SlotOldest         // of two valid slots the older one is taken
	SlotSequenceStays  // a manifest that is adopted is written under the number that it has
	SlotNotOwned       // the older slot is overwritten while the newest may be in the page cache alone
	CompleteBeforeSlot // a new store counts as complete before it has a manifest
	SyncForgiven       // after a failed sync everything goes on
	TailKept           // what a file holds beyond the manifest counts
	CutTooLittle       // a file is cut one row later than the manifest says
	ResyncLeftOut      // what was adopted out of the page cache is not written again

	// hashmap
	MapNotSynced         // lines are merged in place and not synced
	MapStampNotRaised    // rows go into lines, and the stamp does not tell
	MapChangedOnly       // lines that look right in memory are not written again
	MapEntryMoves        // an entry makes room for another one
	MapBuildNotSynced    // a new generation is not synced
	MapRetireEarly       // the old generation goes before a manifest names the new one
	CellsNotSynced       // cells are merged and not synced
	CellsStampNotRaised  // cells change, and the stamp does not tell
	CellsZeroOnly        // a merge fills cells that are zero, and leaves the others
	CellsChangedOnly     // cells that look right in memory are not written again
	CellsGrowthNotZeroed // new cells without a value keep what is there
	MultiNotSynced       // pairs are merged and not synced
	MultiLineTwice       // a new overflow line takes a number that another bucket has just taken
	MultiSettledEarly    // settled is raised to a line that a crash can undo
	MultiFoundNotWritten // a pair that is found in the chain is not written again
	MultiLineReused      // overflow lines are numbered from what is durable, not from what was written

	// tables
	BodiesAfterManifest  // the manifest is written before what it covers is synced
	CutBeforeFlush       // the cut is taken with bytes in memory
	PendingNotSynced     // pending blocks are covered and not synced
	MergeBeforeManifest  // indexes are merged beyond what is durable, and open does not look at their stamps
	WatermarkBeforeMerge // the manifest before the merge has the watermark of after it
	RetireBeforeManifest // files go before the manifest that does without them
	AdoptNotRewritten    // the manifest that was found is relied on as it lies there
	ReplayFromCut        // the log is replayed from the cut, not from the watermark
	RefillFromCut        // rows between the watermark and the cut are not entered
	ReplayFromHigher     // spend and conflict are replayed from the higher of their watermarks
	PopKeepsNothing      // a pop does not put its marks into conflict
	StateNotSealed       // states that became known are not part of a checkpoint

	last
)

// All lists the faults.
func All() []ID {
	var all []ID
	for id := None + 1; id < last; id++ {
		all = append(all, id)
	}
	return all
}
