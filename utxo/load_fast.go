//go:build !race

package utxo

import "unsafe"

// loadPart reads eight bytes of which the lowest n count. What lies behind them may be another record that is being
// written; the caller masks it away. The race detector would not see that, so its builds read exactly (load_exact.go).
func loadPart(p unsafe.Pointer, _ uintptr) uint64 { return load64(p) }

// copyBody copies a body of at most keySize bytes, as fastBody bytes.
func copyBody(dst, src unsafe.Pointer, _ uintptr) { *(*[fastBody]byte)(dst) = *(*[fastBody]byte)(src) }
