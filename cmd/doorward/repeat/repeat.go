package repeat

import (
	"context"
	"time"
)

// Every calls look each time that a pause has passed, until end is called. end waits for the last call.
func Every(pause time.Duration, look func()) (end func()) { return run(pause, func() {}, look) }

// FromNow is Every, and calls look at once too.
func FromNow(pause time.Duration, look func()) (end func()) { return run(pause, look, look) }

func run(pause time.Duration, first, look func()) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		first()
		for {
			select {
			case <-tick.C:
				look()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
