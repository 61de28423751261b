package dial

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	longestPause = time.Minute
	longestAfter = 10 * time.Minute // of what a peer asks for
)

// Pause returns how long to wait after some failures in a row. It grows with each failure, up to a minute, and is drawn from its upper
// half, so that clients do not come back all at once. A server that says how long to wait is obeyed, up to ten minutes.
func Pause(first time.Duration, failed int, err error) time.Duration {
	var r *Refusal
	if errors.As(err, &r) && r.after > 0 {
		return min(r.after, longestAfter)
	}
	d := min(first<<min(failed, 20), longestPause)
	return d/2 + rand.N(d/2+1)
}

// Rest waits for a while, or until ctx ends.
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
