//go:build !magnitudes

package lanes

// checked tells whether the twins check magnitudes as they run: go test -tags magnitudes.
const checked = false

func require(bool, string) {}
