//go:build magnitudes

package lanes

// checked tells whether the twins check magnitudes as they run: go test -tags magnitudes.
const checked = true

func require(ok bool, what string) {
	if !ok {
		panic("lanes: " + what)
	}
}
