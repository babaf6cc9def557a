//go:build !bench

package bench

import "stele/chain"

// Libraries that we are measured against are linked with the tag bench only.
var (
	wireDecode func(raw []byte) error
	wireTxids  func(raw []byte) ([]chain.Hash, error)
	hashXXH3   func(key *[32]byte) uint64
)
