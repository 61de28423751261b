package serve

import (
	"context"
	"log/slog"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
)

// compactPause is the time between two looks whether the store is to be compacted.
const compactPause = 10 * time.Minute

// compactInTime compacts a served store within a day of an erasure; end ends looking.
func compactInTime(ctx context.Context, store *kv.Store, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(compactPause)
		defer tick.Stop()
		for {
			wants, err := store.Erasures.WantsCompacting()
			if err == nil && wants {
				_, err = store.Files.Compact(ctx, auth.Operator())
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("the store could not be compacted; it is tried again", slog.Any("cause", err))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
