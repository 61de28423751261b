package kv

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/codes"
	"doorward/kv/record"
	"doorward/kv/value"
)

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
	Left            Outcome = "left"
	NotInside       Outcome = "not_inside"
)

// Outcomes are all there are.
func Outcomes() []Outcome {
	return []Outcome{Admitted, AlreadyAdmitted, UnknownCode, WrongEvent, Cancelled, Refunded, Unpaid, Blocked,
		NotYetValid, NoLongerValid, EventClosed, Undone, Left, NotInside}
}

// Attempt is one scan at a door.
type Attempt struct {
	Event  int64
	Code   string    // as read
	Ticket int64     // the ticket itself, as a search at the door has found it, instead of a code; 0 = by the code
	Door   string    // "" = the key's name
	Nonce  string    // the Idempotency-Key or /door nonce; "" = none
	At     time.Time // when it was read, as an offline scanner says; zero = now
	Way    Way       // "" = In
	LetIn  bool      // whoever brought it has been let in already: a further admission is written, and listed as a double entry
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
	Notice     string // what the event has doors say of the ticket's type
	Double     string // the further check-in of who was let in already; "" = none
	Replayed   bool   // the same nonce again
}

// attempt is an Attempt made ready outside the transaction.
type attempt struct {
	Attempt
	p      Principal
	exact  []codeHash // of the readings, in the order they are tried
	normal []codeHash
	nonce  string // hex; "" = none
	seen   foresight
}

type codeHash = [codeHashSize]byte

// CheckIn decides an attempt and writes the decision, in one transaction. Refusals are decisions, not errors. ErrNotFound
// where the event is not the principal's, *Forbidden, ErrKeyReused where the nonce came with another code.
func (s *Store) CheckIn(p Principal, a Attempt) (d Decision, err error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	return s.decide(s.ready(p, a))
}

// ready does what an attempt needs and the writer need not do.
func (s *Store) ready(p Principal, a Attempt) *attempt {
	if a.Door == "" {
		a.Door = p.Name()
	}
	at := &attempt{Attempt: a, p: p, nonce: nonceOf(p, a)}
	forms := codes.Read(a.Code)
	for _, code := range forms.Exact {
		at.exact = append(at.exact, s.hashCode(code))
	}
	for _, code := range forms.Normal {
		at.normal = append(at.normal, s.hashCode(code))
	}
	at.seen = s.foresee(at)
	return at
}

// decide hands an attempt to the writer.
func (s *Store) decide(a *attempt) (d Decision, err error) {
	err = s.do(true, func(o *op) error {
		d, err = checkIn(o, a)
		return err
	})
	if err != nil {
		return Decision{}, err
	}
	s.decisions.count(d)
	return d, nil
}

// checkIn is the one check-in decision (contract.md §10): nonce, code, validity, then duplication.
func checkIn(o *op, a *attempt) (Decision, error) {
	event, ticket, err := about(o, a)
	if err != nil {
		return Decision{}, err
	}
	if a.p.IsRevoked() && !a.LetIn {
		return Decision{}, ErrRevoked
	}
	if err := wayAllowed(event, a.Way); err != nil {
		return Decision{}, err
	}
	if d, done, err := replayAttempt(o, a, ticket); err != nil || done {
		return d, err
	}
	if err := mayDecide(o, a.Event); err != nil {
		return Decision{}, err
	}
	if ticket == nil {
		return refuseUnknown(o, a)
	}
	f := newFact(o, a, event, ticket)
	if a.Way == Out {
		return letOut(o, a, f)
	}
	if out := validity(o, event, ticket); out != Admitted {
		return refuse(o, a, f, Decision{Outcome: out})
	}
	first, err := firstAdmission(o.sight, f.event, f.codeHash, f.ticket, f.list)
	if err != nil {
		return Decision{}, err
	}
	if first != nil {
		d := decisionOf(o.sight, AlreadyAdmitted, first, a.Door)
		if a.LetIn {
			return letIn(o, a, f, d)
		}
		return refuse(o, a, f, d)
	}
	if a.Way == Reentry && !a.LetIn {
		return readmit(o, a, f)
	}
	return admit(o, a, f)
}

