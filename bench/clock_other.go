//go:build !unix

package bench

import "time"

var started = time.Now()

// processorTime is the time that passed, on systems that do not tell what a process used.
func processorTime() time.Duration { return time.Since(started) }
