//go:build !libsecp256k1

package script

// system has the verifiers that only some builds link.
var system []Verifier
