package fault

import "fmt"

// names are those of the list.
var names = [...]string{
	BodyNotSynced:        "BodyNotSynced",
	LogNotSynced:         "LogNotSynced",
	FolderNotSynced:      "FolderNotSynced",
	SlotAlwaysFirst:      "SlotAlwaysFirst",
	SlotNotSynced:        "SlotNotSynced",
	SlotNotSummed:        "SlotNotSummed",
	SlotOldest:           "SlotOldest",
	SlotSequenceStays:    "SlotSequenceStays",
	SlotNotOwned:         "SlotNotOwned",
	CompleteBeforeSlot:   "CompleteBeforeSlot",
	SyncForgiven:         "SyncForgiven",
	TailKept:             "TailKept",
	CutTooLittle:         "CutTooLittle",
	ResyncLeftOut:        "ResyncLeftOut",
	MapNotSynced:         "MapNotSynced",
	MapStampNotRaised:    "MapStampNotRaised",
	MapChangedOnly:       "MapChangedOnly",
	MapEntryMoves:        "MapEntryMoves",
	MapBuildNotSynced:    "MapBuildNotSynced",
	MapRetireEarly:       "MapRetireEarly",
	CellsNotSynced:       "CellsNotSynced",
	CellsStampNotRaised:  "CellsStampNotRaised",
	CellsZeroOnly:        "CellsZeroOnly",
	CellsChangedOnly:     "CellsChangedOnly",
	CellsGrowthNotZeroed: "CellsGrowthNotZeroed",
	MultiNotSynced:       "MultiNotSynced",
	MultiLineTwice:       "MultiLineTwice",
	MultiSettledEarly:    "MultiSettledEarly",
	MultiFoundNotWritten: "MultiFoundNotWritten",
	MultiLineReused:      "MultiLineReused",
	BodiesAfterManifest:  "BodiesAfterManifest",
	CutBeforeFlush:       "CutBeforeFlush",
	PendingNotSynced:     "PendingNotSynced",
	MergeBeforeManifest:  "MergeBeforeManifest",
	WatermarkBeforeMerge: "WatermarkBeforeMerge",
	RetireBeforeManifest: "RetireBeforeManifest",
	AdoptNotRewritten:    "AdoptNotRewritten",
	ReplayFromCut:        "ReplayFromCut",
	RefillFromCut:        "RefillFromCut",
	ReplayFromHigher:     "ReplayFromHigher",
	PopKeepsNothing:      "PopKeepsNothing",
	StateNotSealed:       "StateNotSealed",
}

// String returns the fault's name.
func (id ID) String() string {
	if id > None && id < last {
		return names[id]
	}
	return fmt.Sprintf("fault %d", int(id))
}
