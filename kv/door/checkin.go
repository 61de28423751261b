package door

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Way is which way a door lets guests through.
type Way string

// The ways. The empty Way is In.
const (
	In      = Way(admission.In)
	Out     = Way(admission.Out)
	Reentry = Way("reentry") // in, for guests alone that were inside before
)

// Desk decides check-ins for a principal, counts them, and keeps the board of each event.
type Desk struct {
	tables    *table.Set
	search    *desk.Searching
	standing  table.Standing
	boards    *lru.Cache[int64, *board] // by event
	Decisions decisions
}

// New makes the desk of the doors over a store's tables.
func New(t *table.Set, s *desk.Searching, standing table.Standing) *Desk {
	boards, _ := lru.New[int64, *board](maxBoards) // it fails for a size of 0 alone
	return &Desk{tables: t, search: s, standing: standing, boards: boards, Decisions: newDecisions()}
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
	LetIn  bool      // a phone has let the guest in: if this store refuses, a check-in is written all the same, and listed as a double entry
	Helper bool      // a helper at a door asks: an event of the same church may be named as the one that the code is of, though not by its name
	Told   bool      // by a file of another system, at At: its nonce is of no key, and an undo of the ticket's check-in stands
}

// Decision is the store's answer to an attempt.
type Decision struct {
	Outcome    outcome.Outcome
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
	Double     string // the check-in of a guest whom a phone let in and this store would have refused; "" = none
	Replayed   bool   // the same nonce again

	ValidFrom  time.Time // of a ticket that is NotYetValid
	ValidUntil time.Time // of one that is NoLongerValid
	OutSince   time.Time // when a guest who is NotInside was last let out; zero = never

	holding record.ID // that came to the admission; zero: none, or the ticket's present one
}

// attempt is an Attempt made ready outside the transaction.
type attempt struct {
	Attempt
	p      auth.Principal
	exact  []table.CodeHash // of the readings, in the order they are tried
	normal []table.CodeHash
	nonce  string // hex; "" = none
	seen   foresight
}

// CheckIn decides an attempt and writes the decision, in one transaction. It returns after the commit. A refusal is a decision, not an
// error. It returns ErrNotFound if the event is not the principal's, a *Forbidden, and ErrKeyReused if the nonce came with another code.
func (dk *Desk) CheckIn(p auth.Principal, a Attempt) (d Decision, err error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	return dk.Decide(dk.Ready(p, a))
}

// Ready prepares an attempt outside the transaction: it hashes the code and looks up the event and the ticket.
func (dk *Desk) Ready(p auth.Principal, a Attempt) *attempt {
	if a.Door == "" {
		a.Door = p.Name()
	}
	at := &attempt{Attempt: a, p: p, nonce: nonceOf(p, a)}
	at.exact, at.normal = hashed(dk.tables, codes.Read(a.Code))
	at.seen = dk.foresee(at)
	return at
}

// hashed are the hashes of a code's forms.
func hashed(s *table.Set, forms codes.Forms) (exact, normal []table.CodeHash) {
	for _, code := range forms.Exact {
		exact = append(exact, s.Identity.HashCode(code))
	}
	for _, code := range forms.Normal {
		normal = append(normal, s.Identity.HashCode(code))
	}
	return exact, normal
}

// Decide decides a prepared attempt in one transaction and returns after its commit.
func (dk *Desk) Decide(a *attempt) (d Decision, err error) {
	err = dk.tables.DoAtDoor(dk.standing.By(a.p, func(o *table.Tx) error {
		d, err = checkIn(o, a)
		return err
	}))
	if err != nil {
		return Decision{}, err
	}
	dk.Decisions.count(d)
	return d, nil
}

