package table

import (
	"errors"
	"fmt"
)

// What the store answers when it does not do what was asked.
var ErrNotFound = errors.New("no such record") // missing, or out of the principal's scope

var ErrBadLogin = errors.New("invalid api credentials") // unknown key, wrong secret, revoked, expired

var ErrConflict = errors.New("conflicts with another record") // the concrete error is a *Conflict

var ErrKeyReused = errors.New("idempotency key was used for another body") // also a nonce used for another code

var ErrNewerFormat = errors.New("the store was written by a newer version")

// ErrRevoked is the ErrBadLogin of a key that was revoked, told to whoever has its secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// Conflict says what a write collides with.
type Conflict struct {
	Reason string         // one sentence
	Field  string         // the field that collides; "" where it is none
	Counts map[string]int // on delete: kind → how many records refer to this one; otherwise nil
}

func (c *Conflict) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, c.Reason) }

// Is makes a Conflict an ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }
