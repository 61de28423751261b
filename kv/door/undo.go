package door

import (
	"time"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/idempotency"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Undoing asks to take an admission back.
type Undoing struct {
	Event     int64
	CheckinID string
	Reason    string
	Door      string
	Once      *idempotency.Request
}

// Undo writes that an admission is undone. It returns after the commit. It returns ErrNoCheckin if there is no such check-in at the event, or
// it is undone already, and a *Forbidden for a steward that may not take it back.
func (dk *Desk) Undo(p auth.Principal, u Undoing) (d Decision, err error) {
	if err := p.Check(record.Undo.Resource, "POST"); err != nil {
		return Decision{}, err
	}
	if u.Door == "" {
		u.Door = p.Name()
	}
	id, ok := record.Checkin.ParseID(u.CheckinID)
	err = dk.tables.DoAtDoor(dk.standing.By(p, func(o *table.Tx) error {
		if _, err := entry.Find(o.View, p, record.Event, record.Int(u.Event)); err != nil {
			return err
		}
		r, err := idempotency.Once(o, u.Once, func() (entry.Reply, error) {
			if !ok {
				return entry.Reply{}, ErrNoCheckin
			}
			return entry.Reply{ID: id}, undo(o, p, u, id)
		})
		if err != nil {
			return err
		}
		first, err := o.Load(record.Checkin, id)
		if err != nil || first == nil {
			return table.OrNotFound(err)
		}
		d = decisionOf(o.View, outcome.Undone, first, u.Door)
		d.Replayed = r.Replayed
		return nil
	}))
	if err != nil {
		return Decision{}, err
	}
	dk.Decisions.count(d)
	return d, nil
}

func undo(o *table.Tx, p auth.Principal, u Undoing, id record.ID) error {
	if err := mayDecide(o, u.Event); err != nil {
		return err
	}
	first, err := o.Load(record.Checkin, id)
	if err != nil {
		return err
	}
	if first == nil || first.Home(record.Checkin) != u.Event {
		return ErrNoCheckin
	}
	if err := mayUndo(o, p, first); err != nil {
		return err
	}
	if gone, err := admission.Undone(o.View, id); err != nil || gone {
		if err == nil {
			err = ErrNoCheckin
		}
		return err
	}
	c := admission.Of(first)
	if err := c.Fewer(o.View, o.Store.Rules.Limits.Undone, "the code has been checked in and undone too often"); err != nil {
		return err
	}
	f := &fact{
		Checkin: admission.Checkin{Event: u.Event, Ticket: c.Ticket, CodeHash: c.CodeHash, List: c.List},
		holding: first.Body.Member("holding"), door: u.Door, at: o.Now,
	}
	putFact(o, record.Undo, p, f, func(d *record.Draft) {
		d.Text("checkin_id", record.Checkin.FormatID(id))
		if u.Reason != "" {
			d.Text("reason", u.Reason)
		}
	})
	return admission.Settle(o, id)
}

// A door has stewards and supervisors. A steward's key may GET and POST at doors; it takes back its own check-ins alone, for a minute. A
// supervisor's key may do everything at doors ("checkin:*"), which takes in DELETE: it takes back any check-in, at any time.

// undoLasts is how long a steward may take a check-in back.
const undoLasts = time.Minute

// mayUndo returns a *Forbidden for a steward that takes back a check-in of another key, or one that is too old.
func mayUndo(o *table.Tx, p auth.Principal, checkin *table.Stored) error {
	if p.IsRevoked() {
		return table.ErrRevoked
	}
	if own := p.Key() != 0 && value.Int(checkin.Body.Member("key_id")) == p.Key(); p.Supervises() || own && isFresh(checkin, o.Now) {
		return nil
	}
	return notSupervising(p, "a steward takes back only their own check-ins of the last minute: ask a supervisor")
}

// isFresh reports whether a check-in is of the last minute. A scanner says when it read an offline scan, and may say a time to come, so the
// time at which the check-in was written counts where it is earlier. A check-in that lies further ahead of the clock, because the clock was put
// back, is not fresh.
func isFresh(checkin *table.Stored, now time.Time) bool {
	at, _ := table.TimeOf(checkin.Body.Member("at")) // facts have one
	if written := checkin.ID.ULID().Timestamp(); written.Before(at) {
		at = written
	}
	return now.Sub(at).Abs() <= undoLasts
}
