//go:build !unix

package bench

import "time"

// clock says what processorTime measures.
const clock = "time, for want of a clock of the processor's"

var started = time.Now()

// processorTime is the time that passed, on systems that do not tell what a process used.
func processorTime() time.Duration { return time.Since(started) }
