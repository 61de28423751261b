package kv

import "time"

// Outcome is what a door is told. The set is closed.
type Outcome string

// The outcomes.
const (
	Admitted        Outcome = "admitted"
	AlreadyAdmitted Outcome = "already_admitted"
	UnknownCode     Outcome = "unknown_code"
	WrongEvent      Outcome = "wrong_event"
	Cancelled       Outcome = "cancelled"
	Refunded        Outcome = "refunded"
	Unpaid          Outcome = "unpaid"
	Blocked         Outcome = "blocked"
	NotYetValid     Outcome = "not_yet_valid"
	NoLongerValid   Outcome = "no_longer_valid"
	EventClosed     Outcome = "event_closed"
	Undone          Outcome = "undone"
)

// Attempt is one scan at a door.
type Attempt struct {
	Event int64
	Code  string // as read
	Door  string // "" = the key's name
	Nonce string // the Idempotency-Key or /door nonce; "" = none
}

// Decision is the store's answer to an attempt.
type Decision struct {
	Outcome    Outcome
	CheckinID  string    // of the admission, where there is one
	AdmittedAt time.Time // zero without an admission
	Door       string    // where it was admitted
	SecondsAgo int64
	SameDoor   bool
	Holder     *string // full name, if the key may see it
	Label      string  // door-safe
	Type       string
	Order      string
	Replayed   bool // the same nonce again
}

// CheckIn decides an attempt and writes the decision, in one transaction. Refusals are decisions, not errors. ErrNotFound
// where the event is not the principal's, *Forbidden, ErrKeyReused where the nonce came with another code.
func (s *Store) CheckIn(p Principal, a Attempt) (Decision, error) { panic("kv") }

// Undoing takes an admission back.
type Undoing struct {
	Event     int64
	CheckinID string
	Reason    string
	Door      string
	Once      *Once
}

// Undo writes that an admission is undone. ErrNoCheckin where there is none, or it is undone already.
func (s *Store) Undo(p Principal, u Undoing) (Decision, error) { panic("kv") }