// checkIn decides one attempt (contract.md §10): first the nonce, then the code, the validity, and last whether the holder is inside.
func checkIn(o *table.Tx, a *attempt) (Decision, error) {
	event, ticket, err := about(o, a)
	if err != nil {
		return Decision{}, err
	}
	if a.p.IsRevoked() && !a.LetIn {
		return Decision{}, table.ErrRevoked
	}
	if err := wayAllowed(event, a.Way); err != nil {
		return Decision{}, err
	}
	if d, done, err := replayAttempt(o, a, event, ticket); err != nil || done {
		return d, err
	}
	if err := mayDecide(o, a.Event); err != nil {
		return Decision{}, err
	}
	if ticket == nil {
		return refuseUnknown(o, a, event)
	}
	f := newFact(o, a, event, ticket)
	if a.Way == Out {
		return letOut(o, a, f)
	}
	if out := validity(o, event, ticket); out != outcome.Admitted {
		return refuse(o, a, f, Decision{Outcome: out})
	}
	first, err := keepsOut(o.View, event, &f.Checkin)
	if err != nil {
		return Decision{}, err
	}
	if first != nil {
		d := decisionOf(o.View, outcome.AlreadyAdmitted, first, a.Door)
		if a.LetIn {
			return letIn(o, a, f, d)
		}
		return refuse(o, a, f, d)
	}
	if a.Way == Reentry && !a.LetIn {
		return readmit(o, a, f)
	}
	if a.Told {
		if d, undone, err := toldUndone(o, a, event, ticket); err != nil || undone {
			return d, err
		}
	}
	return admit(o, a, f)
}

// validity returns Admitted if the event takes check-ins and the ticket is good now, used or not. Otherwise it returns the refusal. A state or a
// time that this program does not know, as of a later version, admits no guest.
func validity(o *table.Tx, event, ticket *table.Stored) outcome.Outcome {
	if !isOpen(event) {
		return outcome.EventClosed
	}
	switch string(ticket.Body.Member("state")) {
	case `"valid"`:
	case `"cancelled"`:
		return outcome.Cancelled
	case `"refunded"`:
		return outcome.Refunded
	case `"unpaid"`:
		return outcome.Unpaid
	default:
		return outcome.Blocked
	}
	if o.Doubted {
		return outcome.Admitted // the clock is doubted, so no window is judged; the fact is flagged
	}
	if v := ticket.Body.Member("valid_from"); !value.IsNull(v) {
		if from, ok := table.TimeOf(v); !ok || o.Now.Before(from) {
			return outcome.NotYetValid
		}
	}
	if v := ticket.Body.Member("valid_until"); !value.IsNull(v) {
		if until, ok := table.TimeOf(v); !ok || o.Now.After(until) {
			return outcome.NoLongerValid
		}
	}
	return outcome.Admitted
}

// isOpen tells whether an event takes check-ins: it is active and enabled.
func isOpen(event *table.Stored) bool {
	return event.Body.Member("active").Kind() == 't' && event.Body.Member("enabled").Kind() == 't'
}

// ticketOf finds the ticket of an attempt, by its id or by its code. It returns nil if the event has no ticket with the code, and
// ErrNotFound if it has none with the id: a code may be read wrongly, an id may not.
func ticketOf(v *table.View, a *attempt) (*table.Stored, error) {
	if a.Ticket == 0 {
		return ticketByCode(v, a)
	}
	st, err := v.Load(record.Ticket, record.Int(a.Ticket))
	if err != nil {
		return nil, err
	}
	if st == nil || value.Int(st.Body.Member("event_id")) != a.Event {
		return nil, table.ErrNotFound
	}
	return st, nil
}

// ticketByCode finds the ticket of the event with a code. The exact forms of the code are tried before its normal forms, and the candidates of
// last resort after all of them.
func ticketByCode(v *table.View, a *attempt) (*table.Stored, error) {
	for i := range a.exact {
		ids, err := table.TicketsOf(v, table.ExactForm, a.exact[i][:], a.Event)
		if err != nil {
			return nil, err
		}
		if len(ids) > 0 {
			return v.Load(record.Ticket, ids[0])
		}
	}
	for i := range a.normal {
		st, err := ticketByNormalForm(v, a.normal[i][:], a.Event)
		if err != nil || st != nil {
			return st, err
		}
	}
	exact, normal := hashed(v.Store, codes.ReadLast(a.Code))
	return ticketByLast(v, exact, normal, a.Event)
}