// validity judges event and ticket, whether or not the ticket has been used.
func validity(o *op, event, ticket *stored) Outcome {
	if !isTrue(event.body.Member("active")) || !isTrue(event.body.Member("enabled")) {
		return EventClosed
	}
	switch string(ticket.body.Member("state")) {
	case `"cancelled"`:
		return Cancelled
	case `"refunded"`:
		return Refunded
	case `"unpaid"`:
		return Unpaid
	case `"blocked"`:
		return Blocked
	}
	if o.doubted {
		return Admitted // without a clock no window can be judged; the fact says so
	}
	if from, ok := timeOf(ticket.body.Member("valid_from")); ok && o.now.Before(from) {
		return NotYetValid
	}
	if until, ok := timeOf(ticket.body.Member("valid_until")); ok && o.now.After(until) {
		return NoLongerValid
	}
	return Admitted
}

func isTrue(v jsontext.Value) bool { return v.Kind() == 't' }

func timeOf(v jsontext.Value) (time.Time, bool) {
	if v.Kind() != '"' {
		return time.Time{}, false
	}
	return value.ParseDateTime(string(v[1:len(v)-1]), time.UTC)
}

// hashOf is a member that holds a code hash.
func hashOf(v jsontext.Value) (h codeHash) {
	if len(v) == 2+2*codeHashSize {
		_, _ = hex.Decode(h[:], v[1:len(v)-1]) // another text is no hash of a code: zero
	}
	return h
}

// ticketOf finds the ticket that an attempt means; nil where the event has none. ErrNotFound where the attempt names a ticket that
// is not of the event: a code may be read wrongly, an id may not.
func ticketOf(v *sight, a *attempt) (*stored, error) {
	if a.Ticket == 0 {
		return ticketByCode(v, a)
	}
	st, err := v.load(record.Ticket, record.Int(a.Ticket))
	if err != nil {
		return nil, err
	}
	if st == nil || intOf(st.body.Member("event_id")) != a.Event {
		return nil, ErrNotFound
	}
	return st, nil
}

// ticketByCode finds the ticket that a reading means; nil where there is none in the event.
func ticketByCode(v *sight, a *attempt) (*stored, error) {
	for i := range a.exact {
		ids, err := ticketsOf(v, exactForm, a.exact[i][:], a.Event)
		if err != nil {
			return nil, err
		}
		if len(ids) > 0 {
			return v.load(record.Ticket, ids[0])
		}
	}
	for i := range a.normal {
		st, err := ticketByNormalForm(v, a.normal[i][:], a.Event)
		if err != nil || st != nil {
			return st, err
		}
	}
	return nil, nil
}

// ticketByNormalForm wants all tickets of the form to have one exact form; then it is the lowest.
func ticketByNormalForm(v *sight, hash []byte, event int64) (*stored, error) {
	var ids []record.ID
	for _, form := range codeForms {
		found, err := ticketsOf(v, form, hash, event)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.SortFunc(ids, record.ID.Compare)
	var first *stored
	for _, id := range ids {
		st, err := v.load(record.Ticket, id)
		if err != nil {
			return nil, err
		}
		if st == nil {
			continue
		}
		if first == nil {
			first = st
		} else if hashOf(st.body.Member("code_hash")) != hashOf(first.body.Member("code_hash")) {
			return nil, nil
		}
	}
	return first, nil
}

// elsewhere tells whether a reading is the code of another event that p sees.
func elsewhere(o *op, a *attempt) (bool, error) {
	events := map[int64]bool{}
	note := func(form byte, hashes []codeHash) error {
		for i := range hashes {
			err := o.Scan(codeBucket, codePrefix(nil, form, hashes[i][:]), nil, func(key, _ []byte) (bool, error) {
				events[int64(binary.BigEndian.Uint64(key[1+codeHashSize:]))] = true
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := errors.Join(note(exactForm, a.exact), note(exactForm, a.normal), note(normalForm, a.normal)); err != nil {
		return false, err
	}
	delete(events, a.Event) // here it is a normal form that several exact forms share
	for event := range events {
		if ok, err := seesEvent(o.sight, a.p, event); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
