package door

import (
	"encoding/binary"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// fact is a record of a check-in, a refused scan or an undo before it is written.
type fact struct {
	admission.Checkin                // the event, the ticket, the code and the list that it is about; its place once it is written
	holding           jsontext.Value // of the ticket; nil: none
	reentry           bool           // the event lets its guests out and in again
	door              string
	at                time.Time     // by the wall clock
	after             uint64        // the least hybrid time that it may have; 0 = that of the clock
	nonce             string        // hex; "" = none
	about             *table.Stored // the ticket; nil: none
}

// newFact begins a fact about a ticket of an event.
func newFact(o *table.Tx, a *attempt, event, ticket *table.Stored) *fact {
	return &fact{
		Checkin: admission.Checkin{Event: a.Event, Ticket: ticket.ID.Int(), CodeHash: table.HashOf(ticket.Body.Member("code_hash")), List: a.listOf(o, event)},
		holding: ticket.Body.Member("holding"), reentry: isReentry(event), door: a.Door, at: a.moment(o.Now), about: ticket,
	}
}

// moment is when an attempt was made.
func (a *attempt) moment(now time.Time) time.Time {
	if a.At.IsZero() {
		return now
	}
	return a.At
}

// listOf is the list of the event that an attempt is about.
func (a *attempt) listOf(o *table.Tx, event *table.Stored) string {
	day := a.moment(o.Now)
	if o.Now.Before(day) {
		day = o.Now // a scanner with a clock ahead does not use up tomorrow's admission
	}
	return listOn(o.View, event, day)
}

// listOf is the list that an event admits to now: today for a daily event, otherwise the one list.
func listOf(v *table.View, event *table.Stored) string { return listOn(v, event, v.Now) }

// listOn is the list that an event admits to at a moment.
func listOn(v *table.View, event *table.Stored, at time.Time) string {
	if string(event.Body.Member("list_rule")) == `"daily"` {
		return at.In(v.Store.Clock.Zone()).Format(time.DateOnly)
	}
	return ""
}

// putFact gives a fact its place in the order and writes it as a record of a kind. If more is not nil, it adds the members that only this
// kind has.
func putFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, more func(*record.Draft)) {
	f.Place = admission.Place{Hlc: max(o.State.Tick(o.Now), f.after), ID: table.NewFactID(o.Now)}
	d := record.NewDraft(k)
	d.Int("event_id", f.Event)
	if f.Ticket != 0 {
		d.Int("ticket_id", f.Ticket)
	}
	if f.holding != nil {
		d.Raw("holding", f.holding)
	}
	d.Hex("code_hash", f.CodeHash[:])
	d.Text("list", f.List)
	if f.Out {
		d.Text("direction", string(admission.Out))
	}
	d.Text("door", f.door)
	if p.Key() != 0 {
		d.Int("key_id", p.Key())
	}
	d.Text("node", o.Store.Identity.Node())
	var hlc [8]byte
	binary.BigEndian.PutUint64(hlc[:], f.Hlc)
	d.Hex("hlc", hlc[:])
	d.Time("at", f.at)
	if ms, ok := o.Store.Clock.Offset(); ok {
		d.Int("clock_offset_ms", ms)
	}
	if f.nonce != "" {
		d.Text("nonce", f.nonce)
	}
	if flags := factFlags(o, p); len(flags) > 0 {
		d.Raw("flags", value.Texts(flags...))
	}
	if more != nil {
		more(&d)
	}
	writeFact(o, k, p, f, &d)
}

// factFlags are the flags of a fact that is written now.
func factFlags(o *table.Tx, p auth.Principal) (flags []string) {
	if o.Doubted {
		flags = append(flags, admission.FlagClockSuspect)
	}
	if o.Store.Identity.IsRevoked() || p.IsRevoked() {
		flags = append(flags, admission.FlagNeedsReview)
	}
	return flags
}

// writeFact stores a new fact and its lookups.
func writeFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, d *record.Draft) {
	body, canonical := d.Close()
	st := &table.Stored{ID: f.ID, Body: body, Header: table.Header{Version: k.Version, UpdatedAt: o.Stamp, UpdatedBy: p.Key()}}
	st.Scopes[0] = scopes.Scope{Sort: scopes.Event, ID: f.Event}
	st.Revision = rev.Next(rev.ID{}, false, canonical)
	admission.IndexFact(o, k, st)
	table.Place(o, k, nil, st)
}

// admit writes an admission and answers it.
func admit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	if err := enter(o, a, f, nil); err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: outcome.Admitted, CheckinID: record.Checkin.FormatID(f.ID), AdmittedAt: f.at.UTC().Truncate(time.Microsecond),
		Door: f.door, SecondsAgo: max(0, int64(o.Now.Sub(f.at)/time.Second)), SameDoor: true}
	return d, describe(o.View, &d, a.p, f.about)
}

// enter writes a check-in and its rows. Where guests come back, and where one is inside already, it comes after all that are known of its
// code and its ticket. The store's own clock stays.
func enter(o *table.Tx, a *attempt, f *fact, more func(*record.Draft)) (err error) {
	f.nonce = a.nonce
	if f.reentry || a.LetIn {
		if f.after, err = f.Next(o.View, o.State.Hlc); err != nil {
			return err
		}
	}
	putFact(o, record.Checkin, a.p, f, more)
	admission.Add(o, &f.Checkin)
	return nil
}

// offline is the basis of a check-in by which a scanner let the guest in before it asked this store.
const offline = "offline"

// letIn writes a further check-in of a guest that is inside already. d is the decision about the first admission.
func letIn(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if err := enter(o, a, f, func(d *record.Draft) { d.Text("basis", offline) }); err != nil {
		return d, err
	}
	d.Double = record.Checkin.FormatID(f.ID)
	if err := admission.Settle(o, f.ID); err != nil {
		return d, err
	}
	return d, describe(o.View, &d, a.p, f.about)
}
