package kv

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

// fact is what an admission, a refusal and an undo have in common.
type fact struct {
	event, ticket int64 // ticket 0: none
	codeHash      codeHash
	list          string
	door          string
	nonce         string  // hex; "" = none
	about         *stored // the ticket; nil: none
}

// newFact begins a fact about a ticket of an event.
func (o *op) newFact(a *attempt, event, ticket *stored) *fact {
	return &fact{event: a.Event, ticket: ticket.id.Int(), codeHash: hashOf(ticket.body.Member("code_hash")), list: o.listOf(event),
		door: a.Door, about: ticket}
}

// listOf is the list that an event admits to now.
func (v *sight) listOf(event *stored) string {
	if string(event.body.Member("list_rule")) == `"daily"` {
		return v.now.In(v.store.zone).Format(time.DateOnly)
	}
	return ""
}

// putFact writes a fact as a record of a kind; more, if not nil, adds the members that only this kind has. It answers where
// the fact stands.
func (o *op) putFact(k *record.Kind, p Principal, f *fact, more func(*record.Draft)) admission {
	at := admission{hlc: o.state.tick(o.now), id: newFactID(o.now)}
	d := k.NewDraft()
	d.Int("event_id", f.event)
	if f.ticket != 0 {
		d.Int("ticket_id", f.ticket)
	}
	d.Hex("code_hash", f.codeHash[:])
	d.Text("list", f.list)
	d.Text("door", f.door)
	if p.key != 0 {
		d.Int("key_id", p.key)
	}
	d.Text("node", o.store.identity.node)
	var hlc [8]byte
	binary.BigEndian.PutUint64(hlc[:], at.hlc)
	d.Hex("hlc", hlc[:])
	d.Time("at", o.now)
	if f.nonce != "" {
		d.Text("nonce", f.nonce)
	}
	if o.doubted {
		d.Raw("flags", record.TextList("clock_suspect"))
	}
	if more != nil {
		more(&d)
	}
	o.writeFact(k, p, f, at, &d)
	return at
}

// writeFact stores a new fact and its lookups.
func (o *op) writeFact(k *record.Kind, p Principal, f *fact, at admission, d *record.Draft) {
	body, canonical := d.Close()
	st := &stored{id: at.id, body: body, header: header{version: k.Version, updatedAt: o.stamp, updatedBy: p.key}}
	st.scopes[0] = record.Scope{Sort: record.ScopeEvent, ID: f.event}
	st.revision = record.Next(record.Revision{}, false, canonical)
	for i := range k.Fields {
		field := &k.Fields[i]
		if !field.Flags.Has(record.Indexed) {
			continue
		}
		for _, v := range indexed(field, body.Member(field.Name)) {
			key := appendValue(lookupPrefix(make([]byte, 0, 80), k, field.Name), v)
			o.put(lookupBucket, k.AppendID(key, at.id), nil)
		}
	}
	o.place(k, nil, st)
}

// admit writes the admission.
func (o *op) admit(a *attempt, f *fact) (Decision, error) {
	f.nonce = a.nonce
	at := o.putFact(record.Checkin, a.p, f, nil)
	var buf [128]byte
	o.put(admissionBucket, admissionKey(codeAdmissions(buf[:0], f.event, f.codeHash, f.list), at.hlc, at.id), nil)
	o.put(admissionBucket, admissionKey(ticketListAdmissions(buf[:0], f.ticket, f.list), at.hlc, at.id), nil)
	d := Decision{Outcome: Admitted, CheckinID: record.Checkin.FormatID(at.id), AdmittedAt: o.now.UTC().Truncate(time.Microsecond),
		Door: f.door, SameDoor: true}
	return d, o.describe(&d, a, f.about)
}

// admissionKeys are a check-in's rows in the admission bucket; none for other kinds, and for directions that this version
// does not know.
func admissionKeys(k *record.Kind, id record.ID, d *record.Doc) [][]byte {
	if k != record.Checkin || d == nil || d.Text("direction") != "in" {
		return nil
	}
	hlc, err := hex.DecodeString(d.Text("hlc"))
	if err != nil || len(hlc) != 8 {
		return nil // stored members are valid
	}
	at := binary.BigEndian.Uint64(hlc)
	list := d.Text("list")
	return [][]byte{
		admissionKey(codeAdmissions(nil, d.Int("event_id"), hashOf(d.Value("code_hash")), list), at, id),
		admissionKey(ticketListAdmissions(nil, d.Int("ticket_id"), list), at, id),
	}
}

func newFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(ulid.Timestamp(now), rand.Reader))
}
