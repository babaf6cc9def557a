//go:build magnitudes

package secp256k1

// checked tells whether bounds and demands are checked at run time: go test -tags magnitudes.
const checked = true

func require(ok bool, what string) {
	if !ok {
		panic("secp256k1: " + what)
	}
}
