package tables_test

import (
	"flag"
	"testing"
)

var (
	seeds     = flag.Int("seeds", 150, "seeds of the crash tests; see docs/testing.md")
	firstSeed = flag.Uint64("seed", 0, "first seed of the crash tests")
)

// TestCrashDisk runs random work on a disk that loses power, is killed, fails to sync and is full, at random operations,
// recoveries included. What opens after must be the chain of a manifest that was durable or on its way, never older than
// the last checkpoint that returned nil; every answer must be that of a naive replay of this chain; a deep check must
// find nothing; and going on must end where it would have without a crash.
func TestCrashDisk(t *testing.T) {
	failed := 0
	for i := range uint64(*seeds) {
		if err := crashSeed(*firstSeed + i); err != nil {
			t.Errorf("%v", err)
			if failed++; failed == 5 {
				t.Fatal("further seeds are left out")
			}
		}
	}
}
