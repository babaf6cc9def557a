package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first SIGINT or SIGTERM cancels; a second one ends the process at once,
// which costs what came after the last checkpoint. stop ends the watch.
func (a *app) interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-done:
				return
			case s := <-signals:
				if !first {
					a.exit(codeFailed)
					return
				}
				a.log.Warn().Stringer("signal", s).
					Msg("stopping after the block in hand, with a checkpoint; once more ends at once")
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
