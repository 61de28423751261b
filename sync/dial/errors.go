package dial

import (
	"errors"
	"fmt"
	"time"
)

// Refusal is a server's answer that is an error.
type Refusal struct {
	Status int
	Word   string // as CouchDB's errors are called
	Reason string
	after  time.Duration // how long to wait, where the server says
	At     time.Time     // by the server's clock; zero where it does not say
}

func (e *Refusal) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("the peer answered %d", e.Status)
	}
	return fmt.Sprintf("the peer answered %d %s: %s", e.Status, e.Word, e.Reason)
}

// ErrCut is an exchange with a peer that did not come to its end.
var ErrCut = errors.New("the peer broke off")

// ErrNoCentre is somebody else's answer in the place of the centre's: a gateway's or a portal's, that says yes to everything.
var ErrNoCentre = errors.New("no Doorward centre answers there")

// ErrRedirect is a peer that sends elsewhere, where nobody has said to go.
var ErrRedirect = errors.New("the peer redirects")

// Transient tells an error that may be gone when the same is tried again.
func Transient(err error) bool {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status >= 500 && r.Status != 501 || r.Status == 429 || r.Status == 408
	}
	return errors.Is(err, ErrCut)
}

// Is tells whether an error is a server's answer of a status.
func Is(err error, status int) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == status
}
