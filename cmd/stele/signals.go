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

// stoppable lets the first SIGINT or SIGTERM end the context of a run that has something to clean up; a second one ends
// the process. stop ends the watch.
func (a *app) stoppable() (stop func()) {
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	a.ctx = ctx
	return stop
}

// stopped tells of work that a signal ended.
func (a *app) stopped(what string, err error) error {
	if a.ctx.Err() != nil {
		return failed(what+" stopped", "by a signal", "nothing is left of it; run the same command again")
	}
	return err
}
