package door

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

const byCodeOut = 'o'

const byTicketOut = 'u'

// codeRows appends to a letter the rest of a prefix by code.
func codeRows(dst []byte, event int64, hash table.CodeHash, list string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(event))
	return append(append(append(dst, hash[:]...), list...), 0)
}

// ticketRows appends to a letter the rest of a prefix by ticket. The event is in it: a laptop of another event cannot use a ticket up.
func ticketRows(dst []byte, ticket, event int64, list string) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(ticket)), uint64(event))
	return append(append(dst, list...), 0)
}

func admissionKey(prefix []byte, hlc uint64, id record.ID) []byte {
	return record.Checkin.AppendID(binary.BigEndian.AppendUint64(prefix, hlc), id)
}

// admission is where a check-in stands in the order.
type admission struct {
	Hlc uint64
	id  record.ID
}

func (a admission) before(b admission) bool {
	return a.Hlc < b.Hlc || a.Hlc == b.Hlc && a.id.Compare(b.id) < 0
}

// undone tells whether an undo of its own event names a check-in.
func undone(v *table.View, checkin record.ID) (bool, error) {
	undos, err := v.Lookup(record.Undo, "checkin_id", record.Checkin.FormatID(checkin))
	if err != nil || len(undos) == 0 {
		return false, err
	}
	st, err := v.Load(record.Checkin, checkin)
	if err != nil || st == nil {
		return false, err
	}
	for _, id := range undos {
		undo, err := v.Load(record.Undo, id)
		if err != nil {
			return false, err
		}
		if undo != nil && bytes.Equal(undo.Body.Member("event_id"), st.Body.Member("event_id")) {
			return true, nil
		}
	}
	return false, nil
}

// nonceOf is what an Idempotency-Key becomes in a fact: the same at every node that knows the key's id.
func nonceOf(p auth.Principal, a Attempt) string {
	if a.Nonce == "" {
		return ""
	}
	h := sha256.New()
	h.Write(strconv.AppendInt(nil, p.Key(), 10))
	h.Write([]byte{0})
	h.Write(strconv.AppendInt(nil, a.Event, 10))
	h.Write([]byte{0})
	h.Write([]byte(a.Nonce))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replay answers an attempt whose nonce a check-in carries already: the same code gets the first answer, unless that
// check-in was undone; another code is refused.
func replayAttempt(o *table.Tx, a *attempt, ticket *table.Stored) (d Decision, done bool, err error) {
	if a.nonce == "" {
		return d, false, nil
	}
	ids, err := o.Lookup(record.Checkin, "nonce", a.nonce)
	if err != nil {
		return d, false, err
	}
	for _, id := range ids {
		undone, err := undone(o.View, id)
		if err != nil {
			return d, false, err
		}
		first, err := o.Load(record.Checkin, id)
		if err != nil || first == nil {
			return d, false, err
		}
		if ticket == nil || table.HashOf(ticket.Body.Member("code_hash")) != table.HashOf(first.Body.Member("code_hash")) || StandOf(first).out != (a.Way == table.Out) {
			return d, false, table.ErrKeyReused
		}
		if undone {
			continue
		}
		if d, err = repeated(o, first, a); err != nil {
			return d, false, err
		}
		return d, true, describe(o.View, &d, a.p, ticket)
	}
	return d, false, nil
}

// repeated is the answer that was given when a check-in was written.
func repeated(o *table.Tx, mine *table.Stored, a *attempt) (Decision, error) {
	e := StandOf(mine)
	if !e.out && value.Unquote(mine.Body.Member("basis")) != offline {
		d := decisionOf(o.View, table.Admitted, mine, a.Door)
		d.Replayed = true
		return d, nil
	}
	first, err := entered(o.View, &e, &e.admission)
	if err != nil {
		return Decision{}, err
	}
	if e.out {
		d := leaving(o.View, mine, first, a.Door)
		d.Replayed = true
		return d, nil
	}
	if first == nil {
		first = mine // of a list that no longer counts
	}
	d := decisionOf(o.View, AlreadyAdmitted, first, a.Door)
	d.Double, d.Replayed = record.Checkin.FormatID(mine.Id), true
	return d, nil
}

// decisionOf tells of an admission that is stored, at a door.
func decisionOf(v *table.View, out table.Outcome, first *table.Stored, here string) Decision {
	at, _ := table.TimeOf(first.Body.Member("at")) // written by admit
	door := value.Unquote(first.Body.Member("door"))
	return Decision{
		Outcome: out, CheckinID: record.Checkin.FormatID(first.Id), AdmittedAt: at, Door: door,
		SecondsAgo: max(0, int64(v.Now.Sub(at)/time.Second)), SameDoor: door == here,
	}
}

// describe adds what the door, and a key that sees names, may know of the ticket.
func describe(v *table.View, d *Decision, p auth.Principal, ticket *table.Stored) (err error) {
	if p.IsRevoked() {
		return nil // it hands in what it knows
	}
	shown := *ticket
	if err := table.Unshown(v, record.Ticket, &shown); err != nil {
		return err
	}
	ticket = &shown
	d.Label = value.Unquote(ticket.Body.Member("label"))
	d.Type = value.Unquote(ticket.Body.Member("type"))
	d.Order = value.Unquote(ticket.Body.Member("order"))
	if d.Notice, err = noticeOf(v, ticket); err != nil {
		return err
	}
	if !seesHolders(p) {
		return nil
	}
	name, err := v.Load(record.HolderName, ticket.Id)
	if err == nil && name != nil {
		err = table.Unshown(v, record.HolderName, name)
	}
	if err != nil || name == nil {
		return err
	}
	if full := value.Unquote(name.Body.Member("full_name")); full != "" {
		d.Holder = &full
	}
	return nil
}

// refuse answers a refusal and, if it is due, writes it.
func refuse(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if f.about != nil {
		if err := describe(o.View, &d, a.p, f.about); err != nil {
			return d, err
		}
	}
	if !o.Doors.Note(table.RefusalKey{Event: f.event, Door: f.door, Code: f.codeHash, Outcome: d.Outcome}, a.p.Key(), o.Now) {
		return d, nil
	}
	putFact(o, record.Scan, a.p, f, func(draft *record.Draft) {
		draft.Text("outcome", string(d.Outcome))
		draft.Int("length", int64(utf8.RuneCountInString(a.Code)))
	})
	return d, nil
}

// refuseUnknown refuses a reading that means no ticket of the event.
func refuseUnknown(o *table.Tx, a *attempt) (Decision, error) {
	other, err := elsewhere(o, a)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: UnknownCode}
	if other {
		d.Outcome = WrongEvent
	}
	f := &fact{event: a.Event, door: a.Door, at: a.moment(o.Now)}
	if len(a.exact) > 0 {
		f.codeHash = a.exact[0]
	}
	return refuse(o, a, f, d)
}

// seesHolders tells whether a decision at a door may name the ticket's holder: to church level and above, if the key reads
// events besides.
func seesHolders(p auth.Principal) bool {
	return !p.IsOf(auth.EventOf) && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}