// ticketByLast finds the one ticket that has any of some forms. It returns nil if tickets of different codes have one.
func ticketByLast(v *table.View, exact, normal []table.CodeHash, event int64) (*table.Stored, error) {
	var ids []record.ID
	for i := range exact {
		found, err := table.TicketsOf(v, table.ExactForm, exact[i][:], event)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	for i := range normal {
		found, err := ticketsByNormalForm(v, normal[i][:], event)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return onlyTicket(v, ids)
}

// ticketByNormalForm finds the ticket with a normal form, the lowest id if several have the same code. It returns nil if tickets of
// different codes share the form.
func ticketByNormalForm(v *table.View, hash []byte, event int64) (*table.Stored, error) {
	ids, err := ticketsByNormalForm(v, hash, event)
	if err != nil {
		return nil, err
	}
	return onlyTicket(v, ids)
}

// ticketsByNormalForm are the tickets with a normal form.
func ticketsByNormalForm(v *table.View, hash []byte, event int64) (ids []record.ID, err error) {
	for _, form := range table.CodeForms {
		found, err := table.TicketsOf(v, form, hash, event)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return ids, nil
}

// onlyTicket is the ticket with the lowest id of some that have the same code; nil if their codes differ.
func onlyTicket(v *table.View, ids []record.ID) (*table.Stored, error) {
	slices.SortFunc(ids, record.ID.Compare)
	var first *table.Stored
	for _, id := range ids {
		st, err := v.Load(record.Ticket, id)
		if err != nil {
			return nil, err
		}
		if st == nil {
			continue
		}
		if first == nil {
			first = st
		} else if table.HashOf(st.Body.Member("code_hash")) != table.HashOf(first.Body.Member("code_hash")) {
			return nil, nil
		}
	}
	return first, nil
}

// elsewhere reports whether another event has the code: one that the key sees or, if a helper asks, one of the same church.
func elsewhere(o *table.Tx, a *attempt, event *table.Stored) (bool, error) {
	events := map[int64]bool{}
	note := func(form byte, hashes []table.CodeHash) error {
		for i := range hashes {
			err := o.Scan(table.CodeBucket, table.CodePrefix(nil, form, hashes[i][:]), nil, func(key, _ []byte) (bool, error) {
				events[int64(binary.BigEndian.Uint64(key[1+ledger.CodeHashSize:]))] = true
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	exact, normal := hashed(o.Store, codes.ReadLast(a.Code))
	exact, normal = slices.Concat(a.exact, exact), slices.Concat(a.normal, normal)
	if err := errors.Join(note(table.ExactForm, exact), note(table.ExactForm, normal), note(table.NormalForm, normal)); err != nil {
		return false, err
	}
	delete(events, a.Event) // in this event different codes share the normal form
	for other := range events {
		ok, err := entry.SeesEvent(o.View, a.p, other)
		if err == nil && !ok && a.Helper {
			ok, err = isOfChurch(o.View, other, event.Home(record.Event))
		}
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// isOfChurch reports whether an event is of a church; 0 is none.
func isOfChurch(v *table.View, event, church int64) (bool, error) {
	st, err := v.Load(record.Event, record.Int(event))
	return st != nil && church != 0 && st.Home(record.Event) == church, err
}

// decisions counts the check-in decisions by outcome.
type decisions struct{ *prometheus.CounterVec }

func newDecisions() decisions {
	d := decisions{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "doorward_checkins_total", Help: "Check-in decisions by outcome, on every surface."}, []string{"outcome"})}
	for _, o := range outcome.All() {
		d.WithLabelValues(string(o))
	}
	return d
}

// count counts a decision, but not a replayed one.
func (c decisions) count(d Decision) {
	if !d.Replayed {
		c.WithLabelValues(string(d.Outcome)).Inc()
	}
}

// Judged is what became of one of several attempts: a decision, or why there is none.
type Judged struct {
	Decision
	Err error
}

// CheckInAll decides attempts in the order of arrival, each by itself as CheckIn does. It writes them in transactions of at most
// MaxRows attempts that let doors go first, so a scanner that hands in its offline scans delays no door. The error is the store's own,
// a *Forbidden, or that of a key which has ended in between (table.Standing). Attempts that were decided before the error stay decided.
func (dk *Desk) CheckInAll(p auth.Principal, attempts []Attempt) ([]Judged, error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return nil, err
	}
	judged := make([]Judged, len(attempts))
	done := judged
	for part := range slices.Chunk(attempts, table.MaxRows) {
		if err := dk.checkInSome(p, part, done); err != nil {
			return nil, err
		}
		done = done[len(part):]
	}
	return judged, nil
}

// checkInSome decides the attempts of one transaction.
func (dk *Desk) checkInSome(p auth.Principal, attempts []Attempt, judged []Judged) error {
	runs := make([]func(*table.Tx) error, len(attempts))
	for i := range attempts {
		dk.tables.Yield()
		at := dk.Ready(p, attempts[i])
		runs[i] = dk.standing.By(p, func(o *table.Tx) (err error) {
			judged[i].Decision, err = checkIn(o, at)
			return err
		})
	}
	errs, err := dk.tables.DoAll(runs)
	if err != nil {
		return err
	}
	var ended error
	for i, err := range errs {
		if judged[i].Err = err; err != nil {
			judged[i].Decision = Decision{}
			if errors.Is(err, table.ErrBadLogin) && !p.IsRevoked() {
				ended = err // the key has ended in between: the phone hands all of them in once more, for review
			}
			continue
		}
		dk.Decisions.count(judged[i].Decision)
	}
	return ended
}

// ErrNoCheckin is the error of an undo that has nothing to take back.
var ErrNoCheckin = errors.New("no such check-in, or it is undone already")

// mayDecide returns a *Forbidden if this store is a mirror and was not enrolled for the event.
func mayDecide(o *table.Tx, event int64) error {
	if !o.Store.Identity.IsLeaf() || o.Store.Identity.Upstream().Admits(event) {
		return nil
	}
	return table.Refused("this laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event")
}

// foresight is the event and the ticket of an attempt, read before the transaction so that the writer has less to read. It is used only if
// no commit since then, and no earlier operation of the same group, has changed anything but facts. Otherwise the transaction reads both.
type foresight struct {
	tx            int // the View's transaction
	event, ticket *table.Stored
}

// foresee looks up the event and the ticket of an attempt; nothing if one of them is not found.
func (dk *Desk) foresee(a *attempt) (seen foresight) {
	err := dk.tables.Glance(func(v *table.View) error {
		event, err := entry.Find(v, a.p, record.Event, record.Int(a.Event))
		if err != nil {
			return err
		}
		ticket, err := ticketOf(v, a)
		if err != nil || ticket == nil {
			return err
		}
		seen = foresight{tx: v.Lists.Tx, event: event.Kept(), ticket: ticket.Kept()}
		return nil
	})
	if err != nil {
		return foresight{} // the transaction meets the same error
	}
	return seen
}

// about returns the event and the ticket of an attempt. The ticket is nil if the event has none with the code.
func about(o *table.Tx, a *attempt) (event, ticket *table.Stored, err error) {
	if a.seen.ticket != nil && a.seen.tx >= o.Store.Commits.LastEdit && !o.Group.Edited {
		return a.seen.event, a.seen.ticket, nil
	}
	if event, err = entry.Find(o.View, a.p, record.Event, record.Int(a.Event)); err != nil {
		return nil, nil, err
	}
	ticket, err = ticketOf(o.View, a)
	return event, ticket, err
}
