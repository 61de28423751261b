package serve

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// shutdown is how a signal ends a server. At once /readyz fails, and after a delay the port is closed. In between a proxy sees that, and
// sends its requests elsewhere.
type shutdown struct {
	signalled atomic.Bool // a signal has come
	answers   atomic.Bool // the server answers; before, there is nothing to delay
}

// shutdownConfig is how run ends a server.
type shutdownConfig struct {
	delay time.Duration
	end   func()
	log   *slog.Logger
}

// run ends the server after the delay, or when it has ended by itself.
func (s *shutdown) run(signalled, served context.Context, c shutdownConfig) {
	defer c.end()
	s.signalled.Store(true)
	c.log.Info("a signal ends the server", "cause", context.Cause(signalled), "shutdown_delay", c.delay.String())
	if c.delay <= 0 || !s.answers.Load() {
		return
	}
	t := time.NewTimer(c.delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-served.Done():
	}
}
