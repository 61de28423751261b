package door

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// fact is what an admission, a refusal and an undo have in common.
type fact struct {
	event, ticket int64 // ticket 0: none
	codeHash      table.CodeHash
	list          string
	door          string
	at            time.Time     // by the wall clock
	nonce         string        // hex; "" = none
	about         *table.Stored // the ticket; nil: none
	out           bool          // it leads out
}

// newFact begins a fact about a ticket of an event.
func newFact(o *table.Tx, a *attempt, event, ticket *table.Stored) *fact {
	at := a.moment(o.Now)
	day := at
	if o.Now.Before(day) {
		day = o.Now // a scanner whose clock is ahead cannot take tomorrow's admission
	}
	return &fact{event: a.Event, ticket: ticket.Id.Int(), codeHash: table.HashOf(ticket.Body.Member("code_hash")), list: listOn(o.View, event, day),
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
func listOf(v *table.View, event *table.Stored) string { return listOn(v, event, v.Now) }

// listOn is the list that an event admits to at a moment.
func listOn(v *table.View, event *table.Stored, at time.Time) string {
	if string(event.Body.Member("list_rule")) == `"daily"` {
		return at.In(v.Store.ZoneOf).Format(time.DateOnly)
	}
	return ""
}

// putFact writes a fact as a record of a kind; more, if not nil, adds the members that only this kind has. It answers where
// the fact stands.
func putFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, more func(*record.Draft)) admission {
	at := admission{Hlc: o.State.Tick(o.Now), id: NewFactID(o.Now)}
	d := k.NewDraft()
	d.Int("event_id", f.event)
	if f.ticket != 0 {
		d.Int("ticket_id", f.ticket)
	}
	d.Hex("code_hash", f.codeHash[:])
	d.Text("list", f.list)
	if f.out {
		d.Text("direction", string(table.Out))
	}
	d.Text("door", f.door)
	if p.Key() != 0 {
		d.Int("key_id", p.Key())
	}
	d.Text("node", o.Store.Identity.Node)
	var hlc [8]byte
	binary.BigEndian.PutUint64(hlc[:], at.Hlc)
	d.Hex("hlc", hlc[:])
	d.Time("at", f.at)
	if ms, ok := o.Store.Offset(); ok {
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
func factFlags(o *table.Tx, p auth.Principal) (flags []string) {
	if o.Doubted {
		flags = append(flags, FlagClockSuspect)
	}
	if o.Store.IsRevoked() || p.IsRevoked() {
		flags = append(flags, FlagNeedsReview)
	}
	return flags
}

// writeFact stores a new fact and its lookups.
func writeFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, at admission, d *record.Draft) {
	body, canonical := d.Close()
	st := &table.Stored{Id: at.id, Body: body, Header: table.Header{Version: k.Version, UpdatedAt: o.Stamp, UpdatedBy: p.Key()}}
	st.Scopes[0] = scopes.Scope{Sort: scopes.Event, ID: f.event}
	st.Revision = rev.Next(rev.ID{}, false, canonical)
	IndexFact(o, k, st)
	table.Place(o, k, nil, st)
}

// IndexFact writes a new fact's lookups.
func IndexFact(o *table.Tx, k *record.Kind, st *table.Stored) {
	for i := range k.Fields {
		field := &k.Fields[i]
		if !field.Flags.Has(record.Indexed) {
			continue
		}
		for v := range table.Indexed(st.Body.Member(field.Name)) {
			if key, ok := table.AppendIndexed(table.LookupPrefix(o.Scratch[:0], k, field.Name), field, v); ok {
				o.Scratch = k.AppendID(key, st.Id)
				o.Put(table.LookupBucket, o.Scratch, nil)
			}
		}
	}
}

// admit writes the admission.
func admit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	at := enter(o, a, f, nil)
	d := Decision{Outcome: table.Admitted, CheckinID: record.Checkin.FormatID(at.id), AdmittedAt: f.at.UTC().Truncate(time.Microsecond),
		Door: f.door, SecondsAgo: max(0, int64(o.Now.Sub(f.at)/time.Second)), SameDoor: true}
	return d, describe(o.View, &d, a.p, f.about)
}

// enter writes a check-in, and where it stands in the order.
func enter(o *table.Tx, a *attempt, f *fact, more func(*record.Draft)) admission {
	f.nonce = a.nonce
	at := putFact(o, record.Checkin, a.p, f, more)
	code, ticket := byte(table.ByCode), byte(table.ByTicket)
	if f.out {
		code, ticket = byCodeOut, byTicketOut
	}
	var buf [128]byte
	o.Put(table.AdmissionBucket, admissionKey(codeRows(append(buf[:0], code), f.event, f.codeHash, f.list), at.Hlc, at.id), nil)
	o.Put(table.AdmissionBucket, admissionKey(ticketRows(append(buf[:0], ticket), f.ticket, f.event, f.list), at.Hlc, at.id), nil)
	return at
}

// offline is the basis of a check-in that somebody was let in by before this store was asked.
const offline = "offline"

// letIn writes that somebody was let in again: d tells of the first admission.
func letIn(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	at := enter(o, a, f, func(d *record.Draft) { d.Text("basis", offline) })
	d.Double = record.Checkin.FormatID(at.id)
	if err := settle(o, at.id); err != nil {
		return d, err
	}
	return d, describe(o.View, &d, a.p, f.about)
}

// counts tells the lists and directions that this version knows. Facts of others are stored and admit nobody.
func counts(list, direction string) bool {
	if list != "" {
		if _, day := value.ParseDate(list); !day {
			return false
		}
	}
	return direction == string(table.In) || direction == string(table.Out)
}

// AdmissionKeys are a check-in's rows in the admission bucket; none for other kinds, and for lists and directions that this
// version does not know.
func AdmissionKeys(k *record.Kind, st *table.Stored) (keys [][]byte) {
	if k != record.Checkin {
		return nil
	}
	e := StandOf(st)
	for _, group := range e.groups() {
		keys = append(keys, admissionKey(group, e.Hlc, e.id))
	}
	return keys
}

func NewFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(table.Millis(now), rand.Reader))
}

// MayBringCheckin returns a *Forbidden if a code has as many check-ins as laptops may bring.
func MayBringCheckin(o *table.Tx, d *record.Doc) error {
	letter := byte(table.ByCode)
	if d.Text("direction") == string(table.Out) {
		letter = byCodeOut
	}
	of := codeRows([]byte{letter}, d.Int("event_id"), table.HashOf(d.Value("code_hash")), d.Text("list"))
	return table.Fewer(o.View, table.AdmissionBucket, of, o.Store.Limits.Checkins, "the code has been checked in too often")
}
