package sync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"doorward/kv"
)

// refusal is a server's answer that is an error.
type refusal struct {
	status int
	word   string // as CouchDB's errors are called
	reason string
	after  time.Duration // how long to wait, where the server says
	at     time.Time     // by the server's clock; zero where it does not say
}

func (e *refusal) Error() string {
	if e.word == "" {
		return fmt.Sprintf("the peer answered %d", e.status)
	}
	return fmt.Sprintf("the peer answered %d %s: %s", e.status, e.word, e.reason)
}

// errCut is an exchange with a peer that did not come to its end.
var errCut = errors.New("the peer broke off")

// errNoCentre is somebody else's answer in the place of the centre's: a gateway's or a portal's, that says yes to everything.
var errNoCentre = errors.New("no Doorward centre answers there")

// errRedirect is a peer that sends elsewhere, where nobody has said to go.
var errRedirect = errors.New("the peer redirects")

// transient tells an error that may be gone when the same is tried again.
func transient(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return r.status >= 500 && r.status != 501 || r.status == 429 || r.status == 408
	}
	return errors.Is(err, errCut)
}

// passes tells an error that may be gone when the job is tried again: the peer's, or this store's own.
func passes(err error) bool {
	return transient(err) || errors.Is(err, kv.ErrBusy) || errors.Is(err, kv.ErrDiskFull)
}

const (
	longestPause = time.Minute
	longestAfter = 10 * time.Minute // that a peer may ask to be left alone
)

// longestWaited is the longest pause before a job tries again what it waits out.
const longestWaited = 15 * time.Second

// persist runs passes until one has copied all. One that broke for a reason that may pass is followed by another, after a
// pause that grows while they come no further.
func (r *replication) persist(ctx context.Context) error {
	var at sequence
	for failed := 0; ; failed++ {
		err := r.pass(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || !passes(err) {
			return err
		}
		if came := r.outcome().Last; string(came) != string(at) {
			at, failed = came, 0
		}
		wait := pause(r.Pause, failed, err)
		switch {
		case r.On.Waits != nil && r.On.Waits(err):
			wait = min(wait, longestWaited)
		case r.Tries > 0 && failed+1 >= r.Tries:
			return err
		}
		r.Logger.Warn("replication is tried again", "after", wait, "error", err)
		if err := rest(ctx, wait); err != nil {
			return err
		}
	}
}

// pause is how long to wait after so many failures in a row: longer each time, and never the same for all who wait.
func pause(first time.Duration, failed int, err error) time.Duration {
	var r *refusal
	if errors.As(err, &r) && r.after > 0 {
		return min(r.after, longestAfter)
	}
	d := min(first<<min(failed, 20), longestPause)
	return d/2 + rand.N(d/2+1)
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
