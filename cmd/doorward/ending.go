package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// ending is how a signal ends a server: at once /readyz fails, and after a delay the port is closed. In between a proxy sees that, and sends
// its requests elsewhere.
type ending struct {
	delay   time.Duration
	told    atomic.Bool // a signal has come
	answers atomic.Bool // the server answers: before, nothing need be delayed
}

// run calls end after the delay. It returns early where the server has ended by itself.
func (e *ending) run(signalled, served context.Context, end func(), log *slog.Logger) {
	defer end()
	e.told.Store(true)
	log.Info("a signal ends the server", "cause", context.Cause(signalled), "shutdown_delay", e.delay.String())
	if e.delay <= 0 || !e.answers.Load() {
		return
	}
	t := time.NewTimer(e.delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-served.Done():
	}
}
