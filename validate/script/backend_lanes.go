package script

import (
	"sync"

	"stele/validate/script/lanes"
)

// Lanes verifies groups with package lanes, eight signatures at a time on processors that have the instructions, and
// single checks as Native does.
type Lanes struct{ Native }

// Name is that of the package.
func (Lanes) Name() string { return "lanes" }

// laneItems is the memory of a group: checks are copied, which costs a thousandth of verifying them.
var laneItems = sync.Pool{New: func() any { return new([]lanes.Item) }}

// Group implements GroupVerifier.
func (Lanes) Group(checks []Check, bad []int) []int {
	p := laneItems.Get().(*[]lanes.Item)
	defer laneItems.Put(p)
	items := (*p)[:0]
	for i := range checks {
		c := &checks[i]
		items = append(items, lanes.Item{
			Input: c.Input, Kind: laneKinds[c.Kind], Odd: c.Odd, Size: c.Size, Key: c.Key, Hash: c.Hash, Sig: c.Sig,
		})
	}
	*p = items
	return lanes.Verify(items, bad)
}

var laneKinds = [...]lanes.Kind{KindECDSA: lanes.ECDSA, KindSchnorr: lanes.Schnorr, KindTweak: lanes.Tweak}
