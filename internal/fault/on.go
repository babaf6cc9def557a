//go:build faults

package fault

// Enabled tells whether faults can be made.
const Enabled = true

// Active is the fault that is being made.
var Active ID

// On reports whether a fault is being made.
func On(id ID) bool { return Active == id }
