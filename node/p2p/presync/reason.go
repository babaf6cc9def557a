package presync

// Reason says why a Sync failed.
type Reason uint8

// The reasons. What is no lie may happen to an honest peer: its best chain changed between two messages, it has less
// than it should, or a longer chain than our clock allows.
const (
	ReasonNone        Reason = iota
	ReasonUnconnected        // the first header of a message does not connect to the last of the one before
	ReasonBroken             // a header does not connect to the one before it in the same message
	ReasonHighHash           // bits out of range, or a hash above its target
	ReasonDifficulty         // bits changed where they must not, or by more than four times
	ReasonTooLong            // more headers than can exist by now
	ReasonShort              // phase 1 ended below the minimum work
	ReasonOverrun            // phase 2 came to more headers, with less work, than phase 1
	ReasonOther              // phase 2 shows other headers than phase 1
	ReasonCutShort           // phase 2 ended before the work that phase 1 showed
	ReasonOver               // the Sync had ended before
)

var reasons = [...]string{
	"none", "headers do not connect to those before", "headers do not connect to each other", "high-hash",
	"difficulty changed beyond its limits", "more headers than can exist", "too little work",
	"more headers than promised", "other headers than promised", "fewer headers than promised", "over",
}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown"
}

// Lies tells that no honest node sends this: Core disconnects for it (headers without work, or that are no chain).
func (r Reason) Lies() bool { return r == ReasonBroken || r == ReasonHighHash }
