package dial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Refusal is an answer of a server that is an error.
type Refusal struct {
	Status int
	Word   string // CouchDB's name of the error
	Reason string
	after  time.Duration // how long to wait; 0 = the server does not say
	At     time.Time     // by the server's clock; zero = it does not say
}

// Error says the status, and the reason if there is one.
func (e *Refusal) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("the peer answered %d", e.Status)
	}
	return fmt.Sprintf("the peer answered %d %s: %s", e.Status, e.Word, e.Reason)
}

// ErrCut is an exchange with a peer that broke off.
var ErrCut = errors.New("the peer broke off")

// ErrNoCentre is an answer of another server in the place of the centre's: of a gateway or a captive portal.
var ErrNoCentre = errors.New("no Doorward centre answers there")

// ErrRedirect is an answer that sends to another address. Redirects are not followed.
var ErrRedirect = errors.New("the peer redirects")

// Transient tells whether the same request may succeed later.
func Transient(err error) bool {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status >= 500 && r.Status != 501 || r.Status == 429 || r.Status == 408
	}
	return errors.Is(err, ErrCut)
}

// Is tells whether an error is an answer with this status.
func Is(err error, status int) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == status
}

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
