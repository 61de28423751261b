package dial

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	longestPause = time.Minute
	longestAfter = 10 * time.Minute // that a peer may ask to be left alone
)

// Pause is how long to wait after so many failures in a row: longer each time, and never the same for all who wait.
func Pause(first time.Duration, failed int, err error) time.Duration {
	var r *Refusal
	if errors.As(err, &r) && r.after > 0 {
		return min(r.after, longestAfter)
	}
	d := min(first<<min(failed, 20), longestPause)
	return d/2 + rand.N(d/2+1)
}

// Rest waits.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
