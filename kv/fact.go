package kv

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// fact is what an admission, a refusal and an undo have in common.
type fact struct {
	event, ticket int64 // ticket 0: none
	codeHash      codeHash
	list          string
	door          string
	at            time.Time // by the wall clock
	nonce         string    // hex; "" = none
	about         *stored   // the ticket; nil: none
	out           bool      // it leads out
}

// newFact begins a fact about a ticket of an event.
func newFact(o *op, a *attempt, event, ticket *stored) *fact {
	at := a.moment(o.now)
	day := at
	if o.now.Before(day) {
		day = o.now // a scanner whose clock is ahead cannot take tomorrow's admission
	}
	return &fact{event: a.Event, ticket: ticket.id.Int(), codeHash: hashOf(ticket.body.Member("code_hash")), list: listOn(o.sight, event, day),
		door: a.Door, at: at, about: ticket}
}

// moment is when an attempt was made.
func (a *attempt) moment(now time.Time) time.Time {
	if a.At.IsZero() {
		return now
	}
	return a.At
}

// listOf is the list that an event admits to now.
func listOf(v *sight, event *stored) string { return listOn(v, event, v.now) }

// listOn is the list that an event admits to at a moment.
func listOn(v *sight, event *stored, at time.Time) string {
	if string(event.body.Member("list_rule")) == `"daily"` {
		return at.In(v.store.zone).Format(time.DateOnly)
	}
	return ""
}

// putFact writes a fact as a record of a kind; more, if not nil, adds the members that only this kind has. It answers where
// the fact stands.
func putFact(o *op, k *record.Kind, p Principal, f *fact, more func(*record.Draft)) admission {
	at := admission{hlc: o.state.tick(o.now), id: newFactID(o.now)}
	d := k.NewDraft()
	d.Int("event_id", f.event)
	if f.ticket != 0 {
		d.Int("ticket_id", f.ticket)
	}
	d.Hex("code_hash", f.codeHash[:])
	d.Text("list", f.list)
	if f.out {
		d.Text("direction", string(Out))
	}
	d.Text("door", f.door)
	if p.Key() != 0 {
		d.Int("key_id", p.Key())
	}
	d.Text("node", o.store.identity.node)
	var hlc [8]byte
	binary.BigEndian.PutUint64(hlc[:], at.hlc)
	d.Hex("hlc", hlc[:])
	d.Time("at", f.at)
	if ms, ok := o.store.offset(); ok {
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
	writeFact(o, k, p, f, at, &d)
	return at
}

// flags are those of a fact that is written now.
func factFlags(o *op, p Principal) (flags []string) {
	if o.doubted {
		flags = append(flags, FlagClockSuspect)
	}
	if o.store.IsRevoked() || p.IsRevoked() {
		flags = append(flags, FlagNeedsReview)
	}
	return flags
}

// writeFact stores a new fact and its lookups.
func writeFact(o *op, k *record.Kind, p Principal, f *fact, at admission, d *record.Draft) {
	body, canonical := d.Close()
	st := &stored{id: at.id, body: body, header: header{version: k.Version, updatedAt: o.stamp, updatedBy: p.Key()}}
	st.scopes[0] = scopes.Scope{Sort: scopes.Event, ID: f.event}
	st.revision = rev.Next(rev.ID{}, false, canonical)
	indexFact(o, k, st)
	place(o, k, nil, st)
}

// indexFact writes a new fact's lookups.
func indexFact(o *op, k *record.Kind, st *stored) {
	for i := range k.Fields {
		field := &k.Fields[i]
		if !field.Flags.Has(record.Indexed) {
			continue
		}
		for v := range indexed(st.body.Member(field.Name)) {
			if key, ok := appendIndexed(lookupPrefix(o.scratch[:0], k, field.Name), field, v); ok {
				o.scratch = k.AppendID(key, st.id)
				o.put(lookupBucket, o.scratch, nil)
			}
		}
	}
}

// admit writes the admission.
func admit(o *op, a *attempt, f *fact) (Decision, error) {
	at := enter(o, a, f, nil)
	d := Decision{Outcome: Admitted, CheckinID: record.Checkin.FormatID(at.id), AdmittedAt: f.at.UTC().Truncate(time.Microsecond),
		Door: f.door, SecondsAgo: max(0, int64(o.now.Sub(f.at)/time.Second)), SameDoor: true}
	return d, describe(o.sight, &d, a.p, f.about)
}

// enter writes a check-in, and where it stands in the order.
func enter(o *op, a *attempt, f *fact, more func(*record.Draft)) admission {
	f.nonce = a.nonce
	at := putFact(o, record.Checkin, a.p, f, more)
	code, ticket := byte(byCode), byte(byTicket)
	if f.out {
		code, ticket = byCodeOut, byTicketOut
	}
	var buf [128]byte
	o.put(admissionBucket, admissionKey(codeRows(append(buf[:0], code), f.event, f.codeHash, f.list), at.hlc, at.id), nil)
	o.put(admissionBucket, admissionKey(ticketRows(append(buf[:0], ticket), f.ticket, f.event, f.list), at.hlc, at.id), nil)
	return at
}

// offline is the basis of a check-in that somebody was let in by before this store was asked.
const offline = "offline"

// letIn writes that somebody was let in again: d tells of the first admission.
func letIn(o *op, a *attempt, f *fact, d Decision) (Decision, error) {
	at := enter(o, a, f, func(d *record.Draft) { d.Text("basis", offline) })
	d.Double = record.Checkin.FormatID(at.id)
	if err := settle(o, at.id); err != nil {
		return d, err
	}
	return d, describe(o.sight, &d, a.p, f.about)
}

// counts tells the lists and directions that this version knows. Facts of others are stored and admit nobody.
func counts(list, direction string) bool {
	if list != "" {
		if _, day := value.ParseDate(list); !day {
			return false
		}
	}
	return direction == string(In) || direction == string(Out)
}

// admissionKeys are a check-in's rows in the admission bucket; none for other kinds, and for lists and directions that this
// version does not know.
func admissionKeys(k *record.Kind, st *stored) (keys [][]byte) {
	if k != record.Checkin {
		return nil
	}
	e := standOf(st)
	for _, group := range e.groups() {
		keys = append(keys, admissionKey(group, e.hlc, e.id))
	}
	return keys
}

func newFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(millis(now), rand.Reader))
}
