//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime is what all threads of this process have used of the processors: it holds the garbage collector's
// share, and not what other processes took meanwhile.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
