package door

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

const AlreadyAdmitted table.Outcome = "already_admitted"

const UnknownCode table.Outcome = "unknown_code"

const WrongEvent table.Outcome = "wrong_event"

const Cancelled table.Outcome = "cancelled"

const Refunded table.Outcome = "refunded"

const Unpaid table.Outcome = "unpaid"

const Blocked table.Outcome = "blocked"

const NotYetValid table.Outcome = "not_yet_valid"

const NoLongerValid table.Outcome = "no_longer_valid"

const EventClosed table.Outcome = "event_closed"

const Undone table.Outcome = "undone"

const Left table.Outcome = "left"

const NotInside table.Outcome = "not_inside"

// Outcomes are all there are.
func Outcomes() []table.Outcome {
	return []table.Outcome{table.Admitted, AlreadyAdmitted, UnknownCode, WrongEvent, Cancelled, Refunded, Unpaid, Blocked,
		NotYetValid, NoLongerValid, EventClosed, Undone, Left, NotInside}
}

// Desk decides check-ins and counts them.
type Desk struct {
	tables    *table.Set
	search    *desk.Searching
	boards    boards
	Decisions decisions
}

func New(t *table.Set, s *desk.Searching) *Desk {
	return &Desk{tables: t, search: s, Decisions: newDecisions()}
}

// Attempt is one scan at a door.
type Attempt struct {
	Event  int64
	Code   string    // as read
	Ticket int64     // the ticket itself, as a search at the door has found it, instead of a code; 0 = by the code
	Door   string    // "" = the key's name
	Nonce  string    // the Idempotency-Key or /door nonce; "" = none
	At     time.Time // when it was read, as an offline scanner says; zero = now
	Way    table.Way // "" = In
	LetIn  bool      // whoever brought it has been let in already: a further admission is written, and listed as a double entry
}

// Decision is the store's answer to an attempt.
type Decision struct {
	Outcome    table.Outcome
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
	p      auth.Principal
	exact  []table.CodeHash // of the readings, in the order they are tried
	normal []table.CodeHash
	nonce  string // hex; "" = none
	seen   foresight
}

// CheckIn decides an attempt and writes the decision, in one transaction. Refusals are decisions, not errors. ErrNotFound
// where the event is not the principal's, *Forbidden, ErrKeyReused where the nonce came with another code.
func (dk *Desk) CheckIn(p auth.Principal, a Attempt) (d Decision, err error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	return dk.Decide(dk.Ready(p, a))
}

// Ready does what an attempt needs and the writer need not do.
func (dk *Desk) Ready(p auth.Principal, a Attempt) *attempt {
	if a.Door == "" {
		a.Door = p.Name()
	}
	at := &attempt{Attempt: a, p: p, nonce: nonceOf(p, a)}
	forms := codes.Read(a.Code)
	for _, code := range forms.Exact {
		at.exact = append(at.exact, dk.tables.HashCode(code))
	}
	for _, code := range forms.Normal {
		at.normal = append(at.normal, dk.tables.HashCode(code))
	}
	at.seen = dk.foresee(at)
	return at
}

// Decide hands an attempt to the writer.
func (dk *Desk) Decide(a *attempt) (d Decision, err error) {
	err = dk.tables.Do(true, func(o *table.Tx) error {
		d, err = checkIn(o, a)
		return err
	})
	if err != nil {
		return Decision{}, err
	}
	dk.Decisions.count(d)
	return d, nil
}

// checkIn is the one check-in decision (contract.md §10): nonce, code, validity, then duplication.
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
	if a.Way == table.Out {
		return letOut(o, a, f)
	}
	if out := validity(o, event, ticket); out != table.Admitted {
		return refuse(o, a, f, Decision{Outcome: out})
	}
	first, err := firstAdmission(o.View, f.event, f.codeHash, f.ticket, f.list)
	if err != nil {
		return Decision{}, err
	}
	if first != nil {
		d := decisionOf(o.View, AlreadyAdmitted, first, a.Door)
		if a.LetIn {
			return letIn(o, a, f, d)
		}
		return refuse(o, a, f, d)
	}
	if a.Way == table.Reentry && !a.LetIn {
		return readmit(o, a, f)
	}
	return admit(o, a, f)
}

