package table

import (
	"errors"
	"fmt"

	"doorward/kv/auth"
)

// The store returns one of these when it does not do what was asked.
var (
	ErrNotFound    = errors.New("no such record")                            // missing, or outside the principal's scope
	ErrBadLogin    = errors.New("invalid api credentials")                   // unknown key, wrong secret, revoked, expired
	ErrConflict    = errors.New("conflicts with another record")             // the concrete error is a *Conflict
	ErrKeyReused   = errors.New("idempotency key was used for another body") // also a nonce used for another code
	ErrNewerFormat = errors.New("the store was written by a newer version")
)

// ErrRevoked is the ErrBadLogin of a revoked key, for a caller that has the key's secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// Conflict says which fact a write collides with.
type Conflict struct {
	Reason string         // one sentence
	Field  string         // the field that collides; "" = no field
	Counts map[string]int // on delete: kind → how many records refer to this one; otherwise nil
}

func (c *Conflict) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, c.Reason) }

// Is makes a Conflict an ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }

// Refused is a *Forbidden about one document.
func Refused(reason string) error {
	return &auth.Forbidden{CurrentScopes: []string{}, Reason: reason}
}

// OrErr returns err, or other where err is nil.
func OrErr(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// RefusedFor returns err, or a refusal where err is nil.
func RefusedFor(err error, reason string) error {
	if err != nil {
		return err
	}
	return Refused(reason)
}
