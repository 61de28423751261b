package replicate

import (
	"context"
	"errors"
	"time"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/line"
)

// isTransient tells whether the job may succeed later: the peer or this store is busy, or out of reach.
func isTransient(err error) bool {
	return dial.Transient(err) || errors.Is(err, kv.ErrBusy) || errors.Is(err, kv.ErrDiskFull)
}

// LongestWaited is the longest pause of a job that waits for Hooks.Waits.
const LongestWaited = 15 * time.Second

// retry runs passes until one has copied all. After an error that may pass it waits and runs another. The wait grows while there is no
// progress.
func (r *replication) retry(ctx context.Context) error {
	var at line.Sequence
	for failed := 0; ; failed++ {
		err := r.pass(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || !isTransient(err) {
			return err
		}
		if came := r.outcome().Last; string(came) != string(at) {
			at, failed = came, 0
		}
		wait := dial.Pause(r.Pause, failed, err)
		switch {
		case r.On.Waits != nil && r.On.Waits(err):
			wait = min(wait, LongestWaited)
		case r.Tries > 0 && failed+1 >= r.Tries:
			return err
		}
		r.Logger.Warn("replication is tried again", "after", wait, "error", err)
		if err := dial.Rest(ctx, wait); err != nil {
			return err
		}
	}
}
