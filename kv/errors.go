package kv

import (
	"errors"
	"fmt"
)

// What the store answers when it does not do what was asked.
var (
	ErrNotFound    = errors.New("no such record")                            // missing, or out of the principal's scope
	ErrForbidden   = errors.New("not permitted")                             // the concrete error is a *Forbidden
	ErrBadLogin    = errors.New("invalid api credentials")                   // unknown key, wrong secret, revoked, expired
	ErrConflict    = errors.New("conflicts with another record")             // the concrete error is a *Conflict
	ErrStale       = errors.New("the record has changed since")              // If-Match names another revision
	ErrKeyReused   = errors.New("idempotency key was used for another body") // also a nonce used for another code
	ErrNewerFormat = errors.New("the store was written by a newer version")
	ErrNoCheckin   = errors.New("no such check-in, or it is undone already")
)

// ErrRevoked is the ErrBadLogin of a key that was revoked, told to whoever has its secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// Forbidden says what a principal would need and what it has.
type Forbidden struct {
	RequiredScope string   // "people:POST"; "" where a level is wanted
	CurrentScopes []string // never nil
	RequiredLevel string
	CurrentLevel  string
	Reason        string // one sentence, where level and permissions do not say it; otherwise ""
}

func (f *Forbidden) Error() string {
	if f.Reason != "" {
		return fmt.Sprintf("%v: %s", ErrForbidden, f.Reason)
	}
	if f.RequiredScope != "" {
		return fmt.Sprintf("%v: needs %s", ErrForbidden, f.RequiredScope)
	}
	return fmt.Sprintf("%v: needs level %s", ErrForbidden, f.RequiredLevel)
}

// Is makes a Forbidden an ErrForbidden.
func (f *Forbidden) Is(target error) bool { return target == ErrForbidden }

// Conflict says what a write collides with.
type Conflict struct {
	Reason string         // one sentence
	Field  string         // the field that collides; "" where it is none
	Counts map[string]int // on delete: kind → how many records refer to this one; otherwise nil
}

func (c *Conflict) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, c.Reason) }

// Is makes a Conflict an ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }
