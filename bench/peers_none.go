//go:build !bench

package bench

// peerKinds is empty: other stores are not linked into this executable.
func peerKinds() []peerKind { return nil }