// validity judges event and ticket, whether or not the ticket has been used.
func validity(o *table.Tx, event, ticket *table.Stored) table.Outcome {
	if !isTrue(event.Body.Member("active")) || !isTrue(event.Body.Member("enabled")) {
		return EventClosed
	}
	switch string(ticket.Body.Member("state")) {
	case `"cancelled"`:
		return Cancelled
	case `"refunded"`:
		return Refunded
	case `"unpaid"`:
		return Unpaid
	case `"blocked"`:
		return Blocked
	}
	if o.Doubted {
		return table.Admitted // without a clock no window can be judged; the fact says so
	}
	if from, ok := table.TimeOf(ticket.Body.Member("valid_from")); ok && o.Now.Before(from) {
		return NotYetValid
	}
	if until, ok := table.TimeOf(ticket.Body.Member("valid_until")); ok && o.Now.After(until) {
		return NoLongerValid
	}
	return table.Admitted
}

func isTrue(v jsontext.Value) bool { return v.Kind() == 't' }

// ticketOf finds the ticket that an attempt means; nil where the event has none. ErrNotFound where the attempt names a ticket that
// is not of the event: a code may be read wrongly, an id may not.
func ticketOf(v *table.View, a *attempt) (*table.Stored, error) {
	if a.Ticket == 0 {
		return ticketByCode(v, a)
	}
	st, err := v.Load(record.Ticket, record.Int(a.Ticket))
	if err != nil {
		return nil, err
	}
	if st == nil || table.IntOf(st.Body.Member("event_id")) != a.Event {
		return nil, table.ErrNotFound
	}
	return st, nil
}

// ticketByCode finds the ticket that a reading means; nil where there is none in the event.
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
	return nil, nil
}

// ticketByNormalForm wants all tickets of the form to have one exact form; then it is the lowest.
func ticketByNormalForm(v *table.View, hash []byte, event int64) (*table.Stored, error) {
	var ids []record.ID
	for _, form := range table.CodeForms {
		found, err := table.TicketsOf(v, form, hash, event)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
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

// elsewhere tells whether a reading is the code of another event that p sees.
func elsewhere(o *table.Tx, a *attempt) (bool, error) {
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
	if err := errors.Join(note(table.ExactForm, a.exact), note(table.ExactForm, a.normal), note(table.NormalForm, a.normal)); err != nil {
		return false, err
	}
	delete(events, a.Event) // here it is a normal form that several exact forms share
	for event := range events {
		if ok, err := entry.SeesEvent(o.View, a.p, event); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// decisions counts the check-in decisions by outcome.
type decisions struct{ *prometheus.CounterVec }

func newDecisions() decisions {
	d := decisions{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "doorward_checkins_total", Help: "Check-in decisions by outcome, on every surface."}, []string{"outcome"})}
	for _, o := range Outcomes() {
		d.WithLabelValues(string(o))
	}
	return d
}

// count counts a decision; the same answer again is none.
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

// CheckInAll decides attempts in the order of arrival, each by itself as CheckIn does. It writes them in operations of at most
// MaxRows that make way for doors. So a scanner that hands in its offline scans delays no door. The error is the store's own,
// or *Forbidden; what was decided before it stays.
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

// checkInSome decides what one operation takes.
func (dk *Desk) checkInSome(p auth.Principal, attempts []Attempt, judged []Judged) error {
	steps := make([]table.Step, len(attempts))
	for i := range attempts {
		dk.tables.Yield()
		at := dk.Ready(p, attempts[i])
		steps[i].Run = func(o *table.Tx) (err error) {
			judged[i].Decision, err = checkIn(o, at)
			return err
		}
	}
	if err := dk.tables.DoAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if judged[i].Err = steps[i].Err; judged[i].Err != nil {
			judged[i].Decision = Decision{}
			continue
		}
		dk.Decisions.count(judged[i].Decision)
	}
	return nil
}

var ErrNoCheckin = errors.New("no such check-in, or it is undone already")

// mayDecide answers a *Forbidden for a fact that would never leave a mirror: nobody else would learn who was let in there. What is of an
// event that it was enrolled for besides is taken from it.
func mayDecide(o *table.Tx, event int64) error {
	if !o.Store.IsLeaf() {
		return nil
	}
	u := o.Store.Joined.Load()
	if !slices.Contains(u.Pulls, table.Mirror) || slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Event, ID: event}.String()) {
		return nil
	}
	return table.Refused("this laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event")
}

// foresight is the event and the ticket of an attempt as a View showed them while the writer was still busy with the commit
// before: reading that would otherwise be done while everybody waits. Nothing is decided by it. It stands for what the
// operation would read itself as long as nothing but facts has been written since.
type foresight struct {
	tx            int // the View's transaction
	event, ticket *table.Stored
}

// foresee looks up what an attempt is about; nothing where it is not found at once.
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
		return foresight{} // the operation will meet it, too
	}
	return seen
}

// about finds the event and the ticket of an attempt; a nil ticket where the event has none that its code means.
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
