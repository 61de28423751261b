package door

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// nonceOf is the nonce of a fact: a hash of the key's id, the event and the Idempotency-Key. It is the same at every node. A file tells the
// same check-in by whatever key it is imported.
func nonceOf(p auth.Principal, a Attempt) string {
	if a.Nonce == "" {
		return ""
	}
	key := p.Key()
	if a.Told {
		key = 0
	}
	h := sha256.New()
	h.Write(strconv.AppendInt(nil, key, 10))
	h.Write([]byte{0})
	h.Write(strconv.AppendInt(nil, a.Event, 10))
	h.Write([]byte{0})
	h.Write([]byte(a.Nonce))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replayAttempt answers an attempt with a nonce that a check-in carries already. The same code gets the first answer, unless that
// check-in is undone. Another code gets ErrKeyReused.
func replayAttempt(o *table.Tx, a *attempt, event, ticket *table.Stored) (d Decision, done bool, err error) {
	if a.nonce == "" {
		return d, false, nil
	}
	ids, err := o.Lookup(record.Checkin, "nonce", a.nonce)
	if err != nil {
		return d, false, err
	}
	for _, id := range ids {
		undone, err := admission.Undone(o.View, id)
		if err != nil {
			return d, false, err
		}
		first, err := o.Load(record.Checkin, id)
		if err != nil || first == nil {
			return d, false, err
		}
		if !brings(a, ticket, first) || admission.Of(first).Out != (a.Way == Out) {
			return d, false, table.ErrKeyReused
		}
		if undone || a.Told && !tells(o, a, event, first) {
			continue
		}
		if d, err = repeated(o, first, a); err != nil {
			return d, false, err
		}
		if ticket == nil {
			return d, true, nil // its code has changed since, or it was deleted: there is nothing to show of it
		}
		return d, true, describe(o.View, &d, a.p, ticket)
	}
	return d, false, nil
}

// toldUndone finds a check-in of the ticket that was undone, if a file tells of no later moment than that check-in and its undo. A file that gives no
// moment tells of none. The undo stands then: what is told is the same entry.
func toldUndone(o *table.Tx, a *attempt, event, ticket *table.Stored) (d Decision, found bool, err error) {
	ids, err := o.Lookup(record.Checkin, "nonce", a.nonce) // of another ticket, where that was merged into this one or imported again
	if err != nil {
		return d, false, err
	}
	all, err := admission.OfTicket(o.View, ticket.ID)
	if err != nil {
		return d, false, err
	}
	for _, id := range append(ids, all...) {
		undo, err := admission.UndoOf(o.View, id)
		if err != nil {
			return d, false, err
		}
		if undo == nil {
			continue
		}
		undone, err := o.Load(record.Checkin, id)
		if err != nil {
			return d, false, err
		}
		if undone == nil || !tells(o, a, event, undone) {
			continue
		}
		if a.At.IsZero() || !a.At.After(latestOf(undo)) || !a.At.After(latestOf(undone)) {
			d := decisionOf(o.View, outcome.Undone, undone, a.Door)
			d.Replayed = true
			return d, true, nil
		}
	}
	return d, false, nil
}

// tells tells whether a check-in is the entry that a file tells: it is of this event, and on the same list. It also is if it has the same moment, or if the
// file gives none and told it before.
func tells(o *table.Tx, a *attempt, event, checkin *table.Stored) bool {
	c := admission.Of(checkin)
	at, _ := table.TimeOf(checkin.Body.Member("at"))
	return c.Event == a.Event && (c.List == a.listOf(o, event) || at.Equal(a.At) || a.At.IsZero() && value.Unquote(checkin.Body.Member("nonce")) == a.nonce)
}

// latestOf is the later one of the two times that a fact has: that of its node's clock, which may be slow, and the hybrid time.
func latestOf(st *table.Stored) time.Time {
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	if hybrid := time.UnixMilli(int64(admission.Of(st).Hlc >> 16)); hybrid.After(at) {
		return hybrid
	}
	return at
}

// brings tells whether an attempt brings the code of a check-in: that of its ticket, or the very code that was read then, whatever has
// become of the ticket since.
func brings(a *attempt, ticket, first *table.Stored) bool {
	hash := table.HashOf(first.Body.Member("code_hash"))
	return ticket != nil && table.HashOf(ticket.Body.Member("code_hash")) == hash || slices.Contains(a.exact, hash)
}

// repeated is the answer that was given when a check-in was written.
func repeated(o *table.Tx, mine *table.Stored, a *attempt) (Decision, error) {
	c := admission.Of(mine)
	if !c.Out && value.Unquote(mine.Body.Member("basis")) != offline {
		d := decisionOf(o.View, outcome.Admitted, mine, a.Door)
		d.Replayed = true
		return d, nil
	}
	first, err := c.Entered(o.View)
	if err != nil {
		return Decision{}, err
	}
	if c.Out {
		d := leaving(o.View, mine, first, a.Door)
		d.Replayed = true
		return d, nil
	}
	if first == nil {
		first = mine // of a list that no longer counts
	}
	d := decisionOf(o.View, outcome.AlreadyAdmitted, first, a.Door)
	d.Double, d.Replayed = record.Checkin.FormatID(mine.ID), true
	return d, nil
}

// decisionOf is the decision about a stored admission, as a door is told it.
func decisionOf(v *table.View, out outcome.Outcome, first *table.Stored, here string) Decision {
	at, _ := table.TimeOf(first.Body.Member("at")) // written by admit
	door := value.Unquote(first.Body.Member("door"))
	return Decision{
		Outcome: out, CheckinID: record.Checkin.FormatID(first.ID), AdmittedAt: at, Door: door,
		SecondsAgo: max(0, int64(v.Now.Sub(at)/time.Second)), SameDoor: door == here, holding: entry.IDOfHolding(first.Body.Member("holding")),
	}
}

// describe adds to a decision what the door may know of the ticket, and the holder's name if the key sees names. Of an admission it
// describes the holding that came, of a refusal the present one.
func describe(v *table.View, d *Decision, p auth.Principal, ticket *table.Stored) (err error) {
	if p.IsRevoked() {
		return nil // a revoked phone hands in what it knows and learns nothing
	}
	d.Type = value.Unquote(ticket.Body.Member("type"))
	d.Order = value.Unquote(ticket.Body.Member("order"))
	if d.Notice, err = noticeOf(v, ticket); err != nil {
		return err
	}
	holding := d.holding
	if holding.IsZero() {
		holding = entry.PresentOf(ticket.Body)
	}
	if d.Label, err = entry.LabelOf(v, holding); err != nil || holding.IsZero() || !seesHolders(p) {
		return v.Store.Damage.Skip(err) // a damaged name keeps no guest out
	}
	name, err := v.Load(record.HolderName, holding)
	if err == nil && name != nil {
		err = table.Unshown(v, record.HolderName, name)
	}
	if err != nil || name == nil {
		return v.Store.Damage.Skip(err)
	}
	if full := value.Unquote(name.Body.Member("full_name")); full != "" {
		d.Holder = &full
	}
	return nil
}

// refuse answers a refusal. It writes a scan unless an equal one was written within the last minute.
func refuse(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if f.about != nil {
		if err := describe(o.View, &d, a.p, f.about); err != nil {
			return d, err
		}
	}
	if !o.Doors.Note(table.RefusalKey{Event: f.Event, Door: f.door, Code: f.CodeHash, Outcome: d.Outcome}, a.p.Key(), o.Now) {
		return d, nil
	}
	putFact(o, record.Scan, a.p, f, func(draft *record.Draft) {
		draft.Text("outcome", string(d.Outcome))
		draft.Int("length", int64(utf8.RuneCountInString(a.Code)))
	})
	return d, nil
}

// refuseUnknown refuses a code that no ticket of the event has: as WrongEvent if another event of the key has it, else as UnknownCode.
func refuseUnknown(o *table.Tx, a *attempt) (Decision, error) {
	other, err := elsewhere(o, a)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: outcome.UnknownCode}
	if other {
		d.Outcome = outcome.WrongEvent
	}
	f := &fact{Checkin: admission.Checkin{Event: a.Event}, door: a.Door, at: a.moment(o.Now)}
	if len(a.exact) > 0 {
		f.CodeHash = a.exact[0]
	}
	return refuse(o, a, f, d)
}

// seesHolders reports whether a decision may name the ticket's holder: only to a key of church level and above that may read events.
func seesHolders(p auth.Principal) bool {
	return !p.IsOf(auth.EventOf) && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}
