//go:build !faults

package fault

// Enabled tells whether faults can be made.
const Enabled = false

// On reports whether a fault is being made: never.
func On(ID) bool { return false }
