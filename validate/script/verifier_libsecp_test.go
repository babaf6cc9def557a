//go:build libsecp256k1

package script_test

import "stele/validate/script"

// backend is the verifier of this build.
func backend() script.Verifier { return script.Libsecp{} }
